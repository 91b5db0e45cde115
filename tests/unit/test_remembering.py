"""What may come in as a record, and the line that it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import record, remembering
from memctl.core.record import KEYS, Record
from memctl.core.remembering import Given, changed_line, new_line, of_line, read_input, typed
from memctl.errors import BadInput

NOW = "2026-03-04T09:00:00.000000Z"
UNSET = "0001-01-01T00:00:00Z"


def line_of(text: str) -> str:
    """The stored line of a line of input."""
    return new_line(of_line(text.encode()), "x", now=NOW).decode()


def test_the_minimal_line() -> None:
    """Keys and order are the reference's, with `rev` behind them."""
    expected = (
        f'{{"id":"x","content":"new","scope":"","importance":0.5,"created_at":"{NOW}","tier":"hot",'
        f'"access_count":0,"last_access_at":"{NOW}","promoted_at":"{UNSET}","rev":1}}'
    )
    assert expected == new_line(typed("new", {}), "x", now=NOW).decode()
    assert expected == line_of('{"content":"new"}')


def test_every_field_of_a_text() -> None:
    """Each field has its place; lists and objects of text, truth and numbers are JSON."""
    fields = {
        "tier": "warm",
        "importance": 0.25,
        "scope": "s<",
        "categories": ["a", 'b"'],
        "metadata": {"k": "ü", "n": "\n"},
        "pinned": True,
        "created_at": 1772355603,
    }
    line = new_line(typed("t", fields, provenance="p"), "x", now=NOW).decode()
    assert (
        '{"id":"x","content":"t","scope":"s\\u003c","categories":["a","b\\""],"importance":0.25,'
        '"created_at":"2026-03-01T09:00:03Z","metadata":{"provenance":"p","k":"ü","n":"\\n"},"tier":"warm",'
        f'"access_count":0,"last_access_at":"{NOW}","promoted_at":"{UNSET}","pinned":true,"rev":1}}'
    ) == line


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('"big":123456789012345678901234567890', '"big":123456789012345678901234567890'),
        ('"n":1.50e2', '"n":1.50e2'),
        ('"n":1e999', '"n":1e999'),
        ('"s":"\\ud800"', '"s":"\\ud800"'),
        ('"o":{"a":[1, 2],"b":null}', '"o":{"a":[1, 2],"b":null}'),
        ('"nothing":null', '"nothing":null'),
        ('"\\u00fc":{"x":1}', '"ü":{"x":1}'),
    ],
)
def test_what_we_do_not_know_survives(text: str, stored: str) -> None:
    """A value under an unknown key is stored with the digits and escapes that it came with."""
    assert line_of(f'{{ "content" : "x", {text} }}').endswith(f',"rev":1,{stored}}}')


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ('"2026-03-01T09:00:00Z"', "2026-03-01T09:00:00Z"),
        ('"2026-03-01T11:00:01.123456789+02:00"', "2026-03-01T11:00:01.123456789+02:00"),
        ('"2026-03-01T09:00:02"', "2026-03-01T09:00:02Z"),
        ('"2026-03-01 09:00:02Z"', "2026-03-01T09:00:02Z"),
        ("1772355603", "2026-03-01T09:00:03Z"),
        ("1772355604000", "2026-03-01T09:00:04Z"),
        ('"1772355605.5"', "2026-03-01T09:00:05.5Z"),
        (f'"{UNSET}"', NOW),
        ("null", NOW),
    ],
)
def test_times(given: str, stored: str) -> None:
    """A time in any readable form is stored as RFC 3339; one in that form keeps its bytes; unset is now."""
    assert stored == json.loads(line_of(f'{{"content":"x","created_at":{given}}}'))["created_at"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x", "not JSON"),
        ('{"content":"x"', "not JSON"),
        ('{"content":NaN}', "not JSON"),
        ("[]", "not an object"),
        ("7", "not an object"),
        ("{}", "content is missing"),
        ('{"content":null}', "content is missing"),
        ('{"content":7}', "content must be text"),
        ('{"content":["a"]}', "content must be text"),
        ('{"content":"x","importance":1.01}', "importance must be a number from 0 to 1"),
        ('{"content":"x","importance":-0.1}', "importance must be a number from 0 to 1"),
        ('{"content":"x","importance":1e400}', "importance must be a number from 0 to 1"),
        ('{"content":"x","importance":"1"}', "importance must be a number from 0 to 1"),
        ('{"content":"x","importance":true}', "importance must be a number from 0 to 1"),
        ('{"content":"x","tier":"lukewarm"}', "no tier lukewarm"),
        ('{"content":"x","tier":7}', "tier must be one of"),
        ('{"content":"x","id":7}', "id must be text"),
        ('{"content":"x","id":" "}', "cannot be blank"),
        ('{"content":"x","id":""}', "cannot be blank"),
        ('{"content":"x","categories":"a"}', "categories must be a list of text"),
        ('{"content":"x","categories":[1]}', "categories must be a list of text"),
        ('{"content":"x","metadata":{"a":1}}', "metadata must be an object of text, and 'a' in it"),
        ('{"content":"x","pinned":1}', "pinned must be true or false"),
        ('{"content":"x","created_at":"soon"}', "created_at must be a time"),
        ('{"content":"x","created_at":true}', "created_at must be a time"),
        ('{"content":"x","access_count":-1}', "access_count must be a whole number"),
        ('{"content":"x","access_count":1.5}', "access_count must be a whole number"),
        ('{"content":"x","access_count":true}', "access_count must be a whole number"),
        ('{"content":"x","conversation":7}', "conversation must be text"),
        ('{"content":' + "[" * 600 + "]" * 600 + "}", "cannot be read"),
    ],
)
def test_what_is_refused(line: str, reason: str) -> None:
    """What cannot be a record is refused with the reason, and with its line where it comes from input."""
    with pytest.raises(BadInput, match=reason):
        of_line(line.encode())
    with pytest.raises(BadInput, match=f"line 3 of the input: .*{reason}"):
        read_input(b'{"content":"good"}\n\n' + line.encode(), {})


