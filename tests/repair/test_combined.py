"""Several damages in one file: nothing is lost, plan and deed are equal, and nothing is left to do."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from memctl import Store
from memctl.core import diagnosis
from memctl.core.line_examination import DEFAULT
from memctl.core.problems import REPAIRED, Problem

from . import damages, engine, logs

KINDS = (logs.COVERS, logs.NO_COVERS, logs.STALE_COVERS)
FAST = {"durability": "none", "heal.settle_ms": 0}
#: MEMCTL_TEST_REPAIRS multiplies how many files are made.
TIMES = int(os.environ.get("MEMCTL_TEST_REPAIRS", "1"))


def damaged(seed: int) -> tuple[list[str], bytes]:
    """A log with up to three summaries and two to six damages, and their names."""
    rng = random.Random(f"combined {seed}")
    summaries = tuple(rng.choice(KINDS) for _ in range(rng.randint(0, 3)))
    names = [rng.choice(list(damages.DAMAGES)) for _ in range(rng.randint(2, 6))]
    return names, damages.inflict(names, rng, logs.make(seed, summaries))


@pytest.mark.parametrize("summaries", [(), KINDS], ids=["without summaries", "with summaries"])
def test_nothing_is_wrong_with_a_log_that_was_not_damaged(summaries: tuple[str, ...]) -> None:
    """Of the logs that the tests damage, only the coverage that was made stale is named."""
    stale = [("bad-summary", "warning")] * summaries.count(logs.STALE_COVERS)
    for seed in range(100):
        data = b"".join(logs.make(seed, summaries))
        outcome = engine.repaired(data)
        assert (data, [], stale) == (outcome.new, outcome.fixed, outcome.left)


@pytest.mark.parametrize("name", damages.DAMAGES)
def test_a_damage_alone_makes_what_it_is_named_for(name: str) -> None:
    """Each damage of the table makes one of its codes in nearly every log, by inspect and by repair."""
    named = 0
    for seed in range(20):
        data = damages.inflict([name], random.Random(seed), logs.make(seed))
        outcome = engine.repaired(data)
        codes = set(outcome.fixed) | {code for code, _ in outcome.left}
        named += bool(codes & damages.DAMAGES[name].codes)
        engine.check(outcome)
    assert 10 <= named


@pytest.mark.parametrize("batch", range(20 * TIMES))
def test_combined_damages_through_the_store(root: Path, batch: int) -> None:
    """The plan tells what the deed does; inspect finds what was left; bytes are accounted for."""
    store = Store(root, settings=FAST)
    user = root / "conversations" / "alice"
    user.mkdir(parents=True, mode=0o700)
    for seed in range(16 * batch, 16 * batch + 16):
        names, data = damaged(seed)
        path = user / f"s{seed}.jsonl"
        path.write_bytes(data)
        path.chmod(0o600)
        reference = f"alice/s{seed}"
        plan = store.repair(reference, apply=False).targets[0]
        assert data == path.read_bytes(), names
        done = store.repair(reference).targets[0]
        new = path.read_bytes()
        assert {**plan.report(), "applied": True} == done.report(), names
        expected = engine.repaired(data)
        assert expected.new == new, names
        assert len(data) + expected.edits.newlines == done.kept + done.quarantined_bytes, names
        assert done.kept + done.added_bytes == len(new), names
        if done.quarantine is not None:
            assert expected.taken == store.quarantined(done.quarantine), names
        else:
            assert data == new
        again = store.repair(reference)
        assert 0 == again.fixed, names
        assert new == path.read_bytes(), names
        _check_left(done.left, store, reference, split="glued-lines" in expected.fixed)


def _check_left(left: list[dict[str, object]], store: Store, reference: str, *, split: bool) -> None:
    said = Counter((item["code"], item["severity"]) for item in left)
    found = Counter((p.code, p.severity) for p in store.inspect(reference).targets[0].problems)
    assert set(said) == set(found)
    assert Counter() == said - found
    # One line has each code once; of a line that is split each message has its own.
    assert split or said == found


@pytest.mark.parametrize("batch", range(10 * TIMES))
def test_combined_damages_in_memory(batch: int) -> None:
    """Over very many files: kept and taken out are the input, no message is lost, nothing shows that hid."""
    for seed in range(10_000 + 40 * batch, 10_040 + 40 * batch):
        _, data = damaged(seed)
        for wanted in (DEFAULT, DEFAULT | {"bad-text"}):
            engine.check(engine.repaired(data, wanted), wanted)


@pytest.mark.parametrize("code", REPAIRED)
def test_only_one_code_changes_nothing_else(code: str) -> None:
    """With one code wanted, only its lines change, other codes only where such a line leaves or is split."""
    wanted = frozenset((code,))
    for seed in range(20_000, 20_000 + 25 * TIMES):
        _, data = damaged(seed)
        outcome = engine.repaired(data, wanted)
        engine.check(outcome, wanted)
        named = {row.problem.line for row in outcome.problems if row.action and row.problem.code == code}
        for row in outcome.problems:
            # A summary finds its place again without a change of its own.
            assert not row.action or row.problem.code == "bad-summary" or row.problem.line in named
        touched = {edit.line for edit in outcome.edits if edit.code not in ("covers", "open-call")}
        assert touched <= named


def test_some_codes_change_nothing_else() -> None:
    """With some codes wanted, what holds for a repair holds, and no other line changes."""
    for seed in range(30_000, 30_000 + 150 * TIMES):
        _, data = damaged(seed)
        wanted = frozenset(random.Random(seed).sample(REPAIRED, 3))
        outcome = engine.repaired(data, wanted)
        engine.check(outcome, wanted)
        named = {r.problem.line for r in outcome.problems if r.action and r.problem.code in wanted}
        assert {e.line for e in outcome.edits if e.code not in ("covers", "open-call")} <= named


# -- what once went wrong ----------------------------------------------------------------------------------

CALL = b'{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f"}}]}'
RESULT = b'{"role":"tool","content":"r","tool_call_id":"c1"}'
USER = b'{"role":"user","content":"hi"}'


def test_results_made_for_calls_on_one_line_have_ids_of_their_own() -> None:
    """Two calls with one id on one line: a result behind each, and no second repair takes one for a copy."""
    outcome = engine.repaired(CALL + CALL + b"\n" + USER + b"\n")
    engine.check(outcome)
    assert ["glued-lines", "open-call", "open-call"] == outcome.fixed
    lines = outcome.new.split(b"\n")
    assert [CALL, CALL, USER] == [lines[0], lines[2], lines[4]]
    assert 2 == len({lines[1], lines[3]})


def test_a_summary_on_a_line_that_is_not_split_is_rewritten_in_its_place() -> None:
    """What else stands on the line of a summary stays there when only the summary has to change."""
    answer = b'{"role":"assistant","content":"behind"}'
    own = [USER + b"\n", RESULT + b"\n", USER + b"\n"]
    summary = logs.summary(own, kept=1)
    data = b"".join(own[:2]) + USER + summary[:-1] + answer + b"\n"
    outcome = engine.repaired(data, {"orphan-result"})
    engine.check(outcome, {"orphan-result"})
    assert 1 == outcome.summaries_rewritten
    rewritten = logs.summary([USER + b"\n", USER + b"\n"], kept=1)
    assert USER + b"\n" + USER + rewritten[:-1] + answer + b"\n" == outcome.new


def test_a_summary_whose_bytes_cannot_be_told_apart_stays_as_it_is() -> None:
    """On a line that is not split, with zero bytes in its messages, nothing is put in the summary's place."""
    summary = logs.summary([USER + b"\n", RESULT + b"\n", USER + b"\n"], kept=1)
    glued = USER[:9] + b"\0" + USER[9:] + summary
    outcome = engine.repaired(USER + b"\n" + RESULT + b"\n" + glued, {"orphan-result"})
    assert (["orphan-result"], 0) == (outcome.fixed, outcome.summaries_rewritten)
    assert USER + b"\n" + glued == outcome.new
    full = engine.repaired(USER + b"\n" + RESULT + b"\n" + glued)
    engine.check(full)
    assert logs.summary([USER + b"\n", USER + b"\n"], kept=1) == full.new.splitlines(keepends=True)[-1]


