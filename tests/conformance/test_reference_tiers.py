"""The reference's cases for budgets, weights, scores, the forms of records, seeding and composite stores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memctl import (
    BadConfig,
    BadInput,
    ChatMessage,
    CompositeStore,
    InMemoryStore,
    Level,
    Namespace,
    NotFound,
    RecallBudget,
    RecallWeights,
    Record,
    Settings,
    TierStore,
    ToolCall,
    message_record,
)
from memctl.core import overlap

from .differences import check

NOW = "2026-03-01T09:00:00Z"
UNSET = "0001-01-01T00:00:00Z"

# -- levels and namespaces ---------------------------------------------------------------------------------


def test_levels() -> None:
    """A level is its name; hot ranks above warm, warm above cold."""
    assert ["hot", "warm", "cold"] == list(Level)
    assert [3, 2, 1] == [level.rank for level in Level]
    assert Level.WARM is Level("warm")
    with pytest.raises(ValueError):
        Level("archive")


SESSION = Namespace("session", "s1", "", "bot")


@pytest.mark.parametrize(
    ("expected", "namespace"),
    [
        ("session:sess:run:bot", Namespace("session", "sess", "run", "bot")),
        ("session:s1::bot", SESSION),
        ("tenant:dGVuYW50LWE:session:s1::bot", SESSION._replace(tenant_id="tenant-a")),
        ("tenant:dC8x:session:s1::bot", SESSION.with_tenant(" t/1 ")),
        ("session:s1::bot", SESSION.with_tenant("  ")),
        (":::", Namespace()),
    ],
)
def test_key_prefixes(expected: str, namespace: Namespace) -> None:
    """Four parts, empty ones too, and in front the tenant in base64 without padding."""
    assert expected == namespace.key_prefix()


def test_a_tenant_is_set_once() -> None:
    """Setting the same tenant again changes nothing, and the session stays as it is."""
    once = SESSION.with_tenant("tenant-a")
    assert once == once.with_tenant("tenant-a")
    assert ("s1", "tenant-a") == (once.session_id, once.tenant_id)


# -- budgets and weights -----------------------------------------------------------------------------------

BUDGETS = """
0/0/0/0           20/12/5/3      20/12/5/3
-5/0/0/0          20/12/5/3      20/12/5/3
1/0/0/0           1/0/0/1        1/0/0/1
2/0/0/0           2/1/0/1        2/1/0/1
3/0/0/0           3/1/0/2        3/1/0/2
4/0/0/0           4/2/1/1        4/2/1/1
5/0/0/0           5/3/1/1        5/3/1/1
7/0/0/0           7/4/1/2        7/4/1/2
8/0/0/0           8/4/2/2        8/4/2/2
10/0/0/0          10/6/2/2       10/6/2/2
100/0/0/0         100/60/25/15   100/60/25/15
200/0/0/0         200/120/50/30  200/120/50/30
2/2/0/0           2/2/0/0        2/2/0/0
1/0/1/0           1/0/1/0        1/0/1/0
5/2/3/0           5/2/3/0        5/2/3/0
20/12/6/2         20/12/6/2      20/12/6/2
8/3/3/2           8/3/3/2        8/3/3/2
0/5/0/0           20/5/5/10      20/5/5/10
5/0/0/5           5/3/1/1        5/3/1/1
10/10/0/0         10/10/2/-2     10/10/2/-2
3/3/3/3           3/3/0/0        3/3/0/0
5/8/1/1           5/8/1/0        5/8/1/-4
20/20/20/20       20/20/0/0      20/20/5/-5
200/200/200/200   200/200/0/0    200/200/50/-50
"""


def budget(text: str) -> RecallBudget:
    """`total/hot/warm/cold`."""
    return RecallBudget(*map(int, text.split("/")))


@pytest.mark.parametrize(("given", "once", "twice"), [row.split() for row in BUDGETS.strip().splitlines()])
def test_budgets(given: str, once: str, twice: str) -> None:
    """A budget is filled in to the letter of the reference, oddities included."""
    assert budget(once) == budget(given).normalize()
    assert budget(twice) == budget(once).normalize()


@pytest.mark.parametrize(
    ("id", "expected", "given"),
    [
        ("T25", (0.5, 0.3, 0.2), (0, 0, 0)),
        ("T26", (1, 0.3, 0.2), (1, 0, 0)),
        ("T27", (2, 2, 2), (2, 2, 2)),
        ("T25 negative", (0.5, 0.3, 0.2), (-1, -0.5, 0)),
        ("T27 small", (0.01, 1, 0.01), (0.01, 1, 0.01)),
    ],
)
def test_weights(id: str, expected: tuple[float, ...], given: tuple[float, ...]) -> None:
    """A weight of 0 or less takes its default; the sum does not matter."""
    check(id, expected, tuple(RecallWeights(*given).normalize()))


# -- scores ------------------------------------------------------------------------------------------------

HELLO = ("hello world", 0.0, 0.0)
SCORED = {
    "a": HELLO,
    "b": HELLO,
    "c": ("Hello, world! dark mode", 168.0, 1.0),
    "d": ("\u732b \u732b\u304c\u597d\u304d", -48.0, -1.0),
    "e": ("billing issue about a late invoice that the customer disputes", 336.0, 0.7),
}


def scores(query: str, texts: dict[str, tuple[str, float, float]]) -> str:
    """`id score` for each text, best first, equal ones by id."""
    weights = tuple(RecallWeights().normalize())
    wanted = overlap.tokens(query)
    found = {
        id: overlap.score(overlap.parts(wanted, text, age, importance), weights)
        for id, (text, age, importance) in texts.items()
    }
    ranked = sorted(found, key=lambda id: (-found[id], id))
    return ", ".join(f"{id} {found[id]:.6f}" for id in ranked)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("hello", "a 0.650000, b 0.650000, d 0.400000, c 0.310364, e 0.180601"),
        ("hello world", "a 0.900000, b 0.900000, d 0.400000, c 0.310364, e 0.180601"),
        ("Hello, world", "a 0.650000, b 0.650000, c 0.435364, d 0.400000, e 0.180601"),
        ("a", "a 0.400000, b 0.400000, d 0.400000, c 0.310364, e 0.180601"),
        ("dark mode mode", "c 0.560364, a 0.400000, b 0.400000, d 0.400000, e 0.180601"),
        ("", "a 0.400000, b 0.400000, d 0.400000, c 0.310364, e 0.180601"),
        ("\u732b", "d 0.650000, a 0.400000, b 0.400000, c 0.310364, e 0.180601"),
        ("billing issue", "a 0.400000, b 0.400000, d 0.400000, c 0.310364, e 0.291712"),
    ],
)
def test_worked_scores(query: str, expected: str) -> None:
    """T49 and T51: the reference's formula on its worked table."""
    assert expected == scores(query, SCORED)


