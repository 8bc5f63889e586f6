"""Finished trials packed; nothing lost, nothing unfinished taken."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkouts import FIRST, add_run, contents, line, make_checkout, text
from helpers import CATS, GOOD, SEAS, pfgen
from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import is_trial_file, packed_trials
from pfgen_rs.report.update import report

TRIALS = [text(GOOD[:2]), text(GOOD[2:])]
SORTED = b"".join(sorted(b"".join(TRIALS).splitlines(keepends=True)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose trials are finished but not packed."""
    for number, content in enumerate(TRIALS, 1):
        (tmp_path / f"trial_{number:03d}.jsonl").write_bytes(content)
    return tmp_path


def unpacked(run: Path) -> bytes:
    content, _ = packed_trials(run, 2)
    assert content is not None
    return lzma.decompress(content)


def test_all_lines_sorted_bytewise(run: Path) -> None:
    assert unpacked(run) == SORTED


@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    )
)
def test_any_answers(tmp_path_factory: pytest.TempPathFactory, trials: list[list[str]]) -> None:
    run = tmp_path_factory.mktemp("run")
    for number, answers in enumerate(trials):
        (run / f"trial_{number}.jsonl").write_bytes(text([(CATS, answer) for answer in answers]))
    every = [line(CATS, answer) for answers in trials for answer in answers]
    assert unpacked(run).split(b"\n") == [*sorted(every), b""]


def test_what_is_packed_stays(run: Path) -> None:
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(SORTED, preset=0))
    assert packed_trials(run, 2) == (None, [])


def test_more_trials_are_added(run: Path) -> None:
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(TRIALS[0]))
    assert unpacked(run) == SORTED


def test_plain_responses_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_bytes(b"".join(TRIALS))
    assert unpacked(tmp_path) == b"".join(TRIALS)


def test_trial_files_count_more_than_plain_responses(run: Path) -> None:
    (run / "trials.jsonl").write_bytes(TRIALS[0])
    assert unpacked(run) == SORTED


@pytest.mark.parametrize(
    "content",
    [
        b"",
        TRIALS[1][:-1],
        TRIALS[1][:-40],
        line(*GOOD[2]) + b"\n",
        TRIALS[1] + line(*GOOD[0]) + b"\n",
    ],
    ids=["empty", "no line end", "cut short", "a line too few", "a line too many"],
)
def test_unfinished_trials_are_left_out(run: Path, content: bytes) -> None:
    (run / "trial_002.jsonl").write_bytes(content)
    made, unfinished = packed_trials(run, 2)
    assert made is not None
    assert unfinished == [run / "trial_002.jsonl"]
    assert lzma.decompress(made).splitlines() == sorted(TRIALS[0].splitlines())


def test_names_of_trials() -> None:
    assert is_trial_file("trial_001.jsonl")
    assert is_trial_file("trial_1000.jsonl")
    others = [
        "trial_001.jsonl.tmp",
        ".trial_001.jsonl",
        "trial_.jsonl",
        "trials.jsonl",
        "trial_١.jsonl",
    ]
    assert not any(map(is_trial_file, others))


def test_lines_that_are_nowhere_else_are_not_lost(run: Path) -> None:
    more = SORTED + line(SEAS, "空の色です。") + b"\n" + SORTED
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(more))
    with pytest.raises(
        InputError, match=r"trials\.jsonl\.xz: has 5 lines that .* remove this file"
    ):
        packed_trials(run, 2)


def test_a_damaged_file_is_not_overwritten(run: Path) -> None:
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(SORTED)[:-9])
    with pytest.raises(
        InputError, match=r"trials\.jsonl\.xz: the compressed data is damaged or cut short"
    ):
        packed_trials(run, 2)


def test_a_run_of_trial_files_is_scored(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    run, plain = checkout / FIRST, add_run(checkout, "result/plain/model/0000000")
    (run / "trials.jsonl").unlink()
    for number, content in enumerate([*TRIALS, TRIALS[0][:-1]], 1):
        (run / f"trial_{number:03d}.jsonl").write_bytes(content)
    (plain / "trials.jsonl").write_bytes(SORTED)
    before = contents(run)
    done = pfgen("report", checkout)
    assert (done.returncode, done.stdout) == (
        0,
        "3 runs: 3 scored; 13 files written in the checkout\n",
    )
    warnings = [line for line in done.stderr.splitlines() if not line.startswith("scoring ")]
    assert warnings[0].startswith(
        f"warning: {run / 'trial_003.jsonl'}: skipped, because it is not finished"
    )
    assert contents(run).items() >= before.items()
    for name in ("result.json", "trials.jsonl.xz"):
        assert (run / name).read_bytes() == (plain / name).read_bytes()
    assert report(checkout).written == []


def test_a_run_that_has_just_begun_is_no_run_yet(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    run = add_run(checkout, "result/new/model/0000000")
    (run / "trials.jsonl").unlink()
    for trial in (None, TRIALS[0][:-1]):
        if trial is not None:
            (run / "trial_001.jsonl").write_bytes(trial)
        before = contents(run)
        done = report(checkout)
        assert (done.problems, len(done.runs)) == ([], 2)
        assert contents(run) == before
