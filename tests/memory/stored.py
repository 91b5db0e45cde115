"""Records written into tier files as a test needs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: The present of these tests: 2026-03-01T00:00:00Z.
NOW_US = 1_772_323_200_000_000
NOW = "2026-03-01T00:00:00Z"


def line(id: str, content: str, **more: Any) -> bytes:
    """The line of a record, made now if nothing else is said, with its LF."""
    value = {
        "id": id,
        "content": content,
        "scope": "",
        "importance": 0.5,
        "created_at": NOW,
        "tier": "hot",
        "access_count": 0,
        "last_access_at": NOW,
        "promoted_at": "0001-01-01T00:00:00Z",
        "rev": 1,
    } | more
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def put(root: Path, *lines: bytes, tier: str = "hot", user: str = "alice") -> Path:
    """Append lines to a tier file of a user, in a store that memctl has written to."""
    (root / ".memctl").mkdir(parents=True, exist_ok=True, mode=0o700)
    directory = root / "tiers" / tier
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"{user}.jsonl"
    path.touch(mode=0o600)
    with open(path, "ab") as file:
        file.write(b"".join(lines))
    return path
