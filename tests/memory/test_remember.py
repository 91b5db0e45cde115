"""`memctl remember` and `Memory.remember`: what is stored, printed, refused, and what it costs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memctl import Store
from memctl.api.memory import Memory
from memctl.errors import BadInput, LockTimeout, UsageError
from memctl.store import archive, forgotten, intent, journal, line_files
from tests.conftest import Memctl

NOW_US = 1_772_614_800_000_000  # 2026-03-04T09:00:00Z
NOW = "2026-03-04T09:00:00.000000Z"


@pytest.fixture
def store(root: Path) -> Store:
    """A store that is not there yet."""
    return Store(root)


@pytest.fixture
def memory(store: Store) -> Memory:
    """Alice's memory, empty."""
    return store.memory("alice")


def lines(root: Path, tier: str = "hot", user: str = "alice") -> list[dict[str, Any]]:
    """The lines of a tier file, as values."""
    path = root / "tiers" / tier / f"{user}.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


# -- one text ----------------------------------------------------------------------------------------------


def test_a_text_becomes_a_record(memctl: Memctl, root: Path) -> None:
    """The id is printed; the line has the reference's fields, in its order, and `rev`."""
    done = memctl("--root", str(root), "remember", "alice", "She likes tea")
    assert (0, b"") == (done.returncode, done.stderr)
    id = done.stdout.decode().removesuffix("\n")
    assert len(id) == 16 and int(id, 16) >= 0
    (line,) = lines(root)
    now = line["created_at"]
    assert {
        "id": id,
        "content": "She likes tea",
        "scope": "",
        "importance": 0.5,
        "created_at": now,
        "tier": "hot",
        "access_count": 0,
        "last_access_at": now,
        "promoted_at": "0001-01-01T00:00:00Z",
        "rev": 1,
    } == line


def test_every_option(memctl: Memctl, root: Path) -> None:
    """Each option is a field of the record; repeated ones add up, a category counts once."""
    options = "--tier warm --importance 0.9 --category a --category b --category a --scope work --pin"
    options += " --meta k=1 --meta v=a=b --provenance integrator --id x"
    done = memctl("--root", str(root), "--now", NOW, "remember", "alice", "text", *options.split())
    assert (0, b"x\n", b"") == (done.returncode, done.stdout, done.stderr)
    assert [
        {
            "id": "x",
            "content": "text",
            "scope": "work",
            "categories": ["a", "b"],
            "importance": 0.9,
            "created_at": NOW,
            "metadata": {"provenance": "integrator", "k": "1", "v": "a=b"},
            "tier": "warm",
            "access_count": 0,
            "last_access_at": NOW,
            "promoted_at": "0001-01-01T00:00:00Z",
            "pinned": True,
            "rev": 1,
        }
    ] == lines(root, "warm")
    assert [] == lines(root)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        ("alice text --importance 1.1", 2, "a number from 0 to 1"),
        ("alice text --importance -1", 2, "a number from 0 to 1"),
        ("alice text --importance nan", 2, "a number from 0 to 1"),
        ("alice text --importance much", 2, "importance"),
        ("alice text --tier lukewarm", 2, "no tier lukewarm; there are hot, warm, cold"),
        ("alice text --meta novalue", 2, "K=V"),
        ("alice text --meta =v", 2, "K=V"),
        ("alice text --provenance p --meta provenance=q", 2, "twice"),
        ("alice text --input f", 2, "exclude each other"),
        ("alice text --from trip", 2, "exclude each other"),
        ("alice --from trip --input f", 2, "exclude each other"),
        ("alice --id x", 2, "--id is for TEXT"),
        ("alice --from trip --id x", 2, "--id is for TEXT"),
        ("alice text --id=", 2, "--id is blank"),
        ("alice/trip text", 2, "a user alone"),
        ("a/b/c text", 65, "second /"),
        ("alice --from alice/trip", 65, "alone"),
        ("alice --from nothing", 66, "no conversation alice/nothing"),
        ("alice --input nothing", 66, "No such file"),
    ],
)
def test_what_is_refused(memctl: Memctl, root: Path, arguments: str, exit_code: int, said: str) -> None:
    """Each mistake has its exit code and one line about it; nothing is made."""
    done = memctl("--root", str(root), "remember", *arguments.split())
    assert (exit_code, b"") == (done.returncode, done.stdout)
    assert said in done.stderr.decode()
    assert not (root / "tiers").exists()


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_blank_text_is_refused(memctl: Memctl, root: Path, text: str) -> None:
    """A variable that was empty is no memory: 65, nothing stored."""
    done = memctl("--root", str(root), "remember", "alice", text, "--json")
    assert (65, b"") == (done.returncode, done.stdout)
    assert "bad-input" == json.loads(done.stderr)["error"]["code"]
    assert not root.exists()