def test_bytes_that_are_not_utf8_and_lines_that_are_too_long() -> None:
    """They are refused with their line; nothing is replaced or cut."""
    with pytest.raises(BadInput, match="line 1 of the input: byte 14 of the line is not UTF-8"):
        read_input(b'{"content":"a\xff"}', {})
    with pytest.raises(BadInput, match="is more than a line holds"):
        read_input(b'{"content":"%b"}' % (b"x" * (64 << 20)), {})


def test_input_is_lines() -> None:
    """A byte order mark, CR and blank lines count for nothing; numbers are those of the lines."""
    found = read_input(b'\xef\xbb\xbf{"content":"a"}\r\n\n  \r\n{"content":"b"}', {})
    assert [(1, "a"), (4, "b")] == [(one.number, one.fields["content"]) for one in found]


def test_options_stand_in_for_what_a_line_does_not_say() -> None:
    """A field of the line counts before that of the options, null is no field, provenance is added."""
    data = b'{"content":"a","tier":"cold","metadata":{"provenance":"own"}}\n{"content":"b","tier":null}'
    one, two = read_input(data, {"tier": "warm", "scope": "s", "importance": None}, "p")
    first, second = (json.loads(new_line(given, "x", now=NOW)) for given in (one, two))
    assert ("cold", "s", {"provenance": "own"}) == (first["tier"], first["scope"], first["metadata"])
    assert ("warm", "s", {"provenance": "p"}) == (second["tier"], second["scope"], second["metadata"])


def test_a_stored_record_can_be_given_back() -> None:
    """A line as it is stored gives the same line in another store, but for its `rev`."""
    line = (
        f'{{"id":"x","content":"c","scope":"s","importance":0.5,"created_at":"{NOW}","tier":"warm",'
        f'"access_count":4,"last_access_at":"{NOW}","promoted_at":"{NOW}","pinned":true,'
        '"tier_access_count":2,"conversation":"trip","rev":7,"mine":1.0}'
    )
    assert line.replace('"rev":7', '"rev":1') == line_of(line)


