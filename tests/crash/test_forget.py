"""forget and purge, stopped at each of their changes to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memctl import Memory, Store
from memctl.store import forgotten, journal

from . import harness
from .invariants import USER, store

WORD = "Xyzzyplugh"
TEXT = f"The boat is called {WORD}"
STAYS = {"stays": "Nothing of the kind", "chat#m2": "What a name"}
NOW_US = 1_772_323_200_000_000


def memory(root: Path, **settings: object) -> Memory:
    return store(root, **settings).memory(USER)


def fill(root: Path) -> None:
    """The word in two tiers, archive, journal, quarantine, conversation, trash and index."""
    talk = store(root).conversation(USER, "chat")
    for id, text in (("m1", TEXT), ("m2", "What a name"), ("m3", TEXT)):
        talk.append(text, id=id)
    talk.drop(["m3"])
    gone = store(root).conversation(USER, "gone")
    gone.append(TEXT, id="g1")
    gone.delete()
    memory(root).remember("Nothing of the kind", id="stays", tier="cold")
    cold = root / "tiers" / "cold" / f"{USER}.jsonl"
    cold.write_bytes(cold.read_bytes() + b'{"id":"chat#m1","content":"%s before"}\n' % WORD.encode())
    (root / "archive").mkdir(mode=0o700)
    archived = b'{"id":"old","content":"%s","archived_at":"2026-01-01T00:00:00Z"}\n' % TEXT.encode()
    (root / "archive" / f"{USER}.jsonl").write_bytes(archived)
    memory(root).remember_from("chat")
    memory(root).recall("boat")


@pytest.fixture
def template(directory: Path) -> Path:
    """A store to be copied. What is imported before the fork need not be imported in each child."""
    fill(directory / "warm")
    memory(directory / "warm").forget(query=WORD, source=True)
    store(directory / "warm").purge()
    fill(directory / "template")
    return directory / "template"


def holding(root: Path) -> set[str]:
    """The files that have the word, in any case."""
    wanted = WORD.lower().encode()
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and wanted in path.read_bytes().lower()
    }


def crashes(action: harness.Action, template: Path, directory: Path) -> Iterator[harness.Crash]:
    """All crashes; the last one named in the output of a test that fails is the one it failed for."""
    places = []
    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        places.append(crash.place)
        yield crash
    assert len(places) > 20, "so few calls cannot be all"


def contents(root: Path) -> dict[str, str]:
    return {record.id: record.content for record in memory(root).list_all()}


def by_ids(root: Path, **settings: object) -> None:
    memory(root, **settings).forget(["chat#m1", "old"], source=True)


def by_words(root: Path, **settings: object) -> None:
    memory(root, **settings).forget(query=WORD, source=True)


@pytest.mark.parametrize("forget", [by_ids, by_words])
def test_forget(forget: Callable[..., None], template: Path, directory: Path) -> None:
    """Stopped anywhere, others are whole, and the same command again leaves the word nowhere."""

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        forget(root, durability="fsync")
        acknowledge("forgotten")

    before = holding(template)
    assert {"conversations", "quarantine", "trash", "archive", "tiers", ".memctl"} == {
        path.partition("/")[0] for path in before
    }
    for crash in crashes(action, template, directory):
        layout = store(crash.root).setup.layout
        left = contents(crash.root)
        assert STAYS == {id: left.pop(id) for id in STAYS}
        # Of what is forgotten only the record or an older version of it may still be there.
        assert left in ({}, {"chat#m1": TEXT}, {"chat#m1": f"{WORD} before"})
        assert crash.acknowledged == [] or (left == {} and set() == holding(crash.root))
        if not {"chat#m1", "old"} <= forgotten.ids(layout, USER):
            # The list comes first: before it is whole nothing is lost.
            assert before <= holding(crash.root)
        forget(crash.root)
        assert set() == holding(crash.root)
        assert STAYS == contents(crash.root)
        assert {"chat#m1", "old"} <= forgotten.ids(layout, USER)
        talk = store(crash.root).conversation(USER, "chat")
        assert ["What a name"] == [message.content for message in talk.messages()]
        # Nothing of it comes back.
        memory(crash.root).remember_from("chat")
        memory(crash.root).recall("boat")
        assert set() == holding(crash.root)


def test_accesses_of_others_are_kept(template: Path, directory: Path) -> None:
    """Stopped anywhere, the accesses of other records are counted as before, neither lost nor doubled."""
    memory(template).recall("kind")

    def count(root: Path) -> int:
        layout = store(root).setup.layout
        revs = {record.id: record.rev for record in memory(root).list_all()}
        found = journal.accesses(layout, USER, revs).get("stays")
        return 0 if found is None else found.number

    wanted = count(template)
    assert wanted > 0

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        memory(root).forget(["chat#m1"])
        acknowledge("forgotten")

    for crash in crashes(action, template, directory):
        assert wanted == count(crash.root)
        by_ids(crash.root)
        assert wanted == count(crash.root)


def test_purge(template: Path, directory: Path) -> None:
    """Stopped anywhere, conversations and records are whole, and the same command again removes the rest."""

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        store(root, durability="fsync").purge()
        acknowledge("purged")

    kept = tree(template, "conversations", "tiers")
    aside = tree(template, "trash", "archive", "quarantine")
    for crash in crashes(action, template, directory):
        assert kept == tree(crash.root, "conversations", "tiers")
        left = tree(crash.root, "trash", "archive", "quarantine")
        # What is still there is whole.
        assert left.items() <= aside.items()
        assert [] == crash.acknowledged or {} == left
        Store(crash.root, settings={"durability": "none"}).purge()
        assert {} == tree(crash.root, "trash", "archive", "quarantine")
        assert not list((crash.root / ".memctl" / "tmp").iterdir())
        assert kept == tree(crash.root, "conversations", "tiers")


def test_purge_of_a_part(template: Path, directory: Path) -> None:
    """Stopped anywhere in a purge of what is old, what is young is there, in archive and events."""
    path = template / "archive" / f"{USER}.jsonl"
    young = b'{"id":"young","content":"x","archived_at":"2026-02-28T00:00:00Z"}\n'
    path.write_bytes(path.read_bytes() + young)
    events = template / ".memctl" / "events" / f"{USER}.jsonl"
    event = b'{"time":"2026-02-28T00:00:00Z","type":"memory.deleted"}\n'
    events.write_bytes(b'{"time":"2026-01-01T00:00:00Z","type":"memory.deleted"}\n' + event)

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        made = Store(root, now_us=NOW_US)
        made.purge(only=["archive", "events"], older_than_s=30 * 86_400)
        acknowledge("purged")

    for crash in harness.sweep(action, template, directory):
        print(crash.place)
        now = (crash.root / path.relative_to(template)).read_bytes()
        assert now in ({young} if crash.acknowledged else {young, path.read_bytes()})
        assert (crash.root / events.relative_to(template)).read_bytes().endswith(event)
        action(crash.root, lambda text: None)
        assert young == (crash.root / path.relative_to(template)).read_bytes()
        assert event == (crash.root / events.relative_to(template)).read_bytes()


def tree(root: Path, *folders: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file()
    }
