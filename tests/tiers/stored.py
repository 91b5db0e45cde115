"""Records in tier files as a test needs them, and what is in a store afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from memctl import Store
from memctl.core import times
from memctl.core.tier import TIERS

#: The present of these tests: 2026-03-01T09:00:00Z.
NOW_US = 1_772_355_600_000_000
USER = "alice"
MINUTE, HOUR, DAY = 60, 3600, 86_400
UNSET = "0001-01-01T00:00:00Z"


def ago(seconds: float) -> str:
    """The time so many seconds before the present, as it is stored."""
    return times.text_us(NOW_US - int(seconds * 1_000_000))


def value(id: str, tier: str = "hot", age: float = 0, **more: Any) -> dict[str, Any]:
    """A record that was accessed last so many seconds ago."""
    given = {"id": id, "content": f"text of {id}", "tier": tier, "access_count": 0, "importance": 0.5}
    given |= {"created_at": ago(age), "last_access_at": ago(age), "promoted_at": UNSET, "rev": 1}
    return {**given, **more}


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def put(root: Path, *given: dict[str, Any] | bytes, tier: str = "", user: str = USER) -> None:
    """Append records to the files of their tiers; bytes are lines of `tier`."""
    for record in given:
        data, place = (record, tier) if isinstance(record, bytes) else (line(record), record["tier"])
        path = root / "tiers" / place / f"{user}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        with path.open("ab") as file:
            file.write(data)


def file(root: Path, tier: str, user: str = USER) -> bytes:
    """The bytes of a tier file, none without one."""
    path = root / "tiers" / tier / f"{user}.jsonl"
    return path.read_bytes() if path.exists() else b""


def stored(root: Path, tier: str, user: str = USER) -> list[dict[str, Any]]:
    """The lines of a tier file; each of them has to be JSON."""
    return [json.loads(line) for line in file(root, tier, user).splitlines()]


def places(root: Path, user: str = USER) -> dict[str, list[str]]:
    """The ids of the lines in each tier file and the archive, in order; empty files are left out."""
    files = {tier: file(root, tier, user) for tier in TIERS}
    archive = root / "archive" / f"{user}.jsonl"
    files["archive"] = archive.read_bytes() if archive.exists() else b""
    found = {place: sorted(filter(None, map(id_of, data.splitlines()))) for place, data in files.items()}
    return {place: ids for place, ids in found.items() if ids}


def id_of(data: bytes) -> str:
    """The id of a line, "" for one that is no record."""
    try:
        id = json.loads(data).get("id")
    except (ValueError, AttributeError):
        return ""
    return id if isinstance(id, str) else ""


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and directory below a store: mode, time of modification, bytes."""
    found = {}
    for base, directories, names in os.walk(root):
        for name in (*directories, *names):
            path = Path(base, name)
            status = path.stat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, data)
    return found


def store(root: Path, now_us: int = NOW_US, **settings: Any) -> Store:
    """The store at the present of these tests; `policy__hot_ttl=0` for `policy.hot_ttl`."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return Store(root, now_us=now_us, settings={"durability": "none", **given})
