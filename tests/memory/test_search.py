"""search: which messages match, in which order, with which neighbours, whatever the logs look like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl import NotFound, Store
from memctl.store.search.messages import Logs
from tests.cli.conftest import Terminal
from tests.conftest import Memctl

from .stored import NOW_US

Find = Callable[..., list[tuple[str, int]]]


def message(content: object, role: str = "user", **more: Any) -> bytes:
    """The line of a message, with its LF."""
    return json.dumps({"role": role, "content": content, **more}, separators=(",", ":")).encode() + b"\n"


def own(id: str) -> dict[str, Any]:
    """`extra` with a stored id."""
    return {"extra": {"memctl": {"id": id, "created_at": "2026-02-01T00:00:00Z"}}}


@pytest.fixture
def store(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """A store whose clock stands still, caches of files below `tmp_path`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store(root, now_us=NOW_US)


@pytest.fixture
def put(root: Path) -> Callable[..., Path]:
    """Writes the log of a conversation of alice."""

    def write(name: str, *lines: bytes, user: str = "alice") -> Path:
        (root / ".memctl").mkdir(parents=True, exist_ok=True, mode=0o700)
        directory = root / "conversations" / user
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / f"{name}.jsonl"
        path.touch(mode=0o600)
        path.write_bytes(b"".join(lines))
        return path

    return write


@pytest.fixture
def find(store: Store) -> Find:
    """The places of a search: conversation and index."""

    def run(query: str, target: str = "alice", **more: Any) -> list[tuple[str, int]]:
        return [
            (match.conversation, match.message.position)
            for match in store.search(target, query, **more).found
        ]

    return run


def test_the_best_comes_first(put: Callable[..., Path], find: Find) -> None:
    """Messages with all words come first, those with some follow, the others are not there."""
    put("a", message("the spare key"), message("hello", "assistant"), message("where is the train"))
    put("b", message("a key of the piano"), message("the spare key is under the mat of the neighbour"))
    found = find("spare key")
    assert {("alice/a", 0), ("alice/b", 1)} == set(found[:2])
    assert [("alice/b", 0)] == found[2:]


def test_a_neighbour_alone_is_no_match(put: Callable[..., Path], find: Find) -> None:
    """What stands beside a match is shown with it on demand, not as a match."""
    put("a", *(message(f"word{number}") for number in range(10)))
    assert [("alice/a", 4)] == find("word4", limit=10)


def test_a_day_finds_its_messages(put: Callable[..., Path], find: Find) -> None:
    """A query that names a day finds what was said on it."""
    day = {"extra": {"memctl": {"created_at": "2023-05-08T10:00:00Z"}}}
    other = {"extra": {"memctl": {"created_at": "2024-06-09T10:00:00Z"}}}
    put("a", message("lunch", **day), message("dinner", **other))
    assert [("alice/a", 0)] == find("8 May 2023")


@pytest.mark.parametrize(
    ("at", "context", "expected"),
    [(0, 1, [1]), (2, 1, [1, 3]), (4, 2, [2, 3]), (2, 9, [0, 1, 3, 4]), (2, 0, [])],
)
def test_context(put: Callable[..., Path], store: Store, at: int, context: int, expected: list[int]) -> None:
    """A match comes with its neighbours on either side, in the order of the log, as far as there are any."""
    put("a", *(message(f"word{number}") for number in range(5)))
    (match,) = store.search("alice", f"word{at}", context=context).found
    assert at == match.message.position
    assert expected == [one.position for one in match.context]


@pytest.mark.parametrize(
    ("role", "expected"),
    [(None, {0, 1, 2}), ("user", {0}), ("assistant", {1}), ("tool", {2}), ("system", set())],
)
def test_role(put: Callable[..., Path], find: Find, role: str | None, expected: set[int]) -> None:
    """Only messages of the role are in the answer."""
    put("a", message("key one"), message("key two", "assistant"), message("key three", "tool"))
    assert expected == {index for _, index in find("key", role=role)}


def test_a_rare_role_behind_many_matches(put: Callable[..., Path], find: Find) -> None:
    """A message of the role is found though hundreds of others match better."""
    put("a", *(message("key") for _ in range(400)), message("a key and many other words with it", "tool"))
    assert [("alice/a", 400)] == find("key", role="tool")


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (1, 1), (5, 5), (100, 20)])
def test_limit(put: Callable[..., Path], find: Find, limit: int, expected: int) -> None:
    """At most so many messages are in the answer."""
    put("a", *(message(f"key {number}") for number in range(20)))
    assert expected == len(find("key", limit=limit))


def test_a_conversation_alone(put: Callable[..., Path], find: Find) -> None:
    """A reference searches one conversation, a path one file; another user's messages are never there."""
    path = put("a", message("key one"))
    put("b", message("key two"))
    put("c", message("key three"), user="bob")
    assert [("alice/b", 0)] == find("key", "alice/b")
    assert [(str(path), 0)] == find("key", str(path))
    assert {("alice/a", 0), ("alice/b", 0)} == set(find("key"))


