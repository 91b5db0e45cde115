"""The window against the oracle: generated logs, every budget that could matter, every counter."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl.api import Store
from memctl.store.weighing import weigher

from . import logs, oracle

SEEDS = range(360)
#: Tokenizers differ in weights only: a quarter of the logs will do for them; with MEMCTL_TEST_SOAK=1 all.
TOKENIZED_EVERY = 1 if os.environ.get("MEMCTL_TEST_SOAK") else 4
Weigh = Callable[[list[dict[str, Any]]], int]


def weigh_for(counter: str, cache: Path) -> Weigh:
    """The tokens of a list of messages; `bytes4` is worked out here, from the reference's page."""
    if counter == "bytes4":
        return lambda messages: _quarter(sum(map(_reference_bytes, messages)))
    known: dict[str, int] = {}
    weigh = weigher(counter, str(cache))

    def tokens(messages: list[dict[str, Any]]) -> int:
        keys = [json.dumps(message) for message in messages]
        for key, message in zip(keys, messages, strict=True):
            if key not in known:
                known[key] = weigh([message])[0]
        return sum(known[key] for key in keys)

    return tokens


def _quarter(size_bytes: int) -> int:
    return size_bytes // 4 or int(size_bytes > 0)


def _reference_bytes(message: dict[str, Any]) -> int:
    content = message.get("content") or ""
    texts = (
        [content]
        if isinstance(content, str)
        else [part.get("text", "") for part in content if "text" in part]
    )
    texts += [call["function"].get("arguments", "") for call in message.get("tool_calls") or []]
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def budgets(lines: list[bytes], weigh: Weigh, seed: int) -> list[int]:
    """No limit, tiny ones, and around what suffixes of the log weigh."""
    messages = [m for m, _ in map(oracle.read, lines) if m is not None]
    weights = {weigh(messages[at:]) for at in range(len(messages))} or {0}
    near = [weight + off for weight in weights for off in (-1, 0, 1)]
    chosen = random.Random(seed).sample(near, min(len(near), 14))
    return sorted({0, 1, 7, *(budget for budget in chosen if budget > 0)})


def options(seed: int) -> dict[str, Any]:
    """Most requests are plain ones; the rest mix everything."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        return {}
    return {
        "pending": rng.choice((None, None, "and now?", "")),
        "reserve": rng.choice((0, 0, 5, 40)),
        "keep_open": rng.random() < 0.4,
        "no_incomplete": rng.random() < 0.4,
    }


def store_log(store: Store, lines: list[bytes], name: str) -> Path:
    """The lines as the conversation `u/NAME`."""
    directory = Path(store.root) / "conversations" / "u"
    directory.mkdir(parents=True, exist_ok=True)
    (Path(store.root) / ".memctl").mkdir(exist_ok=True)
    path = directory / f"{name}.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def check(
    store: Store,
    name: str,
    lines: list[bytes],
    budget: int,
    counter: str,
    weigh: Weigh,
    given: dict[str, Any],
) -> None:
    """memctl's window is the oracle's: the same lines, numbers, and lines named."""
    expected = oracle.window(lines, budget, weigh, logs.fingerprint, **given)
    window = store.conversation("u", name).window(budget, counter=counter, **given)
    places = [number for number, line in enumerate(lines) if oracle.read(line)[0] is not None]
    where = f"budget {budget} {counter} {given}"
    anchor = [] if expected["anchor"] is None else [expected["anchor"]]
    rest = sorted({*anchor, *expected["rest"]})
    found = [] if window.anchor is None else [places[window.anchor]]
    bodies = list(window.lines)
    if given.get("pending") is not None:
        assert {"role": "user", "content": given["pending"]} == json.loads(bodies.pop()), where
    if expected["summary_gives_way"]:
        assert window.summary_shortened, where
        if window.summary is not None:
            shortened = bodies.pop(len(expected["head"]))
            assert (
                len(json.loads(shortened)["content"])
                < len(json.loads(lines[expected["summary"]])["content"]) + 4
            )
        printed = [*expected["head"], *rest]
    else:
        assert not window.summary_shortened, where
        summary = [] if expected["summary"] is None else [expected["summary"]]
        printed = [*expected["head"], *summary, *rest]
    assert [lines[number] for number in printed] == bodies, where
    assert expected["over"] == window.over_budget, where
    assert found == anchor or set(found) <= set(rest), where
    assert [(number + 1, code) for number, code in expected["left_out"]] == list(
        map(tuple, window.left_out)
    ), where
    assert expected["covered"] == window.covered, where
    assert expected["cut"] == window.cut, where
    effective = budget - given.get("reserve", 0)
    assert window.tokens == weigh([json.loads(line) for line in window.lines]), where
    assert budget == 0 or window.over_budget == (window.tokens > effective), where


@pytest.mark.parametrize("counter", ["bytes4", "o200k_base", "cl100k_base"])
@pytest.mark.parametrize("part", range(6))
def test_it_is_the_largest_valid_window(counter: str, part: int, tmp_path: Path) -> None:
    """For every budget the window is the one that brute force finds, and every number with it is right."""
    store = Store(tmp_path / "store")
    weigh = weigh_for(counter, tmp_path)
    for seed in SEEDS[part :: 6 * (1 if counter == "bytes4" else TOKENIZED_EVERY)]:
        lines = logs.make(seed).lines
        store_log(store, lines, f"c{seed}")
        for budget in budgets(lines, weigh, seed):
            check(store, f"c{seed}", lines, budget, counter, weigh, options(seed * 1000 + budget))


@pytest.mark.parametrize("part", range(4))
def test_covers_survive_changes_behind_our_back(part: int, tmp_path: Path) -> None:
    """With lines deleted, inserted or changed, boundaries are the contract's, with caches or without."""
    store = Store(tmp_path / "store")
    weigh = weigh_for("bytes4", tmp_path)
    for seed in SEEDS[part::4]:
        lines = logs.make(seed).lines
        path = store_log(store, lines, f"d{seed}")
        check(store, f"d{seed}", lines, 0, "bytes4", weigh, {})
        damaged = logs.damage(lines, seed)
        path.write_bytes(b"".join(line + b"\n" for line in damaged))
        for budget in budgets(damaged, weigh, seed)[:6]:
            check(store, f"d{seed}", damaged, budget, "bytes4", weigh, {})


def test_growing_logs_give_the_same_windows(tmp_path: Path) -> None:
    """A log that grows line by line, its caches extended each time, gives what a fresh look gives."""
    store = Store(tmp_path / "store")
    weigh = weigh_for("bytes4", tmp_path)
    for seed in SEEDS[:60]:
        lines = logs.make(seed).lines
        rng = random.Random(seed)
        for end in range(1, len(lines) + 1):
            if rng.random() < 0.4 and end < len(lines):
                continue
            store_log(store, lines[:end], f"g{seed}")
            budget = rng.choice((0, 3, 20, 60, 200))
            check(store, f"g{seed}", lines[:end], budget, "bytes4", weigh, options(seed + end))
