"""Full disks, signals, closed output: what was there stays, nothing half-written is left."""

import errno
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import helpers
from helpers import (
    CATS,
    SCRIPT,
    SEAS,
    environment,
    lines,
    pfgen,
    python,
    write_benchmark,
    write_run,
)

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


def started(*command: str | Path, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**env),
    )


def said(process: subprocess.Popen[bytes], count: int) -> bytes:
    assert process.stdout is not None
    return process.stdout.read(count)


@pytest.mark.parametrize("dropped", ["--out", "--per-response"])
def test_a_full_disk(tmp_path: Path, outputs: list[str], dropped: str) -> None:
    arguments = [argument for argument in outputs if not argument.startswith(dropped)]
    done = python(helpers.FULL_DISK, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "cannot be written" in done.stderr
    assert untouched(tmp_path)
    assert sorted((tmp_path / "out").iterdir()) == old_files(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_while_writing(tmp_path: Path, outputs: list[str], number: signal.Signals) -> None:
    code = -number if number == signal.SIGKILL else 128 + number
    process = started(sys.executable, "-c", helpers.SLOW_DISK, "1", *outputs)
    assert said(process, 7) == b"writing"
    process.send_signal(number)
    _, err = process.communicate(timeout=helpers.TIMEOUT)
    assert (process.returncode, err) == (code, b"")
    assert untouched(tmp_path)
    if number != signal.SIGKILL:  # which leaves no chance to clean up
        assert sorted((tmp_path / "out").iterdir()) == old_files(tmp_path)


def test_nohup_keeps_a_process_alive(tmp_path: Path, outputs: list[str]) -> None:
    """A closed terminal is no reason to stop where the user has said so."""
    process = started("nohup", sys.executable, "-c", helpers.SLOW_DISK, "1", *outputs)
    assert said(process, 7) == b"writing"
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=helpers.TIMEOUT)
    assert process.returncode == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_reading(tmp_path: Path, outputs: list[str], number: signal.Signals) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    copies = tmp_path / "temporary"
    copies.mkdir()
    process = started(SCRIPT, *outputs, pipe, TMPDIR=str(copies))
    held = opened_by(process, pipe)
    time.sleep(0.5)  # Python notices signals that come before it waits only after it has waited
    process.send_signal(number)
    _, err = process.communicate(timeout=helpers.TIMEOUT)
    os.close(held)
    assert (process.returncode, err) == (128 + number, b"")
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


COMMANDS = ["score RUN -b TINY", "--help", "score --help", "--version", "explain Q01 猫 -b TINY"]


def run(tmp_path: Path, command: str, streams: str, **env: str) -> subprocess.CompletedProcess[str]:
    names = {"RUN": write_run(tmp_path / "run"), "TINY": write_benchmark(tmp_path / "tiny")}
    words = [str(names.get(word, word)) for word in command.split()]
    return subprocess.run(
        ["sh", "-c", f'"$0" "$@" {streams}', SCRIPT, *words],
        capture_output=True,
        text=True,
        env=environment(**env),
        timeout=helpers.TIMEOUT,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_standard_output(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, ">&-")
    message = "error: standard output: cannot be written: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_full_standard_output(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command, ">/dev/full", PYTHONUNBUFFERED="1" if "猫" in command else "")
    message = "error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize(
    ("command", "closed", "code", "error"),
    [
        ("score - -b TINY", "<&-", 2, "no responses"),
        (COMMANDS[0], "2>&-", 0, ""),
        (COMMANDS[0], "<&- >&- 2>&-", 2, ""),
    ],
)
def test_closed_streams(tmp_path: Path, command: str, closed: str, code: int, error: str) -> None:
    done = run(tmp_path, command, closed)
    assert (done.returncode, error in done.stderr) == (code, True)
    assert "Traceback" not in done.stderr


def test_files_are_complete_although_nothing_can_be_printed(tmp_path: Path) -> None:
    done = run(tmp_path, f"{COMMANDS[0]} --out {tmp_path / 'out'}", ">&-")
    assert done.returncode == 2
    assert (tmp_path / "out" / "result.json").read_bytes().startswith(b"{")


MANY = [(CATS if i % 3 else SEAS, f"猫は\u2028狩り{i}\n" * (i % 7)) for i in range(200)]


def test_standard_input_is_copied_and_the_copy_removed(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    (tmp_path / "a.jsonl").write_bytes(lines(MANY))
    (tmp_path / "temporary").mkdir()
    env = {"TMPDIR": str(tmp_path / "temporary")}
    arguments = ("-b", folder, "--out")
    pfgen("score", tmp_path / "a.jsonl", *arguments, tmp_path / "file", env=env)
    for content in (lines(MANY), lzma.compress(lines(MANY))):
        done = pfgen("score", "-", *arguments, tmp_path / "in", stdin=content, env=env)
        assert (done.returncode, done.stderr) == (0, done.stderr)
        ours, theirs = (
            json.loads((tmp_path / name / "result.json").read_bytes()) for name in ("in", "file")
        )
        assert {**ours, "input_hash": ""} == {**theirs, "input_hash": ""}
    assert pfgen("score", "-", "-b", folder, stdin=b"{", env=env).returncode == 2
    assert not list((tmp_path / "temporary").iterdir())


# The command line, slow to decode or to write, in chunks that end soon.
SLOW = """
import functools, os, signal, sys, threading, time
from pfgen_rs import cli
from pfgen_rs.runs import resumable
from pfgen_rs.io import chunk, lines, table_writer
chunk.Options = functools.partial(chunk.Options, rows=10)
def busy(*arguments, **named):
    os.write(1, b"busy")
    time.sleep(60)
setattr(*PLACE, busy)
cli.main()
"""


PLACES = {
    "decoding": "(lines, 'read_parts')",
    "writing": "(table_writer.TableWriter, '_write_plainly')",
    "summing up": "(resumable.Job, 'write')",
}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("place", PLACES)
def test_interrupted_within_a_second(tmp_path: Path, place: str) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    (tmp_path / "a.jsonl").write_bytes(lines(MANY))
    (tmp_path / "scores.parquet").write_text("old")
    script = SLOW.replace("*PLACE", f"*{PLACES[place]}")
    arguments: list[str | Path] = ["score", tmp_path / "a.jsonl", "-b", folder]
    table = tmp_path / "scores.parquet"
    process = started(sys.executable, "-c", script, *arguments, "--per-response", table)
    while said(process, 1) != b"b":
        assert process.poll() is None
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=helpers.TIMEOUT)
    assert time.monotonic() - begun < 1
    assert process.returncode == 130
    assert b"Traceback" not in err
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["a.jsonl", "scores.parquet", "tiny"]
    assert (tmp_path / "scores.parquet").read_text() == "old"


PEAK = """
import os, sys
_, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print(usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss // 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_memory_is_bounded(tmp_path: Path, suffix: str) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    peaks = []
    for count in (120_000, 600_000):
        path = tmp_path / f"{count}{suffix}"
        numbers = pl.int_range(count, eager=True)
        table = pl.DataFrame({"n": numbers}).select(
            question=pl.when(pl.col("n") % 2 == 0).then(pl.lit(CATS)).otherwise(pl.lit(SEAS)),
            answer=pl.lit("猫は狩りのために体力を残して" * 7) + pl.col("n").cast(pl.String),
        )
        if suffix == ".parquet":
            table.write_parquet(path, row_group_size=20_000)
        else:
            table.write_ndjson(path, compression="gzip" if "gz" in suffix else "uncompressed")
        arguments = ["score", str(path), "-b", str(folder), "--out", str(tmp_path / "out")]
        arguments += ["--per-response", str(tmp_path / "scores.parquet"), "--threads", "1"]
        done = python(PEAK, SCRIPT, *arguments)
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout.split()[-1]) // 1024)
    # The text alone grows by 140 MiB, the figures by 50 MiB.
    assert peaks[1] - peaks[0] < 90, peaks
    assert peaks[1] < 450, peaks
