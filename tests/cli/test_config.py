"""Where settings come from, in which order, and what a stranger's store may not do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl.cli.config import load, parse_time_us, resolve_root
from memctl.errors import BadConfig
from tests.conftest import Memctl

NOBODY_UID = 65534


def shown(memctl: Memctl, *args: str, **more: Any) -> dict[str, tuple[object, str]]:
    """name -> (value, origin) of `memctl config --json`."""
    done = memctl(*args, "config", "--json", **more)
    assert (0, b"") == (done.returncode, done.stderr)
    return {row["name"]: (row["value"], row["origin"]) for row in json.loads(done.stdout)["settings"]}


@pytest.fixture
def store(root: Path) -> Path:
    """A store of the caller's own, with an empty `memctl.toml`."""
    root.mkdir(mode=0o700)
    (root / "memctl.toml").write_text("")
    (root / "memctl.toml").chmod(0o600)
    return root


def test_precedence(memctl: Memctl, store: Path, environment: dict[str, str]) -> None:
    """Flags win over variables, these over the store's file, that over the user's, that over defaults."""
    user_file = Path(environment["XDG_CONFIG_HOME"], "memctl", "memctl.toml")
    user_file.parent.mkdir(parents=True)
    user_file.write_text('durability = "none"\nwindow.budget = 1\nheal.settle_ms = 1\nlock.timeout_s = 1\n')
    (store / "memctl.toml").write_text("window.budget = 2\nheal.settle_ms = 2\nlock.timeout_s = 2\n")
    variables = {"MEMCTL_HEAL_SETTLE_MS": "3", "MEMCTL_LOCK_TIMEOUT_S": "3"}
    settings = shown(memctl, "--root", str(store), "--lock-timeout", "5m", env=variables)
    expected = {
        "compat": ("none", "default"),
        "durability": ("none", str(user_file)),
        "window.budget": (2, str(store / "memctl.toml")),
        "heal.settle_ms": (3, "MEMCTL_HEAL_SETTLE_MS"),
        "lock.timeout_s": (300, "flag --lock-timeout"),
    }
    assert expected == {name: settings[name] for name in expected}


def test_config_flag_replaces_the_store_file(memctl: Memctl, store: Path, tmp_path: Path) -> None:
    """`--config FILE` and MEMCTL_CONFIG stand in for ROOT/memctl.toml."""
    (store / "memctl.toml").write_text("window.budget = 2\n")
    other = tmp_path / "other.toml"
    other.write_text("[heal]\nsettle_ms = 7\n")
    for args, env in ((("--config", str(other)), {}), ((), {"MEMCTL_CONFIG": str(other)})):
        settings = shown(memctl, "--root", str(store), *args, env=env)
        assert ((7, str(other)), (0, "default")) == (settings["heal.settle_ms"], settings["window.budget"])


def test_missing_config_file(memctl: Memctl) -> None:
    """A file that was asked for and is not there is an error."""
    assert 78 == memctl("--config", "nowhere.toml", "config").returncode


def test_root(tmp_path: Path) -> None:
    """The store is the flag, else MEMCTL_ROOT, else in the XDG data directory, unless that is relative."""
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real = str(tmp_path / "real")
    home_root = os.path.realpath(os.path.expanduser("~/.local/share/memctl"))
    assert real == resolve_root(str(tmp_path / "link"), {"MEMCTL_ROOT": "/x"})
    assert real == resolve_root(None, {"MEMCTL_ROOT": real, "XDG_DATA_HOME": "/x"})
    assert str(tmp_path / "memctl") == resolve_root(None, {"XDG_DATA_HOME": str(tmp_path), "MEMCTL_ROOT": ""})
    assert home_root == resolve_root(None, {"XDG_DATA_HOME": "relative"}) == resolve_root(None, {})


def test_unknown_variable(memctl: Memctl) -> None:
    """A MEMCTL_ variable that is nothing of ours is refused, with the nearest name; help works beside it."""
    done = memctl("config", env={"MEMCTL_WINDOW_BUDGTE": "1"})
    assert 78 == done.returncode
    assert b"the nearest is MEMCTL_WINDOW_BUDGET" in done.stderr
    assert 0 == memctl("help", "names", env={"MEMCTL_WINDOW_BUDGTE": "1"}).returncode


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"window.budget = 1\nwindow.budget == 2\n", b":2: "),
        (b"a = 1\nb = '\xff'\n", b":2: not UTF-8"),
        (b"[window\n", b":1: "),
        (b"x = '''\n\n", b":3: "),
        (b"a = " + b"[" * 100_000, b":1: "),
    ],
)
def test_malformed_file(memctl: Memctl, store: Path, content: bytes, place: bytes) -> None:
    """A file that is no TOML is 78 with file and line."""
    (store / "memctl.toml").write_bytes(content)
    done = memctl("--root", str(store), "config")
    assert 78 == done.returncode
    assert os.fsencode(store / "memctl.toml") + place in done.stderr


def test_unknown_key(memctl: Memctl, store: Path) -> None:
    """A key that is no setting is 78 with the file and the nearest name."""
    (store / "memctl.toml").write_text("[window]\nbudgte = 1\n")
    done = memctl("--root", str(store), "config")
    assert 78 == done.returncode
    assert (
        b"memctl.toml: no setting 'window.budgte'\nmemctl: hint: the nearest is window.budget\n"
        in done.stderr
    )


def test_same_key_twice(store: Path) -> None:
    """A quoted dotted key beside a table is ambiguous and refused."""
    (store / "memctl.toml").write_text('"window.budget" = 1\n[window]\nbudget = 2\n')
    with pytest.raises(BadConfig, match="given twice"):
        load(str(store), {})


