"""Names on disk and references on the command line: every name comes back, and none leads out."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl import errors
from memctl.core import names
from memctl.core.names import Reference

NAMES = st.text(max_size=40) | st.text("./%\\~-\x00\n\x7f\x85 aA2Fé", max_size=12)


@pytest.mark.parametrize(
    ("file_name", "name"),
    [
        ("alice", "alice"),
        ("a b", "a b"),
        ("%2E", "."),
        ("%2E.", ".."),
        ("%2E.%2Fx", "../x"),
        ("%2Fabs%2Fx", "/abs/x"),
        ("%2Ehidden", ".hidden"),
        ("a.b", "a.b"),
        ("a..", "a.."),
        ("a%2Fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("100%25", "100%"),
        ("a%00b", "a\0b"),
        ("a%0Ab", "a\nb"),
        ("%7F", "\x7f"),
        ("a%C2%85", "a\x85"),
        ("a\\b", "a\\b"),
        ("日本", "日本"),
        ("é%2F", "é/"),
        ("-rf", "-rf"),
        ("~", "~"),
        ("a\u2028b", "a\u2028b"),
    ],
)
def test_file_names(file_name: str, name: str) -> None:
    """A name is itself but for what would lead out of its directory or hide it."""
    assert file_name == names.encode(name)
    assert name == names.decode(file_name)


@given(NAMES)
@example("a%2Fb")
@example(".")
def test_every_name_comes_back_or_is_refused(name: str) -> None:
    """What `check` lets pass has a safe file name of its own and comes back from it."""
    try:
        assert name == names.check(name, "conversation")
    except errors.BadName as error:
        assert error.exit_code == 65
        size_bytes = len(names.encode(name).encode("utf-8", "surrogatepass")) + len(".jsonl.activities")
        assert not names.usable(name) or name.endswith(".jsonl") or size_bytes > 255
        return
    file_name = names.encode(name)
    assert name == names.decode(file_name)
    assert not file_name.startswith(".") and "/" not in file_name and "\0" not in file_name
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in file_name)
    assert "/base" == os.path.dirname(os.path.normpath(f"/base/{file_name}.jsonl"))
    assert 255 >= len(f"{file_name}.jsonl.activities".encode())


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True))
def test_no_two_names_share_a_file(given_names: list[str]) -> None:
    """Different names have different file names, for logs and activities together."""
    found = [names.encode(name) for name in given_names]
    assert len(set(found)) == len(found)
    usable = [name for name in given_names if names.usable(name) and not name.endswith(".jsonl")]
    files = [names.encode(name) + end for name in usable for end in (".jsonl", ".jsonl.activities")]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize(
    "file_name",
    [
        *("", " ", ".hidden", "%2F%", "%2f", "a%", "%41", "%zz", "%2", "%FF", "%C3%28", "%ED%A0%80", "a\nb"),
        *("a%20b", "%2Ex%2E", "a\udcff", "%\udcff", "a\x85"),
    ],
)
def test_foreign_file_names_do_not_decode(file_name: str) -> None:
    """A file name that our rule would not have made stands for no name."""
    assert names.decode(file_name) is None


@given(st.text(max_size=30))
def test_what_decodes_encodes_back(file_name: str) -> None:
    """Decoding never invents a second file name for a name."""
    name = names.decode(file_name)
    assert name is None or file_name == names.encode(name)


@pytest.mark.parametrize("kind", ["user", "conversation", "tenant"])
@pytest.mark.parametrize("name", ["", " ", "\t\n", "\u3000", "a\ud800", "n" * 239, "é" * 120, "/" * 80])
def test_refused_names(kind: str, name: str) -> None:
    """Blank, not text, or too long for a file name with the longest end."""
    with pytest.raises(errors.BadName, match="\\A" + f"this {kind} name"):
        names.check(name, kind)


@pytest.mark.parametrize(
    "name", ["n" * 238, "é" * 119, "/" * 79, "x.jsonl.activities", "x.json", "x.jsonl.", "jsonl"]
)
def test_longest_and_odd_names_pass(name: str) -> None:
    """Up to 255 bytes with the longest end, and any end but `.jsonl`."""
    assert name == names.check(name, "conversation")


def test_a_conversation_cannot_look_like_its_file() -> None:
    """`x.jsonl` is refused as a conversation and taken as a user."""
    with pytest.raises(errors.BadName, match="cannot end in"):
        names.check("x.jsonl", "conversation")
    assert "x.jsonl" == names.check("x.jsonl", "user")


# -- references and paths ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "argument"),
    [
        (Reference("alice", "x"), "alice/x"),
        (Reference("alice"), "alice"),
        (Reference("a/b", "c%d"), "a%2Fb/c%25d"),
        (Reference("a/b", "c"), "a%2fb/c"),
        (Reference("..", ".."), "../..".replace("../", "%2E%2E/")),
        (Reference("alice", "100%"), "alice/100%"),
        (Reference("alice", "50%zz"), "alice/50%zz"),
        (Reference("alice", "é"), "alice/%C3%A9"),
        (Reference("alice", "a\nb"), "alice/a%0Ab"),
        (Reference("a.b", "c.d"), "a.b/c.d"),
        (Reference("alice", "-x"), "alice/-x"),
        (Reference("alice", ".."), "alice/.."),
    ],
)
def test_references(expected: Reference, argument: str) -> None:
    """`%XX` is decoded in each part; a `%` without two digits is itself."""
    assert expected == names.parse_reference(argument, conversation=None)


@pytest.mark.parametrize(
    "argument",
    [
        "a/b/c",
        "alice//x",
        "alice/../x",
        "alice/",
        "/x",
        "",
        "alice/%FF",
        "%80/x",
        "alice/x%2Ejsonl",
        " /x",
        "alice/ ",
    ],
)
def test_bad_references(argument: str) -> None:
    """A second raw slash, a blank part, bytes that are no text, a name that ends in `.jsonl`: 65."""
    with pytest.raises(errors.BadName):
        names.parse_reference(argument, conversation=None)


@pytest.mark.parametrize(("argument", "conversation"), [("alice", True), ("alice/x", False)])
def test_a_part_too_few_or_too_many_is_usage(argument: str, conversation: bool) -> None:
    """A user where a conversation is needed, or the reverse, is a usage error."""
    with pytest.raises(errors.UsageError):
        names.parse_reference(argument, conversation=conversation)


@given(NAMES, NAMES | st.none())
def test_references_come_back_as_written(user: str, conversation: str | None) -> None:
    """What is printed as a reference is read as the same one."""
    try:
        names.check(user, "user")
        if conversation is not None:
            names.check(conversation, "conversation")
    except errors.BadName:
        return
    reference = Reference(user, conversation)
    assert reference == names.parse_reference(reference.written(), conversation=None)


@pytest.mark.parametrize(
    "argument",
    [
        *("-", "/x", "./x", "../x", "~", "~/x", "~bob/x", "x.jsonl", "alice/x.jsonl", "a.json", "b.jsonl.gz"),
        *("c.zst", "d.zip", "e.db", "f.bak", "a/b/c.json", "/", ".jsonl"),
    ],
)
def test_paths(argument: str) -> None:
    """These are paths, whatever exists."""
    assert names.is_path(argument)


@pytest.mark.parametrize(
    "argument",
    ["alice/x", "alice", ".", "..", ".hidden", "a.txt", "x.JSONL", "--", "-x", "a/-", "x.jsonl ", ""],
)
def test_references_are_no_paths(argument: str) -> None:
    """Everything else is a reference."""
    assert not names.is_path(argument)


@given(st.text(max_size=20))
def test_the_disk_is_never_asked(argument: str) -> None:
    """Path or reference is decided from the text alone, in a directory with or without such a file."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("the disk was asked")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("stat", "lstat", "open", "access", "listdir", "scandir"):
            patch.setattr(os, name, refuse)
        answer = names.is_path(argument)
        try:
            names.parse_reference(argument, conversation=None)
        except errors.MemctlError:
            pass
    assert answer in (True, False)


