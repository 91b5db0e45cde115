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
    `7d`), `number` (a decimal within `bounds`), `switch` (0 or 1, written on or off), `choice` (one of
    `choices`), `path` (text, empty for the place inside ROOT) or `text`.
    """

    name: str
    kind: str
    default: int | float | str
    help: str
    choices: tuple[str, ...] = ()
    #: The least and the most of a `number`.
    bounds: tuple[int, int] = (0, 1000)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "MEMCTL_" + self.name.upper().replace(".", "_")

    def written(self, value: float | str) -> str:
        """A value as a person writes it: `24h`, `on`; parse reads it back."""
        if self.kind == "switch":
            return "on" if value else "off"
        if self.kind != "duration" or isinstance(value, str) or value == 0 or value % 1:
            return str(value)
        # Two of the smaller unit are read more easily than one of the larger: 24h.
        unit = next(unit for unit in ("d", "h", "m", "s") if unit == "s" or _is_whole(value, unit))
        return f"{value // _SECONDS_PER_UNIT[unit]:.0f}{unit}"

    def parse(self, value: object) -> int | float | str:
        """The value in the setting's own type; raises ValueError with what is expected instead."""
        if self.kind == "int":
            return _count(value)
        if self.kind == "duration":
            return _seconds(value)
        if self.kind == "number":
            return _number(value, *self.bounds)
        if self.kind == "switch":
            return _switch(value)
        if not isinstance(value, str):
            raise ValueError("expected text in quotes")
        if self.kind == "choice" and value not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}")
        if "\0" in value:
            raise ValueError("no NUL can stand here")
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
    Setting("tiers.hot", "path", "", "directory of the hot tier; empty is ROOT/tiers/hot"),
    Setting("tiers.warm", "path", "", "directory of the warm tier; empty is ROOT/tiers/warm"),
    Setting("tiers.cold", "path", "", "directory of the cold tier; empty is ROOT/tiers/cold"),
    Setting(
        "tiers.single",
        "choice",
        "",
        "the one tier of all records, with preset single",
        ("", "hot", "warm", "cold"),
    ),
    Setting(
        "policy.preset",
        "choice",
        "default",
        "values of policy.* that are not set: single moves nothing, session holds 20, 100 and 1,000 records",
        ("default", "single", "session"),
    ),
    Setting("policy.hot_capacity", "int", 50, "records in hot; 0 is any number"),
    Setting("policy.warm_capacity", "int", 500, "records in warm; 0 is any number"),
    Setting("policy.cold_capacity", "int", 5000, "records in cold; 0 is any number"),
    Setting("policy.hot_ttl", "duration", 86_400, "time without access after which a record leaves hot"),
    Setting(
        "policy.warm_ttl", "duration", 30 * 86_400, "time without access after which a record leaves warm"
    ),
    Setting(
        "policy.cold_ttl", "duration", 0, "time without access after which a record leaves cold; 0 is never"
    ),
    Setting(
        "policy.demote_idle", "duration", 7 * 86_400, "time without access that is idle: a record leaves warm"
    ),
    Setting(
        "policy.promote_access",
        "int",
        3,
        "accesses that lift a record from warm, and twice as many from cold",
    ),
    Setting("policy.evict", "choice", "archive", "where records go that leave cold", ("archive", "delete")),
    Setting("recall.limit", "int", 20, "records that recall prints at most"),
    Setting("recall.ranker", "choice", "fused", "how recall ranks", ("fused", "overlap", "recent")),
    Setting("recall.weight_semantic", "number", 0.8, "weight of relevance; 0.5 by default with overlap"),
    Setting("recall.weight_recency", "number", 0.1, "weight of recency; 0.3 by default with overlap"),
    Setting("recall.weight_importance", "number", 0.1, "weight of importance; 0.2 by default with overlap"),
    Setting(
        "retrieval.mode",
        "choice",
        "lexical",
        "what finds records and messages: their words, vectors, or both",
        ("lexical", "semantic", "both"),
    ),
    Setting("retrieval.embedder", "text", "", "what makes vectors: hash, or cmd:COMMAND"),
    Setting(
        "retrieval.min_score",
        "number",
        0,
        "the least cosine that counts as found, -1 to 1",
        bounds=(-1, 1),
    ),
    Setting("retrieval.timeout", "duration", 60, "how long an embedder command may take for 256 texts"),
    Setting("cold_summary.enabled", "switch", 0, "whether large records that enter cold get a summary"),
    Setting("cold_summary.min_bytes", "int", 4096, "bytes from which a record gets one"),
    Setting("cold_summary.max_chars", "int", 512, "characters of a summary"),
    Setting("cold_summary.timeout", "duration", 60, "time limit of a command that writes one"),
    Setting("cold_summary.summarizer", "text", "", "what writes it: empty for the beginning, or cmd:COMMAND"),
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


def _is_whole(seconds: float, unit: str) -> bool:
    return seconds % _SECONDS_PER_UNIT[unit] == 0 and seconds > _SECONDS_PER_UNIT[unit]


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


def _number(value: object, least: int, most: int) -> int | float:
    """A decimal number."""
    expected = f"expected a number from {least} to {most:,}"
    if isinstance(value, str):
        text = value.strip()
        plain = text.removeprefix("-").replace(".", "", 1)
        if not (plain.isascii() and plain.isdigit() and len(text) <= 20):
            raise ValueError(expected)
        value = float(text)
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(expected)
    return int(value) if value == int(value) else value


def _switch(value: object) -> int:
    """1 for on, 0 for off; true and false, 1 and 0 too."""
    known = {"on": 1, "true": 1, "1": 1, "off": 0, "false": 0, "0": 0}
    text = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    if text not in known:
        raise ValueError("expected on or off")
    return known[text]


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
