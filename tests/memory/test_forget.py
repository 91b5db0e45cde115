"""forget: what leaves, what is named, and that it does not come back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl import BadInput, LockTimeout, NotFound, Store, UsageError
from memctl.core import covers
from memctl.ops.forget import Forgotten
from memctl.store import forgotten, journal
from tests.conftest import Memctl

from .stored import NOW_US, line, put

WORD = "Xyzzyplugh"
TEXT = f"The boat is called {WORD} and lies in the harbour"
#: With fsync off nothing but the disk's wear is different.
SETTINGS: dict[str, Any] = {"heal.settle_ms": 0, "durability": "none", "retrieval.embedder": "hash"}


def opened(root: Path, **more: object) -> Store:
    return Store(root, now_us=NOW_US, settings=SETTINGS | more)


@pytest.fixture
def store(root: Path) -> Store:
    return opened(root)


def holding(root: Path, word: str = WORD) -> set[str]:
    """The files below the root that have a word in their bytes, in any case, as paths below it."""
    wanted = word.lower().encode()
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and wanted in path.read_bytes().lower()
    }


def plant(root: Path) -> Store:
    """A store with the word wherever text can be: tiers, archive, quarantine, index, trash, tmp."""
    store = opened(root)
    trip = store.conversation("alice", "trip")
    trip.append(TEXT, id="m1")
    trip.append("What a name", "assistant", id="m2")
    trip.append(TEXT, id="m3")
    trip.drop(["m3"])
    gone = store.conversation("alice", "gone")
    gone.append(TEXT, id="g1")
    gone.delete()
    store.memory("alice").remember_from("trip")
    put(root, line("trip#m1", f"It was {WORD} before", rev=0), tier="cold")
    put(root, line("other", "Nothing of the kind"), tier="warm")
    put(root, b'{"id":"torn","content":"The boat is called ' + WORD.encode() + b"\n")
    (root / "archive").mkdir()
    archived = line("old", TEXT, tier="cold", archived_at="2026-01-01T00:00:00Z", archived_for="capacity")
    (root / "archive" / "alice.jsonl").write_bytes(archived)
    store.memory("alice").recall("boat")
    store.search("alice", "boat")
    opened(root, **{"retrieval.mode": "both"}).memory("alice").recall("boat")
    leftover = root / ".memctl" / "tmp" / ".memctl-1-0123456789ab"
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(line("trip#m1", TEXT))
    half = root / ".memctl" / "cache" / "search" / ".4194999-0123456789ab"
    half.write_bytes(WORD.encode())
    return store


def test_the_word_is_everywhere_before(root: Path) -> None:
    """The store of these tests holds the word in each kind of place, the pages of the index too."""
    plant(root)
    found = holding(root)
    starts = ("tiers/hot/", "tiers/cold/", "archive/", "quarantine/", "conversations/", "trash/")
    starts += (".memctl/tmp/", ".memctl/cache/search/alice.records.db", ".memctl/cache/search/.")
    assert set() == {start for start in starts if not any(path.startswith(start) for path in found)}


def test_nothing_holds_the_word_afterwards(root: Path) -> None:
    """Afterwards no file has the word but the conversation and the trash, which the report names."""
    store = plant(root)
    done = store.memory("alice").forget(["trip#m1", "old"])
    assert [("trip#m1", "hot", 2), ("old", "archive", 1)] == [
        (row["id"], row["tier"], row["lines"]) for row in done.records
    ]
    assert 1 == done.damaged_lines
    assert 1 == len(done.quarantine)
    entry = done.trash[0]["entry"]
    assert {"conversations/alice/trip.jsonl", f"trash/alice/{entry}/gone.jsonl"} == holding(root)
    assert [("alice/trip", ["m1"])] == [(row["conversation"], row["messages"]) for row in done.conversations]
    assert [("alice/gone", ["g1"])] == [(row["conversation"], row["messages"]) for row in done.trash]
    assert not list((root / ".memctl" / "cache" / "search").iterdir())
    assert not list((root / ".memctl" / "cache" / "vectors" / "alice").iterdir())


def test_it_stays_forgotten(root: Path) -> None:
    """Neither another seeding nor a rebuild nor a recall brings the word back into any other file."""
    store = plant(root)
    store.memory("alice").forget(["trip#m1", "old"], source=True)
    assert set() == holding(root)
    store.conversation("alice", "trip").append(TEXT, id="m1")
    # The message is back in its conversation; the record must not be.
    done = store.memory("alice").remember_from("trip")
    assert 1 == done.skipped["forgotten"]
    store.rebuild_index()
    assert ["other", "trip#m2"] == sorted(found.record.id for found in store.memory("alice").recall().found)
    # The index over messages has what the conversation has.
    index = ".memctl/cache/search/alice.messages.db"
    assert {"conversations/alice/trip.jsonl"} == holding(root) - {index}


def test_again_brings_it_back(store: Store) -> None:
    """What is forgotten comes back when it is asked for in so many words, and can be forgotten anew."""
    store.conversation("alice", "trip").append(TEXT, id="m1")
    memory = store.memory("alice")
    memory.remember_from("trip")
    memory.forget(["trip#m1"])
    assert ["trip#m1"] == memory.remember_from("trip", again=True).ids
    assert [TEXT] == [record.content for record in memory.list_all()]
    assert ["trip#m1"] == [row["id"] for row in memory.forget(["trip#m1"]).records]
    assert [] == memory.list_all()


def test_source_removes_the_messages(root: Path) -> None:
    """With the source the messages leave conversations and trash; all others stay, byte for byte."""
    store = plant(root)
    lines = (root / "conversations" / "alice" / "trip.jsonl").read_bytes().splitlines(keepends=True)
    done = store.memory("alice").forget(["trip#m1"], source=True)
    assert [["m1"], ["g1"]] == [row["removed"] for row in (*done.conversations, *done.trash)]
    assert {"archive/alice.jsonl"} == holding(root)
    assert ["old"] == done.other_records
    assert lines[1:] == (root / "conversations" / "alice" / "trip.jsonl").read_bytes().splitlines(
        keepends=True
    )
    assert [] == store.quarantine()


def test_source_takes_a_call_with_its_results(store: Store) -> None:
    """An assistant call whose text is forgotten leaves together with its results."""
    call = {
        "role": "assistant",
        "content": TEXT,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        "extra": {"memctl": {"id": "call"}},
    }
    result = {"role": "tool", "content": "09:30", "tool_call_id": "c", "extra": {"memctl": {"id": "result"}}}
    store.conversation("alice", "trip").append([{"role": "user", "content": "When?"}, call, result])
    memory = store.memory("alice")
    memory.remember_from("trip")
    done = memory.forget(["trip#call"], source=True)
    assert ["call", "result"] == done.conversations[0]["removed"]
    assert ["When?"] == [message.content for message in store.conversation("alice", "trip").messages()]


def test_source_restates_summaries(root: Path, store: Store) -> None:
    """A summary behind a removed message covers what it covered before, and nothing else."""
    talk = store.conversation("alice", "trip")
    for number in range(6):
        talk.append(TEXT if number == 1 else f"message {number}", id=f"m{number}")
    path = root / "conversations" / "alice" / "trip.jsonl"
    stored = path.read_bytes().splitlines()
    own = {"id": "s", "covers": covers.stating(6, 4, lambda a, b: stored[a:b])}
    extra = {"__eino_ext_memory_summary": True, "memctl": own}
    talk.append({"role": "assistant", "content": "before", "extra": extra})
    before = [message["content"] for message in talk.window(0).messages]
    assert ["before", "message 4", "message 5"] == before
    store.memory("alice").remember(TEXT, id="boat")
    store.memory("alice").forget(["boat"], source=True)
    assert before == [message["content"] for message in talk.window(0).messages]
    *others, summary = path.read_bytes().splitlines()
    assert [stored[0], *stored[2:]] == others
    stated = covers.stating(5, 3, lambda a, b: others[a:b])
    assert stated == json.loads(summary)["extra"]["memctl"]["covers"]


def test_damaged_lines_of_a_source(root: Path, store: Store) -> None:
    """A torn line that holds the text is named, and leaves with the source; one with other text stays."""
    talk = store.conversation("alice", "trip")
    talk.append(TEXT, id="m1")
    path = root / "conversations" / "alice" / "trip.jsonl"
    with open(path, "ab") as file:
        file.write(b'{"role":"user","content":"The boat is called ' + WORD.encode() + b'\n{"role":"us\n')
    memory = store.memory("alice")
    memory.remember_from("trip")
    row = memory.forget(["trip#m1"], apply=False).conversations[0]
    assert (1, 0) == (row["damaged_lines"], row["removed_lines"])
    row = memory.forget(["trip#m1"], source=True).conversations[0]
    assert (1, 1) == (row["damaged_lines"], row["removed_lines"])
    assert b'{"role":"us\n' == path.read_bytes()


def test_activities_are_named(store: Store) -> None:
    """Activities that hold the text are named, with the source too: they are removed with no message."""
    talk = store.conversation("alice", "trip")
    talk.append(TEXT, id="m1")
    talk.set_activities(json.dumps([{"said": TEXT}]).encode())
    memory = store.memory("alice")
    memory.remember_from("trip")
    row = memory.forget(["trip#m1"], source=True).conversations[0]
    assert (["m1"], True) == (row["removed"], row["activities"])


def test_copies_of_a_message_stay_forgotten(store: Store) -> None:
    """A copied message, as in a fork, does not come back from the other conversation; the typed one does."""
    for name in ("one", "fork"):
        store.conversation("alice", name).append(TEXT, id="m1")
    store.conversation("alice", "typed").append(TEXT, id="t1")
    memory = store.memory("alice")
    memory.remember_from("one")
    done = memory.forget(["one#m1"])
    assert ["fork#m1"] == done.copies
    assert [] == memory.remember_from("one", "fork").ids
    assert ["typed#t1"] == memory.remember_from("typed").ids


def test_parts_of_a_message(store: Store) -> None:
    """A message with a list of parts is found by its whole text."""
    parts = [{"type": "text", "text": "The boat is"}, {"type": "text", "text": WORD}]
    store.conversation("alice", "trip").append([{"role": "user", "content": parts}])
    store.memory("alice").remember(f"The boat is\n{WORD}", id="boat")
    done = store.memory("alice").forget(["boat"], source=True)
    assert 1 == len(done.conversations[0]["removed"])


# -- which records ----------------------------------------------------------------------------------------


@pytest.fixture
def choose(root: Path, store: Store) -> Callable[..., list[str]]:
    """The ids that a plan for alice names."""
    put(
        root,
        line("a", "Tea in the morning", categories=["drink", "day"], created_at="2026-01-01T00:00:00Z"),
        line("b", "Green tea", categories=["drink"], conversation="trip", created_at=1_769_904_000),
        line("c", "A team of art lovers, start to end", categories=["day"], conversation="trip"),
        line("d", "Straße nach Café", metadata={"searchable": "tea"}, created_at="no time"),
        line("e", "東京タワー c++ Tea"),
    )

    def run(*ids: str, **more: Any) -> list[str]:
        return [row["id"] for row in store.memory("alice").forget(ids, apply=False, **more).records]

    return run


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"categories": ["drink"]}, "ab"),
        ({"categories": ["drink", "day"]}, "a"),
        ({"categories": ["Drink"]}, ""),
        ({"conversation": "trip"}, "bc"),
        ({"conversation": "trip", "categories": ["drink"]}, "b"),
        ({"before": "2026-02-01T00:00:00Z"}, "a"),
        ({"before": "2026-02-01T00:00:00.000001Z"}, "ab"),
        ({"before": 1_769_904_001, "query": "green"}, "b"),
        ({"query": "tea"}, "abde"),
        ({"query": "TEA"}, "abde"),
        ({"query": "tea green"}, "b"),
        ({"query": "te"}, ""),
        ({"query": "art"}, "c"),
        ({"query": "strasse"}, "d"),
        ({"query": "cafe\u0301"}, "d"),
        ({"query": "cafe"}, ""),
        ({"query": "東京"}, "e"),
        ({"query": "c++"}, "e"),
        ({"query": "teas"}, ""),
    ],
    ids=str,
)
def test_selectors(choose: Callable[..., list[str]], asked: dict[str, Any], found: str) -> None:
    """All selectors hold for what is named; a query is word by word and letter for letter but for case."""
    assert list(found) == choose(**asked)


def test_ids(choose: Callable[..., list[str]]) -> None:
    """Ids are taken in their order, each once."""
    assert ["c", "a"] == choose("c", "a", "c")


@pytest.mark.parametrize(
    ("ids", "more", "error"),
    [
        ((), {}, UsageError),
        ((), {"query": " \n"}, UsageError),
        (("a",), {"query": "tea"}, UsageError),
        (("a",), {"categories": ["drink"]}, UsageError),
        (("a", "nothing"), {}, NotFound),
    ],
    ids=str,
)
def test_refused(
    root: Path, choose: Callable[..., list[str]], ids: Any, more: Any, error: type[Exception]
) -> None:
    """Without ids and selectors, with both, and for an unknown id nothing is done."""
    store = opened(root)
    store.setup.ensure_store()
    before = tree(root)
    with pytest.raises(error):
        store.memory("alice").forget(ids, **more)
    assert before == tree(root, but=".lock")


def test_an_unknown_user(root: Path, store: Store) -> None:
    """A user without records is not there, and nothing is made for them."""
    with pytest.raises(NotFound):
        store.memory("bob").forget(query="tea")
    assert not root.exists()


def tree(root: Path, but: str = "\0") -> dict[str, bytes]:
    """Each file below the root but caches, locks and those with an end."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(but) and "cache" not in path.parts
    }


