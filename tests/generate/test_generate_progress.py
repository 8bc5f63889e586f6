"""What `pfgen-rs generate` tells while it works, and what it says of the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine_tasks import until
from generating import FakeEngine, answer_to, write_samples
from helpers import SEAS
from pfgen_rs import InputError
from pfgen_rs.ask import engines
from pfgen_rs.ask.waits import LOG
from pfgen_rs.cli import generate_view
from pfgen_rs.cli.app import app
from pfgen_rs.generate import Task
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.runner import generate
from pfgen_rs.verify import verify


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ((0, 5000, 0.0, 0), "0 of 5,000 answers"),
        ((1200, 5000, 12.4, 3), "1,200 of 5,000 answers, 12.4/s, 6 min left, 3 failed"),
        ((1200, 1300, 50.0, 0), "1,200 of 1,300 answers, 50.0/s, 2 s left"),
        ((0, 36_000, 2.0, 0), "0 of 36,000 answers, 2.0/s, 5 h 0 min left"),
    ],
)
def test_lines_where_there_is_no_terminal(
    figures: tuple[int, int, float, int],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(generate_view, "EVERY", 0.01)
    shown: list[str] = []

    def told() -> bool:
        shown.extend(capsys.readouterr().err.splitlines())
        return len(shown) > 1

    with generate_view.generation_progress() as update:
        update(*figures)
        until(told)
    assert set(shown) == {said}


def test_warnings_are_lines_and_are_handed_to_nobody_else(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with generate_view.generation_progress():
        LOG.warning("waiting %d s: %s", 3, "\x1b[31m")
    assert capsys.readouterr().err == "waiting 3 s: \\x1b[31m\n"
    assert caplog.messages == []
    LOG.warning("later")
    assert capsys.readouterr().err == ""
    assert caplog.messages == ["later"]


def test_progress_counts_what_was_given_up(tmp_path: Path) -> None:
    def reply(task: Task) -> str | Exception:
        return ValueError("no") if task.trial == 1 else answer_to(task)

    def run(reply: Callable[[Task], str | Exception]) -> list[tuple[int, int, float, int]]:
        told: list[tuple[int, int, float, int]] = []
        generate(
            RunConfig("fake", "m"),
            FakeEngine(reply),
            benchmark=write_samples(tmp_path / "tiny"),
            trials=2,
            results=tmp_path / "result",
            progress=lambda *now: told.append(now),
        )
        return told

    told = run(reply)
    assert [(done, failed) for done, _, _, failed in told] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 2),
    ]


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


def test_a_question_that_always_fails_leaves_nothing_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(task: Task) -> str | Exception:
        return ValueError("no") if task.question == SEAS else answer_to(task)

    code, _, err = run_cli(tmp_path, monkeypatch, FakeEngine(reply), "--score")
    first, *listed, _, last = err.splitlines()
    assert code == 1
    assert first == f"first failure: trial 1, {SEAS}: no"
    assert listed == [f"warning: trial {n}, {SEAS}: no" for n in (1, 2)]
    assert last == (
        f"warning: nothing to score: no trial is complete; {SEAS!r} failed in all 2; --score-partial scores "
        "the answers of unfinished trials"
    )

    code, _, err = run_cli(tmp_path, monkeypatch, FakeEngine())
    assert code == 1
    assert err.splitlines()[:-1] == [
        f"warning: given up earlier: trial {n}, {SEAS}: no" for n in (1, 2)
    ]
    assert run_cli(tmp_path, monkeypatch, FakeEngine(), "--retry-failed", "--score")[0::2] == (
        0,
        "",
    )


def test_an_engine_that_ends_early_leaves_a_run_that_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine(lambda task: answer_to(task) if task.trial == 1 else None)
    code, out, err = run_cli(tmp_path, monkeypatch, engine)
    assert (code, err) == (1, "")
    assert out.endswith("1 of 2 trials, 2 new answers\n")


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