def test_t50_recency_and_importance() -> None:
    """A newer and more important match stands above the other."""
    texts = {"a": ("hello world", 24.0, 0.9), "b": ("other topic", 48.0, 0.2)}
    assert "a 0.690063, b 0.265443" == scores("hello", texts)


@pytest.mark.parametrize(
    ("expected", "hours"),
    [(1.0, 0), (0.866878, 24), (0.751477, 48), (0.367879, 168), (0.135335, 336), (0.013764, 720), (1.0, -5)],
)
def test_recency(expected: float, hours: float) -> None:
    """Recency halves in about five days; the future counts as now."""
    assert expected == round(overlap.recency(hours), 6)


# -- records -----------------------------------------------------------------------------------------------


def test_the_smallest_record() -> None:
    """The serialised form of a record of which only id and content were given."""
    made = Record.new("x", "new", created_at=NOW, last_access_at=NOW)
    assert (
        b'{"id":"x","content":"new","scope":"","importance":0.5,"created_at":"2026-03-01T09:00:00Z",'
        b'"tier":"hot","access_count":0,"last_access_at":"2026-03-01T09:00:00Z",'
        b'"promoted_at":"0001-01-01T00:00:00Z"}'
    ) == made.to_json()


def test_a_full_record() -> None:
    """Every key in its order; the keys of metadata sorted; markup escaped; times without zeros at the end."""
    made = Record.new(
        "x",
        'a <b> & "c"\b\u2028\u00e9',
        scope="session",
        categories=["user", "fact"],
        importance=1,
        created_at="2026-03-01T09:00:00.120000Z",
        metadata={"role": "user", "kind": "message"},
        tier=Level.COLD,
        access_count=3,
        last_access_at="2026-03-01T11:00:00.000000001+02:00",
        promoted_at=NOW,
        size_bytes=9,
        pinned=True,
    )
    assert (
        r'{"id":"x","content":"a \u003cb\u003e \u0026 \"c\"\b\u2028' + "\u00e9" + r'","scope":"session",'
        r'"categories":["user","fact"],"importance":1,"created_at":"2026-03-01T09:00:00.12Z",'
        r'"metadata":{"kind":"message","role":"user"},"tier":"cold","access_count":3,'
        r'"last_access_at":"2026-03-01T11:00:00.000000001+02:00","promoted_at":"2026-03-01T09:00:00Z",'
        r'"size_bytes":9,"pinned":true}'
    ) == made.to_json().decode()