# -- JSON lines --------------------------------------------------------------------------------------------


def test_json_lines(memctl: Memctl, root: Path) -> None:
    """Any number of records, each in the tier that it says, from standard input or a file; one id a line."""
    data = (
        b'{"content":"a","id":"1"}\n\n{"content":"b","tier":"cold","id":"2","mine":1.50}\n{"content":"c"}\n'
    )
    done = memctl("--root", str(root), "remember", "alice", input=data)
    assert (0, b"") == (done.returncode, done.stderr)
    assert ["1", "2"] == done.stdout.decode().split()[:2]
    assert ["a", "c"] == [line["content"] for line in lines(root)]
    raw = (root / "tiers" / "cold" / "alice.jsonl").read_bytes()
    assert raw.endswith(b',"rev":1,"mine":1.50}\n')
    (root.parent / "facts.jsonl").write_bytes(data)
    done = memctl("--root", str(root), "remember", "alice", "--input", "facts.jsonl", "--json")
    report = json.loads(done.stdout)
    assert (1, 0, 2) == (report["remembered"], report["updated"], report["unchanged"])
    assert b"2 records stored already" in done.stderr


def test_one_bad_line_refuses_all(memctl: Memctl, root: Path) -> None:
    """The line is named with its number, and nothing of the input is stored, nor the store made."""
    data = b'{"content":"a"}\n\n{"content":"b","importance":7}\n'
    done = memctl("--root", str(root), "remember", "alice", input=data)
    assert (65, b"") == (done.returncode, done.stdout)
    assert (
        "memctl: line 3 of the input: importance must be a number from 0 to 1\n"
        "memctl: hint: nothing was stored\n" == done.stderr.decode()
    )
    assert not root.exists()


def test_an_unknown_id_needs_content(memory: Memory, root: Path) -> None:
    """A line that changes a record that is not there refuses all of the input with its number."""
    with pytest.raises(BadInput, match="line 2 of the input: there is no record y yet"):
        memory.remember_jsonl(b'{"id":"x","content":"a"}\n{"id":"y","importance":1}')
    assert [] == lines(root)


def test_options_beside_json_lines(memctl: Memctl, root: Path) -> None:
    """They stand in for what a line does not say itself."""
    data = b'{"content":"a","tier":"cold"}\n{"content":"b"}'
    arguments = ["--tier=warm", "--scope=s", "--category=c", "--provenance=p"]
    assert 0 == memctl("--root", str(root), "remember", "alice", *arguments, input=data).returncode
    (one,), (two,) = lines(root, "cold"), lines(root, "warm")
    assert ("a", "b") == (one["content"], two["content"])
    for line in (one, two):
        assert ("s", ["c"], {"provenance": "p"}) == (line["scope"], line["categories"], line["metadata"])


def test_an_empty_input(memctl: Memctl, root: Path) -> None:
    """Nothing in, nothing out, nothing made."""
    done = memctl("--root", str(root), "remember", "alice", input=b"\n\n")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert not root.exists()


# -- ids ---------------------------------------------------------------------------------------------------


