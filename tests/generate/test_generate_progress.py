"""What `pfgen-rs generate` tells while it works and of the end, and scores of runs that are unfinished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engine_tasks import until
from generating import CONFIG, FakeEngine, answer_to, journal, key_of, names, write_samples
from helpers import CATS, SEAS
from pfgen_rs import IncompleteRunError, InputError, Result, load_benchmark
from pfgen_rs.ask import engines
from pfgen_rs.ask.protocol import LOG, Task
from pfgen_rs.cli import engine_options
from pfgen_rs.cli.app import app
from pfgen_rs.generate import Run, RunConfig, generate
from pfgen_rs.runs.outputs import summary_row, write_results
from pfgen_rs.verify import verify


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ((1200, 5000, 12.4, 3), "1,200 of 5,000 answers, 12.4/s, 6 min left, 3 failed"),
        ((0, 36_000, 2.0, 0), "0 of 36,000 answers, 2.0/s, 5 h 0 min left"),
    ],
)
def test_lines_where_there_is_no_terminal(
    figures: tuple[int, int, float, int],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(engine_options, "EVERY", 0.01)
    shown: list[str] = []

    def told() -> bool:
        shown.extend(capsys.readouterr().err.splitlines())
        return len(shown) > 1

    with engine_options.asking_progress() as update:
        update(*figures)
        until(told)
    assert set(shown) == {said}


def test_warnings_are_lines_and_are_handed_to_nobody_else(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with engine_options.asking_progress():
        LOG.warning("waiting %d s: %s", 3, "\x1b[31m")
    assert capsys.readouterr().err == "waiting 3 s: \\x1b[31m\n"
    assert caplog.messages == []
    LOG.warning("later")
    assert capsys.readouterr().err == ""
    assert caplog.messages == ["later"]


def test_progress_counts_what_was_given_up(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    generate(
        RunConfig("fake", "m"),
        FakeEngine(lambda task: ValueError("no") if task.trial == 1 else answer_to(task)),
        benchmark=write_samples(tmp_path / "tiny"),
        trials=2,
        results=tmp_path / "result",
        progress=lambda done, _total, _rate, failed: told.append((done, failed)),
    )
    assert told == [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]


def run_cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, *more: str
) -> tuple[int, str, str]:
    """Exit code, output and remarks, but the first, of two trials with this engine."""
    monkeypatch.setattr(engines, "make", lambda *_, **__: engine)
    place = write_samples(tmp_path / "tiny")
    given = ["-b", str(place), "--trials=2", f"--out={tmp_path / 'result'}"]
    args = ["generate", "m", "--engine=command", "--command=x", *given, *more]
    done = CliRunner().invoke(app, args)
    first, _, rest = done.stderr.partition("\n")
    assert first.startswith(f"benchmark {place}: 2 questions, 2 trials, into ")
    return done.exit_code, done.stdout, rest


def test_a_question_that_always_fails_leaves_the_answers_to_the_others_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(task: Task) -> str | Exception:
        return ValueError("no") if task.question == SEAS else answer_to(task)

    code, out, err = run_cli(tmp_path, monkeypatch, FakeEngine(reply), "--score")
    first, *listed, count, partial = err.splitlines()
    assert code == 1
    assert first == f"first failure: trial 1, {SEAS}: no"
    assert listed == [f"warning: trial {n}, {SEAS}: no" for n in (1, 2)]
    assert count == "warning: 2 requests failed: run the same command to ask again"
    assert "partial result of 2 of 4 answers, to 1 of 2 questions" in partial
    assert "|questions:1/2|answers:2/4|" in out
    code, _, err = run_cli(tmp_path, monkeypatch, FakeEngine(), "--score")
    assert (code, err) == (0, "")
    [folder] = (tmp_path / "result/m").iterdir()
    assert not (folder / "result.json").exists()


def test_scores_of_a_run_can_be_kept_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cli(tmp_path, monkeypatch, FakeEngine())
    [packed] = tmp_path.glob("result/m/*/trials.jsonl.xz")
    folder, tiny = str(packed.parent), f"--benchmark={tmp_path / 'tiny'}"
    with pytest.raises(InputError, match=r"no published result .* pfgen-rs score RUN --out DIR"):
        verify(folder, tmp_path / "tiny")
    for args in (["score", folder, "--out", folder, tiny], ["verify", folder, tiny]):
        assert CliRunner().invoke(app, args).exit_code == 0

    packed.unlink()
    done = CliRunner().invoke(app, ["score", folder, tiny])
    assert "the run has 2 finished trials" in str(done.exception)
    lines = b"".join(path.read_bytes() for path in sorted(packed.parent.glob("trial_*.jsonl")))
    done = CliRunner().invoke(app, ["score", "-", tiny], input=lines)
    assert done.exit_code == 0, done.output


TEXTS = {CATS: "猫は小さな動物です。", SEAS: "海は青く広いです。"}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, reply: Any, **options: Any) -> Run:
    options = {"trials": 4, "score": True, **options}
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


def test_a_question_without_answers_leaves_the_others(tiny: Path) -> None:
    result = result_in(tiny, seas_fail)
    texts = [f"{TEXTS[CATS]}{n}" for n in (1, 2, 3, 4)]
    plain = load_benchmark(tiny).evaluate([CATS] * 4, texts)
    assert (result.score, result.height, result.planned) == (plain.score, 4, 8)
    assert result.name == "org/model"


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


def test_more_trials_than_asked_for_are_counted(tiny: Path) -> None:
    run_in(tiny, answer_to, trials=3, score=False)
    [folder] = (tiny.parent / "result/org/model").iterdir()
    (folder / "journal.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in journal(folder)[:3])
    )
    (folder / "trial_002.jsonl").unlink()
    (folder / "trials.jsonl.xz").unlink()
    result = run_in(tiny, lambda _: None, trials=2).result
    assert result is not None
    assert (result.height, result.planned) == (5, 6)


def test_where_nothing_was_answered_there_is_nothing_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is the run done where the engine ends early."""
    silent = FakeEngine(lambda _: None)
    code, _, err = run_cli(tmp_path, monkeypatch, silent, "--score")
    assert (code, err) == (1, "warning: nothing to score: no question has an answer\n")