def test_b15_an_unknown_tier() -> None:
    """The reference stores it where nothing finds it."""
    with pytest.raises(BadInput, match="archive"):
        Record.new("x", "new", tier="archive")
    stray = Record.new("x", "new")._replace(tier="archive")
    with pytest.raises(BadInput, match="archive"):
        InMemoryStore().put(stray)
    check("B15-tier", "stored, found by nothing", "refused")


# -- message records ---------------------------------------------------------------------------------------


def test_chat_messages() -> None:
    """A message has its role and time, the rest only where it is not empty."""
    assert (
        f'{{"role":"user","content":"hi","time":"{UNSET}"}}'.encode() == ChatMessage("user", "hi").to_json()
    )
    full = ChatMessage(
        "assistant",
        tool_calls=[ToolCall("c1", "f", {"b": 1, "a": "<"}), ToolCall("c2", "g")],
        tool="t",
        tool_call_id="c0",
        metadata={"z": "1", "a": "2"},
        time=NOW,
    )
    assert (
        r'{"role":"assistant","tool_calls":[{"id":"c1","name":"f","input":{"b":1,"a":"\u003c"}},'
        r'{"id":"c2","name":"g"}],"tool":"t","tool_call_id":"c0","metadata":{"a":"2","z":"1"},'
        r'"time":"2026-03-01T09:00:00Z"}'
    ) == full.to_json().decode()


def test_t77_a_user_message() -> None:
    """Category, importance, times, metadata and tier come from the message; its JSON is the content."""
    message = ChatMessage("user", "hello world", time=NOW)
    made = message_record(message, scope="session")
    value = dict(made.value)
    assert 16 == len(value["id"]) and set(value["id"]) <= set("0123456789abcdef")
    assert {"role": "user", "content": "hello world", "time": NOW} == json.loads(value["content"])
    outcome = {key: value[key] for key in sorted(value.keys() - {"id", "content"})}
    reference = {
        "access_count": 0,
        "categories": ["user"],
        "created_at": NOW,
        "importance": 0.7,
        "last_access_at": NOW,
        "metadata": {"kind": "message", "role": "user", "searchable": "hello world"},
        "promoted_at": UNSET,
        "scope": "session",
        "tier": "hot",
    }
    check("T77", reference, outcome)
    assert "hello world" == made.searchable


def test_a_message_without_a_time() -> None:
    """The time stays unset in the record and in its content."""
    made = message_record(ChatMessage("user", "hi"))
    assert (UNSET, UNSET, UNSET) == (
        made.value["created_at"],
        made.value["last_access_at"],
        json.loads(made.content)["time"],
    )