UNTRUSTED = [
    'summarizer = "cmd:touch pwned"',
    '[condense]\nsummarizer = "cmd:touch pwned"',
    'a = [1, ["x", "cmd:touch pwned"]]',
    'a = [{b = "cmd:touch pwned"}]',
    'a = " cmd:touch pwned"',
    'conversations.dir = "/etc"',
    'conversations.dir = "../elsewhere"',
]


@pytest.mark.parametrize("content", UNTRUSTED)
@pytest.mark.parametrize("loosened", ["file", "root"])
def test_untrusted_store(store: Path, content: str, loosened: str) -> None:
    """From a store that others can write, programs and paths out of it are refused, with what to do."""
    file = store / "memctl.toml"
    file.write_text(content)
    place = file if loosened == "file" else store
    place.chmod(place.stat().st_mode | 0o020)
    with pytest.raises(BadConfig) as caught:
        load(str(store), {})
    assert f"chmod go-w {place}" in caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("given_away", ["file", "root"])
def test_store_of_another_user(store: Path, given_away: str) -> None:
    """A store of another user is not trusted either, even by root."""
    (store / "memctl.toml").write_text(UNTRUSTED[0])
    place = store / "memctl.toml" if given_away == "file" else store
    os.chown(place, NOBODY_UID, NOBODY_UID)
    with pytest.raises(BadConfig) as caught:
        load(str(store), {})
    assert f"chown {os.geteuid()} {place}" in caught.value.hint


def test_harmless_values_of_an_untrusted_store(store: Path) -> None:
    """Numbers, and directories inside the store, are obeyed from any store."""
    (store / "memctl.toml").write_text('window.budget = 5\nconversations.dir = "talks"\n')
    (store / "memctl.toml").chmod(0o666)
    settings = load(str(store), {})
    assert (5, str(store / "talks")) == (settings["window.budget"], settings["conversations.dir"])


def test_link_out_of_an_untrusted_store(store: Path, tmp_path: Path) -> None:
    """A link inside the store does not make an outside directory an inside one."""
    (store / "talks").symlink_to(tmp_path)
    (store / "memctl.toml").write_text('conversations.dir = "talks"\n')
    (store / "memctl.toml").chmod(0o666)
    with pytest.raises(BadConfig, match="leads out of the store"):
        load(str(store), {})


def test_own_store_is_obeyed(store: Path, tmp_path: Path) -> None:
    """The caller's own file may name a directory elsewhere; a relative one is seen from the file."""
    (store / "memctl.toml").write_text('conversations.dir = "../elsewhere"\n')
    assert str(tmp_path / "elsewhere") == load(str(store), {})["conversations.dir"]


def test_named_file_that_is_the_store_file(store: Path) -> None:
    """Naming the store's own file with --config does not make it more trusted."""
    (store / "memctl.toml").write_text(UNTRUSTED[0])
    (store / "memctl.toml").chmod(0o666)
    with pytest.raises(BadConfig, match="starts a program"):
        load(str(store), {}, config_file=str(store / "memctl.toml"))


def test_symbolic_link(store: Path, tmp_path: Path) -> None:
    """ROOT/memctl.toml that is a link is refused, wherever it leads."""
    (store / "memctl.toml").unlink()
    (store / "memctl.toml").symlink_to(tmp_path / "nothing")
    with pytest.raises(BadConfig, match="symbolic link"):
        load(str(store), {})


def test_pipe_is_refused(store: Path) -> None:
    """A FIFO in the file's place is refused at once; nobody waits for a writer."""
    (store / "memctl.toml").unlink()
    os.mkfifo(store / "memctl.toml")
    with pytest.raises(BadConfig, match="not a regular file"):
        load(str(store), {})


def test_init(memctl: Memctl, root: Path) -> None:
    """`--init` writes a private file whose lines, uncommented, are the defaults; a second time is 73."""
    assert 0 == memctl("--root", str(root), "config", "--init").returncode
    file = root / "memctl.toml"
    assert 0o600 == file.stat().st_mode & 0o777
    before = shown(memctl, "--root", str(root))
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line.removeprefix("# ") for line in lines if " = " in line))
    after = shown(memctl, "--root", str(root))
    assert {name: value for name, (value, _) in before.items()} == {
        n: value for n, (value, _) in after.items()
    }
    assert {str(file)} == {origin for _, origin in after.values()}
    assert 73 == memctl("--root", str(root), "config", "--init").returncode


@pytest.mark.parametrize(
    ("text", "time_us"),
    [
        ("0", 0),
        ("1700000000", 1_700_000_000_000_000),
        ("1700000000.25", 1_700_000_000_250_000),
        ("1700000000123", 1_700_000_000_123_000),
        ("100000000000", 100_000_000_000_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01T02:00:00.000001+02:00", 1),
        ("1970-01-01 00:00:01z", 1_000_000),
        ("-1", -1_000_000),
    ],
)
def test_times(text: str, time_us: int) -> None:
    """Times are RFC 3339 (no zone is UTC), Unix seconds, or milliseconds above 10^11."""
    assert time_us == parse_time_us(text)


@pytest.mark.parametrize(
    "text", ["", "soon", "nan", "inf", "1e400", "2020-01-01", "2020-13-01T00:00:00Z", "1_000", "٣", "9" * 30]
)
def test_bad_times(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises((ValueError, OverflowError)):
        parse_time_us(text)


def test_bad_now(memctl: Memctl) -> None:
    """A bad `--now` is usage, a bad MEMCTL_NOW configuration."""
    assert [2, 2, 78] == [
        memctl("--now", "soon", "config").returncode,
        memctl("--now", "", "config").returncode,
        memctl("config", env={"MEMCTL_NOW": "soon"}).returncode,
    ]
