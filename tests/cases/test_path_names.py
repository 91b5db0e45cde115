"""Names that look like paths, on disk and on the command line: B68."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memctl import Store, errors

from .inputs import Run, case_bytes

NAMES: list[str] = json.loads(case_bytes("B68", "ids.json"))
GOOD_NAMES = {
    "../x": "%2E.%2Fx",
    "/abs/x": "%2Fabs%2Fx",
    "a/b": "a%2Fb",
    ".": "%2E",
    "..": "%2E.",
    "a\0b": "a%00b",
    "a\nb": "a%0Ab",
    "a\\b": "a\\b",
}


REFUSED_NAMES = [*(name for name in NAMES if name not in GOOD_NAMES), "  ", "\ud800"]


def tree(directory: Path) -> list[str]:
    """Everything below a directory, as relative paths."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


@pytest.mark.parametrize("name", GOOD_NAMES, ids=repr)
def test_b68_odd_names_stay_inside_and_come_back(store: Store, root: Path, tmp_path: Path, name: str) -> None:
    """As conversation, user and tenant a path-like name is stored under its encoded name and comes back."""
    outside = tree(tmp_path)
    store.conversation("alice", name).append("hi")
    store.conversation(name, "c").append("hi")
    Store(root, tenant=name).conversation("alice", "c").append("hi")
    encoded = GOOD_NAMES[name]
    assert [f"{encoded}.jsonl"] == os.listdir(root / "conversations" / "alice")
    assert (root / "conversations" / encoded / "c.jsonl").exists()
    assert (root / "tenants" / encoded / "conversations" / "alice" / "c.jsonl").exists()
    assert {("alice", name), (name, "c")} == {
        (row.user, row.conversation) for row in store.conversations().conversations
    }
    reference = str(store.conversation("alice", name).reference)
    assert ["hi"] == [message.content for message in store.at(reference).messages()]
    store.at(reference).delete()
    assert [name] == [item.conversation for item in store.trash()]
    assert [] == os.listdir(root / "conversations" / "alice")
    assert outside == [path for path in tree(tmp_path) if not path.startswith(("store", "cache"))]


@pytest.mark.parametrize("name", REFUSED_NAMES, ids=["empty", "long", "blank", "half a pair"])
@pytest.mark.parametrize("kind", ["user", "conversation", "tenant"])
def test_b68_refused_names_create_nothing(root: Path, kind: str, name: str) -> None:
    """A name that cannot be stored is 65, leaves an event, and nothing else."""
    with pytest.raises(errors.BadName) as refused:
        if kind == "tenant":
            Store(root, tenant=name)
        else:
            Store(root).conversation(*((name, "c") if kind == "user" else ("alice", name)))
    assert 65 == refused.value.exit_code
    made = [path for path in tree(root) if (root / path).is_file()]
    assert made and all(path.startswith(".memctl/events/") for path in made)
    (event,) = [json.loads(line) for path in made for line in (root / path).read_bytes().splitlines()]
    assert "memory.identity_rejected" in event.values()


@pytest.mark.parametrize(
    "argument", ["alice/../x", "alice//abs/x", "alice/a/b", "alice/x%2Ejsonl", "alice/", "/", "alice/%FF"]
)
def test_b68_raw_paths_are_no_references(memctl: Run, root: Path, tmp_path: Path, argument: str) -> None:
    """A second slash is refused, and so is what decodes to no name; nothing is created."""
    before = tree(tmp_path)
    done = memctl("--root", str(root), "append", argument, "x")
    assert done.returncode in ((65,) if argument != "/" else (2, 65))
    assert b"" == done.stdout
    assert done.stderr.startswith(b"memctl: ")
    assert b"Traceback" not in done.stderr
    assert not (root / "conversations").exists()
    assert before == [path for path in tree(tmp_path) if not path.startswith("store")]


@pytest.mark.parametrize("name", [name for name in GOOD_NAMES if "\0" not in name], ids=repr)
def test_b68_on_the_command_line(memctl: Run, root: Path, name: str) -> None:
    """With / and % written as %2F and %25 every name can be typed."""
    typed = f"alice/{name.replace('%', '%25').replace('/', '%2F')}"
    assert 0 == memctl("--root", str(root), "append", typed, "hi").returncode
    assert [f"{GOOD_NAMES[name]}.jsonl"] == os.listdir(root / "conversations" / "alice")
    listed = memctl("--root", str(root), "list", "alice", "-f", "jsonl").stdout
    assert name == json.loads(listed)["conversation"]
    assert 0 == memctl("--root", str(root), "delete", typed, "--yes").returncode


def test_a_tenant_is_written_like_the_parts_of_a_reference(memctl: Run, root: Path) -> None:
    """`%XX` in `--tenant` is decoded, so that a tenant with any name can be given."""
    done = memctl("--root", str(root), "--tenant", "a%2Fb%00", "append", "u/c", "hi")
    assert (0, b"") == (done.returncode, done.stderr)
    assert ["a%2Fb%00"] == [path.name for path in (root / "tenants").iterdir()]
