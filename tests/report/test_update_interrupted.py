"""Reports that are killed, or find no room: every file is the old one or the new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkouts import FIRST, SECOND, contents, make_checkout, text
from disks import FULL_DISK, SLOW_DISK
from helpers import GOOD, TIMEOUT, environment, pfgen
from pfgen_rs.report.update import report

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")

FILES = 10  # of a report of the small checkout
PACKED = 2  # of them are written first
SCORED = [f"scoring {run}: its answers have changed since it was scored" for run in (SECOND, FIRST)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Everything in it was made, and is stale."""
    folder = make_checkout(tmp_path / "checkout")
    report(folder)
    for path in folder.glob("result/**/trials.jsonl"):
        path.write_bytes(path.read_bytes() + text(GOOD))
    return folder


def is_temporary(path: str) -> bool:
    return path.endswith(".tmp")


@pytest.mark.parametrize(
    ("number", "place"),
    [(signal.SIGINT, 1), (signal.SIGTERM, 3), *((signal.SIGKILL, n) for n in (2, 4, 6, FILES))],
)
def test_a_signal_while_writing(checkout: Path, number: signal.Signals, place: int) -> None:
    old = contents(checkout)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_DISK, str(place), "report", str(checkout), "--jobs=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.read(7) == b"writing"
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT)
    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 128 + number)
    assert err.decode().splitlines() == (SCORED if place > PACKED else [])
    left = contents(checkout)
    assert sum(map(is_temporary, left)) == (1 if killed else 0)
    assert report(checkout).problems == []
    new = contents(checkout)
    assert left.keys() - old.keys() == {path for path in left if is_temporary(path)}
    assert new.keys() == old.keys()
    changed = [path for path in old if old[path] != new[path]]
    assert len(changed) == FILES
    assert all(left[path] in (old[path], new[path]) for path in old)
    assert sum(left[path] == new[path] for path in changed) == place - 1


def test_a_full_disk(checkout: Path) -> None:
    before = contents(checkout)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, "report", str(checkout), "--force"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 1
    errors = done.stderr.splitlines()
    assert len(errors) >= 2
    assert all(error.startswith("error: ") for error in errors)
    assert all("cannot be written" in error for error in errors)
    assert contents(checkout) == before


def test_the_command_tells_what_it_did(checkout: Path) -> None:
    done = pfgen("report", checkout)
    assert (done.returncode, done.stderr.splitlines()) == (0, SCORED)
    assert done.stdout == f"2 runs: 2 scored; {FILES} files written in the checkout\n"
