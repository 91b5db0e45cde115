"""`inspect` and `repair` as they are called: exit codes, silence, all kinds of targets and stores."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl import Store
from tests.cli.conftest import Holder
from tests.conftest import Memctl

CLEAN = b'{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n'
TORN = CLEAN + b'{"role":'
WARNED = b'{"role":"user","content":"a"}\n' + CLEAN
BAD = CLEAN + b"no json\n"
GIVEN = {"clean.jsonl": CLEAN, "torn.jsonl": TORN, "warned.jsonl": WARNED}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files outside any store: clean, torn, with a warning."""
    reset(tmp_path)
    return tmp_path


def reset(directory: Path) -> None:
    """The files as they were given."""
    (directory / "out.jsonl").unlink(missing_ok=True)
    for name, data in GIVEN.items():
        (directory / name).write_bytes(data)


@pytest.fixture
def store(root: Path) -> Path:
    """A store with alice/clean, alice/torn, bob/warned."""
    made = Store(root, settings={"durability": "none", "heal.settle_ms": 0})
    for reference, data in (("alice/clean", CLEAN), ("alice/torn", TORN), ("bob/warned", WARNED)):
        made.conversation(*reference.split("/")).append_jsonl(CLEAN)
        log_of(root, reference).write_bytes(data)
    return root


def log_of(root: Path, reference: str) -> Path:
    return root / "conversations" / f"{reference}.jsonl"