def test_the_plan_changes_nothing(root: Path) -> None:
    """Without --yes the report is that of the deed, but for `applied`, and not one byte is another."""
    store = plant(root)
    before = tree(root)
    plan = store.memory("alice").forget(["trip#m1", "old"], source=True, apply=False)
    assert before == tree(root)
    done = store.memory("alice").forget(["trip#m1", "old"], source=True)
    assert {"trip#m1": TEXT, "old": TEXT} == plan.texts
    assert plan._replace(applied=True, texts={}) == done


def test_once_more(root: Path) -> None:
    """What was forgotten can be forgotten again: nothing is left, and the source can go later."""
    store = plant(root)
    store.memory("alice").forget(["trip#m1", "old"])
    done = store.memory("alice").forget(["trip#m1"], source=True)
    assert ([], ["trip#m1"]) == (done.records, done.already)
    assert set() == holding(root)


def test_other_bytes_stay(root: Path, store: Store) -> None:
    """Other lines keep their bytes and their order, also odd ones and a last line without LF."""
    others = [
        b'{"id":"x", "content": "spaced", "n": 123456789012345678901234567890, "rev":7}\n',
        b"\n",
        b'{"id":"y","content":"\\ud800"}\n',
        b"no json\n",
        b'{"id":"z","content":"the last"}',
    ]
    put(root, others[0], line("gone", TEXT), *others[1:3], line("gone", "older", rev=0), *others[3:])
    store.memory("alice").forget(["gone"])
    assert b"".join(others) == (root / "tiers" / "hot" / "alice.jsonl").read_bytes()


