"""Flags > `MEMCTL_*` > `--config` or ROOT/memctl.toml > the user's file > defaults; the only door to tomllib.

A store may come from a stranger (an archive, a shared directory). From `ROOT/memctl.toml`, a value that
starts a program or leads out of ROOT counts only if ROOT and the file belong to the caller and nobody else
can write them; else it is refused, so opening a stranger's store runs nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.errors import BadConfig
from memctl.settings import BY_NAME, FLAG, SETTINGS, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FILE_NAME = "memctl.toml"
#: Variables of the program itself: they stand for global options, not for settings.
PROGRAM_VARIABLES = ("MEMCTL_ROOT", "MEMCTL_TENANT", "MEMCTL_CONFIG", "MEMCTL_RUN_ID", "MEMCTL_NOW")
#: A configuration file is read whole; a larger one is a mistake (1 MiB).
_MAX_FILE_BYTES = 1 << 20
#: 0001-01-01 and 9999-12-31T23:59:59.999999Z in microseconds since 1970: what RFC 3339 can write.
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999


def resolve_root(flag: str | None, environ: Mapping[str, str]) -> str:
    """The absolute path of the store, links resolved: `flag`, else MEMCTL_ROOT, else in XDG_DATA_HOME."""
    if flag == "":
        from memctl.errors import UsageError

        raise UsageError("--root is empty", hint="is the variable behind it set?")
    given = flag or environ.get("MEMCTL_ROOT")
    if given:
        return os.path.realpath(os.path.expanduser(given))
    return os.path.realpath(
        os.path.join(_xdg(environ, "XDG_DATA_HOME", os.path.join(".local", "share")), "memctl")
    )


def load(
    root: str,
    environ: Mapping[str, str],
    *,
    config_file: str | None = None,
    lock_timeout: str | None = None,
) -> Settings:
    """All settings of one call.

    `config_file` takes the place of ROOT/memctl.toml and is obeyed as it is: whoever names a file trusts it
    (unless it is ROOT/memctl.toml itself). Raises BadConfig, and UsageError for a bad flag.
    """
    user_file = os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "memctl", FILE_NAME)
    settings = Settings()
    settings = _with_file(settings, user_file, None)
    store_file = os.path.join(root, FILE_NAME)
    if config_file is None:
        settings = _with_file(settings, store_file, root)
    else:
        path = os.path.abspath(os.path.expanduser(config_file))
        if not os.path.exists(path):
            raise BadConfig(f"{path}: no such configuration file")
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        settings = _with_file(settings, path, root if place == store_file else None)
    for variable, name, value in _variables(environ):
        settings = settings.with_values({name: _placed(name, value, os.getcwd)}, variable)
    if lock_timeout is not None:
        settings = settings.with_values({"lock.timeout_s": lock_timeout}, FLAG + "--lock-timeout")
    return settings


def parse_time_us(text: str) -> int:
    """Microseconds since 1970 (UTC) for RFC 3339, Unix seconds, or milliseconds above 10^11.

    A time without zone is UTC. Raises ValueError.
    """
    from datetime import UTC, datetime, timedelta
    from decimal import Decimal, InvalidOperation

    text = text.strip()
    try:
        number = Decimal(text) if text.isascii() and "_" not in text else None
    except InvalidOperation:
        number = None
    if number is None:
        # RFC 3339 allows small letters for T and Z.
        time = datetime.fromisoformat(text.upper())
        if len(text) < len("2000-01-01T00:00"):
            raise ValueError("a date without a time")
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        result = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    else:
        if not number.is_finite() or number.adjusted() > 18:
            raise ValueError("out of range")
        result = int(number * (1_000 if abs(number) > 100_000_000_000 else 1_000_000))
    if not _FIRST_US <= result <= _LAST_US:
        raise ValueError("out of range")
    return result


def _xdg(environ: Mapping[str, str], variable: str, under_home: str) -> str:
    """An XDG base directory; the specification has a relative or empty value ignored."""
    given = environ.get(variable, "")
    return given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), under_home)


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(variable, setting, value) of each MEMCTL_* variable that is a setting; any other is refused."""
    names: dict[str, str] = {}
    for variable in sorted(environ):
        if not variable.startswith("MEMCTL_") or variable in PROGRAM_VARIABLES:
            continue
        names = names or {setting.variable: setting.name for setting in SETTINGS}
        if variable not in names:
            import difflib

            near = difflib.get_close_matches(variable, [*names, *PROGRAM_VARIABLES], n=1)
            raise BadConfig(
                f"{variable}: no such variable of memctl",
                hint=f"the nearest is {near[0]}" if near else "memctl config lists the settings",
            )
        # As for XDG variables, an empty one is one that is not set.
        if environ[variable]:
            yield variable, names[variable], environ[variable]