@pytest.mark.parametrize(
    ("front", "behind"),
    [(b"\xef\xbb\xbf", b""), (b"\0", b"\0"), (b"", b"\r\r"), (b"\xef\0\xbb\xbf", b"\r\0")],
    ids=["mark", "zeros", "CR", "all"],
)
def test_a_summary_with_faults_that_stay_is_rewritten_around_them(front: bytes, behind: bytes) -> None:
    """A mark in front, zero bytes and CR of a summary's line stay where they are not wanted to go."""
    own = [USER + b"\n", RESULT + b"\n", USER + b"\n"]
    summary = logs.summary(own, kept=1)
    data = b"".join(own) + front + summary[:-1] + behind + b"\n"
    outcome = engine.repaired(data, {"orphan-result"})
    engine.check(outcome, {"orphan-result"})
    rewritten = logs.summary([USER + b"\n", USER + b"\n"], kept=1)
    assert USER + b"\n" + USER + b"\n" + front + rewritten[:-1] + behind + b"\n" == outcome.new


@pytest.mark.parametrize("wanted", [{"bad-number"}, {"bad-text"}, {"bad-utf8"}, {"bom"}])
def test_what_zero_bytes_stand_in_is_mended_with_them_only(wanted: set[str]) -> None:
    """Marks, characters, numbers and escapes with zero bytes in them stay while the zero bytes stay."""
    data = b'\xef\0\xbb\xbf{"role":"user","content":"\xc3\0\xa9 \xe9 \\ud8\x003d","n":Na\0N}\n'
    outcome = engine.repaired(data, wanted)
    assert (data, []) == (outcome.new, outcome.fixed)
    full = engine.repaired(data, DEFAULT | {"bad-text"})
    assert '{"role":"user","content":"é \ufffd \\ufffd","n":null}\n'.encode() == full.new


