"""What `pfgen-rs generate` tells while it works, and what it says of the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine_tasks import until
from generating import FakeEngine, answer_to, write_samples
from pfgen_rs.cli import generate_view
from pfgen_rs.generate import Task
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.engines.waits import LOG
from pfgen_rs.generate.runner import generate


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

    with generate_view.generating() as update:
        update(*figures)
        until(told)
    assert set(shown) == {said}


def test_warnings_are_lines_and_are_handed_to_nobody_else(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with generate_view.generating():
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
