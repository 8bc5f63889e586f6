"""Processes that are killed, find no room, or share a run: nothing is lost, torn, or asked twice."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import generating
from helpers import SCRIPT, TIMEOUT, environment
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.generate import Run, RunConfig, generate
from places import SUPPORT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, limits and locks")

PROGRAM = SUPPORT / "answering_program.py"
DEADLINE = 30.0
# The command line in a process whose files cannot grow beyond so many bytes: a disk that is full.
FULL_DISK = """
import resource, sys
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), hard))
from pfgen_rs.cli import main
main()
"""


class Sharing(generating.Place):
    """A folder for runs of the tiny benchmark, and for what programs log."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.logs = folder / "logs"
        self.logs.mkdir()

    def program(self, log: str, *fault: str) -> list[str]:
        return [sys.executable, str(PROGRAM), str(self.logs / log), *fault]

    def arguments(self, log: str, *fault: str, trials: int = 4) -> list[str]:
        return [
            "generate",
            "org/model",
            "--engine=command",
            f"--command={shlex.join(self.program(log, *fault))}",
            f"--benchmark={self.benchmark}",
            f"--out={self.results}",
            f"--trials={trials}",
        ]

    def start(self, log: str, *fault: str, **options: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [SCRIPT, *self.arguments(log, *fault, **options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def go_on(self, log: str, trials: int = 4) -> Run:
        """What the same command does next, in this process."""
        with closing(CommandEngine("org/model", command=self.program(log))) as engine:
            config = RunConfig("command", "org/model")
            return generate(
                config, engine, benchmark=self.benchmark, trials=trials, results=self.results
            )

    def asked(self, log: str) -> list[generating.Key]:
        path = self.logs / log
        rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [(int(trial), question) for trial, question in (row.split("\t") for row in rows)]

    @property
    def folder(self) -> Path:
        [folder] = (self.results / "org" / "model").iterdir()
        return folder


@pytest.fixture
def place(tmp_path: Path) -> Sharing:
    return Sharing(tmp_path)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT)
    assert "pfgen_rs" not in err or "Traceback" not in err, err
    return process.returncode, out, err


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lines_kept(place: Sharing) -> int:
    paths = place.results.rglob("journal.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in paths)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_while_generating(place: Sharing, number: signal.Signals, code: int) -> None:
    process = place.start("first", "hold", "5")
    wait_for(lambda: (place.logs / "first.holding").exists() and lines_kept(place) == 5)
    process.send_signal(number)
    returned, _, err = ended(process)
    assert returned == code
    assert ("run the same command to continue" in err) == (number != signal.SIGKILL)
    # A trial that is there is whole.
    assert generating.names(place.folder) == [
        *generating.BEGUN,
        "trial_001.jsonl",
        "trial_002.jsonl",
    ]
    assert len(generating.answers(place.folder)) == 4

    assert place.go_on("second").new == 3
    assert place.asked("first") + place.asked("second") == list(generating.wanted(4))
    assert generating.answers(place.folder) == generating.wanted(4)
    assert generating.names(place.folder) == generating.finished_names(4)


SHARING = """
import sys
from pfgen_rs.ask.engines import command as engine_command
from pfgen_rs.generate import RunConfig, generate

engine_command._OPEN = 2
benchmark, results, *command = sys.argv[1:]
engine = engine_command.CommandEngine("org/model", command=command)
config = RunConfig("command", "org/model")
generate(config, engine, benchmark=benchmark, results=results, trials=8)
engine.close()
"""


def test_two_processes_share_a_run(place: Sharing) -> None:
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                SHARING,
                place.benchmark,
                place.results,
                *place.program(log, "meet"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for log in ("first", "second")
    ]
    results = [ended(process) for process in processes]
    first, second = place.asked("first"), place.asked("second")
    assert first
    assert second
    assert sorted(first + second) == sorted(generating.wanted(8))
    assert [code for code, _, _ in results] == [0, 0]
    assert generating.answers(place.folder) == generating.wanted(8)
    assert generating.names(place.folder) == generating.finished_names(8)


def test_a_claim_ends_with_its_process(place: Sharing) -> None:
    holder = place.start("first", "hold", "1")
    wait_for(lambda: (place.logs / "first.holding").exists() and lines_kept(place) == 1)
    code, out, err = ended(place.start("second", trials=6))
    assert (code, out) == (0, f"{place.folder}: 2 of 6 trials, 4 new answers\n")
    assert err.splitlines()[1:] == ["warning: 7 requests in progress in other processes"]
    assert place.asked("second") == [
        (n, question) for n in (5, 6) for question in generating.QUESTIONS
    ]
    holder.kill()
    ended(holder)
    assert place.go_on("third", 6).elsewhere == 0
    assert place.asked("third") == list(generating.wanted(4))[1:]
    assert generating.answers(place.folder) == generating.wanted(6)
    assert generating.names(place.folder) == generating.finished_names(6)


@pytest.mark.parametrize("room", [100, 500])
def test_a_full_disk(place: Sharing, room: int) -> None:
    """Not even the configuration fits, or a line and a half of a trial."""
    command = [sys.executable, "-c", FULL_DISK, str(room), *place.arguments("first", trials=8)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: " in done.stderr
    assert "cannot be written" in done.stderr
    kept = lines_kept(place)
    assert kept == {100: 0, 500: 1}[room]
    assert all(
        (path.read_bytes() or b"\n").endswith(b"\n")
        for path in place.results.rglob("journal.jsonl")
    )
    assert place.go_on("second", 8).complete
    assert place.asked("second") == list(generating.wanted(8))[kept:]
    assert generating.answers(place.folder) == generating.wanted(8)
    assert generating.names(place.folder) == generating.finished_names(8)


def test_a_program_that_dies(place: Sharing) -> None:
    code, out, err = ended(place.start("first", "die", "3"))
    assert (code, out) == (2, "")
    assert "\nout of luck\n" in err  # what programs say passes through
    assert "exited with code 3" in err
    assert place.go_on("second").complete
    assert place.asked("first") + place.asked("second") == list(generating.wanted(4))