def _with_file(settings: Settings, path: str, store_root: str | None) -> Settings:
    """`settings` with the file over them, if there is one; `store_root` is set for the file of a store."""
    try:
        # O_NONBLOCK: opening a FIFO that someone put there must not wait.
        nofollow = os.O_NOFOLLOW if store_root is not None else 0
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | nofollow)
    except (FileNotFoundError, NotADirectoryError):
        return settings
    except OSError as error:
        if os.path.islink(path):
            raise BadConfig(
                f"{path}: a symbolic link is not followed", hint=f"put a file there, or --config {path}"
            ) from error
        raise
    try:
        data, mistrust = _read(descriptor, path, store_root)
    finally:
        os.close(descriptor)
    values = _flatten(_parse(data, path), path)
    if mistrust:
        _refuse_untrusted(values, path, store_root or "", mistrust)
    directory = os.path.dirname(path)
    return settings.with_values(
        {name: _placed(name, value, lambda: directory) for name, value in values.items()}, path
    )


def _read(descriptor: int, path: str, store_root: str | None) -> tuple[bytes, str]:
    """The file's bytes, and what stands against trusting it (empty: nothing)."""
    import stat

    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise BadConfig(f"{path}: not a regular file")
    if status.st_size > _MAX_FILE_BYTES:
        raise BadConfig(f"{path}: larger than {_MAX_FILE_BYTES} bytes")
    chunks = []
    while chunk := os.read(descriptor, _MAX_FILE_BYTES):
        chunks.append(chunk)
    mistrust = ""
    if store_root is not None:
        for place, owner, mode in (
            (path, status.st_uid, status.st_mode),
            (store_root, (root_status := os.stat(store_root)).st_uid, root_status.st_mode),
        ):
            if owner != os.geteuid():
                mistrust = mistrust or f"chown {os.geteuid()} {place}"
            elif mode & (stat.S_IWGRP | stat.S_IWOTH):
                mistrust = mistrust or f"chmod go-w {place}"
    return b"".join(chunks), mistrust


def _parse(data: bytes, path: str) -> dict[str, object]:
    """The tables of a TOML file; raises BadConfig with the line."""
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{path}:{line}: not UTF-8") from None
    except RecursionError:
        raise BadConfig(f"{path}:1: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        # The parser's message ends in "(at line 3, column 5)" or "(at end of document)".
        message, _, place = str(error).rpartition(" (at ")
        number = place.removeprefix("line ").partition(",")[0]
        line = int(number) if number.isdigit() else data.count(b"\n") + 1
        raise BadConfig(f"{path}:{line}: {message or error}") from None


def _flatten(table: dict[str, object], path: str) -> dict[str, object]:
    """Dotted names for nested tables: `[window] budget = 1` is `window.budget`."""
    flat: dict[str, object] = {}
    waiting: list[tuple[str, dict[str, object]]] = [("", table)]
    while waiting:
        prefix, inner = waiting.pop()
        for key, value in inner.items():
            name = prefix + key
            if isinstance(value, dict):
                waiting.append((name + ".", value))
            elif name in flat:
                # `"window.budget" = 1` beside `window.budget = 2`: neither is the one that was meant.
                raise BadConfig(f"{path}: {name} is given twice")
            else:
                flat[name] = value
    return flat


def _refuse_untrusted(values: dict[str, object], path: str, root: str, mistrust: str) -> None:
    """Raise BadConfig if a value would start a program or lead out of ROOT; unknown keys are no excuse."""
    for name, value in values.items():
        starts = any(text.lstrip().startswith("cmd:") for text in _texts(value))
        outside = (
            isinstance(value, str)
            and _is_path(name)
            and not _inside(_placed(name, value, lambda: root), root)
        )
        if starts or outside:
            what = "starts a program" if starts else "leads out of the store"
            raise BadConfig(
                f"{path}: {name} {what}, and the store is not only yours; it is not obeyed",
                hint=f"read the file, then {mistrust}, or remove the line",
            )


def _texts(value: object) -> Iterator[str]:
    """Every text inside a TOML value, keys included."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])


def _is_path(name: str) -> bool:
    setting = BY_NAME.get(name)
    return setting is not None and setting.kind == "path"


def _placed(name: str, value: object, directory: Callable[[], str]) -> object:
    """A path setting as an absolute path, seen from `directory`; every other value as it is."""
    if not _is_path(name) or not isinstance(value, str) or not value or "\0" in value:
        return value
    return os.path.realpath(os.path.join(directory(), os.path.expanduser(value)))


def _inside(path: object, root: str) -> bool:
    return path == "" or path == root or (isinstance(path, str) and path.startswith(root.rstrip("/") + "/"))