def test_the_same_id_again(memory: Memory, root: Path) -> None:
    """What is given takes the place of what is there, all else stays, and the line counts one more."""
    memory.remember(
        {"id": "x", "content": "old", "tier": "warm", "access_count": 4, "pinned": True, "mine": [1]}
    )
    before = (root / "tiers" / "warm" / "alice.jsonl").read_bytes()
    done = memory.remember("new", id="x", importance=0.9)
    assert (0, 1, 0, ["x"]) == (done.remembered, done.updated, done.unchanged, done.ids)
    after = (root / "tiers" / "warm" / "alice.jsonl").read_bytes()
    changed = before[:-1].replace(b'"old"', b'"new"').replace(b'"importance":0.5', b'"importance":0.9')
    assert before + changed.replace(b'"rev":1', b'"rev":2') + b"\n" == after
    assert ["new"] == [record.content for record in memory.list_all()]


def test_nothing_new_is_not_written(memory: Memory, root: Path) -> None:
    """The same record again changes no byte, and its id is in the answer all the same."""
    fields: dict[str, Any] = {"categories": ["a"], "metadata": {"k": "v"}, "importance": 0.9}
    memory.remember("text", id="x", **fields)
    path = root / "tiers" / "hot" / "alice.jsonl"
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    done = memory.remember("text", id="x", **fields)
    assert (0, 0, 1, ["x"]) == (done.remembered, done.updated, done.unchanged, done.ids)
    assert before == (path.read_bytes(), path.stat().st_mtime_ns)


def test_another_tier(memory: Memory, root: Path) -> None:
    """A record that is given another tier is appended there, enters it now, and counts accesses anew."""
    memory.remember({"id": "x", "content": "c", "access_count": 4, "tier_access_count": 4})
    memory.remember({"id": "x", "tier": "cold"})
    record = memory.get("x")
    value = record.value
    assert ("cold", 2, 4, 0) == (record.tier, record.rev, record.access_count, record.tier_access_count)
    assert value["promoted_at"] > value["created_at"]
    assert 1 == len(memory.list_all())


def test_one_id_twice_in_one_input(memory: Memory, root: Path) -> None:
    """The later line is over the earlier, also in another tier; one line is written."""
    done = memory.remember(
        [
            {"id": "x", "content": "a", "scope": "s"},
            {"content": "between"},
            {"id": "x", "content": "b", "tier": "warm"},
            {"id": "x", "content": "b"},
        ]
    )
    assert (2, 1, 1) == (done.remembered, done.updated, done.unchanged)
    assert ["x", "x", "x"] == [id for id in done.ids if id == "x"]
    (line,) = lines(root, "warm")
    assert ("b", "s", 1) == (line["content"], line["scope"], line["rev"])
    assert ["between"] == [line["content"] for line in lines(root)]


@pytest.mark.parametrize("spelling", ["a\\u002fb", "\\u0061\\/b", "a/b"])
def test_an_id_in_any_spelling(memory: Memory, root: Path, spelling: str) -> None:
    """A record is found by its id, however another program escaped it."""
    memory.remember("other")
    with open(root / "tiers" / "hot" / "alice.jsonl", "a") as file:
        file.write(f'{{"content":"a/b","\\u0069d":"{spelling}","rev":6}}\n')
    assert 1 == memory.remember("new", id="a/b").updated
    assert ("new", 7) == (memory.get("a/b").content, memory.get("a/b").rev)


HOSTILE = ["../x", "/abs/x", "a/b", ".", "..", "a\x00b", "a\nb", "a\\b", 'a"b', "%2F", "é\u2028🙂", "x" * 300]


def test_hostile_ids_and_texts(memctl: Memctl, root: Path, tmp_path: Path) -> None:
    """Ids and texts are text: they come back as they were, and no file but the tier file is made for them."""
    before = {path for path in tmp_path.rglob("*") if root not in path.parents}
    data = "\n".join(json.dumps({"id": text, "content": f"of {text}"}) for text in HOSTILE).encode()
    done = memctl("--root", str(root), "remember", "alice", input=data)
    assert (0, len(HOSTILE)) == (done.returncode, done.stdout.count(b"\n"))
    memory = Store(root).memory("alice")
    for text in HOSTILE:
        assert f"of {text}" == memory.get(text).content
    assert len(HOSTILE) == memory.remember_jsonl(data).unchanged
    files = {path.name for path in (root / "tiers").rglob("*") if path.is_file()}
    assert {"alice.jsonl"} == files
    assert before | {root} == {path for path in tmp_path.rglob("*") if root not in path.parents}