def test_each_message_record_has_an_id_of_its_own() -> None:
    """Making the record of a message again gives another record."""
    message = ChatMessage("user", "hi")
    assert message_record(message).id != message_record(message).id


def test_t78_provenance() -> None:
    """It stands in the metadata of the message, not of the record."""
    made = message_record(ChatMessage("assistant", "hi"), provenance="integrator")
    inside = json.loads(made.content)["metadata"]
    check("T78", ({"provenance": "integrator"}, False), (inside, "provenance" in made.metadata))


def test_b15_provenance_leaves_the_given_map_alone() -> None:
    """The reference writes into the map of the caller."""
    given = {"a": "1"}
    message_record(ChatMessage("user", "hi", metadata=given), provenance="integrator")
    check("B15-provenance", {"a": "1", "provenance": "integrator"}, given)


@pytest.mark.parametrize(
    ("id", "expected", "role"),
    [
        ("T79", 0.7, " User "),
        ("T80", 0.7, "user"),
        ("T80", 0.6, "assistant"),
        ("T80", 0.4, "tool"),
        ("T80", 0.5, "system"),
        ("T80", 0.5, ""),
        ("T80", 0.7, "USER"),
        ("T80", 0.5, "developer"),
    ],
)
def test_importance_by_role(id: str, expected: float, role: str) -> None:
    """White space and capitals of a role do not count, but stay as they were given."""
    made = message_record(ChatMessage(role, "hi"))
    check(id, (expected, [role], role), (made.importance, made.categories, made.metadata["role"]))


# -- settings ----------------------------------------------------------------------------------------------


def test_t29_a_negative_capacity_is_refused() -> None:
    """The reference passes over a negative number in the settings."""
    with pytest.raises(BadConfig):
        Settings.from_mapping({"policy.hot_capacity": -3, "policy.warm_ttl": "1h"})
    check("T29", "50", "refused")


def test_t32_memory_is_always_there() -> None:
    """The reference has no memory in tiers where its settings are absent or say so."""
    with pytest.raises(BadConfig):
        Settings.from_mapping({"tiers.enabled": "off"})
    check("T32", "no memory", "memory")


# -- stores ------------------------------------------------------------------------------------------------


def record(id: str, tier: str, content: str = "x", **more: Any) -> Record:
    return Record.new(id, content, tier=tier, **more)


class Broken:
    """A store that fails at one thing."""

    def __init__(self, fails: str, inner: TierStore | None = None) -> None:
        self._fails = fails
        self._inner: Any = InMemoryStore() if inner is None else inner

    def __getattr__(self, name: str) -> Any:
        def fail(*args: Any) -> None:
            raise OSError(5, f"no {name}")

        return fail if name == self._fails else getattr(self._inner, name)


def composite() -> tuple[CompositeStore, dict[str, InMemoryStore]]:
    """Three stores as one."""
    stores = {tier: InMemoryStore() for tier in Level}
    return CompositeStore(**stores), stores


def outcome(call: Any, *args: Any) -> Any:
    """What a call gives, or the name of its error."""
    try:
        return call(*args)
    except NotFound:
        return "not found"
    except OSError as error:
        return error.strerror


def test_t85_a_move_leaves_one_copy() -> None:
    """Putting a record in another tier takes it out of the first."""
    store, stores = composite()
    store.put(record("a", "hot"))
    store.put(record("a", "warm"))
    check("T85", (0, "warm"), (stores[Level.HOT].count("hot"), store.get("a").tier))
    assert 1 == store.count("warm")


def test_t86_a_failed_move_leaves_the_old_copy() -> None:
    """The other copies go only once the new one is kept."""
    store = CompositeStore(hot=InMemoryStore(), warm=Broken("put"))
    store.put(record("a", "hot"))
    check("T86", ("no put", "hot"), (outcome(store.put, record("a", "warm")), store.get("a").tier))


