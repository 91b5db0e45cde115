"""Retrieval by vectors: the hash embedder, commands, the cache, and what goes wrong."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memctl import BadConfig, Store, Unavailable
from memctl.core import embedding
from memctl.store import vectors
from memctl.store.vectors import Vectors, key
from tests.conftest import Memctl

from .stored import NOW_US, line, put

HASH = {"retrieval.mode": "semantic", "retrieval.embedder": "hash"}
#: Vectors of two numbers: how often a text has an a, and a b. It notes how often it was started.
COUNTING = """
import json, sys
with open(sys.argv[1], "a") as file:
    file.write("x")
for line in sys.stdin:
    text = json.loads(line)
    print(json.dumps([text.count("a"), text.count("b")] + [0] * int(sys.argv[2])))
"""


def command(tmp_path: Path, program: str, *arguments: str) -> str:
    """A `cmd:` that runs a program in Python."""
    path = tmp_path / "embedder.py"
    path.write_text(program, encoding="utf-8")
    words = [sys.executable, str(path), *arguments]
    return "cmd:" + " ".join(f"'{word}'" for word in words)


def ids(store: Store, query: str, **more: Any) -> list[str]:
    """The ids of a recall for alice, best first."""
    return [one.record.id for one in store.memory("alice").recall(query, touch=False, **more).found]


# -- the hash embedder ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968), (b"b", 0xE70C2DE5)],
)
def test_fnv1a(data: bytes, expected: int) -> None:
    """The hash is the 32-bit FNV-1a of its published test vectors."""
    assert f"{expected:08x}" == f"{embedding.fnv1a(data):08x}"


def test_hashed_vectors() -> None:
    """64 counts of lower-cased words by their hash modulo 64, of length 1; white space is the first unit."""
    vector = embedding.hashed("Spare KEY key")
    spare, word = (embedding.fnv1a(text) % 64 for text in (b"spare", b"key"))
    expected = [0.0] * 64
    expected[spare] += 1 / math.sqrt(5)
    expected[word] += 2 / math.sqrt(5)
    assert pytest.approx(expected, abs=1e-7) == list(vector)
    assert "f" == vector.typecode
    assert [1.0] + [0.0] * 63 == list(embedding.hashed(" \n"))
    with pytest.raises(ValueError, match="empty"):
        embedding.hashed("")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [([1, 0], [1, 0], 1.0), ([1, 0], [0, 2], 0.0), ([1, 1], [-1, -1], -1.0), ([0, 0], [1, 0], 0.0)],
)
def test_cosine(one: list[float], other: list[float], expected: float) -> None:
    """The cosine of two vectors, 0 where one has no length."""
    assert pytest.approx(expected) == embedding.cosine(one, other, embedding.norm(one), embedding.norm(other))


# -- recall and search ------------------------------------------------------------------------------------


def test_semantic_recall(root: Path) -> None:
    """The nearest text is the most relevant; every record at or above the least cosine is found."""
    put(
        root,
        line("r1", "spare key"),
        line("r2", "key of the piano"),
        line("r3", "the train"),
        line("r4", " "),
    )
    recall = Store(root, now_us=NOW_US, settings=HASH).memory("alice").recall("spare key", touch=False)
    assert ["r1", "r2", "r3"] == [one.record.id for one in recall.found]
    cosines = [one.scores["cosine"] for one in recall.found]
    assert pytest.approx([1.0, 1 / math.sqrt(8), 0.0]) == cosines
    assert pytest.approx([1.0, 1 / math.sqrt(8), 0.0]) == [one.scores["semantic"] for one in recall.found]
    assert {"embedder": "hash", "made": 3, "stale": 0, "blank": 1} == recall.vectors
    again = Store(root, now_us=NOW_US, settings=HASH).memory("alice").recall("spare key", touch=False)
    assert {"embedder": "hash", "made": 0, "stale": 0, "blank": 1} == again.vectors
    assert [one.score for one in recall.found] == [one.score for one in again.found]


@pytest.mark.parametrize(
    ("least", "expected"),
    [(0, ["r1", "r2", "r3"]), (0.5, ["r1", "r2"]), (0.51, ["r1"]), (1, ["r1"]), (-1, ["r1", "r2", "r3"])],
)
def test_the_least_cosine_counts(root: Path, least: float, expected: list[str]) -> None:
    """`retrieval.min_score` is the least cosine that counts as found, itself included."""
    put(root, line("r1", "aa"), line("r2", "aa bb cc dd"), line("r3", "ee"))
    assert expected == ids(Store(root, now_us=NOW_US, settings=HASH | {"retrieval.min_score": least}), "aa")


def test_both_adds_the_cosine(root: Path) -> None:
    """In mode `both` what words find and what vectors find is ranked in one list."""
    put(root, line("words", "spare key of the house"), line("none", "the train"))
    put(root, line("near", "house house house"), tier="cold")
    settings = {"retrieval.mode": "both", "retrieval.embedder": "hash", "retrieval.min_score": 0.2}
    recall = Store(root, now_us=NOW_US, settings=settings).memory("alice").recall("spare house", touch=False)
    assert ["words", "near"] == [one.record.id for one in recall.found]
    assert {"cosine", "signals"} <= recall.found[0].scores.keys()
    lexical = ids(Store(root, now_us=NOW_US), "spare house")
    assert {"words", "near"} == set(lexical)


def test_both_with_filters_and_ties(root: Path) -> None:
    """Filters hold in every mode, and equal scores are ordered by id."""
    for tier in ("cold", "hot"):
        put(
            root,
            *(line(f"{tier}{n}", f"key {'xyz'[n]}", scope="s" if n else "") for n in range(3)),
            tier=tier,
        )
    for mode in ("semantic", "both"):
        store = Store(root, now_us=NOW_US, settings=HASH | {"retrieval.mode": mode})
        assert ["cold1", "cold2"] == ids(store, "key", scope="s", tier="cold")
        assert ["cold1", "cold2"] == ids(store, "key", scope="s")


def test_a_blank_query_needs_no_vector(root: Path) -> None:
    """A blank query ranks by recency and importance in every mode, and makes no vector."""
    put(root, line("r1", "key"), line("r2", "other", importance=1))
    recall = Store(root, now_us=NOW_US, settings=HASH).memory("alice").recall("", touch=False)
    assert ["r2", "r1"] == [one.record.id for one in recall.found]
    assert recall.vectors is None
    assert not (root / ".memctl" / "cache" / "vectors").exists()


def test_semantic_search(root: Path) -> None:
    """Search finds messages by their vectors, in conversations and in files, with the cosine as score."""
    store = Store(root, now_us=NOW_US)
    talk = store.conversation("alice", "trip")
    talk.append("spare key", id="m1")
    talk.append("the train", role="assistant")
    store.conversation("alice", "other").append("key key")
    file = root / "conversations" / "alice" / "trip.jsonl"
    store = Store(root, now_us=NOW_US, settings=HASH | {"retrieval.min_score": 0.1})
    found = store.search("alice", "spare key").found
    assert [("alice/trip", 0), ("alice/other", 0)] == [(m.conversation, m.message.position) for m in found]
    assert pytest.approx([1.0, 1 / math.sqrt(2)]) == [match.score for match in found]
    (match,) = store.search(str(file), "spare").found
    assert "m1" == match.message.id
    assert ["hash.vec"] == [
        path.name for path in (root / ".memctl" / "cache" / "vectors" / "alice").iterdir()
    ]
    both = Store(root, now_us=NOW_US, settings=HASH | {"retrieval.mode": "both", "retrieval.min_score": 0.1})
    assert ["alice/trip", "alice/other"] == [
        match.conversation for match in both.search("alice", "spare key").found
    ]


def test_writing_makes_no_vectors(root: Path, memctl: Memctl) -> None:
    """append and remember make no vectors; recall makes those that are missing."""
    env = {"MEMCTL_RETRIEVAL_MODE": "semantic", "MEMCTL_RETRIEVAL_EMBEDDER": "hash"}
    for arguments in (("append", "alice/trip", "hello"), ("remember", "alice", "spare key")):
        assert 0 == memctl("--root", str(root), *arguments, env=env).returncode
    assert not (root / ".memctl" / "cache" / "vectors").exists()
    assert 1 == len(memctl("--root", str(root), "recall", "alice", "key", env=env).stdout.splitlines())
    assert (root / ".memctl" / "cache" / "vectors" / "alice" / "hash.vec").exists()


# -- commands ---------------------------------------------------------------------------------------------


def test_a_command_makes_vectors(root: Path, tmp_path: Path) -> None:
    """`cmd:` gets a JSON text a line and prints a vector a line; vectors that are kept are not made again."""
    put(root, line("r1", "aaa\n\u00e9"), line("r2", "ab"), line("r3", "bbb"), line("r4", "aaa\n\u00e9"))
    starts = tmp_path / "starts"
    settings = {
        "retrieval.mode": "semantic",
        "retrieval.embedder": command(tmp_path, COUNTING, str(starts), "0"),
    }
    store = Store(root, now_us=NOW_US, settings=settings)
    assert ["r1", "r2", "r3"] == ids(store, "aa")
    assert "xx" == starts.read_text()
    assert ["r3", "r2", "r1"] == ids(store, "b")
    assert "xxx" == starts.read_text()
    put(root, line("r5", "bbbb"))
    assert ["r3", "r5"] == sorted(ids(store, "b", limit=2))
    assert "xxxxx" == starts.read_text()


def test_stale_vectors_are_counted(root: Path, tmp_path: Path) -> None:
    """Vectors of another size than that of the query are passed over, and counted."""
    put(root, line("r1", "aa"), line("r2", "ab"))
    program = COUNTING.replace("[0] * int(sys.argv[2])", "[0] * (3 if text == 'aa' else 0)")
    settings = {
        "retrieval.mode": "semantic",
        "retrieval.embedder": command(tmp_path, program, str(tmp_path / "starts"), "0"),
    }
    recall = Store(root, now_us=NOW_US, settings=settings).memory("alice").recall("a", touch=False)
    assert ["r2"] == [one.record.id for one in recall.found]
    assert recall.vectors is not None
    assert 1 == recall.vectors["stale"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no such model: \\x1b[31m')", "no such model"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("print('[1, 2]')\nprint('[1, 2]')", "2 lines for 1 texts"),
        ("pass", "0 lines for 1 texts"),
        ("print('[1, \"x\"]')", "no vector"),
        ("print('[]')", "no vector"),
        ("print('{}')", "no vector"),
        ("print('[NaN]')", "no vector"),
        ("print('[1e400]')", "no vector"),
        ("print('[1e39]')", "no vector"),
        ("print('[true]')", "no vector"),
        ("print('nothing')", "no vector"),
    ],
)
def test_a_command_that_fails(root: Path, tmp_path: Path, program: str, said: str) -> None:
    """A command that fails, or prints something else, ends the recall with 69 and what it said."""
    put(root, line("r1", "aa"))
    settings = {"retrieval.mode": "semantic", "retrieval.embedder": command(tmp_path, program)}
    with pytest.raises(Unavailable, match=said):
        ids(Store(root, now_us=NOW_US, settings=settings), "aa")
    assert [] == vectors.kept(Store(root).setup.layout, "alice")


def test_a_command_that_takes_too_long(root: Path, tmp_path: Path) -> None:
    """A command that exceeds the time limit is stopped, with what it has started."""
    put(root, line("r1", "aa"))
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    settings = {
        "retrieval.mode": "semantic",
        "retrieval.embedder": command(tmp_path, program, str(tmp_path / "pid")),
        "retrieval.timeout": 1,
    }
    with pytest.raises(Unavailable, match="longer than 1 s"):
        ids(Store(root, now_us=NOW_US, settings=settings), "aa")
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while _lives(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _lives(child)


def _lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        ("", BadConfig, "no retrieval.embedder"),
        ("word2vec", BadConfig, "word2vec"),
        ("cmd:", BadConfig, "no command"),
        ("cmd:'", BadConfig, "quotation"),
        ("cmd:/no/such/program", Unavailable, "cannot be started"),
        ("model", Unavailable, "no model"),
    ],
)
def test_embedders_that_there_are_not(root: Path, value: str, error: type[Exception], said: str) -> None:
    """Semantic retrieval without a usable embedder is refused, in recall and in search."""
    put(root, line("r1", "aa"))
    Store(root).conversation("alice", "trip").append("hello")
    for mode in ("semantic", "both"):
        store = Store(root, settings={"retrieval.mode": mode, "retrieval.embedder": value})
        with pytest.raises(error, match=said):
            store.memory("alice").recall("x", touch=False)
        with pytest.raises(error, match=said):
            store.search("alice", "x")


@pytest.mark.parametrize(("embedder", "exit_code"), [("", 78), ("model", 69), ("cmd:false", 69)])
def test_exit_codes(root: Path, memctl: Memctl, embedder: str, exit_code: int) -> None:
    """No embedder is a matter of configuration, one that fails is something missing."""
    put(root, line("r1", "aa"))
    env = {"MEMCTL_RETRIEVAL_MODE": "semantic", "MEMCTL_RETRIEVAL_EMBEDDER": embedder}
    done = memctl("--root", str(root), "recall", "alice", "x", "--json", env=env)
    assert (exit_code, b"") == (done.returncode, done.stdout)
    assert exit_code == json.loads(done.stderr)["error"]["exit"]


# -- the cache --------------------------------------------------------------------------------------------


def test_vectors_are_kept(root: Path) -> None:
    """What was added is there for the next reader, digit for digit, and keyed by the text."""
    place = Store(root).setup.layout.vectors("alice", "x")
    first = Vectors(place)
    made = {key(text): embedding.hashed(text) for text in ("a b", "c")}
    first.add(made)
    first.add({key("d"): embedding.hashed("d")})
    second = Vectors(place)
    assert 3 == len(second)
    assert made[key("a b")] == second.get(key("a b"))
    assert second.get(key("a  b")) is None


@pytest.mark.parametrize("cut", [1, 10, 24, 30, 279, 280, 281, 400])
def test_a_torn_cache(root: Path, cut: int) -> None:
    """Of a file that was cut off or damaged only whole entries count, and the next ones are kept again."""
    place = Store(root).setup.layout.vectors("alice", "x")
    texts = ["one", "two", "three"]
    Vectors(place).add({key(text): embedding.hashed(text) for text in texts})
    path = Path(place.path)
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    whole = cut // (len(data) // 3)
    kept = Vectors(place)
    assert whole == len(kept)
    kept.add({key(text): embedding.hashed(text) for text in texts[whole:]})
    again = Vectors(place)
    assert [embedding.hashed(text) for text in texts] == [again.get(key(text)) for text in texts]
    path.write_bytes(data[:cut] + bytes([data[cut] ^ 1]) + data[cut + 1 :])
    assert cut // (len(data) // 3) == len(Vectors(place))


def test_dropped_vectors(root: Path) -> None:
    """Dropping removes the vectors of one user and of all embedders."""
    layout = Store(root).setup.layout
    for user, embedder in (("alice", "x"), ("alice", "y"), ("bob", "x")):
        Vectors(layout.vectors(user, embedder)).add({key("a"): embedding.hashed("a")})
    assert 2 == len(vectors.kept(layout, "alice"))
    vectors.drop(layout, "alice")
    assert ([], 1) == (vectors.kept(layout, "alice"), len(vectors.kept(layout, "bob")))


def test_without_a_writable_cache(root: Path) -> None:
    """Where no cache can be made the answer is the same."""
    put(root, line("r1", "spare key"), line("r2", "other"))
    (root / ".memctl" / "cache").write_bytes(b"")
    assert "r1" == ids(Store(root, now_us=NOW_US, settings=HASH), "key")[0]


def test_rebuilding(root: Path, tmp_path: Path) -> None:
    """`rebuild-index` makes all vectors anew, stale and forgotten ones are gone; --check makes none."""
    path = put(root, line("r1", "aa"), line("r2", "gone"))
    starts = tmp_path / "starts"
    settings = {
        "retrieval.mode": "semantic",
        "retrieval.embedder": command(tmp_path, COUNTING, str(starts), "0"),
    }
    store = Store(root, now_us=NOW_US, settings=settings)
    store.conversation("alice", "trip").append("a message")
    assert ["r1", "r2"] == ids(store, "a")
    path.write_bytes(line("r1", "aa"))
    starts.unlink()
    assert 0 == store.rebuild_index("alice", check=True).differences
    assert not starts.exists()
    store.rebuild_index("alice")
    assert "x" == starts.read_text()
    (kept,) = vectors.kept(store.setup.layout, "alice")
    assert 2 == len(Vectors(store.setup.layout.vectors("alice", Path(kept).stem)))
    assert ["r1"] == ids(store, "a")
    assert "xx" == starts.read_text()


def test_rebuilding_without_an_embedder(root: Path) -> None:
    """A rebuild that cannot make vectors names the user as failed, and the rest is done."""
    put(root, line("r1", "aa"))
    settings = {"retrieval.mode": "semantic"}
    rebuilt = Store(root, now_us=NOW_US, settings=settings).rebuild_index("alice")
    assert [("alice", "config")] == [(one.conversation, one.code) for one in rebuilt.failed]