def test_lone_surrogates_survive(memory: Memory, root: Path) -> None:
    """An escape that is no character stays the escape that it was."""
    memory.remember_jsonl(b'{"id":"\\ud800","content":"a\\udfffb"}')
    assert b'{"id":"\\ud800","content":"a\\udfffb"' in (root / "tiers" / "hot" / "alice.jsonl").read_bytes()
    assert 1 == memory.remember({"id": "\ud800", "content": "other"}).updated


@pytest.mark.parametrize("user", ["../up", "a/b", ".", "ü", "a%b"])
def test_names_of_users(memctl: Memctl, root: Path, user: str) -> None:
    """A user's name stays in the tier's directory, and reaches the same records again."""
    typed = user.replace("%", "%25").replace("/", "%2F")
    typed = f"%2E{typed[1:]}" if typed.startswith(".") else typed
    assert 0 == memctl("--root", str(root), "remember", typed, "text", "--id", "x").returncode
    assert 0 == memctl("--root", str(root), "get", typed, "x").returncode
    assert [root / "tiers" / "hot"] == [path.parent for path in root.rglob("*.jsonl")]
    assert "text" == Store(root).memory(user).get("x").content


@pytest.mark.parametrize("user", ["", " ", "n" * 300])
def test_a_name_that_is_none_is_refused(memctl: Memctl, root: Path, user: str) -> None:
    """65, an event, no record."""
    assert 65 == memctl("--root", str(root), "remember", user, "text").returncode
    assert [] == list(root.glob("tiers/**/*"))
    (event,) = (json.loads(line) for path in root.rglob("events/*") for line in path.open())
    assert "memory.identity_rejected" == event["type"]


# -- ids that are given by us ------------------------------------------------------------------------------


def test_a_run_can_be_repeated(memctl: Memctl, tmp_path: Path) -> None:
    """With --now the same commands make the same bytes, and each record has an id of its own."""
    stores = []
    for name in ("one", "two"):
        root = tmp_path / name
        for _ in range(3):
            memctl("--root", str(root), "--now", NOW, "remember", "alice", "same text")
        data = b'{"content":"same text"}\n{"content":"same text"}\n'
        memctl("--root", str(root), "--now", NOW, "remember", "alice", input=data)
        stores.append((root / "tiers" / "hot" / "alice.jsonl").read_bytes())
    assert stores[0] == stores[1]
    assert 5 == len({json.loads(line)["id"] for line in stores[0].splitlines()})


def test_a_derived_id_is_no_other_record(root: Path) -> None:
    """A derived id meets no record of another tier, of the archive, no forgotten one, none of the input."""
    memory = Store(root, now_us=NOW_US).memory("alice")
    layout = memory.setup.layout
    (first,) = memory.remember("text").ids
    moved = (root / "tiers" / "hot" / "alice.jsonl").read_bytes()
    os.unlink(root / "tiers" / "hot" / "alice.jsonl")
    line_files.append(layout.tier("cold", "alice"), [moved[:-1]], fsync=False)
    (second,) = memory.remember("text").ids
    os.unlink(root / "tiers" / "hot" / "alice.jsonl")
    archive.append(layout, "alice", [archive.line(memory.get(first).raw, NOW, "x")], fsync=False)
    os.unlink(root / "tiers" / "cold" / "alice.jsonl")
    forgotten.add(layout, "alice", [second], NOW, False)
    (third,) = memory.remember("text").ids
    assert 3 == len({first, second, third})
    os.unlink(root / "tiers" / "hot" / "alice.jsonl")
    done = memory.remember([{"id": third, "content": "given"}, {"content": "text"}])
    assert 2 == len(set(done.ids))


# -- archived and forgotten ids ----------------------------------------------------------------------------


