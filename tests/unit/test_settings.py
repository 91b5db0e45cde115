"""The table of settings: kinds, origins, refusals."""

from __future__ import annotations

import pytest

from memctl.errors import BadConfig, UsageError
from memctl.settings import BY_NAME, SETTINGS, Settings


def test_defaults() -> None:
    """Without values every setting has its default and says so."""
    settings = Settings()
    assert [(s.name, s.default, "default") for s in SETTINGS] == [
        (name, settings[name], settings.origin(name)) for name in settings
    ]


def test_variable_names() -> None:
    """A variable is the name in capitals, dots as underscores, with a prefix."""
    assert "MEMCTL_LOCK_TIMEOUT_S" == next(s for s in SETTINGS if s.name == "lock.timeout_s").variable


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("policy.hot_ttl", 86_400, "24h"),
        ("policy.hot_ttl", 2_592_000, "30d"),
        ("policy.hot_ttl", 5400, "90m"),
        ("policy.hot_ttl", 60, "60s"),
        ("policy.hot_ttl", 90.5, "90.5"),
        ("policy.hot_ttl", 0, "0"),
        ("cold_summary.enabled", 1, "on"),
        ("window.budget", 86_400, "86400"),
        ("durability", "none", "none"),
    ],
)
def test_values_as_they_are_written(name: str, value: int | float | str, written: str) -> None:
    """A duration is written as a person would, and every value is read back from what is written."""
    setting = BY_NAME[name]
    assert written == setting.written(value)
    assert value == setting.parse(written)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_defaults_are_valid(setting: object) -> None:
    """Every default passes the setting's own check and comes back the same, also from its text."""
    from memctl.settings import Setting

    assert isinstance(setting, Setting)
    assert setting.default == setting.parse(setting.default) == setting.parse(str(setting.default))


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("window.budget", "8000", 8000),
        ("window.budget", 8000, 8000),
        ("window.budget", "off", 0),
        ("window.budget", " 0 ", 0),
        ("lock.timeout_s", "5m", 300),
        ("lock.timeout_s", "24h", 86_400),
        ("lock.timeout_s", "7d", 604_800),
        ("lock.timeout_s", "250ms", 0.25),
        ("lock.timeout_s", "0.5", 0.5),
        ("lock.timeout_s", "1.5h", 5400),
        ("lock.timeout_s", 2.5, 2.5),
        ("lock.timeout_s", "off", 0),
        ("lock.timeout_s", "0", 0),
        ("durability", "none", "none"),
        ("conversations.dir", "/srv/talks", "/srv/talks"),
        ("recall.weight_recency", "0.25", 0.25),
        ("recall.weight_recency", 2, 2),
        ("retrieval.min_score", "-0.5", -0.5),
        ("cold_summary.enabled", "on", 1),
        ("cold_summary.enabled", True, 1),
        ("cold_summary.enabled", "off", 0),
        ("retrieval.embedder", "cmd:embed --fast", "cmd:embed --fast"),
    ],
)
def test_values(name: str, given: object, value: object) -> None:
    """Numbers, texts of numbers, durations and choices are read."""
    assert value == Settings.from_mapping({name: given})[name]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("recall.weight_recency", "-0.1"),
        ("recall.weight_recency", -1),
        ("recall.weight_recency", "1e3"),
        ("recall.weight_recency", "."),
        ("recall.weight_recency", float("nan")),
        ("recall.weight_recency", 1001),
        ("recall.weight_recency", True),
        ("retrieval.min_score", -1.5),
        ("cold_summary.enabled", "maybe"),
        ("cold_summary.enabled", 2),
        ("tiers.single", "tepid"),
        ("window.budget", -1),
        ("window.budget", "-1"),
        ("window.budget", "1_000"),
        ("window.budget", "٣"),
        ("window.budget", True),
        ("window.budget", 1.5),
        ("window.budget", ""),
        ("window.budget", "9" * 17),
        ("window.budget", [1]),
        ("lock.timeout_s", "-5"),
        ("lock.timeout_s", -0.1),
        ("lock.timeout_s", "5 fortnights"),
        ("lock.timeout_s", "h"),
        ("lock.timeout_s", "1.2.3"),
        ("lock.timeout_s", "."),
        ("lock.timeout_s", "nan"),
        ("lock.timeout_s", float("nan")),
        ("lock.timeout_s", float("inf")),
        ("lock.timeout_s", False),
        ("durability", "maybe"),
        ("durability", 1),
        ("conversations.dir", "a\0b"),
    ],
)
def test_bad_values(name: str, given: object) -> None:
    """A negative value or one of the wrong kind is refused with its name and where it came from."""
    with pytest.raises(BadConfig) as caught:
        Settings.from_mapping({name: given}, "FILE")
    assert str(caught.value).startswith(f"FILE: {name} = ")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("window.bugdet", "window.budget"),
        ("budget", "window.budget"),
        ("Durability", "durability"),
        ("lock.timeout", "lock.timeout_s"),
    ],
)
def test_unknown_name(name: str, nearest: str) -> None:
    """An unknown name is refused and the nearest one is named."""
    with pytest.raises(BadConfig) as caught:
        Settings.from_mapping({name: 1}, "FILE")
    assert (f"FILE: no setting {name!r}", f"the nearest is {nearest}") == (
        str(caught.value),
        caught.value.hint,
    )


def test_unknown_name_far_from_all() -> None:
    """A name like no other gets no guess."""
    with pytest.raises(BadConfig) as caught:
        Settings.from_mapping({"zzz": 1})
    assert "nearest" not in caught.value.hint


def test_flag_is_usage() -> None:
    """What is wrong with a flag is a usage error that names the flag."""
    with pytest.raises(UsageError, match=r"^--lock-timeout '-5': "):
        Settings().with_values({"lock.timeout_s": "-5"}, "flag --lock-timeout")


def test_immutable_layers() -> None:
    """`with_values` leaves its source alone, later values win, and each keeps its origin."""
    first = Settings.from_mapping({"window.budget": 1, "compat": "go"}, "one")
    second = first.with_values({"window.budget": 2}, "two")
    assert (1, "one") == (first["window.budget"], first.origin("window.budget"))
    assert (2, "two") == (second["window.budget"], second.origin("window.budget"))
    assert "one" == second.origin("compat")
    with pytest.raises(TypeError):
        second["compat"] = "none"  # type: ignore[index]


def test_unknown_key_errors() -> None:
    """Asking for a setting that is not there is a KeyError, not a default."""
    for ask in (Settings().__getitem__, Settings().origin):
        with pytest.raises(KeyError):
            ask("nothing")