def test_a_damaged_line_with_another_record(root: Path, store: Store) -> None:
    """Where another record stands on a damaged line with the text, nothing is done; repair parts them."""
    glued = line("gone", TEXT, rev=0).rstrip(b"\n") + line("stays", "other")
    put(root, line("gone", TEXT), glued)
    store.setup.ensure_store()
    before = tree(root)
    with pytest.raises(BadInput, match="line 2"):
        store.memory("alice").forget(["gone"])
    assert before == tree(root, but=".lock")


def test_journal_and_intent(root: Path, store: Store) -> None:
    """Accesses of the record leave the journal; those of others stay, and so does what a killed pass left."""
    put(root, line("gone", TEXT), line("stays", "other"))
    layout = store.setup.layout
    journal.note(layout, "alice", ["gone", "stays"], "2026-03-01T00:00:00Z", 1)
    store.memory("alice").forget(["gone"])
    accesses = (root / ".memctl" / "access" / "alice.jsonl").read_bytes()
    assert (False, True) == (b"gone" in accesses, b"stays" in accesses)
    assert {"stays": 1} == {
        id: found.number for id, found in journal.accesses(layout, "alice", {"stays": 1, "gone": 1}).items()
    }


def test_the_list_has_ids_and_times_only(root: Path) -> None:
    """The forgotten list and the event tell ids and times, and nothing of the text."""
    plant(root).memory("alice").forget(["trip#m1"])
    lines = (root / "forgotten" / "alice.jsonl").read_bytes().splitlines()
    wanted = {"id": "trip#m1", "time": "2026-03-01T00:00:00.000000Z"}
    assert [wanted] == [json.loads(text) for text in lines]
    (event,) = opened(root).events("alice", types=["tier.forgotten"]).events
    assert (1, ["trip#m1"]) == (event.value["count"], event.value["record_ids"])


