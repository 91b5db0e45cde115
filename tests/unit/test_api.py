"""The library as a program sees it: public names, the store, the reference's rule on lists."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import memctl
from memctl import Store, errors, select_window
from memctl.core.reference_rule import bytes4

NOW_US = 1_772_614_800_000_000  # 2026-03-04T09:00:00Z


def public_names() -> dict[str, str]:
    """Public name -> module."""
    return {name: module for module, names in memctl._PUBLIC.items() for name in names}


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_there(name: str) -> None:
    """Each name is the object of its module, the same on every access, and is listed by dir()."""
    module = importlib.import_module(f"memctl.{public_names()[name]}")
    assert getattr(module, name) is getattr(memctl, name)
    assert getattr(memctl, name) is getattr(memctl, name)
    assert name in dir(memctl)


def test_type_checkers_see_the_same_names() -> None:
    """What is imported for type checkers is what is resolved on first use."""
    tree = ast.parse(Path(memctl.__file__ or "").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    declared = {
        alias.asname: node.module.removeprefix("memctl.")
        for node in imports
        if node.module is not None and node.module.startswith("memctl.")
        for alias in node.names
    }
    assert public_names() == declared


def test_every_error_is_public() -> None:
    """All classes of the family of errors can be caught by their public names."""
    family = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert family == {name for name, module in public_names().items() if module == "errors"}


def test_unknown_names_are_attribute_errors() -> None:
    """A name that is not there is an AttributeError, so that hasattr works."""
    assert not hasattr(memctl, "Cassandra")


def test_import_is_next_to_free(environment: dict[str, str]) -> None:
    """`import memctl` loads no other module of the package, and nothing else that is not loaded already."""
    script = "import sys; before = set(sys.modules); import memctl; print(set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, check=True, text=True
    )
    assert "{'memctl'}\n" == done.stdout


def test_errors_load_no_store(environment: dict[str, str]) -> None:
    """Naming an error or a marker does not load what reads and writes files."""
    script = (
        "import sys, memctl; memctl.NotFound; memctl.is_summary\n"
        "print(*(name for name in sys.modules if name.startswith('memctl.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, check=True, text=True
    )
    assert {"memctl.errors", "memctl.core", "memctl.core.marker"} == set(done.stdout.split())


# -- the store -----------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store(tmp_path / "store", now_us=NOW_US)


def test_append_and_read(store: Store) -> None:
    """What is appended as a text, a message or several comes back in order, as values and as bytes."""
    talk = store.conversation("alice", "trip")
    one = talk.append("hello", id="q1")
    two = talk.append({"role": "assistant", "content": "hi <there>", "extra": {"big": 2**70}})
    three = talk.append([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    assert [1, 1, 2] == [one.appended, two.appended, three.appended]
    messages = talk.messages()
    assert ["hello", "hi <there>", "a", "b"] == [message.content for message in messages]
    assert ["user", "assistant", "user", "user"] == [message.role for message in messages]
    assert [*one.ids, *two.ids, *three.ids] == [message.id for message in messages]
    assert {"2026-03-04T09:00:00.000000Z"} == {message.created_at for message in messages}
    assert 2**70 == messages[1].value["extra"]["big"]
    stored = Path(store.root, "conversations", "alice", "trip.jsonl").read_bytes()
    assert stored == b"".join(message.raw + b"\n" for message in messages)


def test_a_retry_with_an_id_is_safe(store: Store) -> None:
    """The same id and content is not stored twice; other content is IdConflict and changes nothing."""
    talk = store.conversation("alice", "trip")
    talk.append("hello", id="q1")
    assert (0, 1) == talk.append("hello", id="q1")[1:3]
    with pytest.raises(memctl.IdConflict):
        talk.append("other", id="q1")
    assert 1 == len(talk.messages())


def test_window_and_count(store: Store) -> None:
    """A window is a value: lines as they are stored, messages, tokens and how it was chosen."""
    talk = store.conversation("alice", "trip")
    for number in range(10):
        talk.append(f"{number:04d}")
    window = talk.window(4, counter="bytes4")
    assert isinstance(window, memctl.Window)
    assert ["0006", "0007", "0008", "0009"] == [message["content"] for message in window.messages]
    assert (4, 6, False) == (window.tokens, window.cut, window.over_budget)
    assert [message.raw for message in talk.messages()[6:]] == window.lines
    assert (10, 10) == talk.count("bytes4")[:2]


def test_a_conversation_that_is_not_there(store: Store) -> None:
    """With create=False it is NotFound at once, reading it is NotFound, and nothing is made on disk."""
    with pytest.raises(memctl.NotFound):
        store.conversation("alice", "trip", create=False)
    with pytest.raises(memctl.NotFound):
        store.conversation("alice", "trip").messages()
    assert [] == store.conversations().conversations
    assert not Path(store.root).exists()


def test_bad_names_and_settings(store: Store, tmp_path: Path) -> None:
    """Names and settings are checked when they are given."""
    with pytest.raises(memctl.BadName):
        store.conversation("alice", " ")
    with pytest.raises(memctl.BadConfig):
        Store(tmp_path, settings={"window.bugdet": 1})
    with pytest.raises(memctl.BadConfig):
        Store(tmp_path, settings={"window.budget": -1})


def test_settings_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a store are the defaults of its calls."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = Store(tmp_path / "store", settings={"window.budget": 1, "window.counter": "bytes4"})
    talk = store.conversation("alice", "trip")
    talk.append([{"role": "user", "content": "aaaa"}, {"role": "user", "content": "bbbb"}])
    assert ["bbbb"] == [message["content"] for message in talk.window().messages]


def test_the_library_does_not_read_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings in variables and files are the command line's business: a program gives values."""
    monkeypatch.setenv("MEMCTL_WINDOW_BUDGET", "nonsense")
    monkeypatch.setenv("MEMCTL_ROOT", str(tmp_path / "elsewhere"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "memctl.toml").write_text("window.budget = 7\n")
    store = Store(tmp_path / "store")
    assert (str(tmp_path / "store"), 0) == (store.root, store.setup.settings["window.budget"])


def test_delete_and_restore(store: Store) -> None:
    """A deleted conversation is in the trash and comes back as it was."""
    talk = store.conversation("alice", "trip")
    talk.append("hello")
    before = talk.messages()
    assert talk.delete().applied
    assert ["trip"] == [item.conversation for item in store.trash()]
    store.restore("alice", "trip")
    assert before == talk.messages()


# -- markers -------------------------------------------------------------------------------------------------


def test_marker_helpers() -> None:
    """M01 to M07: new messages carry their marker, marking makes `extra`, the given message is left alone."""
    summary = memctl.new_summary_message("summary text")
    assert {"role": "assistant", "content": "summary text", "extra": {memctl.SUMMARY: True}} == summary
    assert memctl.is_summary(summary)
    plain = {"role": "assistant", "content": "hi"}
    marked = memctl.mark_incomplete(plain)
    assert [False, True] == [memctl.is_incomplete(plain), memctl.is_incomplete(marked)]
    assert {"k": 1, memctl.INCOMPLETE: True} == memctl.mark_incomplete({**plain, "extra": {"k": 1}})["extra"]
    ephemeral = memctl.new_ephemeral_message("assistant", "transient")
    assert ("assistant", "transient", True) == (
        ephemeral["role"],
        ephemeral["content"],
        memctl.is_ephemeral(ephemeral),
    )
    assert not memctl.is_ephemeral(plain)


@pytest.mark.parametrize("value", ["true", 1, False, None, [], {}])
def test_only_true_is_a_mark(value: object) -> None:
    """M08: a marker counts only as the boolean true."""
    assert not memctl.is_summary({"role": "user", "content": "x", "extra": {memctl.SUMMARY: value}})
    assert not memctl.is_summary({"role": "user", "content": "x", "extra": value})


# -- the reference's rule on a list --------------------------------------------------------------------------


def u(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def a(text: str, *calls: str) -> dict[str, Any]:
    made = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": given}} for given in calls]
    return {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})


S = memctl.new_summary_message
TOOL = {"role": "tool", "content": "tooltool", "tool_call_id": "c"}
CALLS = [u("q1q1"), a("", '{"a":12}'), TOOL, a("ansr"), u("q2q2")]
TEN = [u(f"{number:04d}") for number in range(10)]
MANY = [S("SUM"), *(u(f"m{number}") for number in range(1, 10))]
CJK = [u("日本語文"), u("中国語文")]


def words(*texts: str) -> list[dict[str, Any]]:
    return [u(text) for text in texts]


@pytest.mark.parametrize(
    ("id", "messages", "budget", "maximum", "counter", "kept"),
    [
        ("W01", [u("a"), a("b"), u("c")], 0, 0, bytes4, [0, 1, 2]),
        ("W02", words("aaaa", "bbbb", "cccc"), 2, 0, bytes4, [1, 2]),
        ("table-2", words("aaaa", "bbbb", "cccc"), 1, 0, bytes4, [2]),
        ("table-4", words("aaaa", "bbbb", "cccc"), 3, 0, bytes4, [0, 1, 2]),
        ("table-5", words("aaaa", "bbbb", "cccc"), 0, 2, bytes4, [1, 2]),
        ("table-6", words("aaaa", "bbbb", "cccc"), 3, 2, bytes4, [0, 1, 2]),
        ("table-7", TEN, 4, 0, bytes4, [6, 7, 8, 9]),
        ("table-8", MANY, 5, 0, len, [0, 6, 7, 8, 9]),
        ("W03", [u("old1"), u("old2"), S("s"), u("new1"), a("new2")], 0, 0, bytes4, [2, 3, 4]),
        ("W04", MANY[:4], 2, 0, len, [0, 3]),
        ("W05-3", MANY[:4], 3, 0, len, [0, 2, 3]),
        ("W05-4", MANY[:4], 4, 0, len, [0, 1, 2, 3]),
        ("W05-1", MANY[:4], 1, 0, len, [0, 3]),
        ("W06", [u("very old"), S("1"), u("middle"), S("2"), u("recent")], 0, 0, bytes4, [3, 4]),
        ("W07", MANY[:4], 0, 2, len, [0, 3]),
        ("W08", [], 5, 0, bytes4, []),
        ("W09", words("x" * 400), 5, 0, bytes4, [0]),
        ("W10", words("aaaa", "x" * 400), 5, 0, bytes4, [1]),
        ("W11", [S("s" * 400), u("x" * 400)], 1, 0, bytes4, [0, 1]),
        ("W12", [S("s" * 400), u("mid1"), u("x" * 400)], 1, 0, bytes4, [0, 2]),
        ("W13", [u("a"), u("b"), S("s")], 1, 0, bytes4, [2]),
        ("W14", words("aaa", "bbb", "cccc"), 2, 0, bytes4, [0, 1, 2]),
        ("W15", words("aaa", "bbb", "ccc", "ddd"), 2, 0, bytes4, [1, 2, 3]),
        ("W16", words("aaaa", "bbbb"), -1, 0, bytes4, [0, 1]),
        ("W17", words("aaaa", "bbbb", "cccc"), 3, 2, bytes4, [0, 1, 2]),
        ("W18-4", CALLS, 4, 0, bytes4, [2, 3, 4]),
        ("W18-5", CALLS, 5, 0, bytes4, [2, 3, 4]),
        ("W19", CALLS, 6, 0, bytes4, [1, 2, 3, 4]),
        ("W20", [S("SSSS"), *CALLS[1:]], 5, 0, bytes4, [0, 2, 3, 4]),
        ("W21-3", CJK, 3, 0, bytes4, [1]),
        ("W21-5", CJK, 5, 0, bytes4, [1]),
        ("W21-6", CJK, 6, 0, bytes4, [0, 1]),
        ("W22", words("", ""), 1, 0, bytes4, [0, 1]),
    ],
)
def test_reference_windows(
    id: str, messages: list[dict[str, Any]], budget: int, maximum: int, counter: Any, kept: list[int]
) -> None:
    """W01 to W22 and the worked table: the reference's windows, W18 and W20 with their orphans too."""
    given = list(messages)
    window = select_window(messages, budget, counter=counter, max_window_tokens=maximum)
    assert [messages[index] for index in kept] == window
    assert given == messages
    assert window is not messages


def test_reference_counter_calls() -> None:
    """The counter is asked as often as the reference asks it, and not at all without a budget."""
    asked: list[int] = []

    def counter(messages: Any) -> int:
        asked.append(len(messages))
        return bytes4(messages)

    select_window(TEN, 4, counter=counter)
    assert [10, 1, 6, 3, 4, 5] == asked
    asked.clear()
    select_window(TEN, 0, counter=counter)
    assert [] == asked


def test_last_summary_index() -> None:
    """W23: nothing, a, S, b and S appended one after the other."""
    messages = [u("a"), S("s"), u("b"), S("t")]
    assert [-1, -1, 1, 1, 3] == [memctl.last_summary_index(messages[:end]) for end in range(5)]


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        ([], 0),
        (words("1234"), 1),
        (words("12345678"), 2),
        (words("hello world"), 2),
        (words("a"), 1),
        ([a("", '{"key":"value"}')], 3),
        (words("a", "a", "a"), 1),
        (CJK, 6),
        (words("aaaa", "bbbb"), 2),
        (words(""), 0),
    ],
)
def test_reference_counter(messages: list[dict[str, Any]], tokens: int) -> None:
    """K01 to K05 and W24: one division for the whole list."""
    assert tokens == bytes4(messages)


