"""Scores of runs that are not finished: all answers count, and the result says so."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from generating import CONFIG, FakeEngine, answer_to, journal, key_of, names, write_samples
from helpers import CATS, SEAS, pfgen
from pfgen_rs import IncompleteRunError, Result, load_benchmark
from pfgen_rs.ask.protocol import Task
from pfgen_rs.generate.runner import Run, generate
from pfgen_rs.runs.outputs import summary_row, write_results
from places import SUPPORT

TEXTS = {CATS: "猫は小さな動物です。", SEAS: "海は青く広いです。"}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, reply: Any, **options: Any) -> Run:
    options = {"trials": 4, "score_partial": True, **options}
    return generate(
        CONFIG, FakeEngine(reply), benchmark=tiny, results=tiny.parent / "result", **options
    )


def result_in(tiny: Path, reply: Any) -> Result:
    result = run_in(tiny, reply).result
    assert result is not None
    return result


def text_of(task: Task) -> str:
    return TEXTS[task.question] + str(task.trial)


def seas_fail(task: Task) -> Any:
    return ValueError("filtered") if task.question == SEAS else text_of(task)


def seas_fail_once(task: Task) -> Any:
    return ValueError("filtered") if key_of(task) == (2, SEAS) else text_of(task)


def test_a_question_that_always_fails_leaves_the_others(tiny: Path) -> None:
    result = result_in(tiny, seas_fail)
    asked = [(CATS, f"{TEXTS[CATS]}{n}") for n in (1, 2, 3, 4)]
    plain = load_benchmark(tiny).evaluate(*(list(column) for column in zip(*asked, strict=True)))
    assert (result.score, result.height, result.planned) == (plain.score, 4, 8)
    assert "|questions:1/2|answers:4/8|" in result.signature
    assert (result.path, result.name) == (str(run_in(tiny, seas_fail).folder), "org/model")
    assert "answers=4/8" in repr(result)


def test_all_answers_count_however_many_each_question_has(tiny: Path) -> None:
    def few_seas(task: Task) -> Any:
        return seas_fail(task) if task.trial > 1 else text_of(task)

    result = result_in(tiny, few_seas)
    means = result.by_question.get_column("average").to_list()
    assert result.by_question.get_column("answers").to_list() == [4, 1]
    assert result.score == pytest.approx(sum(means) / 2, abs=1e-4)
    assert "|answers:5/8|" in result.signature
    assert "questions:" not in result.signature
    assert result.num_trials == 1
    assert summary_row(result)["score_low"] is not None  # the score is the mean of all answers


def test_no_partial_result_passes_for_a_whole_one(tiny: Path, tmp_path: Path) -> None:
    result = result_in(tiny, seas_fail_once)
    assert not result.missing
    with pytest.raises(IncompleteRunError, match="partial result of 7 of 8 answers, to 2 of 2"):
        result.to_dict()
    with pytest.raises(IncompleteRunError, match="7 of 8 answers"):
        write_results([result], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert "result.json" not in names(run_in(tiny, seas_fail_once).folder)
    allowed = result.to_dict(allow_partial=True)
    assert allowed["signature"] == result.signature
    assert allowed["score"] == result.score
    assert allowed["config"]["model"] == "org/model"


def test_a_whole_run_has_its_usual_result(tiny: Path) -> None:
    first = run_in(tiny, seas_fail_once, score=True)
    assert first.result is not None
    assert first.result.is_partial
    whole = run_in(tiny, text_of, retry_failed=True)
    usual = run_in(tiny, text_of, score_partial=False, score=True)
    assert whole.result is not None
    assert usual.result is not None
    assert whole.result.planned is None
    assert whole.result.to_bytes() == usual.result.to_bytes()


def test_more_trials_than_asked_for_are_counted(tiny: Path) -> None:
    run_in(tiny, answer_to, trials=3, score_partial=False)
    [folder] = (tiny.parent / "result/org/model").iterdir()
    (folder / "answers.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in journal(folder)[:3])
    )
    (folder / "trial_002.jsonl").unlink()
    (folder / "trials.jsonl.xz").unlink()
    result = run_in(tiny, lambda _: None, trials=2).result
    assert result is not None
    assert (result.height, result.planned) == (5, 6)


def test_without_answers_there_is_no_result(tiny: Path) -> None:
    assert run_in(tiny, lambda _: ValueError("no"), trials=2).result is None


def command(tiny: Path, answered: int, *more: str) -> list[str]:
    """The arguments for a run in which all tasks after some answers fail."""
    program = [sys.executable, SUPPORT / "answering_program.py", tiny.parent / "log"]
    asked = f"--command={shlex.join([*map(str, program), 'error', str(answered)])}"
    given = [
        "--engine=command",
        asked,
        f"--benchmark={tiny}",
        f"--out={tiny.parent / 'result'}",
    ]
    return ["generate", "org/model", *given, *more]


def test_the_command_says_what_the_score_rests_on(tiny: Path) -> None:
    done = pfgen(*command(tiny, 3, "--trials=2", "--score-partial"))
    assert done.returncode == 1
    [folder] = (tiny.parent / "result/org/model").iterdir()
    said = (
        f"warning: {folder}: partial result of 3 of 4 answers, to 2 of 2 questions; the score is the mean "
        "over questions of all their answers, and is not comparable with those of complete runs"
    )
    assert said in done.stderr.splitlines()
    assert "|answers:3/4|" in done.stdout
    assert not (folder / "result.json").exists()


def test_a_run_without_a_finished_trial_names_the_option(tiny: Path) -> None:
    done = pfgen(*command(tiny, 1, "--trials=1", "--score"))
    assert done.stderr.splitlines()[-1] == (
        f"warning: nothing to score: no trial is complete; {SEAS!r} failed in the only trial; "
        "--score-partial scores the answers of unfinished trials"
    )
    nothing = pfgen(*command(tiny, 0, "--trials=1", "--score-partial", "--name=other"))
    assert nothing.stderr.splitlines()[-1] == (
        "warning: nothing to score: no question has an answer"
    )