def test_numbers_behind_a_torn_piece_are_found() -> None:
    """The open quote of a torn piece does not hide what stands in the message behind it."""
    message = b'{"role":"assistant","content":"a","n":%s}'
    outcome = engine.repaired(b'{"role":"user","content":"cu' + message % b"NaN" + b"\n")
    engine.check(outcome)
    assert ["bad-number", "glued-lines"] == outcome.fixed
    assert message % b"null" + b"\n" == outcome.new


def test_so_many_problems_of_a_code_are_listed() -> None:
    """Of 50,001 problems of one code 50,000 are listed and all are counted; other codes are not touched."""
    found = diagnosis.Diagnosis()
    for line in range(1, 50_002):
        found.add(Problem("crlf", "warning", line, line, 1, ""), mends=True)
    found.add(Problem("bom", "warning", 50_002, 50_002, 3, ""), mends=False)
    assert {"crlf": 1} == found.unlisted()
    assert (50_001, 50_001) == (len(found.found), found.counts["crlf", "warning", "CR removed"])


def test_an_unlisted_warning_is_no_clean_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair that leaves a warning beyond the problems that are listed of its code is not clean."""
    monkeypatch.setattr(diagnosis, "LISTED_MAX", 2)
    user = b'{"role":"user","content":"a"}\n'
    call = b'{"role":"assistant","tool_calls":[{"id":"c%d","function":{"name":"f","arguments":"{}"}}]}\n'
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"".join(user + call % number for number in range(4)))
    done = Store(tmp_path / "store", settings=FAST).repair(str(path))
    assert (3, 1, {"open-call": 2}) == (done.fixed, done.left, done.targets[0].unlisted)
    assert [] == done.targets[0].left
    assert (True, False) == (done.targets[0].leaves_trouble, done.is_clean)


def test_so_many_milder_problems_behind_graver_ones_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers beyond a double in lines with NaN are left: all are counted, some listed, by both commands."""
    monkeypatch.setattr(diagnosis, "LISTED_MAX", 2)
    path = tmp_path / "numbers.jsonl"
    path.write_bytes(b'{"role":"user","content":"a","n":NaN,"m":1e999}\n{"role":"assistant"}\n' * 5)
    store = Store(tmp_path / "store", settings=FAST)
    assert {"bad-number": 3, "empty-message": 3} == store.inspect(str(path)).targets[0].unlisted
    plan = store.repair(str(path), apply=False)
    done = store.repair(str(path))
    for report in (plan, done):
        assert (5, 10) == (report.fixed, report.left)
        assert {"bad-number": 6, "empty-message": 3} == report.targets[0].unlisted
        assert (2, 4) == (len(report.targets[0].fixed), len(report.targets[0].left))
    again = store.repair(str(path))
    assert (0, 10, {"bad-number": 3, "empty-message": 3}) == (
        again.fixed,
        again.left,
        again.targets[0].unlisted,
    )


