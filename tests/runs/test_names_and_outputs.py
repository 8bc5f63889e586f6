"""Names of runs, what is written of them, and remarks about their answers."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from helpers import CATS, GOOD, SEAS, lines, pfgen, write_benchmark, write_run
from pfgen_rs import Benchmark, InputError, load_benchmark, score_file
from pfgen_rs.errors import IncompleteRunError, OutputError
from pfgen_rs.io import run_files
from pfgen_rs.runs import outputs
from pfgen_rs.runs.leaderboard import leaderboard


def test_patterns_expand_in_order_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "deep/er/c.jsonl", "x[1].jsonl", "x1.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    assert run_files.expand(["b.jsonl", "[ab].jsonl"]) == ["b.jsonl", "a.jsonl"]
    assert run_files.expand(["deep/**/*.jsonl"]) == [os.path.join("deep", "er", "c.jsonl")]  # noqa: PTH118
    assert run_files.expand(["x[1].jsonl", "-"]) == ["x[1].jsonl", "-"]
    assert run_files.expand(["none.jsonl"]) == ["none.jsonl"]
    with pytest.raises(InputError, match="z\\*"):
        run_files.expand(["a.jsonl", "z*"])


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/trials.jsonl.xz"], ["a"]),
        (["a/x.jsonl.gz", "b/y.csv"], ["x", "y"]),
        (["a/m/trials.jsonl", "b/m/trials.jsonl"], ["a/m", "b/m"]),
        (["a/x.jsonl", "a/x.csv"], ["x.jsonl", "x.csv"]),
        (["a/x.jsonl", "a/X.csv"], ["x.jsonl", "X.csv"]),
        (["a/x.jsonl", "b/x.jsonl", "b/x.csv"], ["a/x.jsonl", "b/x.jsonl", "b/x.csv"]),
        (["a/trials.jsonl", "a/trials.csv"], ["trials.jsonl", "trials.csv"]),
        (["-", "x.jsonl"], ["stdin", "x"]),
        (["../up/trials.jsonl"], ["up"]),
        (["trials.jsonl.xz"], ["trials"]),
        (["trials.jsonl", "b/trials.jsonl"], ["trials", "b"]),
        (["d/.hidden"], [".hidden"]),
    ],
)
def test_output_names(paths: list[str], names: list[str]) -> None:
    assert run_files.output_names(paths) == names


def test_output_names_never_leave_the_folder_and_are_distinct() -> None:
    paths = ["../a/x/trials.jsonl", "../../a/x/trials.jsonl", "x/trials.jsonl", "./y/../x.jsonl"]
    for name in run_files.output_names(paths):
        assert ".." not in Path(name).parts
        assert not Path(name).is_absolute()
    with pytest.raises(InputError, match="same path"):
        run_files.output_names(["a/x.jsonl", "b/../a/x.jsonl"])


def test_a_run_is_not_called_as_the_folder_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "downloads")
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    monkeypatch.chdir(run)
    assert score_file("trials.jsonl", benchmark).name == "trials"
    assert score_file("../downloads/trials.jsonl", benchmark).name == "downloads"


def test_ranking_naming_and_writing(tmp_path: Path) -> None:
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    worse = score_file(write_run(tmp_path / "worse", GOOD[2:], model="model"), benchmark)
    better = score_file(write_run(tmp_path / "better"), benchmark)
    same = score_file(write_run(tmp_path / "same"), benchmark)
    assert list(leaderboard([worse, better, same])) == [better, same, worse]
    assert [r.name for r in (worse, better)] == ["model", "better"]
    frame = outputs.per_response([worse, better])
    assert frame.height == 6
    assert frame.columns == ["file", *better.frame.columns, "signature"]
    assert frame.get_column("signature").unique().to_list() == [better.signature]
    partial = score_file(write_run(tmp_path / "partial", GOOD[:1]), benchmark)
    with pytest.raises(IncompleteRunError, match="partial"):
        outputs.write_results([better, partial], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    written = outputs.write_results([better, partial], tmp_path / "out", allow_partial=True)
    assert written == [tmp_path / "out" / n / "result.json" for n in ("better", "partial")]
    with pytest.raises(OutputError, match="one of the inputs"):
        run_files.refuse_overwriting(
            tmp_path / "same" / "trials.jsonl", [better.path or "", "-", same.path or ""]
        )


def test_a_single_trial_has_no_deviation(mini: Benchmark) -> None:
    one = mini.evaluate([{"question": "Q02", "answer": "光合成です。"}])
    two = mini.evaluate([{"question": "Q02", "answer": text} for text in ("光合成です。", "光。")])
    assert "±0.0000/" not in str(one)
    assert f"±{two.score_std:.4f}/√2" in str(two)
    assert two.score_std > 0


# Answers that score about 0 for an obvious reason are told of, in one line.


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