@pytest.mark.parametrize(
    ("expected", "name", "siblings"),
    [
        ("Chat.jsonl", "chat.jsonl", ["a.jsonl", "Chat.jsonl"]),
        ("e\u0301.jsonl", "\u00e9.jsonl", ["e\u0301.jsonl"]),
        ("STRASSE.jsonl", "straße.jsonl", ["STRASSE.jsonl"]),
        (None, "chat.jsonl", ["chat.jsonl", "chat2.jsonl"]),
    ],
)
def test_twins(expected: str | None, name: str, siblings: list[str]) -> None:
    """The other file that a folding or normalising file system would take for this one."""
    assert expected == names.folded_twin(name, siblings)


@given(st.text(min_size=1, max_size=12), st.one_of(st.none(), st.text(min_size=1, max_size=12)))
@example("alice", "notes.bak")
@example("~", "x")
@example("..", "x.json")
@example("-", None)
def test_a_written_reference_is_read_back(user: str, conversation: str | None) -> None:
    """What is printed as a reference names the same thing when it is typed, and never reads as a path."""
    try:
        names.check(user, "user")
        if conversation is not None:
            names.check(conversation, "conversation")
    except errors.BadName:
        return
    written = names.Reference(user, conversation).written()
    assert not names.is_path(written)
    assert names.Reference(user, conversation) == names.parse_reference(written, conversation=None)