def tree(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and directory below, with its mode and what is in it."""
    return {
        str(path.relative_to(directory)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.read_bytes() if path.is_file() else b"",
        )
        for path in directory.rglob("*")
    }


def give_up_override() -> None:
    """In a child before it runs: root may then read and write only what modes permit."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):
            # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
            assert 0 == libc.prctl(24, capability, 0, 0, 0)


def report(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The one JSON value on standard output."""
    assert 1 == done.stdout.count(b"\n"), done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def codes(value: dict[str, Any]) -> dict[str, list[str]]:
    return {row["target"]: [problem["code"] for problem in row["problems"]] for row in value["targets"]}


# -- exit codes and silence --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exit_code", "line"),
    [
        (0, "inspect ./clean.jsonl"),
        (0, "inspect ./clean.jsonl --strict"),
        (0, "inspect ./warned.jsonl"),
        (1, "inspect ./warned.jsonl --strict"),
        (0, "inspect ./warned.jsonl --strict --exit-zero"),
        (1, "inspect ./torn.jsonl"),
        (0, "inspect ./torn.jsonl --exit-zero"),
        (1, "inspect ./clean.jsonl ./torn.jsonl"),
        (0, "repair ./clean.jsonl"),
        (0, "repair ./clean.jsonl --apply"),
        (1, "repair ./torn.jsonl"),
        (0, "repair ./torn.jsonl --exit-zero"),
        (0, "repair ./torn.jsonl --apply"),
        (0, "repair ./torn.jsonl -o ./out.jsonl"),
        (1, "repair ./torn.jsonl --only bad-json"),
        (1, "repair ./torn.jsonl --only bad-json --apply"),
        (0, "repair ./torn.jsonl --only bad-json --only torn-tail --apply"),
        (1, "repair ./warned.jsonl --apply"),
        (0, "repair ./warned.jsonl --apply --exit-zero"),
        (0, "inspect ./torn.jsonl --input-format memctl --exit-zero"),
    ],
)
def test_answers(memctl: Memctl, files: Path, exit_code: int, line: str) -> None:
    """An answer has its exit code with and without --json; -q is silent at 0, and says all at 1."""
    given = line.split()
    plain = memctl(*given, cwd=files)
    assert (exit_code, b"") == (plain.returncode, plain.stderr)
    assert plain.stdout
    if "--apply" not in line:
        assert GIVEN == {name: (files / name).read_bytes() for name in GIVEN}
    reset(files)
    quiet = memctl("-q", *given, cwd=files)
    assert (exit_code, b"") == (quiet.returncode, quiet.stderr)
    assert (plain.stdout if exit_code else b"") == quiet.stdout
    reset(files)
    as_json = memctl(*given, "--json", cwd=files)
    assert (exit_code, b"") == (as_json.returncode, as_json.stderr)
    report(as_json)


FAILURES = [
    (66, "not-found", "inspect ./nothing.jsonl", "no file ./nothing.jsonl"),
    (66, "not-found", "inspect nobody", "no user nobody in {root}; for the path: ./nobody"),
    (
        66,
        "not-found",
        "inspect alice/nothing",
        "no conversation alice/nothing; for the file: ./alice/nothing",
    ),
    (66, "not-found", "inspect alice/clean nobody", "no user nobody"),
    (66, "not-found", "repair alice/nothing --apply", "for the file: ./alice/nothing"),
    (66, "not-found", "repair nobody", "for the path: ./nobody"),
    (66, "not-found", "repair ./nothing.jsonl --apply", "no file ./nothing.jsonl"),
    (66, "not-found", "--root ./none inspect", "/none"),
    (66, "not-found", "--root ./none repair --apply", "/none"),
    (66, "not-found", "--root ./none inspect --probe", "/none"),
    (65, "bad-reference", "inspect alice/a/b", "a second /"),
    (2, "usage", "inspect ./clean.jsonl --input-format xml", "no format xml; there are memctl"),
    (2, "usage", "repair --only torn-tial", "no code torn-tial"),
    (2, "usage", "repair --only dangling-user", "repair leaves dangling-user"),
    (2, "usage", "repair -o out.jsonl", "-o is for one file, not "),
    (2, "usage", "repair - --apply", "give -o FILE"),
    (2, "usage", "repair ./torn.jsonl -o ./torn.jsonl", "-o "),
    (2, "usage", "repair ./torn.jsonl --output=", "-o wants the name of a file"),
    (2, "usage", "inspect ./torn.jsonl --html=", "a page is written to a file"),
    (2, "usage", "inspect --nothing", "--nothing"),
]


@pytest.mark.parametrize(("exit_code", "code", "line", "said"), FAILURES, ids=[row[2] for row in FAILURES])
def test_failures(
    memctl: Memctl, files: Path, store: Path, exit_code: int, code: str, line: str, said: str
) -> None:
    """A failure prints nothing on standard output; with --json it is one object beside; nothing changes."""
    before = tree(files)
    done = memctl("--root", str(store), *line.split(), cwd=files)
    assert (exit_code, b"") == (done.returncode, done.stdout)
    assert said.format(root=store) in done.stderr.decode()
    done = memctl("--root", str(store), *line.split(), "--json", cwd=files)
    assert (exit_code, b"", 1) == (done.returncode, done.stdout, done.stderr.count(b"\n"))
    error = json.loads(done.stderr)["error"]
    assert (code, exit_code) == (error["code"], error["exit"])
    assert before == tree(files)
    if "torn-tial" in line:
        assert "torn-tail" in error["hint"]


def test_silence_of_a_whole_store(memctl: Memctl, store: Path) -> None:
    """-q says nothing about a store without errors, and prints the page about one with an error."""
    done = memctl("-q", "--root", str(store), "inspect")
    assert (1, b"") == (done.returncode, done.stderr)
    assert b"alice/torn" in done.stdout and b"torn-tail" in done.stdout
    log_of(store, "alice/torn").write_bytes(CLEAN)
    done = memctl("-q", "--root", str(store), "inspect")
    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("command", "name"), [("inspect --html page", "page"), ("repair -o out", "out")])
def test_a_file_that_has_no_room_is_named(memctl: Memctl, files: Path, command: str, name: str) -> None:
    """A write that the system refuses is 74 and names the file; nothing is left of it."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    before = tree(files)
    done = memctl(*command.split(), "./warned.jsonl", cwd=files, preexec_fn=limit)
    assert (74, f"memctl: {files / name}: File too large\n") == (done.returncode, done.stderr.decode())
    assert before == tree(files)


# -- targets -----------------------------------------------------------------------------------------------


def test_standard_input(memctl: Memctl, files: Path) -> None:
    """`-` is read from a pipe and from a file; repaired it goes into the file that is named."""
    done = memctl("inspect", "-", "--json", input=TORN)
    (target,) = report(done)["targets"]
    assert (1, "-", 2, len(TORN), ["torn-tail"]) == (
        *(done.returncode, target["target"], target["messages"], target["bytes"]),
        [problem["code"] for problem in target["problems"]],
    )
    with open(files / "torn.jsonl", "rb") as file:
        assert done.stdout == memctl("inspect", "-", "--json", stdin=file).stdout
    assert b"2 messages" in memctl("inspect", "-", input=CLEAN).stdout
    done = memctl("repair", "-", "-o", "out.jsonl", "--json", input=TORN, cwd=files)
    assert (0, 1, CLEAN) == (done.returncode, report(done)["fixed"], (files / "out.jsonl").read_bytes())
    assert TORN[len(CLEAN) :] + b"\n" == (files / "out.jsonl.quarantine").read_bytes().split(b"\n", 1)[1]
    empty = memctl("inspect", "-", "--json", input=b"")
    assert (0, 0, []) == (
        empty.returncode,
        report(empty)["targets"][0]["messages"],
        report(empty)["targets"][0]["problems"],
    )


def test_two_hundred_conversations(memctl: Memctl, root: Path) -> None:
    """All are looked at; the exit code and the sums are those of all of them; repair mends all."""
    for user in range(10):
        directory = root / "conversations" / f"user{user}"
        directory.mkdir(parents=True)
        for number in range(20):
            path = directory / f"talk{number:02}.jsonl"
            path.write_bytes(TORN if number == 7 else WARNED if number == 8 else CLEAN)
            path.chmod(0o600)
        directory.chmod(0o700)
    (root / "conversations").chmod(0o700)
    root.chmod(0o700)
    done = memctl("--root", str(root), "inspect", "--json")
    found = report(done)
    assert (1, 200, 10, 10, True) == (
        *(done.returncode, len(found["targets"]), found["errors"], found["warnings"], found["complete"]),
    )
    assert [f"user{user}/talk07" for user in range(10)] == [
        target for target, row in codes(found).items() if "torn-tail" in row
    ]
    assert (1, 20) == _summed(memctl("--root", str(root), "inspect", "user3", "--json"))
    done = memctl("--root", str(root), "repair", "--apply", "--json")
    assert (1, 10, 10) == (done.returncode, report(done)["fixed"], report(done)["left"])
    assert CLEAN == log_of(root, "user3/talk07").read_bytes()
    assert 0 == memctl("--root", str(root), "inspect").returncode


def _summed(done: subprocess.CompletedProcess[bytes]) -> tuple[int, int]:
    return report(done)["errors"], len(report(done)["targets"])


def test_a_directory_of_mixed_files(memctl: Memctl, tmp_path: Path) -> None:
    """Logs at any depth are looked at, other files are not; one that holds no messages is not repaired."""
    folder = tmp_path / "mixed"
    for name, data in (
        *(("a.jsonl", CLEAN), ("b/torn.jsonl", TORN), ("b/notes.txt", b"x"), ("empty.jsonl", b"")),
        *(("other.jsonl", b'{"type":"session","id":1}\n'), ("a.jsonl.activities", b"{")),
        ("b/odd \x1b[31m\u202e.jsonl", CLEAN),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    found = report(memctl("inspect", "./mixed", "--json"))
    assert {
        "./mixed/a.jsonl": [],
        "./mixed/a.jsonl.activities": ["bad-activities"],
        "./mixed/b/odd \x1b[31m\u202e.jsonl": [],
        "./mixed/b/torn.jsonl": ["torn-tail"],
        "./mixed/empty.jsonl": [],
        "./mixed/other.jsonl": ["not-a-message"],
    } == codes(found)
    assert {"memctl", "activities", None} == {target["format"] for target in found["targets"]}
    done = memctl("repair", "./mixed", "--apply", "--json")
    value = report(done)
    assert (1, 1, ["./mixed/other.jsonl"]) == (
        *(done.returncode, value["fixed"]),
        [row["target"] for row in value["failed"]],
    )
    assert CLEAN == (folder / "b" / "torn.jsonl").read_bytes()
    assert b'{"type":"session","id":1}\n' == (folder / "other.jsonl").read_bytes()
    (tmp_path / "nothing").mkdir()
    done = memctl("inspect", "./nothing", "--json")
    assert (0, []) == (done.returncode, report(done)["targets"])
    assert memctl("inspect", "./nothing").stdout


def test_links_and_odd_names_in_a_store(memctl: Memctl, store: Path, tmp_path: Path) -> None:
    """A link to a conversation or a user is an error that is left; a name of another program is a path."""
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(BAD)
    alice = store / "conversations" / "alice"
    (alice / "link.jsonl").symlink_to(outside)
    (alice.parent / "carol").symlink_to(alice)
    odd = alice / "x%zz.jsonl"
    odd.write_bytes(TORN)
    odd.chmod(0o600)
    found = codes(report(memctl("--root", str(store), "inspect", "--json")))
    assert ["symlink"] == found[str(alice / "link.jsonl")]
    assert ["symlink"] == found[str(alice.parent / "carol")]
    assert ["odd-name", "torn-tail"] == found[str(odd)]
    for target in ("alice/link", "carol", "carol/clean"):
        done = memctl("--root", str(store), "inspect", target, "--json")
        assert (1, [["symlink"]]) == (done.returncode, list(codes(report(done)).values()))
    memctl("--root", str(store), "repair", "--apply")
    assert (BAD, TORN) == (outside.read_bytes(), odd.read_bytes())
    assert (alice / "link.jsonl").is_symlink()


# -- options -----------------------------------------------------------------------------------------------


def test_tokens(memctl: Memctl, store: Path) -> None:
    """Null unless counted already or asked for; then it is what `count` prints."""
    run = ("--root", str(store))

    def tokens(*options: str) -> int | None:
        (target,) = report(memctl(*run, "inspect", "alice/clean", "--json", *options))["targets"]
        value: int | None = target["tokens"]
        return value

    assert None is tokens()
    asked = tokens("--tokens")
    assert int(memctl(*run, "count", "alice/clean").stdout) == asked
    assert asked == tokens()
    memctl(*run, "append", "alice/clean", "more")
    assert None is tokens()
    assert int(memctl(*run, "count", "alice/clean").stdout) == tokens() != asked


def test_only(memctl: Memctl, files: Path) -> None:
    """Only what is named is mended; the rest is left, and a second run has nothing to do."""
    path = files / "many.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + CLEAN + b"\n" + TORN)
    done = memctl("repair", "./many.jsonl", "--only", "blank-line", "--apply", "--json")
    (target,) = report(done)["targets"]
    assert (1, [("blank-line", 3)], ["bom", "torn-tail"]) == (
        done.returncode,
        [(row["code"], row["line"]) for row in target["fixed"]],
        [row["code"] for row in target["left"]],
    )
    assert b"\xef\xbb\xbf" + CLEAN + TORN == path.read_bytes()
    again = report(memctl("repair", "./many.jsonl", "--only", "blank-line", "--apply", "--json"))
    assert (0, 2) == (again["fixed"], again["left"])


@pytest.mark.parametrize("readable", [True, False])
def test_probe(memctl: Memctl, store: Path, readable: bool) -> None:
    """--probe tries a write and leaves nothing; a store that cannot be written is 77, and without it fine."""
    log_of(store, "alice/torn").write_bytes(CLEAN)
    memctl("--root", str(store), "inspect")
    before = tree(store)
    if readable:
        done = memctl("--root", str(store), "inspect", "--probe", "--json")
        assert (0, True) == (done.returncode, report(done)["probe"])
    else:
        tmp = store / ".memctl" / "tmp"
        tmp.mkdir(mode=0o700, exist_ok=True)
        tmp.chmod(0o500)
        done = memctl("--root", str(store), "inspect", "--probe", "--json", preexec_fn=give_up_override)
        assert (77, b"") == (done.returncode, done.stdout)
        assert 0 == memctl("--root", str(store), "inspect", preexec_fn=give_up_override).returncode
        tmp.chmod(0o700)
        tmp.rmdir() if ".memctl/tmp" not in before else None
    assert before == tree(store)


# -- stores ------------------------------------------------------------------------------------------------


def test_a_go_directory_is_left_as_it_is(memctl: Memctl, tmp_path: Path) -> None:
    """Inspect, and a plan of repair, write nothing into a directory that memctl never wrote to."""
    directory = tmp_path / "go"
    (directory / "u").mkdir(parents=True, mode=0o700)
    for name, data in (("a", CLEAN), ("b", TORN)):
        (directory / "u" / f"{name}.jsonl").write_bytes(data)
        (directory / "u" / f"{name}.jsonl").chmod(0o600)
    directory.chmod(0o700)
    store = tmp_path / "none"
    store.mkdir(mode=0o700)
    (store / "memctl.toml").write_text(f'"conversations.dir" = "{directory}"\n')
    (store / "memctl.toml").chmod(0o600)
    before = tree(tmp_path / "go"), tree(store)
    for line in (("inspect",), ("inspect", "u"), ("inspect", "u/b", "--tokens"), ("repair",)):
        done = memctl("--root", str(store), *line, "--json")
        assert 1 == done.returncode, done.stderr
        assert "torn-tail" in done.stdout.decode()
        assert before == (tree(tmp_path / "go"), tree(store))
    assert {"u/a": [], "u/b": ["torn-tail"]} == codes(
        report(memctl("--root", str(store), "inspect", "--json"))
    )
    assert 0 == memctl("--root", str(store), "inspect", "u/a", "--probe").returncode
    assert before == (tree(tmp_path / "go"), tree(store))
    assert 0 == memctl("--root", str(store), "repair", "u", "--apply").returncode
    assert {"u", "u/a.jsonl", "u/b.jsonl"} == {
        name for name in tree(directory) if not name.startswith(".memctl-tmp")
    }
    assert CLEAN == (directory / "u" / "b.jsonl").read_bytes()


@pytest.fixture
def read_only(store: Path) -> Iterator[Path]:
    """The store with nothing in it that may be written."""
    paths = [store, *store.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths[::-1]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield store
    for path, mode in zip(paths, modes, strict=True):
        path.chmod(mode)


def test_a_read_only_store(memctl: Memctl, read_only: Path) -> None:
    """Inspect and the plan say all; what would have to write is refused, and nothing is lost."""
    before = tree(read_only)
    done = memctl("--root", str(read_only), "inspect", "--json", preexec_fn=give_up_override)
    found = report(done)
    assert (1, 1, 1, True) == (done.returncode, found["errors"], found["warnings"], found["complete"])
    plan = memctl("--root", str(read_only), "repair", "alice/torn", "--json", preexec_fn=give_up_override)
    assert (1, 1) == (plan.returncode, report(plan)["fixed"])
    done = memctl("--root", str(read_only), "repair", "alice/torn", "--apply", preexec_fn=give_up_override)
    assert (77, b"") == (done.returncode, done.stdout)
    assert before == tree(read_only)


def test_what_cannot_be_read_is_named(memctl: Memctl, store: Path) -> None:
    """An unreadable file or user has failed, the others are looked at, and exit 1 says so; alone it is 77."""
    log_of(store, "alice/torn").write_bytes(CLEAN)
    log_of(store, "alice/clean").chmod(0)
    bob = store / "conversations" / "bob"
    bob.chmod(0)

    def run(*line: str) -> subprocess.CompletedProcess[bytes]:
        return memctl("--root", str(store), *line, preexec_fn=give_up_override)

    try:
        done = run("inspect", "--json")
        found = report(done)
        assert (1, 0, False) == (done.returncode, found["errors"], found["complete"])
        assert [("alice/clean", "permission"), (str(bob), "permission")] == [
            (row["target"], row["code"]) for row in found["failed"]
        ]
        assert ["alice/torn"] == list(codes(found))
        page = run("inspect").stdout.decode()
        assert "alice/clean" in page and str(bob) in page
        for target in ("alice/clean", "bob"):
            done = run("inspect", target, "--json")
            assert (77, b"", "permission") == (
                *(done.returncode, done.stdout),
                json.loads(done.stderr)["error"]["code"],
            )
        done = run("repair", "--apply", "--json")
        assert (1, ["alice/clean", str(bob)]) == (
            done.returncode,
            [row["target"] for row in report(done)["failed"]],
        )
    finally:
        bob.chmod(0o700)


def test_tenants_are_apart(memctl: Memctl, store: Path) -> None:
    """A tenant's store is looked at and repaired with --tenant, and only then."""
    run = ("--root", str(store), "--tenant", "Acme/1")
    assert 0 == memctl(*run, "append", "alice/own", "hi").returncode
    path = store / "tenants" / "Acme%2F1" / "conversations" / "alice" / "own.jsonl"
    with open(path, "ab") as file:
        file.write(b'{"role":')
    assert {"alice/clean", "alice/torn", "bob/warned"} == codes(
        report(memctl("--root", str(store), "inspect", "--json"))
    ).keys()
    done = memctl(*run, "inspect", "--json")
    assert (1, {"alice/own": ["torn-tail"]}) == (done.returncode, codes(report(done)))
    assert 66 == memctl(*run, "inspect", "bob").returncode
    for command in ("inspect", "repair"):
        said = b"memctl: 1 tenant of the store was not looked at: --tenant T names one\n"
        assert said == memctl("--root", str(store), command, "--json").stderr
        assert b"" == memctl("-q", "--root", str(store), command).stderr
        assert b"" == memctl("--root", str(store), command, "alice").stderr
        assert b"" == memctl(*run, command).stderr
    done = memctl(*run, "repair", "--apply", "--json")
    assert (0, 1) == (done.returncode, report(done)["fixed"])
    assert path.read_bytes().endswith(b"}\n")
    assert [b'{"role":'] == [
        item.read_bytes() for item in (store / "tenants" / "Acme%2F1" / "quarantine").rglob("*.bytes")
    ]
    assert TORN == log_of(store, "alice/torn").read_bytes()


def test_a_held_lock(memctl: Memctl, store: Path, holder: Holder) -> None:
    """Inspect waits for the lock of a torn tail only, then says that it is not certain; a deed is 75."""
    log_of(store, "bob/warned").write_bytes(CLEAN)
    holder("alice/torn")
    run = ("--root", str(store), "--lock-timeout", "0.2")
    done = memctl(*run, "inspect", "alice/torn", "--json")
    found = report(done)
    assert (1, False, ["torn-tail"]) == (done.returncode, found["complete"], codes(found)["alice/torn"])
    done = memctl(*run, "inspect", "alice/clean", "--json")
    assert (0, True) == (done.returncode, report(done)["complete"])
    assert 1 == memctl(*run, "repair", "alice/torn").returncode
    done = memctl(*run, "repair", "alice/torn", "--apply", "--json")
    assert (75, b"", "lock-timeout") == (
        *(done.returncode, done.stdout),
        json.loads(done.stderr)["error"]["code"],
    )
    assert TORN == log_of(store, "alice/torn").read_bytes()


# -- rebuild-index -----------------------------------------------------------------------------------------


def test_rebuild_index_of_several(memctl: Memctl, store: Path) -> None:
    """Users and conversations, or --all; both are 2, one that is not there is 66, one that fails is named."""
    run = ("--root", str(store), "rebuild-index", "--json")
    assert (1, 1) == tuple(report(memctl(*run, "alice/clean"))[key] for key in ("users", "conversations"))
    done = memctl(*run, "alice/clean", "bob")
    assert (0, 2, 2) == (done.returncode, *(report(done)[key] for key in ("users", "conversations")))
    assert report(memctl(*run, "--all", "--check")) == report(memctl(*run, "--check"))
    for code, line in ((2, ("--all", "bob")), (2, ("./x.jsonl",)), (66, ("bob", "nobody"))):
        done = memctl(*run, *line)
        assert (code, b"") == (done.returncode, done.stdout)
    (store / "conversations" / "bob" / "link.jsonl").symlink_to(log_of(store, "alice/clean"))
    done = memctl(*run, "--all")
    assert (1, ["bob/link"]) == (
        done.returncode,
        [row["conversation"] for row in report(done)["failed"]],
    )
    assert b"memctl: bob/link: " in done.stderr
    assert 0 == memctl(*run, "--all", "--exit-zero").returncode
