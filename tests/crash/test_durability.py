"""What is durable when a command returns, read off the order of its calls: fsync comes after each change."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from memctl.store import disk

from . import harness
from .invariants import CONVERSATION, USER, log_path, store

Step = Callable[[Path], None]


def append(root: Path) -> None:
    store(root, durability="fsync").conversation(USER, CONVERSATION).append("new", id="an id")


def append_two_ids(root: Path) -> None:
    append(root)
    store(root, durability="fsync").conversation(USER, CONVERSATION).append("newer", id="another id")


def drop(root: Path) -> None:
    store(root, durability="fsync").conversation(USER, CONVERSATION).drop(["an id"])


def set_activities(root: Path) -> None:
    store(root, durability="fsync").conversation(USER, CONVERSATION).set_activities(b"[1]")


def delete(root: Path) -> None:
    store(root, durability="fsync").conversation(USER, CONVERSATION).delete()


def delete_hard(root: Path) -> None:
    store(root, durability="fsync").conversation(USER, CONVERSATION).delete(hard=True)


def restore(root: Path) -> None:
    store(root, durability="fsync").restore(USER, CONVERSATION)


def repair(root: Path) -> None:
    store(root, durability="fsync").repair()


def restore_item(root: Path) -> None:
    """Put back the one item of the quarantine."""
    chosen = store(root, durability="fsync")
    (note,) = chosen.quarantine()
    chosen.quarantine_restore(note["id"])


def nothing(root: Path) -> None:
    """Nothing was there before."""


def appended(root: Path) -> None:
    append(root)


def torn(root: Path) -> None:
    append(root)
    with log_path(root).open("ab") as log:
        log.write(b'{"role":"us')


def whole_tail(root: Path) -> None:
    append(root)
    with log_path(root).open("ab") as log:
        log.write(b'{"role":"user","content":"x"}')


def with_activities(root: Path) -> None:
    append(root)
    set_activities(root)


def dropped(root: Path) -> None:
    append(root)
    drop(root)


def healed(root: Path) -> None:
    torn(root)
    store(root).conversation(USER, CONVERSATION).append("behind it")


def repaired(root: Path) -> None:
    torn(root)
    repair(root)


def repaired_activities(root: Path) -> None:
    with_activities(root)
    Path(f"{log_path(root)}.activities").write_bytes(b"[1")
    repair(root)


def deleted(root: Path) -> None:
    with_activities(root)
    delete(root)


@pytest.mark.parametrize(
    ("before", "step"),
    [
        (nothing, append),
        (nothing, append_two_ids),
        (appended, append_two_ids),
        (torn, append_two_ids),
        (whole_tail, append_two_ids),
        (appended, drop),
        (appended, set_activities),
        (with_activities, set_activities),
        (with_activities, delete),
        (with_activities, delete_hard),
        (deleted, restore),
        (torn, repair),
        (dropped, restore_item),
        (healed, restore_item),
        (repaired, restore_item),
        (repaired_activities, restore_item),
    ],
    ids=lambda function: function.__name__,
)
def test_each_change_is_synced(before: Step, step: Step, directory: Path) -> None:
    """Of all that is no cache, lock or temporary file, data and directory entry are synced at the end."""
    root = directory / "store"
    before(root)
    outcome = harness.run(lambda root, acknowledge: step(root), root)
    assert outcome.finished
    assert {} == unsynced(root, outcome.calls)


def unsynced(root: Path, calls: list[harness.Call]) -> dict[str, str]:
    """Files and directories that were changed after their last fsync, with the change."""
    waiting: dict[str, str] = {}
    for name, path, _ in calls:
        if name == "fsync":
            waiting.pop(path, None)
        elif name in ("write", "pwrite", "ftruncate"):
            waiting[path] = name
        elif name != "rmdir":
            # The change of an entry becomes durable with its directory.
            waiting[os.path.dirname(path)] = f"{name} {path}"
    inner = f"{root}/.memctl"
    return {path: change for path, change in waiting.items() if not f"{path}/".startswith(f"{inner}/")}


def test_a_file_is_synced_before_it_takes_the_place_of_another(directory: Path) -> None:
    """A rename that replaces truth comes after the fsync of the new file's data."""
    root = directory / "store"
    with_activities(root)
    store(root).conversation(USER, CONVERSATION).append("another")
    calls = harness.run(lambda root, acknowledge: (drop(root), set_activities(root))[0], root).calls
    renames = [
        place for place, call in enumerate(calls) if call.name == "rename" and "/cache/" not in call.path
    ]
    names = [os.path.basename(calls[place].path) for place in renames]
    # What the drop takes out is kept before the log is replaced.
    assert [".bytes", ".json"] == [os.path.splitext(name)[1] for name in names[:2]]
    assert [log_path(root).name, f"{log_path(root).name}.activities"] == names[2:]
    for place in renames:
        names = [call.name for call in calls[:place] if "/.memctl/tmp/" in call.path]
        made = len(names) - names[::-1].index("create") - 1
        # It may take several writes, and nothing is written behind the fsync.
        assert ["create", "write", "fsync"] == [name for name, _ in groupby(names[made:])]


def test_what_a_killed_process_did_not_sync_the_next_one_does(directory: Path) -> None:
    """A log that another process made and was killed over is synced with all directories above it."""
    root = directory / "store"
    created = harness.run(lambda root, acknowledge: append(root), root).calls
    place = next(i for i, call in enumerate(created, 1) if call.path == str(log_path(root)))
    other = directory / "other"
    assert not harness.run(lambda root, acknowledge: append(root), other, place, "after").finished
    assert b"" == log_path(other).read_bytes()
    synced = {call.path for call in harness.run(lambda root, acknowledge: append(root), other).calls}
    assert {str(path) for path in (other, *list(log_path(other).parents)[:2], log_path(other))} <= synced


def test_without_fsync_nothing_is_synced(directory: Path) -> None:
    """`durability = "none"` leaves every fsync of an append out."""

    def action(root: Path, acknowledge: harness.Acknowledge) -> None:
        store(root, durability="none").conversation(USER, CONVERSATION).append("new")

    calls = harness.run(action, directory / "store").calls
    assert "write" in {call.name for call in calls}
    assert "fsync" not in {call.name for call in calls}


def test_every_change_has_a_primitive() -> None:
    """The functions of `os` that change the disk are reached in `disk` through the primitives alone."""
    source = Path(disk.__file__).read_text()
    changing = (
        "write",
        "pwrite",
        "fsync",
        "rename",
        "replace",
        "ftruncate",
        "unlink",
        "mkdir",
        "rmdir",
        "link",
    )
    direct = [name for name in changing for _ in range(source.count(f"os.{name}("))]
    # The note in a lock file is a courtesy.
    assert ["pwrite", "ftruncate"] == direct