def test_another_user_is_left_alone(root: Path, store: Store) -> None:
    """The same text of another user stays where it is."""
    put(root, line("gone", TEXT))
    put(root, line("gone", TEXT), user="bob")
    store.memory("alice").forget(["gone"])
    assert {"tiers/hot/bob.jsonl"} == holding(root)


def test_moved_tiers(root: Path, tmp_path: Path) -> None:
    """Records leave tiers that lie elsewhere, too, with what was left unfinished there."""
    store = opened(root, **{"tiers.cold": str(tmp_path / "slow")})
    store.memory("alice").remember(TEXT, id="gone", tier="cold")
    left = tmp_path / "slow" / ".memctl-tmp" / ".memctl-1-0123456789ab"
    left.parent.mkdir()
    left.write_bytes(WORD.encode())
    store.memory("alice").forget(["gone"])
    assert set() == holding(root) | holding(tmp_path / "slow")


def test_a_busy_memory(root: Path, store: Store) -> None:
    """While another process holds the memory, nothing is done."""
    put(root, line("gone", TEXT))
    store.setup.ensure_store()
    with store.setup.records_lock("alice", "holding"), pytest.raises(LockTimeout):
        opened(root, **{"lock.timeout_s": 0}).memory("alice").forget(["gone"])
    assert set() == forgotten.ids(store.setup.layout, "alice")


