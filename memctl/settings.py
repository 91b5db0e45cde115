"""Every knob of memctl: one table, and an immutable set of values with their origins.

From the table come the `MEMCTL_*` variables, `memctl config`, the keys of `memctl.toml` and the manual.
Nothing here reads the environment or the disk: a program gives values with `Settings.from_mapping`, the
command line collects them in `memctl.cli.config`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memctl.errors import BadConfig, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

#: An origin that begins with this names an option: what is wrong with it is a usage error.
FLAG = "flag "

_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: The largest accepted number: 2^53, beyond which a double no longer holds every integer.
_LARGEST = 9_007_199_254_740_992


class Setting(NamedTuple):
    """One knob.

    `kind` is `int` (a count, not negative), `duration` (seconds as a number, written `10`, `5m`, `24h`,
    `7d`), `choice` (one of `choices`) or `path` (text, empty for the place inside ROOT).
    """

    name: str
    kind: str
    default: int | float | str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "MEMCTL_" + self.name.upper().replace(".", "_")

    def parse(self, value: object) -> int | float | str:
        """The value in the setting's own type; raises ValueError with what is expected instead."""
        if self.kind == "int":
            return _count(value)
        if self.kind == "duration":
            return _seconds(value)
        if not isinstance(value, str):
            raise ValueError("expected text in quotes")
        if self.kind == "choice" and value not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}")
        if "\0" in value:
            raise ValueError("a path holds no NUL")
        return value


SETTINGS: tuple[Setting, ...] = (
    Setting("window.budget", "int", 0, "tokens that a window may hold; 0 is no limit"),
    Setting(
        "window.counter",
        "choice",
        "o200k_base",
        "how tokens are counted",
        ("o200k_base", "cl100k_base", "bytes4"),
    ),
    Setting("lock.timeout_s", "duration", 10, "how long a command waits for a lock, in seconds"),
    Setting("heal.settle_ms", "int", 200, "milliseconds a tail stands still before it is healed"),
    Setting("durability", "choice", "fsync", "what is done before a write counts as done", ("fsync", "none")),
    Setting("compat", "choice", "none", "go: refuse what the Go reader cannot read", ("none", "go")),
    Setting("conversations.dir", "path", "", "directory of the conversations; empty is ROOT/conversations"),
)

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}


class Settings:
    """A value and an origin for every setting; immutable.

    `settings["window.budget"]` is the value: an int for `int`, a number of seconds for `duration`, else
    text. Iteration gives the names in the order of the table.
    """

    __slots__ = ("_origins", "_values")

    def __init__(self) -> None:
        """The defaults."""
        self._values: dict[str, int | float | str] = {s.name: s.default for s in SETTINGS}
        self._origins: dict[str, str] = {}

    @classmethod
    def from_mapping(cls, values: Mapping[str, object], origin: str = "program") -> Settings:
        """The defaults with `values` over them; raises BadConfig as `with_values` does."""
        return cls().with_values(values, origin)

    def with_values(self, values: Mapping[str, object], origin: str) -> Settings:
        """A copy with `values` (dotted name to value, text is parsed) over these.

        Raises BadConfig, naming `origin` and the nearest valid name, for an unknown name, a negative value
        or a value of the wrong kind; UsageError instead when `origin` begins with `flag `.
        """
        copy = Settings()
        copy._values = dict(self._values)
        copy._origins = dict(self._origins)
        for name, value in values.items():
            setting = BY_NAME.get(name)
            if setting is None:
                raise _unknown(name, origin)
            try:
                copy._values[name] = setting.parse(value)
            except ValueError as error:
                if origin.startswith(FLAG):
                    raise UsageError(f"{origin.removeprefix(FLAG)} {_shown(value)}: {error}") from None
                raise BadConfig(
                    f"{origin}: {name} = {_shown(value)}: {error}", hint="memctl help settings"
                ) from None
            copy._origins[name] = origin
        return copy

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        """Equal values are equal settings, wherever they came from."""
        return isinstance(other, Settings) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.values()))

    def origin(self, name: str) -> str:
        """`default`, `flag --lock-timeout`, the name of a variable, or the path of a file."""
        if name not in self._values:
            raise KeyError(name)
        return self._origins.get(name, "default")


def _count(value: object) -> int:
    """A whole number that is not negative; `off` is 0."""
    if value == "off":
        return 0
    expected = "expected a whole number, 0 or more"
    if isinstance(value, str):
        text = value.strip()
        # int() also reads other scripts' digits and underscores, and is slow on thousands of digits.
        if not (text.isascii() and text.isdigit() and len(text) <= 16):
            raise ValueError(expected)
        value = int(text)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise ValueError(expected)
    return value


def _seconds(value: object) -> int | float:
    """Seconds: a number, or text such as `0.5`, `90s`, `5m`, `24h`, `7d`, `200ms`; `off` is 0."""
    if value == "off":
        return 0
    expected = "expected a duration such as 10, 5m, 24h or 7d"
    number: int | float
    if isinstance(value, str):
        digits = value.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = value.strip()[len(digits) :] or "s"
        whole, _, fraction = digits.partition(".")
        plain = (whole + fraction).isascii() and (whole + fraction).isdigit() and len(digits) <= 20
        if unit not in _SECONDS_PER_UNIT or not plain:
            raise ValueError(expected)
        number = float(digits) * _SECONDS_PER_UNIT[unit]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        raise ValueError(expected)
    if not 0 <= number <= _LARGEST:
        raise ValueError(expected)
    return int(number) if number == int(number) else number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unknown(name: str, origin: str) -> BadConfig:
    """The error for a name that is no setting, with the nearest one as hint."""
    import difflib

    lower = name.lower()
    near = difflib.get_close_matches(lower, BY_NAME, n=1, cutoff=0.6)
    if not near:
        last_parts = {known.rpartition(".")[2]: known for known in BY_NAME}
        near = [
            last_parts[part]
            for part in difflib.get_close_matches(lower.rpartition(".")[2], last_parts, n=1, cutoff=0.7)
        ]
    return BadConfig(
        f"{origin}: no setting {_shown(name)}",
        hint=f"the nearest is {near[0]}" if near else "memctl config lists the settings",
    )
