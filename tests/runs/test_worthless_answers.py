"""Answers that score about 0 for an obvious reason are told of, in one line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from helpers import CATS, GOOD, SEAS, lines, pfgen, write_benchmark
from pfgen_rs import score_file

ENGLISH = [(CATS, "Cats sleep to save energy."), (SEAS, "Water absorbs red light.")] * 5
EMPTY = [(CATS, ""), (SEAS, "")]
FOREIGN = (
    "next to nothing in common with the reference answers (is that the language of the questions?)"
)
TOLD = [
    (EMPTY, "of 2 answers, 2 are empty: they score about 0"),
    (ENGLISH, f"of 10 answers, 10 have {FOREIGN}: they score about 0"),
    ([*GOOD, EMPTY[0]], "of 5 answers, 1 is empty: they score about 0"),
    (
        [EMPTY[0], *ENGLISH[1:]],
        f"of 10 answers, 1 is empty and 9 have {FOREIGN}: they score about 0",
    ),
    (ENGLISH[:8], None),  # too few to tell
    ([*GOOD, ENGLISH[0]], None),  # a single one may just be bad
    (GOOD, None),
]


@pytest.mark.parametrize(("answers", "told"), TOLD)
def test_empty_and_foreign_answers_are_told_of(
    answers: list[tuple[str, str]],
    told: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    benchmark = write_benchmark(tmp_path / "tiny")
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(answers))
    expected = [] if told is None else [f"{path}: {told}"]
    with caplog.at_level(logging.WARNING):
        result = score_file(path, benchmark)
    assert [each for each in caplog.messages if "score about 0" in each] == expected
    assert result.empty == sum(not answer for _, answer in answers)


@pytest.mark.parametrize("answers", [EMPTY, ENGLISH], ids=["empty", "english"])
def test_commands_warn_of_them_once(answers: list[tuple[str, str]], tmp_path: Path) -> None:
    benchmark = write_benchmark(tmp_path / "tiny")
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(answers))
    # The third one is scored without what reads any file.
    asked = [("score", "--threads", "1"), ("score",), ("score",), ("plan-trials",)]
    said = [pfgen(name, path, "-b", benchmark, *more).stderr.splitlines() for name, *more in asked]
    warned = [[line for line in err if "score about 0" in line] for err in said]
    assert [len(each) for each in warned] == [1] * len(asked)
    assert len({each[0] for each in warned}) == 1
    assert warned[0][0].startswith("warning: ")
