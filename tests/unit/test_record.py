"""Record: a line read, made, and changed without touching the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import record
from memctl.core.record import KEYS, Record, checked, line, members, newer, read, with_texts, with_values
from memctl.errors import BadInput

LINE = (
    b'{"id":"x","content":"old","importance":0.50,"big":123456789012345678901234567890,"tier":"warm","rev":3}'
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def of(raw: bytes, tier: str = "hot") -> Record:
    """The record of a line that is one."""
    found = read(raw, tier)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rev": 4}, LINE.replace(b'"rev":3', b'"rev":4')),
        ({"content": 'a"b'}, LINE.replace(b'"old"', b'"a\\"b"')),
        ({"tier": "hot", "rev": 4}, LINE.replace(b'"warm"', b'"hot"').replace(b'"rev":3', b'"rev":4')),
        ({"pinned": True}, LINE[:-1] + b',"pinned":true}'),
        ({"score": 0.5, "pinned": True}, LINE[:-1] + b',"pinned":true,"score":0.5}'),
        ({}, LINE),
    ],
)
def test_values_are_spliced_in(changes: dict[str, Any], expected: bytes) -> None:
    """Other values take their place; what is new comes last; every other byte stays."""
    assert expected == with_values(LINE, changes)


@given(st.dictionaries(st.text(), values, max_size=6), st.dictionaries(st.text(), values, max_size=4))
def test_a_change_is_what_a_dictionary_would_become(value: dict[str, Any], changes: dict[str, Any]) -> None:
    """Whatever the keys and values, the line with changes has exactly these changes."""
    try:
        raw = json.dumps(value, ensure_ascii=False).encode()
        json.dumps(changes, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raw = json.dumps(value).encode()
    assert {**value, **changes} == json.loads(with_values(raw, changes))


def test_of_a_key_that_comes_twice_the_last_value_changes() -> None:
    """The value that parsers take is the one that is changed."""
    assert b'{"rev":1,"rev":9}' == with_values(b'{"rev":1,"rev":2}', {"rev": 9})


def test_keys_are_compared_after_their_escapes() -> None:
    """A key that is not ASCII, or is written with escapes, is changed in its place."""
    raw = '{"é":1,"\\u00fc":2,"id":"ß"}'.encode()
    assert '{"é":3,"\\u00fc":4,"id":"ß"}'.encode() == with_values(raw, {"é": 3, "ü": 4})


def test_members_are_the_json_of_a_line() -> None:
    """Each value comes as it stands in the line, digits and escapes untouched, and goes back the same."""
    raw = b'{ "a" : 1e999 , "b":"\\u00e9" ,"c":[1, 2],"a":0.10}'
    assert {"a": "0.10", "b": '"\\u00e9"', "c": "[1, 2]"} == members(raw)
    assert raw == with_texts(raw, members(raw))
    assert b'{"id":"x","zzz":1e999}' == with_texts(b'{"id":"x"}', {"zzz": "1e999"})


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"7", b'"x"', b'{"id":7}', b'{"id":""}', b'{"content":"x"}', b'{"id":"x"', b"\xff"]
)
def test_what_is_no_record(raw: bytes) -> None:
    """An object without an id, and all that is no object, is none."""
    assert read(raw, "hot") is None


def test_fields_of_odd_kinds() -> None:
    """A field of another kind than expected reads as unset, never as an error."""
    odd = of(
        b'{"id":"x","content":[1],"metadata":[],"categories":"a","importance":"high","pinned":1,"rev":-1,'
        b'"access_count":1.5,"conversation":{}}'
    )
    assert ("[1]", {}, [], 0.5, False, 0, 0, None) == (
        odd.content,
        odd.metadata,
        odd.categories,
        odd.importance,
        odd.pinned,
        odd.rev,
        odd.access_count,
        odd.conversation,
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, "hot"), (2, "cold"), 1),
        ((2, "cold"), (1, "hot"), 0),
        ((2, "cold"), (2, "hot"), 1),
        ((2, "hot"), (2, "cold"), 0),
        ((2, "hot"), (2, "hot"), 1),
    ],
)
def test_the_newer_of_two(one: tuple[int, str], other: tuple[int, str], expected: int) -> None:
    """The higher revision; of equal ones the hotter; in one file the later line."""
    both = [of(b'{"id":"x","rev":%d}' % rev, tier) for rev, tier in (one, other)]
    assert both[expected] is newer(*both)


def test_a_new_line_has_its_keys_in_order() -> None:
    """The reference's order, then ours, then what we do not know; what is empty is left out."""
    value = {
        "zzz": 1,
        "rev": 1,
        "content": "<b>",
        "id": "x",
        "categories": [],
        "metadata": {},
        "pinned": False,
    }
    assert b'{"id":"x","content":"\\u003cb\\u003e","rev":1,"zzz":1}' == line(value)
    assert KEYS[:2] == ("id", "content")


@pytest.mark.parametrize(
    "value",
    [
        {"id": " "},
        {"id": 7},
        {"content": None, "importance": 1.1},
        {"importance": -0.1},
        {"importance": True},
        {"importance": "0.5"},
        {"tier": "tepid"},
        {"categories": "a"},
        {"categories": [1]},
        {"metadata": {"a": 1}},
        {"metadata": []},
        {"pinned": 1},
        {"created_at": True},
        {"scope": 1},
        {"conversation": []},
    ],
)
def test_fields_of_a_caller_are_checked(value: dict[str, Any]) -> None:
    """A field of the wrong kind or beyond its range is refused."""
    with pytest.raises(BadInput):
        checked(value)


def test_searchable_text() -> None:
    """The searchable text stands for the content where there is one."""
    assert "b" == of(b'{"id":"x","content":"a","metadata":{"searchable":"b"}}').searchable
    assert "a" == of(b'{"id":"x","content":"a","metadata":{"searchable":""}}').searchable
    assert record.IMPORTANCE == of(b'{"id":"x","importance":0}').importance


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id":"x","tier":"hot","rev":1,"importance":0.5}',
        b'{"id":"x","content":"\xc3\xa9 \\" \\u003c","rev":7}',
        b'{"id":"x","n":123456789012345678901234567890}',
        b'{"id":"x","n":1.50,"m":1e2}',
        b'{ "id": "x", "tier" : "cold" }',
        b'{"id":"x","tier":"hot","tier":"cold","metadata":{"tier":"hot","rev":3}}',
        b'{"id":"x","c":"\\ud800"}',
        b'{"rev":1,"id":"x","a":[],"o":{},"t":true,"z":null}',
    ],
)
def test_changed_is_with_values(raw: bytes) -> None:
    """The way for many records gives the bytes of the way for any, whatever form the line has."""
    changes: dict[str, str | int] = {"rev": 8, "archived_at": "2026", "tier": "warm", "promoted_at": "now"}
    found = read(raw, "hot")
    assert found is not None
    assert with_values(raw, changes) == record.changed(found, changes)