def test_short_texts_are_words(root: Path, store: Store) -> None:
    """A short text is found where it stands as a word, not within another one."""
    talk = store.conversation("alice", "trip")
    for id, text in (("m1", "ok"), ("m2", "look"), ("m3", "ok then")):
        talk.append(text, id=id)
    put(root, line("gone", "ok"))
    done: Forgotten = store.memory("alice").forget(["gone"], source=True)
    assert (["m1", "m3"], ["m1"]) == (done.conversations[0]["messages"], done.conversations[0]["removed"])


# -- the command ------------------------------------------------------------------------------------------


def test_command(memctl: Memctl, root: Path) -> None:
    """The plan ends with 1 and names what would go; with --yes it goes; the same again finds nothing."""
    plant(root)
    start = ("--root", str(root), "forget", "alice")
    plan = memctl(*start, "--query", WORD.lower())
    assert 1 == plan.returncode
    for text in (b"trip#m1 (hot)", b"old (archive)", b"alice/trip", b"in the trash", b"in quarantine"):
        assert text in plan.stdout
    done = memctl(*start, "--query", WORD.lower(), "--yes", "--json")
    assert 0 == done.returncode
    assert ["old", "trip#m1"] == sorted(row["id"] for row in json.loads(done.stdout)["records"])
    assert b"--source" in done.stderr
    again = memctl(*start, "--query", WORD.lower(), "--yes")
    assert (0, b"forgotten: no record\n") == (again.returncode, again.stdout)
    assert b"memctl search finds messages" in again.stderr
    assert b"was forgotten before" in memctl(*start, "old", "--yes").stdout
    left = memctl(*start, "trip#m1", "--yes", "--source").stdout
    assert b"alice/trip: 1 message removed" in left
    assert set() == holding(root)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("alice",), 2),
        (("alice", "seat", "--query", "x"), 2),
        (("alice", "--query", " "), 2),
        (("alice", "--before", "soon"), 2),
        (("alice/trip", "seat"), 2),
        (("alice", "--conversation", "alice/trip"), 65),
        (("alice", "nothing"), 66),
        (("bob", "seat"), 66),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_command_refuses(memctl: Memctl, root: Path, arguments: tuple[str, ...], code: int) -> None:
    """What cannot be meant is 2, what is not there 66; standard output is empty and nothing is changed."""
    put(root, line("seat", "text"))
    opened(root).setup.ensure_store()
    before = tree(root)
    done = memctl("--root", str(root), "forget", *arguments, "--yes", "--json")
    assert (code, b"") == (done.returncode, done.stdout)
    assert code == json.loads(done.stderr)["error"]["exit"]
    assert before == tree(root, but=".lock")


NOWHERE = (
    "memctl: no record has all these words; conversations may: memctl search finds messages, memctl drop and "
    "forget ID --source remove them\n"
)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("tea", "memctl: nothing was changed; --yes does it\n"),
        ("rum", f"{NOWHERE}memctl: nothing was changed; nothing is found\n"),
    ],
)
def test_a_plan_says_whether_yes_would_do_anything(memctl: Memctl, root: Path, word: str, said: str) -> None:
    """A plan ends with 1; where nothing is found, no --yes is offered, and where else to look is said."""
    put(root, line("a", "drinks tea"))
    done = memctl("--root", str(root), "forget", "alice", "--query", word)
    assert (1, said) == (done.returncode, done.stderr.decode())


def test_before_takes_an_age(memctl: Memctl, root: Path) -> None:
    """--before takes how long ago, reckoned from --now."""
    put(root, line("a", "x", created_at="2026-01-01T00:00:00Z"), line("b", "y"))
    done = memctl("--root", str(root), "--now", "2026-03-01T00:00:00Z", "forget", "alice", "--before", "30d")
    assert b"would be forgotten: a (hot): x\n" == done.stdout


def test_without_caches(root: Path) -> None:
    """A store whose caches were removed is forgotten in as well."""
    store = plant(root)
    shutil.rmtree(root / ".memctl" / "cache")
    store.memory("alice").forget(["trip#m1", "old"], source=True)
    assert set() == holding(root)