def test_what_is_not_there(put: Callable[..., Path], find: Find, tmp_path: Path) -> None:
    """An unknown user has no messages; an unknown conversation or file is an error."""
    put("a", message("key"))
    assert [] == find("key", "bob")
    for target in ("alice/b", "bob/a", str(tmp_path / "no.jsonl")):
        with pytest.raises(NotFound):
            find("key", target)


@pytest.mark.parametrize("query", ["", " ", "???", "。", "c++ (", '"', "a AND", "\0", "\ud800"])
def test_odd_queries(put: Callable[..., Path], find: Find, query: str) -> None:
    """No query is an error; one without words finds nothing."""
    put("a", message("the key"), message("???"))
    assert [] == find(query)


def test_copied_history(put: Callable[..., Path], store: Store) -> None:
    """B46: a message that stands in two conversations is shown once, an equal text of another id too."""
    copied = message("how do I rotate the key", **own("a1"))
    put("s1", copied, message("like so", "assistant", **own("a2")))
    put("s2", copied, message("like so", "assistant", **own("a2")), message("and the spare box", **own("b3")))
    put("s3", message("how do I rotate the key", **own("c1")))
    answer = store.search("alice", "rotate key")
    assert ["a1", "c1"] == sorted(match.message.id for match in answer.found)
    assert 1 == answer.copies


def test_an_id_that_two_messages_have(put: Callable[..., Path], find: Find) -> None:
    """Messages of one id with other texts or other roles are no copies."""
    put("a", message("key one", **own("x")), message("key two", **own("x")))
    put("b", message("key one", "assistant", **own("x")))
    assert 3 == len(find("key"))


def test_the_ids_are_those_of_show(put: Callable[..., Path], store: Store) -> None:
    """A message without an id has the one that `show` prints, also where its bytes occur twice."""
    put("a", message("key"), message("other"), message("key"), b'{"role":"user","content":"key"}\n')
    shown = [one.id for one in store.at("alice/a").read().messages]
    found = {match.message.position: match.message.id for match in store.search("alice", "key").found}
    assert {0: shown[0], 2: shown[2], 3: shown[3]} == found


def test_ids_that_are_derived_with_neighbours(put: Callable[..., Path], store: Store) -> None:
    """Neighbours that overlap, and equal lines between matches, have the ids that `show` prints."""
    put("a", *(message(f"key {'xyz'[number % 3]}") for number in range(12)))
    shown = store.at("alice/a").read().messages
    found = store.search("alice", "y", context=2, limit=9).found
    assert {1, 4, 7, 10} == {match.message.position for match in found}
    for match in found:
        for one in (match.message, *match.context):
            assert shown[one.position] == one


def test_damage_beside_a_match(put: Callable[..., Path], store: Store) -> None:
    """Torn, glued and damaged lines cost no other message; what can be mended is found as it is printed."""
    path = put(
        "a",
        b"\n{torn\n",
        message("key one")[:-1] + message("key two"),
        b'{"role":"user","content":"key \xff three"}\n',
        b'{"role":"user","content":"key four"}',
    )
    shown = [one.raw for one in store.at("alice/a").read().messages]
    for target in ("alice", str(path)):
        answer = store.search(target, "key")
        found = {match.message.position: match.message.raw for match in answer.found}
        assert dict(enumerate(shown)) == found
        assert [1] == list(answer.damaged.values())
    assert 4 == len(shown)


def test_what_is_not_searched(put: Callable[..., Path], find: Find) -> None:
    """Ephemeral messages are not found; parts of a content list are."""
    put(
        "a",
        message("key", extra={"__eino_ext_memory_ephemeral": True}),
        message([{"type": "text", "text": "the key"}, {"type": "image_url", "image_url": {"url": "key"}}]),
        message("", "assistant"),
    )
    assert [("alice/a", 1)] == find("key")


def test_changes_are_seen(put: Callable[..., Path], find: Find) -> None:
    """What is appended, rewritten or removed is in the next answer."""
    path = put("a", message("key one"))
    assert [("alice/a", 0)] == find("key")
    with open(path, "ab") as file:
        file.write(message("another key"))
    assert {("alice/a", 0), ("alice/a", 1)} == set(find("key"))
    put("a", message("nothing"), message("the key"))
    assert [("alice/a", 1)] == find("key")
    path.unlink()
    assert [] == find("key")