def test_a_line_of_the_archive_comes_back_as_a_record() -> None:
    """It leaves the archive's marks and its old tier behind, and enters hot, or the tier of --tier, now.

    Its accesses stay. With one mark of the two alone a line is somebody else's, and keeps it.
    """
    line = (
        '{"id":"x","content":"c","tier":"cold","access_count":4,"last_access_at":"2020-01-01T00:00:00Z",'
        f'"promoted_at":"{UNSET}","rev":7,"tier_access_count":2,"archived_at":"{NOW}"'
    )
    options: dict[str, str]
    for options, tier in (({}, "hot"), ({"tier": "warm"}, "warm")):
        (given,) = read_input(f'{line},"archived_for":"cold_ttl"}}'.encode(), options)
        found = json.loads(new_line(given, "x", now=NOW))
        assert (tier, NOW, 4) == (found["tier"], found["promoted_at"], found["access_count"])
        assert not {"archived_at", "archived_for", "tier_access_count"} & found.keys()
    assert NOW == json.loads(line_of(line + "}"))["archived_at"]


def stored(**fields: Any) -> Record:
    """A record as it is stored in hot."""
    line = new_line(typed("old", fields), "x", now=NOW)
    found = record.read(line, "hot")
    assert found is not None
    return found


def change(text: str, old: Record) -> dict[str, Any] | None:
    """What differs in the record after a line of input, by key."""
    done = changed_line(of_line(text.encode()), old, now="LATER", rev=2)
    if done is None:
        return None
    new = json.loads(done[0])
    return {key: value for key, value in new.items() if old.value.get(key) != value}


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ('{"content":"old"}', None),
        ('{"id":"x","tier":"hot"}', None),
        ('{"id":"x","scope":"","categories":[],"metadata":{},"pinned":false,"importance":0.5}', None),
        ('{"id":"x","access_count":0,"tier_access_count":0,"conversation":""}', None),
        ('{"id":"x","rev":99}', None),
        ('{"content":"new"}', {"content": "new", "rev": 2}),
        ('{"id":"x","importance":0}', {"importance": 0, "rev": 2}),
        ('{"id":"x","pinned":true}', {"pinned": True, "rev": 2}),
        ('{"id":"x","mine":[1,2.0]}', {"mine": [1, 2.0], "rev": 2}),
        (
            '{"id":"x","tier":"warm"}',
            {"tier": "warm", "promoted_at": "LATER", "tier_access_count": 0, "rev": 2},
        ),
        (
            f'{{"id":"x","tier":"cold","promoted_at":"{NOW}","tier_access_count":3}}',
            {"tier": "cold", "promoted_at": NOW, "tier_access_count": 3, "rev": 2},
        ),
    ],
)
def test_what_changes(given: str, changes: dict[str, Any] | None) -> None:
    """What is given and differs takes its place; where nothing differs there is no line at all."""
    assert changes == change(given, stored())


def test_numbers_that_no_double_holds_are_compared_digit_for_digit() -> None:
    """Two long integers that are one double are two values."""
    old = record.read(b'{"id":"x","tier":"hot","big":123456789012345678901234567890,"rev":1}', "hot")
    assert old is not None
    assert change('{"id":"x","big":123456789012345678901234567890}', old) is None
    done = changed_line(of_line(b'{"id":"x","big":123456789012345678901234567891}'), old, now=NOW, rev=2)
    assert (b'{"id":"x","tier":"hot","big":123456789012345678901234567891,"rev":2}', "hot") == done


def test_provenance_joins_the_metadata_and_metadata_replaces_it() -> None:
    """A provenance alone leaves the other metadata; metadata that is given takes the place of all of it."""
    old = stored(metadata={"a": "1", "provenance": "then"})

    def metadata(given: Given) -> Any:
        done = changed_line(given, old, now=NOW, rev=2)
        return None if done is None else json.loads(done[0])["metadata"]

    assert {"a": "1", "provenance": "now"} == metadata(typed("old", {}, provenance="now"))
    assert {"b": "2"} == metadata(typed("old", {"metadata": {"b": "2"}}))
    assert metadata(typed("old", {}, provenance="then")) is None