def test_an_archived_id_comes_back_newer(root: Path) -> None:
    """A record with the id of an archived one is a new one with a higher `rev`; the archive keeps its own."""
    memory = Store(root).memory("alice")
    layout = memory.setup.layout
    archive.append(layout, "alice", [b'{"id":"x","content":"old","scope":"s","rev":4}'], fsync=False)
    assert 1 == memory.remember("new", id="x").remembered
    assert (5, "") == (memory.get("x").rev, memory.get("x").scope)
    assert ["old"] == [item.record.content for item in archive.read(layout, "alice")]


def test_a_forgotten_id(memctl: Memctl, root: Path) -> None:
    """A line with one is left out and named, --again stores it; a text that is typed is a new wish."""
    memory = Store(root).memory("alice")
    layout = memory.setup.layout
    forgotten.add(layout, "alice", ["x", "y"], NOW, False)
    data = b'{"id":"x","content":"a"}\n{"id":"z","content":"b"}\n'
    done = memctl("--root", str(root), "remember", "alice", "--json", input=data)
    report = json.loads(done.stdout)
    assert (1, ["z"], ["x"]) == (report["remembered"], report["ids"], report["forgotten"])
    assert 1 == report["skipped"]["forgotten"]
    assert b"memctl: the record x was forgotten; --again stores it\n" in done.stderr
    assert 0 == memctl("--root", str(root), "remember", "alice", "typed", "--id", "y").returncode
    assert {"x"} == forgotten.ids(layout, "alice")
    assert 0 == memctl("--root", str(root), "remember", "alice", "--again", input=data).returncode
    assert set() == forgotten.ids(layout, "alice")
    assert {"x", "y", "z"} == {record.id for record in memory.list_all()}


def test_waiting_accesses_outlive_a_change(root: Path) -> None:
    """What the journal has of a record is counted once after a change, a pin and a pass."""
    memory = Store(root, now_us=NOW_US).memory("alice")
    layout = memory.setup.layout
    memory.remember("text", id="x")
    assert journal.note(layout, "alice", ["x"], NOW, 1)
    memory.remember("new", id="x")
    memory.pin("x")
    assert 1 == memory.get("x").access_count
    memory.reconcile()
    assert (1, "new", True) == (memory.get("x").access_count, memory.get("x").content, memory.get("x").pinned)


@pytest.mark.parametrize("change", [lambda m: m.remember("new", id="x"), lambda m: m.pin("x")])
def test_a_pass_that_was_killed_is_settled_first(root: Path, change: Any) -> None:
    """An access that a killed pass was about to fold in is not taken for folded after a new `rev`."""
    memory = Store(root, now_us=NOW_US).memory("alice")
    layout = memory.setup.layout
    memory.remember("text", id="x")
    assert journal.note(layout, "alice", ["x"], NOW, 1)
    waiting = journal.pending(layout, "alice", {"x": 1})
    intent.write(layout, "alice", intent.Intent(waiting.mark, waiting.end, {"x": 2}, None), fsync=False)
    change(memory)
    assert (2, 1) == (memory.get("x").rev, memory.get("x").access_count)
    assert intent.read(layout, "alice") is None


# -- settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "tier"),
    [
        ({}, "hot"),
        ({"tiers.single": "cold"}, "hot"),
        ({"policy.preset": "single"}, "hot"),
        ({"policy.preset": "single", "tiers.single": "cold"}, "cold"),
    ],
)
def test_the_one_tier(root: Path, settings: dict[str, Any], tier: str) -> None:
    """With the preset single and a tier for it new records go there; one that is given counts."""
    memory = Store(root, settings=settings).memory("alice")
    memory.remember("text", id="x")
    memory.remember([{"content": "more"}, {"content": "other", "tier": "warm"}])
    assert ["text", "more"] == [line["content"] for line in lines(root, tier)]
    assert ["other"] == [line["content"] for line in lines(root, "warm")]


