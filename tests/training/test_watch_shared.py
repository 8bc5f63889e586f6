"""Several processes that watch one folder, and what is left when they are killed or interrupted."""

import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import helpers
from engine_tasks import until
from pfgen_rs.training import curve as curves, read_curve
from pfgen_rs.training.serving import EngineMaker
from pfgen_rs.training.watch import Watcher
from served_checkpoints import ANSWER, PYTHON, check_none_is_left, checkpoint, noted, serve

# Notes who asks for which checkpoint, and answers after a while.
SLOW = "import os, time; open(sys.argv[2], 'a').write(f'{os.getppid()} {sys.argv[1]}\\n'); time.sleep(1)\n"
STEPS = 12


def command(place: Path, *more: str) -> list[str | Path]:
    """The arguments of `watch` on checkpoints that are complete when they have weights."""
    once = ["--once", "--marker", "weights", "--limit", "3", "--benchmark", "mini"]
    return [helpers.SCRIPT, "watch", place / "checkpoints", *once, *more]


def begun(place: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(place, *more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=helpers.environment(),
    )


def test_three_processes_share_a_folder_and_one_is_killed(tmp_path: Path) -> None:
    for step in range(STEPS):
        checkpoint(tmp_path, step)
    program = tmp_path / "program.py"
    program.write_text(ANSWER.replace("for line", f"{SLOW}for line", 1))
    words = [*PYTHON, str(program), "{checkpoint}", str(tmp_path / "log")]
    given = ["--command", shlex.join(words).replace("'{checkpoint}'", "{checkpoint}")]

    def asked() -> list[list[str]]:
        log = tmp_path / "log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    three = [begun(tmp_path, *given) for _ in range(3)]
    victim = three[0]
    until(lambda: any(int(process) == victim.pid for process, _ in asked()))
    victim.kill()
    said = [each.communicate(timeout=helpers.TIMEOUT)[0].decode() for each in three]
    assert [each.returncode for each in three] == [-signal.SIGKILL, 0, 0], said
    frame, _ = read_curve(tmp_path / "checkpoints" / "pfgen" / "curve.parquet")
    assert frame["step"].to_list() == list(range(STEPS))
    assert frame["difference"].null_count() == 1
    answers = sorted((tmp_path / "checkpoints" / "pfgen" / "answers").iterdir())
    assert [pl.read_parquet(path).height for path in answers] == [3] * STEPS
    times = Counter(path for _, path in asked())
    assert len(times) == STEPS
    again = {path for path, count in times.items() if count > 1}
    assert len(again) <= 1  # what the killed one had begun
    assert all(any(int(who) == victim.pid for who, at in asked() if at == path) for path in again)
    assert {int(process) for process, _ in asked()} == {each.pid for each in three}
    assert len("".join(said[1:]).split("score ")) > STEPS - 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process(tmp_path: Path, number: int) -> None:
    checkpoint(tmp_path, 1, "hang")
    checkpoint(tmp_path, 2, "silent")
    words = shlex.join(serve(tmp_path)).replace("'", "")
    watching = begun(tmp_path, "--serve", words, "--workers", "2")
    until(lambda: len(noted(tmp_path)) == 2)
    time.sleep(0.5)
    watching.send_signal(number)
    said, _ = watching.communicate(timeout=helpers.TIMEOUT)
    assert watching.returncode == (130 if number == signal.SIGINT else 143), said
    check_none_is_left(tmp_path, 2)


def test_a_step_claimed_elsewhere_is_left_to_its_process(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 2)
    out = tmp_path / "checkpoints" / "pfgen"
    out.mkdir()
    holder = (
        "import os, sys; from pfgen_rs.io import locks; "
        "handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); "
        "print(locks.lock(handle, 2), flush=True); sys.stdin.read()"
    )
    made = EngineMaker(command=[*PYTHON, "-c", ANSWER, "{checkpoint}"])
    settings = {"benchmark": "mini", "questions": 3, "settle_seconds": 0}
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(out / ".watching")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        watcher = Watcher(tmp_path / "checkpoints", made, **settings)  # type: ignore[arg-type]
        assert [one.checkpoint.step for one in watcher.once()] == [2]
        assert watcher.elsewhere == {1}
        other.kill()
    assert [one.checkpoint.step for one in watcher.once()] == [1]


def test_the_baseline_may_come_last(tmp_path: Path) -> None:
    """Differences are the same in whichever order processes finish."""
    frames = []
    for order in ((0, 1, 2), (2, 1, 0)):
        folder = tmp_path / str(order[0])
        for step in order:
            checkpoint(folder, step)
            made = EngineMaker(
                command=[*PYTHON, "-c", ANSWER.replace('"a"', f"'光' * {step}"), "{checkpoint}"]
            )
            watcher = Watcher(folder / "checkpoints", made, benchmark="mini", settle_seconds=0)
            assert [one.error for one in watcher.once()] == [None]
        frame, _ = read_curve(folder / "checkpoints" / "pfgen" / curves.CURVE)
        frames.append(frame.drop("generation_seconds"))
    assert frames[0].equals(frames[1])
    assert frames[0]["difference"].null_count() == 1