KNOWN = {
    "content": st.text(),
    "scope": st.text(),
    "categories": st.lists(st.text(), max_size=3),
    "importance": st.floats(0, 1),
    "metadata": st.dictionaries(st.text(), st.text(), max_size=3),
    "tier": st.sampled_from(("hot", "warm", "cold")),
    "pinned": st.booleans(),
    "access_count": st.integers(0, 99),
}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
UNKNOWN = st.dictionaries(
    st.text().filter(lambda key: key not in KEYS),
    st.recursive(
        st.none() | st.booleans() | st.integers() | FINITE | st.text(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)
RECORDS = st.builds(
    lambda known, unknown: {**unknown, **known}, st.fixed_dictionaries({}, optional=KNOWN), UNKNOWN
)


@given(RECORDS, RECORDS, st.booleans())
def test_an_update_is_what_a_dictionary_would_become(
    one: dict[str, Any], two: dict[str, Any], ascii: bool
) -> None:
    """Whatever is stored and given: what is given is there afterwards, all else as before, nothing twice."""
    first = {"content": "c", **one}
    line = new_line(of_line(json.dumps(first, ensure_ascii=True).encode()), "x", now=NOW)
    old = record.read(line, first.get("tier", "hot"))
    assert old is not None
    empty = ("categories", "metadata", "pinned", "tier_access_count")
    assert {key: value for key, value in first.items() if value or key not in empty}.items() <= json.loads(
        line
    ).items()
    text = json.dumps({"id": "x", **two}, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        text = json.dumps({"id": "x", **two}).encode()
    given = of_line(text)
    done = changed_line(given, old, now="LATER", rev=old.rev + 1)
    before = json.loads(line)
    moved = two.get("tier", old.tier) != old.tier
    expected = {**before, **two}
    if moved:
        expected |= {"promoted_at": "LATER", "tier_access_count": 0}
    after = before if done is None else json.loads(done[0])
    blank = {"categories": [], "metadata": {}, "pinned": False, "rev": None}
    assert {**blank, **expected, "rev": None} == {**blank, **after, "rev": None}
    assert (done is None) == (changed_line(given, old, now="LATER", rev=9) is None)
    if done is not None:
        assert (old.rev + 1, two.get("tier", old.tier)) == (after["rev"], done[1])
        new = record.read(done[0], done[1])
        assert new is not None
        assert changed_line(given, new, now="LATER", rev=9) is None


@pytest.mark.parametrize(
    ("role", "importance"),
    [
        ("user", 0.7),
        ("assistant", 0.6),
        ("tool", 0.4),
        ("system", 0.5),
        ("", 0.5),
        ("USER", 0.7),
        (" User ", 0.7),
        ("developer", 0.5),
    ],
)
def test_importance_by_role(role: str, importance: float) -> None:
    """The reference's table, case and white space aside."""
    assert importance == remembering.importance_of(role)


def test_metadata_pairs() -> None:
    """K=V, the value may hold more signs or nothing; of one key the last counts."""
    assert {"a": "1=2", "b": ""} == remembering.metadata_of(["a=0", "a=1=2", "b="])
    for pair in ("a", "=b", ""):
        with pytest.raises(BadInput, match="K=V"):
            remembering.metadata_of([pair])


def test_text_that_no_utf8_holds_is_refused() -> None:
    """A lone surrogate, as a wrong encoding of the terminal gives it, is never stored from a typed text."""
    for call in (
        lambda: typed("\udcff", {}),
        lambda: typed("x", {"scope": "\udcff"}),
        lambda: typed("x", {"categories": ["\udcff"]}),
        lambda: typed("x", {"metadata": {"k": "\udcff"}}),
        lambda: typed("x", {}, id="\udcff"),
        lambda: typed("x", {}, provenance="\udcff"),
    ):
        with pytest.raises(BadInput, match="not valid UTF-8"):
            call()
