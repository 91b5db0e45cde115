"""Keys that an object has twice: found in every spelling, and not looked for in vain in common forms."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from memctl.core import faults, keys

_TEXTS = (
    "",
    "a",
    "a:b",
    '":',
    '\\":',
    '\\\\":',
    '" :',
    '{"a":1}',
    "\\",
    '"',
    "ä",
    "\t:",
    '"\t:',
    "https://x",
)
_KEYS = ("role", "a", '"', "\\", 'x":', "ä", " ", ":")


def _value(rng: random.Random, depth: int) -> Any:
    """A value whose objects are lists of pairs, so that a key can be twice."""
    kind = rng.random()
    if depth and kind < 0.35:
        return [_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if depth and kind < 0.7:
        return _pairs(rng, depth - 1)
    return rng.choice((rng.choice(_TEXTS), 1, None))


def _pairs(rng: random.Random, depth: int) -> tuple[tuple[str, Any], ...]:
    return tuple((rng.choice(_KEYS), _value(rng, depth)) for _ in range(rng.randint(0, 3)))


def _written(rng: random.Random, value: Any) -> str:
    """The text of a value, with white space wherever JSON allows it."""
    if isinstance(value, list):
        return "[" + ",".join(_written(rng, below) for below in value) + "]"
    if isinstance(value, tuple):
        space = (rng.choice(("", "", " ", "\t", "\r ")) for _ in iter(int, 1))
        pairs = (f"{json.dumps(key)}{next(space)}:{next(space)}{_written(rng, v)}" for key, v in value)
        return "{" + ",".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)


def _twice(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_twice, value))
    if not isinstance(value, tuple):
        return False
    names = [key for key, _ in value]
    return len(set(names)) < len(names) or any(_twice(below) for _, below in value)


@pytest.mark.parametrize("first", range(0, 4000, 1000))
def test_a_key_that_is_there_twice_is_never_missed(first: int) -> None:
    """Whatever the white space and the texts hold, a line with one may repeat, and its key is named."""
    found = 0
    for seed in range(first, first + 1000):
        rng = random.Random(f"keys {seed}")
        value = (("role", "user"), ("content", rng.choice(_TEXTS)), ("x", _value(rng, 3)))
        line = _written(rng, value).encode()
        twice = _twice(value)
        found += twice
        assert twice == bool(keys.repeated(line)), line
        if twice:
            assert keys.may_repeat(line, json.loads(line)), line
            assert faults.sound(line) is None, line
    assert found > 100


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
def test_common_forms_are_not_looked_at_twice(separators: tuple[str, str]) -> None:
    """With and without spaces, with texts that look like keys: such a line is seen at a glance."""
    for text in ("", "a:b", 'say "x": y', '{"a":1,"b":"c"}', "https://x", "a :b"):
        message = {"role": "user", "content": text, "extra": {"memctl": {"id": "1", "created_at": "12:30"}}}
        line = json.dumps(message, separators=separators).encode()
        assert not keys.may_repeat(line, message)
        assert message == faults.sound(line)