def test_t87_the_cold_store() -> None:
    """A record in cold is counted, listed, and gone once deleted."""
    store, _ = composite()
    store.put(record("a", "cold"))
    seen = (store.count("cold"), len(store.list("cold")), outcome(store.delete, "a"), outcome(store.get, "a"))
    check("T87", (1, 1, None, "not found"), seen)


def test_t88_a_tier_without_a_store() -> None:
    """Nothing can be put there, and nothing is there."""
    store = CompositeStore(hot=InMemoryStore())
    seen = (
        outcome(store.put, record("a", "warm")),
        outcome(store.put, record("a", "hot")._replace(tier="archive")),
        store.count("warm"),
        store.list("warm"),
    )
    check("T88", ("not found", "not found", 0, []), seen)


def test_get_gives_the_hottest_copy() -> None:
    """A missing copy is looked for further down; another error is not passed over."""
    warm = InMemoryStore()
    warm.put(record("a", "warm"))
    assert "warm" == CompositeStore(hot=InMemoryStore(), warm=warm).get("a").tier
    assert "no get" == outcome(CompositeStore(hot=Broken("get"), warm=warm).get, "a")


def test_delete_tries_every_tier() -> None:
    """An error is raised once all tiers were tried."""
    cold = InMemoryStore()
    cold.put(record("a", "cold"))
    store = CompositeStore(hot=Broken("delete"), cold=cold)
    assert ("no delete", 0) == (outcome(store.delete, "a"), cold.count("cold"))


def test_a_move_that_leaves_a_copy_behind_says_so() -> None:
    """The last error of taking a record out of the other tiers is raised; the new copy is there."""
    hot = Broken("delete")
    store = CompositeStore(hot=hot, warm=InMemoryStore())
    store.put(record("a", "hot"))
    assert ("no delete", 1) == (outcome(store.put, record("a", "warm")), store.count("warm"))


def test_deleting_what_is_not_there() -> None:
    """The reference's store in memory calls it done, and so does a composite of it."""
    store, stores = composite()
    assert "not found" == outcome(stores[Level.HOT].delete, "a")
    check("delete-missing", None, outcome(store.delete, "a"))


def test_listings_are_the_same_each_time() -> None:
    """Newest access first, then newest, then by id; the reference's order of equal ones is chance."""
    rows = [
        record("old", "hot", created_at="2026-02-01T00:00:00Z", last_access_at="2026-02-28T00:00:00Z"),
        record("b", "hot", created_at="2026-02-02T00:00:00Z", last_access_at=NOW),
        record("c", "hot", created_at="2026-02-01T00:00:00Z", last_access_at=NOW),
        record("a", "hot", created_at="2026-02-01T00:00:00Z", last_access_at=NOW),
        record("unset", "hot"),
        record("other", "cold", last_access_at=NOW),
    ]
    expected = ["b", "a", "c", "old", "unset"]
    for order in (rows, rows[::-1], sorted(rows, key=lambda row: row.id)):
        store = InMemoryStore()
        for row in order:
            store.put(row)
        assert expected == [row.id for row in store.list("hot")]
        assert expected[:2] == [row.id for row in store.list("hot", 2)]
        assert expected == [row.id for row in store.list("hot", -1)]
    check("B13", "chance", "newest access, newest, id")


def test_a_put_replaces_the_whole_record() -> None:
    """A store of records keeps what it is given, nothing of the older version."""
    store = InMemoryStore()
    store.put(record("a", "hot", access_count=9))
    store.put(record("a", "warm"))
    assert (0, 1, 0) == (store.count("hot"), store.count("warm"), store.get("a").access_count)


def test_an_empty_id_is_refused() -> None:
    """Every store of records refuses a record without an id."""
    with pytest.raises(BadInput):
        Record.new("", "x")
    with pytest.raises(BadInput):
        InMemoryStore().put(Record.new("x", "x")._replace(id=""))
