"""Full disks and signals: what was there before stays, and nothing half-written is left."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from disks import FULL_DISK, SLOW_DISK
from helpers import SCRIPT, TIMEOUT, environment, write_benchmark, write_run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


@pytest.fixture(autouse=True)
def _hang_ups_end_children() -> Iterator[None]:
    """Also where the tests themselves were started by `nohup`, whose children ignore hang-ups."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def outputs(tmp_path: Path) -> list[str]:
    """Arguments that score a run over existing outputs."""
    (tmp_path / "out").mkdir()
    for path in old_files(tmp_path):
        path.write_text("old")
    run, benchmark = write_run(tmp_path / "run"), write_benchmark(tmp_path / "tiny")
    return [
        "score",
        str(run),
        f"--benchmark={benchmark}",
        f"--out={tmp_path / 'out'}",
        f"--per-response={tmp_path / 'out' / 'scores.parquet'}",
    ]


def old_files(tmp_path: Path) -> list[Path]:
    return [tmp_path / "out" / name for name in ("result.json", "scores.parquet")]


def untouched(tmp_path: Path) -> bool:
    return [path.read_text() for path in old_files(tmp_path)] == ["old", "old"]


@pytest.mark.parametrize("dropped", ["--out", "--per-response"])
def test_a_full_disk(tmp_path: Path, outputs: list[str], dropped: str) -> None:
    arguments = [argument for argument in outputs if not argument.startswith(dropped)]
    command = [sys.executable, "-c", FULL_DISK, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "cannot be written" in done.stderr
    assert untouched(tmp_path)
    assert sorted((tmp_path / "out").iterdir()) == old_files(tmp_path)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_signal_while_writing(
    tmp_path: Path, outputs: list[str], number: signal.Signals, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_DISK, "1", *outputs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.read(7) == b"writing"
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (code, b"")
    assert untouched(tmp_path)
    if number != signal.SIGKILL:  # which leaves no chance to clean up
        assert sorted((tmp_path / "out").iterdir()) == old_files(tmp_path)


def test_nohup_keeps_a_process_alive(tmp_path: Path, outputs: list[str]) -> None:
    """A closed terminal is no reason to stop where the user has said so."""
    process = subprocess.Popen(
        ["nohup", sys.executable, "-c", SLOW_DISK, "1", *outputs],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.read(7) == b"writing"
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 143


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading(
    tmp_path: Path, outputs: list[str], number: signal.Signals, code: int
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    copies = tmp_path / "temporary"
    copies.mkdir()
    process = subprocess.Popen(
        [SCRIPT, *outputs, pipe],
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(copies)),
    )
    held = opened_by(process, pipe)
    time.sleep(0.5)  # Python notices signals that come before it waits only after it has waited
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT)
    os.close(held)
    assert (process.returncode, err) == (code, b"")
    assert untouched(tmp_path)
    assert not list(copies.iterdir())
    assert sorted((tmp_path / "out").iterdir()) == old_files(tmp_path)


def opened_by(process: subprocess.Popen[bytes], pipe: Path) -> int:
    """Our end of the pipe, as soon as the process has opened its end: one run has been scored."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # nobody reads yet
                raise
            time.sleep(0.05)
    pytest.fail(f"ended too early: {process.communicate()}")