def test_a_log_that_is_replaced_while_it_is_searched(
    put: Callable[..., Path], find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that another one takes the place of after the ranking is searched again."""
    put("a", message("key"), message("other"))
    line = Logs.line
    replaced = []

    def replacing(logs: Logs, *given: Any) -> Any:
        if not replaced:
            replaced.append(True)
            put("new", message("other"), message("key")).replace(put("a"))
        return line(logs, *given)

    monkeypatch.setattr(Logs, "line", replacing)
    assert [("alice/a", 1)] == find("key")
    assert replaced


def test_a_directory_of_another_program(put: Callable[..., Path], find: Find, root: Path) -> None:
    """A store that memctl never wrote to is searched, and left as it is."""
    put("a", message("key"))
    (root / ".memctl").rmdir()
    before = sorted(root.rglob("*"))
    assert [("alice/a", 0)] == find("key")
    assert before == sorted(root.rglob("*"))


def test_equal_scores_are_ordered_by_place(put: Callable[..., Path], find: Find) -> None:
    """Messages that nothing tells apart come by conversation and place, every time."""
    for name in ("b", "c", "a"):
        put(name, message("key"))
    expected = [("alice/a", 0), ("alice/b", 0), ("alice/c", 0)]
    assert [expected] * 5 == [find("key") for _ in range(5)]


# -- through the command ----------------------------------------------------------------------------------


def test_jsonl(put: Callable[..., Path], memctl: Memctl, root: Path) -> None:
    """A line has the score, the place and the stored bytes of the message and of its neighbours."""
    stored = b'{ "content":"key \\u00e9 1.10","role" :"user","n":123456789012345678901234567890}'
    put("a b", message("before"), stored + b"\n", message("after", "assistant"))
    done = memctl("--root", str(root), "search", "alice", "key", "--context", "1")
    assert (0, b"") == (done.returncode, done.stderr)
    value = json.loads(done.stdout)
    assert ["score", "conversation", "index", "id", "message", "context"] == list(value)
    assert ("alice/a b", 1, [0, 2]) == (
        value["conversation"],
        value["index"],
        [one["index"] for one in value["context"]],
    )
    assert b'"message":' + stored + b',"context":' in done.stdout
    array = memctl("--root", str(root), "search", "alice", "key", "--context", "1", "--json")
    assert b"[" + done.stdout[:-1] + b"]\n" == array.stdout


def test_standard_input(memctl: Memctl, root: Path) -> None:
    """`-` searches what comes on standard input."""
    done = memctl("--root", str(root), "search", "-", "key", input=message("no") + message("the key"))
    assert (0, 1) == (done.returncode, json.loads(done.stdout)["index"])


def test_text_and_table(put: Callable[..., Path], memctl: Memctl, root: Path) -> None:
    """For people: the reference, the index and the text, control characters made visible."""
    put("a", message("before"), message("the key \x1b[31m\u202e is red"))
    text = memctl("--root", str(root), "search", "alice", "key", "-f", "text", "--context", "1").stdout
    assert text.startswith(b"alice/a  0.")
    assert b"#0 user" in text and b"#1 user" in text
    table = memctl("--root", str(root), "search", "alice", "key", "-f", "table").stdout.decode()
    assert "alice/a #1" in table
    assert "the key \\x1b[31m\\u202e is red" in table


def test_neighbours_in_a_terminal(put: Callable[..., Path], terminal: Terminal, root: Path) -> None:
    """With --context a terminal gets text, in which the neighbours stand; without it a table."""
    put("a", message("before"), message("the key"))
    command = ("--root", str(root), "search", "alice", "key")
    assert "before" in terminal(*command, "--context", "1")[1]
    assert "score" in terminal(*command)[1]


def test_a_user_who_says_nothing(memctl: Memctl, root: Path) -> None:
    """Of a user without conversations standard error says so, and names the other reading, a path."""
    done = memctl("--root", str(root), "search", "notes", "key")
    assert (0, b"") == (done.returncode, done.stdout)
    assert b"memctl: no messages of notes; for a file: ./notes; memctl stats lists the users\n" == done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ("--context", "1", "-f", "table"),
        ("-k", "-1"),
        ("-k", "x"),
        ("--role", "robot"),
        ("--context", "-1"),
        ("-f", "xml"),
        ("--json", "-f", "text"),
    ],
)
def test_wrong_usage(memctl: Memctl, root: Path, wrong: tuple[str, ...]) -> None:
    """What cannot be is refused with 2 and nothing on standard output."""
    done = memctl("--root", str(root), "search", "alice", "key", *wrong)
    assert (2, b"") == (done.returncode, done.stdout)


def test_copies_are_counted(put: Callable[..., Path], memctl: Memctl, root: Path) -> None:
    """How many copies were left out is said on standard error."""
    for name in ("a", "b", "c"):
        put(name, message("key", **own("x")))
    done = memctl("--root", str(root), "search", "alice", "key")
    assert b"memctl: left out: 2 copies of messages in the answer\n" == done.stderr
    assert 1 == len(done.stdout.splitlines())


def test_damaged_conversations_are_named(put: Callable[..., Path], memctl: Memctl, root: Path) -> None:
    """Conversations with damaged lines are named on standard error: of a user the first five, one alone."""
    for number in range(7):
        put(f"c{number}", message(f"key {number}"), b"{torn\n" * (number + 1))
    said = memctl("--root", str(root), "search", "alice", "key").stderr.decode().splitlines()
    assert "memctl: alice/c0: left out: 1 damaged line; memctl inspect alice/c0" == said[0]
    assert "memctl: alice/c4: left out: 5 damaged lines; memctl inspect alice/c4" == said[4]
    assert "memctl: 2 more conversations are damaged; memctl inspect" == said[5]
    (only,) = memctl("--root", str(root), "search", "alice/c3", "key").stderr.decode().splitlines()
    assert only.startswith("memctl: alice/c3: ")
