"""What memctl adds to a message is put in between the given bytes, which all stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.core import splice
from memctl.core.message import accept

ID, TIME = "0123456789abcdef", "2026-03-04T09:12:31.123456Z"
OWN = f'"memctl":{{"id":"{ID}","created_at":"{TIME}"}}'


def spliced(line: str) -> str:
    return splice.with_identity(accept(line.encode("utf-8", "surrogatepass")), ID, TIME).decode()


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{{OWN}}}}}', '{"role":"user","content":"x"}', id="none"
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{{OWN}}}}}',
            '{"role":"user","content":"x","extra":{}}',
            id="empty",
        ),
        pytest.param(
            f'{{"extra":{{"a":1 ,{OWN}}},"role":"user","content":"x"}}',
            '{"extra":{"a":1 },"role":"user","content":"x"}',
            id="in front",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{{OWN}}}}}',
            '{"role":"user","content":"x","extra":null}',
            id="null",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{"memctl":{{"id":"mine","created_at":"{TIME}"}}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":{"id":"mine"}}}',
            id="own id",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{"memctl":{{"covers":1,"id":"{ID}","created_at":"{TIME}"}}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":{"covers":1}}}',
            id="covers",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{"memctl":{{"id":"{ID}","created_at":"t"}}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":{"id":null,"created_at":"t"}}}',
            id="null id",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{{OWN}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":null}}',
            id="null object",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{{OWN}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":{}}}',
            id="empty object",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{"a":1}},"extra":{{"b":2,{OWN}}}}}',
            '{"role":"user","content":"x","extra":{"a":1},"extra":{"b":2}}',
            id="extra twice: the last counts",
        ),
        pytest.param(
            '{"role":"user","content":"x","extra":{"memctl":{"id":"a"},"memctl":{"k":1,'
            f'"id":"{ID}","created_at":"{TIME}"}}}}}}',
            '{"role":"user","content":"x","extra":{"memctl":{"id":"a"},"memctl":{"k":1}}}',
            id="memctl twice",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","\\u0065xtra":{{"k":1,{OWN}}}}}',
            '{"role":"user","content":"x","\\u0065xtra":{"k":1}}',
            id="escaped key",
        ),
        pytest.param(
            f'{{"role":"user","content":"x","extra":{{"mem\\u0063tl":{{"k":1,"id":"{ID}","created_at":"{TIME}"}}}}}}',
            '{"role":"user","content":"x","extra":{"mem\\u0063tl":{"k":1}}}',
            id="escaped own key",
        ),
        pytest.param(
            '{"role":"user","content":"x","extra":{"memctl":"taken"}}',
            '{"role":"user","content":"x","extra":{"memctl":"taken"}}',
            id="memctl is something else",
        ),
        pytest.param(
            f'{{"role":"user","content":"{{\\"extra\\":{{}}}}","k":{{"extra":{{"memctl":{{}}}}}},"extra":{{{OWN}}}}}',
            '{"role":"user","content":"{\\"extra\\":{}}","k":{"extra":{"memctl":{}}}}',
            id="extra elsewhere",
        ),
    ],
)
def test_where_it_goes(expected: str, line: str) -> None:
    """It goes to the end of the object that counts; only a null gives way."""
    assert expected == spliced(line)


KEYS = st.sampled_from(["memctl", "a", "a", "é", "\\u006demctl", "extra", ""]) | st.text(max_size=4).map(
    lambda text: json.dumps(text)[1:-1]
)
BLANKS = st.sampled_from(["", " ", "\t ", "\r"])


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.lists(st.tuples(BLANKS, KEYS, BLANKS, values, BLANKS), max_size=3)
    return members.map(
        lambda items: (
            f"{{{','.join(f'{a}{chr(34)}{key}{chr(34)}{b}:{value}{c}' for a, key, b, value, c in items)}}}"
        )
    )


VALUES = st.recursive(
    st.one_of(
        st.sampled_from(["1.10", "1E5", "-0", "1e400", "123456789012345678901234567890", "true", "null"]),
        st.text(max_size=12).map(json.dumps),
        st.text(st.characters(exclude_categories=("Cs",)), max_size=12).map(
            lambda text: json.dumps(text, ensure_ascii=False)
        ),
        st.sampled_from([r'"\ud800"', r'"\/\u0041"', '"日本"', '"}{"']),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[ {' , '.join(items)}]") | objects(inner),
    max_leaves=8,
)
OWN_OBJECTS = st.sampled_from(
    ["null", "{}", "{ }", '{"id":"x"}', '{ "created_at" : "t" }', '{"k":[1,{"id":2}]}', '"text"', "5", "[]"]
)
EXTRAS = st.one_of(
    st.just("null"),
    objects(VALUES),
    OWN_OBJECTS.map(lambda own: f'{{"z":1, "memctl" : {own} }}'),
    st.tuples(OWN_OBJECTS, OWN_OBJECTS).map(lambda pair: f'{{"memctl":{pair[0]},"memctl":{pair[1]}}}'),
)


@given(
    st.permutations(["role", "content", "extra", "later", "again"]),
    EXTRAS,
    EXTRAS,
    VALUES,
    BLANKS,
    BLANKS,
    st.sets(st.sampled_from(["extra", "later", "again"])),
)
def test_every_given_byte_survives(
    order: list[str], extra: str, again: str, later: str, before: str, after: str, left_out: set[str]
) -> None:
    """Without what was put in the given bytes are there; a reader sees an object with id and time."""
    members = {
        "role": '"role":"user"',
        "content": r'"content":"\u00e9\n\ud83d <é>"',
        "extra": f'"extra"{before}:{after}{extra}',
        "later": f'"later":{later}',
        "again": f'"extra":{again}',
    }
    line = f"{{{before}{f'{after},'.join(members[name] for name in order if name not in left_out)}{after}}}"
    try:
        incoming = accept(line.encode("utf-8", "surrogatepass"))
    except ValueError:
        raise
    except Exception as error:
        assert type(error).__name__ == "BadInput"
        return
    stored = splice.with_identity(incoming, ID, TIME)
    value, given_value = json.loads(stored), json.loads(incoming.line)
    assert is_given_with_one_insertion(incoming.line, stored)
    own = (value.get("extra") or {}).get("memctl")
    given_own = (given_value.get("extra") or {}).get("memctl")
    if given_own is not None and type(given_own) is not dict:
        assert incoming.line == stored
        return
    assert (given_own or {}).get("id") in (None, own["id"])
    assert own == {"id": ID, "created_at": TIME} | {
        k: v for k, v in (given_own or {}).items() if v is not None
    } | {k: v for k, v in (given_own or {}).items() if v is None and k not in ("id", "created_at")}
    value.pop("extra")
    given_value.pop("extra", None)
    assert given_value == value


def is_given_with_one_insertion(given: bytes, stored: bytes) -> bool:
    """Whether `stored` is `given` with bytes put in at one place, there perhaps instead of a null."""
    for gone in (b"", b"null"):
        for at in range(len(given) + 1):
            front, rest = given[:at], given[at + len(gone) :]
            fits = (
                stored.startswith(front) and stored.endswith(rest) and len(front) + len(rest) <= len(stored)
            )
            if fits and given[at : at + len(gone)] == gone:
                return True
    return False


def test_content_and_covers_are_replaced_in_their_place() -> None:
    """The last member of the name is replaced, and nothing else."""
    line = (
        r'{"content":"a","role":"assistant","\u0063ontent" : "b" ,"extra":{"memctl":{"covers":{"kept":1}}}}'
    )
    assert line.replace('"b"', '"\ufffd"').encode() == splice.with_content(line.encode(), "\ud800")
    replaced: dict[str, Any] = {"kept": 2, "last": "x", "next": "y"}
    expected = line.replace('{"kept":1}', '{"kept":2,"last":"x","next":"y"}')
    assert expected.encode() == splice.with_covers(line.encode(), replaced)


def test_a_megabyte_is_spliced_at_once() -> None:
    """The work is one pass over the line."""
    import time

    line = b'{"role":"user","content":"%s","extra":{"k":[%s1]}}' % (b"x" * 500_000, b"1," * 250_000)
    incoming = accept(line)
    begin = time.perf_counter()
    assert len(line) < len(splice.with_identity(incoming, ID, TIME))
    assert 2 > time.perf_counter() - begin
