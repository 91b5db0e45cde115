"""A summary never comes to hide a message that it did not hide, whatever happened to the file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from memctl.core import turns
from memctl.store.sidecar import Index

from . import logs

SEEDS = range(600)


def hidden_and_seen(path: Path) -> tuple[list[bytes], list[bytes], list[int]]:
    """The lines of messages that the last summary covers, those that it does not, and all boundaries."""
    fd = os.open(path, os.O_RDONLY)
    try:
        index = Index(fd, None)
        frontier = index.last().frontier
        messages = [number for number in range(len(index)) if index.flags(number) & turns.MESSAGE]
        boundaries = [index[n].frontier for n in messages if index.flags(n) & turns.SUMMARY]
        hidden = [index.stored(number) for number in messages if number < frontier]
        return hidden, [index.stored(number) for number in messages if number >= frontier], boundaries
    finally:
        os.close(fd)


def numbered(lines: list[bytes]) -> list[bytes]:
    """The same log with a mark in each message, so that no two lines are equal; `covers` made to fit."""
    marked: list[bytes] = []
    messages: list[bytes] = []
    for number, line in enumerate(lines):
        try:
            value = json.loads(line)
            value["extra"] = {**(value.get("extra") or {}), "n": number}
            value["role"] + ""
        except (ValueError, TypeError, KeyError, AttributeError):
            marked.append(line)
            continue
        covers = value["extra"].get("memctl", {}).get("covers")
        if isinstance(covers, dict) and isinstance(covers.get("kept"), int):
            own = len(messages)
            boundary = max(0, own - covers["kept"])
            covers["kept"] = own - boundary
            covers["last"] = logs.fingerprint(b"\n".join(messages[max(0, boundary - 3) : boundary]))
            covers["next"] = logs.fingerprint(b"\n".join(messages[boundary : boundary + 3]))
        marked.append(json.dumps(value).encode())
        messages.append(marked[-1])
    return marked


def test_no_summary_hides_what_it_did_not_hide(tmp_path: Path) -> None:
    """After deletions, insertions and changes, every message that was seen and is still there is seen."""
    path = tmp_path / "log.jsonl"
    looked_at = with_summary = 0
    for seed in SEEDS:
        lines = numbered(logs.make(seed).lines)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        _, seen, boundaries = hidden_and_seen(path)
        if boundaries != sorted(boundaries):
            # Only a summary that reaches back behind an earlier one could be undone by losing it.
            continue
        for round_ in range(3):
            damaged = logs.damage(lines, seed * 3 + round_)
            path.write_bytes(b"".join(line + b"\n" for line in damaged))
            hidden, _, _ = hidden_and_seen(path)
            assert [] == [line for line in hidden if line in seen], (seed, round_)
            looked_at += 1
            with_summary += bool(boundaries) and damaged != lines
    assert with_summary > looked_at / 5