def test_tiers_that_lie_elsewhere(root: Path, tmp_path: Path) -> None:
    """Each tier's directory can be another one; what is in it is found."""
    settings = {f"tiers.{tier}": str(tmp_path / f"{tier} disk") for tier in ("hot", "cold")}
    memory = Store(root, settings=settings).memory("alice")
    memory.remember([{"id": "x", "content": "a"}, {"id": "y", "content": "b", "tier": "cold"}])
    assert ["a", "b"] == [memory.get(id).content for id in ("x", "y")]
    assert (tmp_path / "cold disk" / "alice.jsonl").exists()
    assert not (root / "tiers").exists()


# -- the library -------------------------------------------------------------------------------------------


def test_what_the_library_takes(memory: Memory) -> None:
    """A text, a mapping, several; anything else is an error of ours, and so is an unknown field."""
    assert 1 == memory.remember("a").remembered
    assert 1 == memory.remember({"content": "b"}).remembered
    assert 2 == memory.remember(iter([{"content": "c"}, {"content": "d"}])).remembered
    assert 0 == memory.remember([]).remembered
    with pytest.raises(BadInput, match="several records"):
        memory.remember(["a"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no field colour"):
        memory.remember("a", colour="red")
    with pytest.raises(UsageError, match="an id is for a text"):
        memory.remember({"content": "a"}, id="x")
    with pytest.raises(BadInput, match="importance"):
        memory.remember("a", importance=2)
    with pytest.raises(BadInput, match="tier"):
        memory.remember("a", tier="x")


def test_a_lock_that_is_held(root: Path) -> None:
    """Nothing is stored and the holder is named; a reader does not wait."""
    store = Store(root, settings={"lock.timeout_s": 0})
    memory = store.memory("alice")
    memory.remember("a", id="x")
    with store.setup.records_lock("alice", "reconcile"):
        with pytest.raises(LockTimeout, match=r"the memory of alice is busy.*reconcile"):
            memory.remember("b")
        assert "a" == memory.get("x").content
    assert 1 == len(memory.list_all())


def test_a_torn_last_line(memory: Memory, root: Path) -> None:
    """What a crash left behind the last line is set apart by a newline; both neighbours are whole."""
    memory.remember("a", id="x")
    path = root / "tiers" / "hot" / "alice.jsonl"
    with path.open("ab") as file:
        file.write(b'{"id":"torn","cont')
    memory.remember("b", id="y")
    assert {"x", "y"} == {record.id for record in memory.list_all()}
    assert [("hot", 2)] == [(bad.tier, bad.line) for bad in memory.records().bad]


# -- rules -------------------------------------------------------------------------------------------------

IDS = st.sampled_from(["x", "y", "z/1", None])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(max_size=5),
        "tier": st.sampled_from(["hot", "warm", "cold"]),
        "importance": st.floats(0, 1),
        "pinned": st.booleans(),
        "metadata": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "mine": st.integers() | st.lists(st.text(max_size=3), max_size=2),
    },
)
INPUTS = st.lists(st.lists(st.tuples(IDS, FIELDS), max_size=4), max_size=5)


@given(INPUTS)
@hypothesis_settings(max_examples=60)
def test_any_sequence_of_inputs_is_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, inputs: list[list[tuple[str | None, dict[str, Any]]]]
) -> None:
    """Whatever comes in, in however many inputs: each id is found once, with the fields given last."""
    memory = Store(tmp_path_factory.mktemp("rule"), settings={"durability": "none"}).memory("alice")
    expected: dict[str, dict[str, Any]] = {}
    for batch in inputs:
        given = []
        for id, fields in batch:
            known = id in expected or id in {one["id"] for one in given if "id" in one}
            content = {} if known else {"content": fields.get("content", "c")}
            given.append({**({"id": id} if id is not None else {}), **fields, **content})
        done = memory.remember(given)
        assert len(given) == len(done.ids) == done.remembered + done.updated + done.unchanged
        for id, one in zip(done.ids, given, strict=True):
            expected[id] = {**expected.get(id, {"tier": "hot", "importance": 0.5}), **one, "id": id}
    found = {record.id: record for record in memory.list_all()}
    assert expected.keys() == found.keys()
    for id, fields in expected.items():
        value = {"pinned": False, "metadata": {}, **found[id].value}
        assert fields == {key: value[key] for key in fields}
        assert fields["tier"] == found[id].tier == memory.get(id).tier


