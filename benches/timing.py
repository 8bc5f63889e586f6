"""Clocks: interleaved repeats in this process, and whole processes with their peak memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

NOT_COMPILED = "PYTHONDONTWRITEBYTECODE"
"""Where this is set, every process compiles the modules of a checkout again."""
LAUNCHER = Path(__file__).resolve().parent / "launcher.py"

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Work) -> float:
    """CPU seconds of one run, of all threads of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def interleaved(works: Sequence[Work], repeats: int) -> list[tuple[float, ...]]:
    """Seconds of each work in each repeat; they take turns, so that noise hits all alike."""
    return [tuple(seconds(work) for work in works) for _ in range(repeats)]


def median_ratio(rounds: Sequence[tuple[float, ...]]) -> float:
    """Median over the rounds of the first work's seconds through the second's."""
    return statistics.median(first / second for first, second, *_ in rounds)


def medians(rounds: Sequence[tuple[float, ...]]) -> list[float]:
    """Median seconds of each work."""
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


@dataclass(frozen=True)
class Process:
    """A process that ended well: its seconds, CPU seconds, peak memory in bytes, and standard output."""

    seconds: float
    cpu: float
    peak: int
    output: str


def process(*command: str | Path) -> Process:
    """Run a command with this Python, from start to exit, with its modules compiled as after an installation.

    A small launcher starts it: a process begins with the peak memory of the one it is started from.
    """
    environment = {name: value for name, value in os.environ.items() if name != NOT_COMPILED}
    done = subprocess.run(
        [sys.executable, LAUNCHER, sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    output, _, usage = done.stdout.rstrip("\n").rpartition("\n")
    return Process(**json.loads(usage), output=output)
