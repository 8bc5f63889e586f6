"""Streaming as people run it: copies of standard input, interruptions, memory."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from helpers import CATS, GOOD, SCRIPT, SEAS, TIMEOUT, environment, lines, pfgen, write_benchmark

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


def test_signatures_of_incomplete_runs_reach_the_table(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    (tmp_path / "part.jsonl").write_bytes(lines(GOOD[:1]))
    (tmp_path / "whole.jsonl").write_bytes(lines())
    for suffix in (".parquet", ".jsonl", ".csv", ".arrow"):
        target = tmp_path / f"scores{suffix}"
        files = (tmp_path / "part.jsonl", tmp_path / "whole.jsonl")
        pfgen("score", *files, "-b", folder, "--per-response", target)
        reader: dict[str, Callable[[Path], pl.DataFrame]] = {
            ".parquet": pl.read_parquet,
            ".jsonl": pl.read_ndjson,
            ".csv": pl.read_csv,
        }
        signatures = reader.get(suffix, pl.read_ipc)(target)["signature"].to_list()
        assert [signature.count("questions:1/2") for signature in signatures] == [1, 0, 0, 0, 0]


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
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments, "--per-response", tmp_path / "scores.parquet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    while process.stdout.read(1) != b"b":
        assert process.poll() is None
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
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
            table.write_ndjson(
                path, compression="gzip" if suffix.endswith("gz") else "uncompressed"
            )
        arguments = ["score", str(path), "-b", str(folder), "--out", str(tmp_path / "out")]
        arguments += ["--per-response", str(tmp_path / "scores.parquet"), "--threads", "1"]
        command = [sys.executable, "-c", PEAK, str(SCRIPT), *arguments]
        done = subprocess.run(command, capture_output=True, check=True, env=environment())
        peaks.append(int(done.stdout.split()[-1]) // 1024)
    # The text alone grows by 140 MiB, the figures by 50 MiB.
    assert peaks[1] - peaks[0] < 90, peaks
    assert peaks[1] < 450, peaks