# -- several processes, modes, cost ------------------------------------------------------------------------

_WRITER = """
import sys
from memctl import Store
memory = Store(sys.argv[1], settings={"durability": "none"}).memory("alice")
for number in range(int(sys.argv[3])):
    memory.remember(f"{sys.argv[2]} {number}")
    memory.remember([{"id": f"{sys.argv[2]}-{number}", "content": "own"},
                     {"id": "shared", "content": f"{sys.argv[2]} {number}", "tier": "warm"}])
"""


def test_eight_processes_at_once(environment: dict[str, str], root: Path) -> None:
    """Nothing is lost and nothing is there twice; each change of a shared record counts one more."""
    count = 12
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(root), f"p{n}", str(count)], env=environment)
        for n in range(8)
    ]
    assert [0] * 8 == [writer.wait(timeout=120) for writer in writers]
    memory = Store(root).memory("alice")
    contents = Counter(record.content for record in memory.list_all() if record.tier == "hot")
    texts = {f"p{n} {number}": 1 for n in range(8) for number in range(count)}
    assert texts | {"own": 8 * count} == contents
    assert 8 * count == memory.get("shared").rev
    assert 8 * count == len(lines(root, "warm"))
    assert [] == memory.records().bad


def test_modes(memctl: Memctl, root: Path) -> None:
    """Under umask 022 new files have mode 0600 and new directories 0700; an append leaves a mode as it is."""
    run = ["sh", "-c", f"umask 022; {sys.executable} -m memctl --root {root} remember alice text"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HOME": str(root),
    }
    subprocess.run(run, check=True, env=environment, stdout=subprocess.DEVNULL)
    for path in (root, *root.rglob("*")):
        assert (0o700 if path.is_dir() else 0o600) == stat.S_IMODE(path.stat().st_mode), path
    path = root / "tiers" / "hot" / "alice.jsonl"
    path.chmod(0o640)
    memctl("--root", str(root), "remember", "alice", "more")
    assert 0o640 == stat.S_IMODE(path.stat().st_mode)


def test_a_link_in_the_place_of_a_tier_file(memctl: Memctl, root: Path, tmp_path: Path) -> None:
    """It is not followed: 77, and what it leads to is as it was."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (root / "tiers" / "hot").mkdir(parents=True)
    (root / "tiers" / "hot" / "alice.jsonl").symlink_to(victim)
    for arguments in (("alice", "text"), ("alice", "text", "--id", "x")):
        assert 77 == memctl("--root", str(root), "remember", *arguments).returncode
    assert b"mine" == victim.read_bytes()


@pytest.mark.xdist_group("measures")
@pytest.mark.parametrize("ids", ["without ids", "new ids", "known ids"])
def test_ten_thousand_records_beside_more(memctl: Memctl, root: Path, ids: str) -> None:
    """10,000 records from standard input beside 30,000 stored ones take no more than 3 s of a processor."""
    memory = Store(root, settings={"durability": "none"}).memory("alice")
    text = "twenty words or so of a fact that somebody told us and that we want to find again some day"
    memory.remember([{"id": f"fact-{n}", "content": f"{text} {n}"} for n in range(30_000)])
    start = {
        "without ids": '"content":',
        "new ids": '"id":"new-%d","content":',
        "known ids": '"id":"fact-%d","content":',
    }
    data = "\n".join(
        f'{{{start[ids] % n if "%" in start[ids] else start[ids]}"{text} {n} again"}}' for n in range(10_000)
    ).encode()
    began = time.perf_counter()
    before = os.times()
    done = memctl("--root", str(root), "remember", "alice", input=data)
    used = os.times()
    assert (0, 10_000) == (done.returncode, done.stdout.count(b"\n"))
    assert used.children_user + used.children_system - before.children_user - before.children_system <= 3
    assert time.perf_counter() - began <= 20
    assert (30_000 if ids == "known ids" else 40_000) == len(memory.list_all())