@pytest.mark.parametrize(("last", "texts"), [(2, ["b", "c"]), (0, []), (9, ["a", "b", "c"])])
def test_last_messages(store: Store, last: int, texts: list[str]) -> None:
    """W25: the last messages of a log, whatever they weigh."""
    talk = store.conversation("alice", "trip")
    talk.append(words("a", "b", "c"))
    assert texts == [message.content for message in talk.read(last=last).messages]


@pytest.mark.parametrize("budget", range(1, 12))
@pytest.mark.parametrize("messages", [CALLS, [S("SSSS"), *CALLS[1:]], TEN, CJK])
def test_plain_windows_of_a_store_are_the_same(
    store: Store, messages: list[dict[str, Any]], budget: int
) -> None:
    """`window --plain` on a stored log gives what `select_window` gives on the list."""
    talk = store.conversation("alice", "trip")
    talk.append(messages)
    plain = talk.window(budget, counter="bytes4", plain=True).messages
    expected = select_window(messages, budget)
    assert [(m["role"], m["content"]) for m in expected] == [(m["role"], m["content"]) for m in plain]


def test_errors_of_the_system_are_of_our_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operating system refuses leaves the library as one of its own errors, with the place."""
    import memctl
    from memctl.store import directories

    def refuse(*args: object, **more: object) -> int:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    store = memctl.Store(tmp_path)
    monkeypatch.setattr(directories, "open_at", refuse)
    for call in (
        lambda: store.conversation("a", "b").append("x"),
        lambda: store.conversation("a", "b").window(10),
        lambda: store.conversations("a"),
    ):
        with pytest.raises(memctl.AccessDenied, match=str(tmp_path)):
            call()


def test_the_role_of_a_text_follows_from_the_rest(tmp_path: Path) -> None:
    """A result is a tool's, a summary or incomplete answer the assistant's, any other text the user's."""
    import memctl

    there = memctl.Store(tmp_path).conversation("a", "b")
    there.append("1", summary=True)
    there.append("2", incomplete=True)
    there.append("3", tool_call_id="c1")
    there.append("4")
    assert ["assistant", "assistant", "tool", "user"] == [message.role for message in there.messages()]
    with pytest.raises(memctl.UsageError):
        there.append("5", "user", summary=True)
