"""LoCoMo through memctl: each conversation is one user's history, recalled with each of its questions.

The data lies beside the checkout, not in it: its licence is not ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memctl import Store

_SHARED = Path(__file__).resolve().parents[3] / "shared"
DATA = _SHARED / "data" / "locomo"
_SCORE = _SHARED / "bench" / "recall"
#: Years behind the last message: recency says nothing.
NOW_US = 1_798_761_600_000_000
DEPTH = 50
TALK = "talk"


def is_there() -> bool:
    """Whether the data and its scorer lie beside the checkout."""
    return DATA.is_dir() and _SCORE.is_dir()


def scorer() -> Any:
    """The module that loads the data and scores lists of ids."""
    if str(_SCORE) not in sys.path:
        sys.path.insert(0, str(_SCORE))
    import evalcore  # type: ignore[import-not-found]

    return evalcore


def message(turn: dict[str, Any], first: str) -> bytes:
    """A turn as a line of JSON; the caption of its picture is a part of what was said."""
    caption = turn.get("image_caption")
    value = {
        "role": "user" if turn["speaker"] == first else "assistant",
        "content": f"{turn['text']}\n{caption}" if caption else turn["text"],
        "name": turn["speaker"],
        "extra": {"memctl": {"id": turn["id"], "created_at": turn["ts"]}},
    }
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def recalled(root: Path, *, every: int = 1) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Each question, or one of so many, with the ids of turns that memctl recalls, best first."""
    conversations, questions = scorer().load(DATA)
    for name, turns in conversations.items():
        store = Store(root, now_us=NOW_US)
        lines = b"".join(message(turn, turns[0]["speaker"]) for turn in turns)
        store.conversation(name, TALK).append_jsonl(lines, fsync=False)
        memory = store.memory(name)
        memory.remember_from(TALK)
        for question in questions[::every]:
            if question["conv"] == name:
                answer = memory.recall(question["question"], limit=DEPTH, touch=False)
                yield question, [one.record.id.removeprefix(f"{TALK}#") for one in answer.found]


def scores(answers: list[tuple[dict[str, Any], list[str]]]) -> dict[str, dict[str, float]]:
    """Means by category, and of `main` (categories 1 to 4) and `all`."""
    metrics = scorer().metrics
    rows = [(question["category"], metrics(ids, question["evidence"])) for question, ids in answers]
    summary: dict[str, dict[str, float]] = scorer().summarise(rows)
    return summary