DUPLICATE = b'{"role":"user","content":"a","extra":{"memctl":{"id":"x"}},"k":1,"k":2}'
ORPHAN = b'{"role":"tool","content":"t","tool_call_id":"z","n":NaN}'


@pytest.mark.parametrize(
    ("codes", "actions", "lines", "kept"),
    [
        (
            ["duplicate-message"],
            [("duplicate-key", 2), ("duplicate-message", 2)],
            [DUPLICATE + b"\n", DUPLICATE + b"\n"],
            DUPLICATE + b"\n",
        ),
        (
            ["orphan-result"],
            [("bad-number", 2), ("crlf", 2), ("no-final-newline", 2), ("orphan-result", 2)],
            [DUPLICATE + b"\n", ORPHAN + b"\r"],
            DUPLICATE + b"\n",
        ),
        (["orphan-result"], [("orphan-result", 1)], [ORPHAN.replace(b"NaN", b"1") + b"\n"], b""),
    ],
)
def test_a_line_that_leaves_with_its_message(
    codes: list[str], actions: list[tuple[str, int]], lines: list[bytes], kept: bytes
) -> None:
    """All that is wrong with it is set aside with it, and the note says for which code it left."""
    outcome = engine.repaired(b"".join(lines))
    assert kept == outcome.new
    assert codes == outcome.edits.codes()
    done = [(row.problem.code, row.problem.line, row.action) for row in outcome.problems if row.action]
    assert [(code, line, "set aside") for code, line in actions] == sorted(done)


def test_more_problems_than_are_listed_are_counted_and_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Problems beyond those that are listed are counted, and their lines are mended too."""
    monkeypatch.setattr(diagnosis, "LISTED_MAX", 50)
    path = tmp_path / "many.jsonl"
    critic = b'{"role":"critic","content":"no"}\n'
    path.write_bytes((b"\n" + critic) * 53)
    store = Store(tmp_path / "store", settings=FAST)
    found = store.inspect(str(path))
    assert ({"blank-line": 3, "unknown-role": 3}, 106) == (found.targets[0].unlisted, found.warnings)
    plan = store.repair(str(path), apply=False)
    done = store.repair(str(path))
    assert plan.targets[0].fixed == done.targets[0].fixed
    assert (53, 53, 53, 53) == (plan.fixed, plan.left, done.fixed, done.left)
    assert (50, 50) == (len(done.targets[0].fixed), len(done.targets[0].left))
    assert critic * 53 == path.read_bytes()
    again = store.repair(str(path))
    assert (0, 53) == (again.fixed, again.left)
