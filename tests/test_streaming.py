"""Files of any size: chunks of any size give what the whole gives, and memory stays bounded."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from helpers import CATS, GOOD, SCRIPT, SEAS, TIMEOUT, environment, lines, pfgen, write_benchmark
from pfgen_rs import Benchmark, InputError, Result, io, load_benchmark, score_file, streaming
from pfgen_rs.compression import zstd
from pfgen_rs.io import Ahead, Options, Reading, Source
from pfgen_rs.io import lines as line_reader
from pfgen_rs.io.records import parse_line, text_field

MANY = [(CATS if i % 3 else SEAS, f"猫は\u2028狩り{i}\n" * (i % 7)) for i in range(200)]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny")).prepare()


def streamed(benchmark: Benchmark, path: Path, **more: object) -> Result:
    """The result of a file in tiny chunks, with all figures on disk and all texts read again."""
    options = Options(text_size=300, rows=7, **more)  # type: ignore[arg-type]
    store = streaming.new_store(benchmark, in_memory=0)
    [result] = streaming.score_sources(benchmark, [Source(path)], options, store)
    return result


# Lines.

LINES = st.one_of(
    st.builds(
        lambda q, a, plain: json.dumps({"question": q, "x": [a], "answer": a}, ensure_ascii=plain),
        st.text(max_size=5),
        st.text(),
        st.booleans(),
    ).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"",
            b" \x0b\r",
            b'{"question": "q", "answer": "a"}\r',
            b'{"question": "q", "answer": 1, "answer": "2"}',
            b'{"question": "q", "answer": "a", "x": NaN}',
            b'{"question": "q", "answer": "a", "x": 1e999}',
            b'{"question": "q", "answer": "a", "x": "\\ud800"}',
            b'{"question": "\\ud83d\\ude00", "answer": "\\/", "x": {"y": {}}}',
            b'{"question": "q", "answer": "a", "x": ' + b"[" * 200 + b"]" * 200 + b"}",
            b'{"question": "q", "answer": "a", "x": ' + b"9" * 5000 + b"}",
            b"[" * 5000,
        ]
    ),
)


def one_by_one(content: bytes) -> tuple[list[tuple[str, str, int]], list[tuple[int, str]]]:
    """What each line alone is for Python."""
    found, problems = [], []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = parse_line(line)
            found.append((text_field(record, "question"), text_field(record, "answer"), number))
        except InputError as error:
            problems.append((number, error.problem))
    return found, problems


@examples(max_examples=150)
@given(
    content=st.lists(LINES, max_size=12).map(b"\n".join),
    start=st.sampled_from([b"", b"\xef\xbb\xbf", b"\n"]),
    size=st.integers(1, 200),
    rows=st.integers(1, 5),
)
def test_lines_are_cut_anywhere(
    content: bytes, start: bytes, size: int, rows: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    path.write_bytes(start + content)
    source = Source(path)
    options = Options(skip_bad_lines=True, text_size=size, rows=rows)
    found, problems, starts = [], [], []
    for chunk in Reading(source, options).chunks():
        assert len(chunk) <= rows
        texts = zip(chunk.questions, chunk.answers, chunk.lines.tolist(), strict=True)
        found += list(texts)
        assert chunk.starts is not None
        starts += chunk.starts.tolist()
        problems += [(problem.line, problem.problem) for problem in chunk.problems]
    assert (found, problems) == one_by_one(start + content)
    records = line_reader.line_records(source, pl.Series(starts, dtype=pl.Int64).to_numpy())
    assert [(record["question"], record["answer"]) for record in records] == [f[:2] for f in found]


def test_a_line_may_be_long_but_not_too_long(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(lines([*GOOD, (CATS, "猫" * 1000)]))
    assert streamed(benchmark, path).frame["length"].max() == 1000
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 1 << 10)
    with pytest.raises(InputError, match=r"long\.jsonl: a line is longer"):
        streamed(benchmark, path)


# Formats.

TABLE = pl.DataFrame({"question": [q for q, _ in MANY], "answer": [a for _, a in MANY]})
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.jsonl": lambda path: path.write_bytes(lines(MANY)),
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress(lines(MANY))),
    "a.jsonl.xz": lambda path: path.write_bytes(lzma.compress(lines(MANY))),
    "a.jsonl.zst": lambda path: path.write_bytes(zstd.compress(lines(MANY))),
    "two.jsonl.gz": lambda path: path.write_bytes(
        gzip.compress(lines(MANY[:90])) + gzip.compress(lines(MANY[90:]))
    ),
    "a.parquet": lambda path: TABLE.write_parquet(path, row_group_size=30),
    "x=1.parquet": lambda path: TABLE.cast(pl.Categorical).write_parquet(path),
    "a[1].arrow": lambda path: TABLE.write_ipc(path, compression="zstd", record_batch_size=30),
    "a.csv": TABLE.write_csv,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_streams(benchmark: Benchmark, tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    got, whole = streamed(benchmark, tmp_path / name), score_file(tmp_path / name, benchmark)
    assert len(got.figures.parts) > len(MANY) / 7
    assert got.to_bytes() == whole.to_bytes()
    assert_frame_equal(got.frame, whole.frame, check_exact=True)
    expected = benchmark.score_batch(TABLE)
    assert_frame_equal(got.frame.select(expected.columns), expected, check_exact=True)
    assert got.frame["answer"].to_list() == TABLE["answer"].to_list()
    assert got.input_hash == whole.input_hash
    memory = benchmark.evaluate(TABLE).to_dict()
    assert {**memory, "input_hash": got.input_hash} == got.to_dict()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("damage", ["cut", "garbage behind"])
def test_compressed_data_that_ends_too_early(
    benchmark: Benchmark, tmp_path: Path, kind: str, damage: str
) -> None:
    noise = [(CATS, os.urandom(200).hex()) for _ in range(300)]
    packed = PACKERS[kind](lines(MANY)) + PACKERS[kind](lines(noise))
    path = tmp_path / f"bad.jsonl.{kind}"
    path.write_bytes(packed[:-200] if damage == "cut" else packed + b"garbage")
    whole, parts = streamed(benchmark, path, skip_bad_lines=True), path.read_bytes()
    assert len(MANY) <= whole.height <= len(MANY) + 300
    assert [problem.line for problem in whole.problems] in ([whole.height + 1], [])
    assert whole.to_dict()["num_trials"] > 0
    if whole.problems:
        assert "cut short" in str(whole.problems[0])
        with pytest.raises(InputError, match="cut short"):
            streamed(benchmark, path)
    assert path.read_bytes() == parts


@pytest.mark.parametrize("name", ["a.parquet", "a[1].arrow"])
def test_a_table_that_is_damaged_in_the_middle(
    benchmark: Benchmark, tmp_path: Path, name: str
) -> None:
    WRITERS[name](tmp_path / name)
    content = bytearray((tmp_path / name).read_bytes())
    middle = len(content) // 2
    content[middle : middle + 300] = bytes(300)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as"):
        streamed(benchmark, tmp_path / name)


def test_nulls_in_a_table_are_named(benchmark: Benchmark, tmp_path: Path) -> None:
    rows = TABLE.with_columns(pl.when(pl.int_range(pl.len()) != 100).then("answer").alias("answer"))
    rows.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"line 101: question or answer is null"):
        streamed(benchmark, tmp_path / "a.parquet")
    result = streamed(benchmark, tmp_path / "a.parquet", skip_bad_lines=True)
    assert result.frame["line"].to_list() == [*range(1, 101), *range(102, 201)]
    assert [problem.line for problem in result.problems] == [101]


def test_unknown_questions_may_be_skipped(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([*MANY, ("?", "x"), *MANY]))
    with pytest.raises(InputError, match="line 201"):
        streamed(benchmark, path)
    result = streamed(benchmark, path, skip_bad_lines=True)
    assert (result.height, [p.line for p in result.problems]) == (400, [201])
    assert_frame_equal(result.frame, score_file(path, benchmark, skip_bad_lines=True).frame)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_file_that_changes_meanwhile(benchmark: Benchmark, tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    result = streamed(benchmark, tmp_path / name)
    assert result.score > 0
    WRITERS[name](tmp_path / name)
    os.utime(tmp_path / name, ns=(1, 1))
    with pytest.raises(InputError, match="changed while it was in use"):
        result.to_dict()


def test_many_files_keep_their_order(benchmark: Benchmark, tmp_path: Path) -> None:
    sources = []
    for i in range(20):
        path = tmp_path / f"{i}.jsonl"
        path.write_bytes(lines(MANY[i : i + 30]))
        sources.append(Source(path))
    store = streaming.new_store(benchmark, in_memory=100)
    results = streaming.score_sources(benchmark, sources, Options(rows=9), store)
    for result, source in zip(results, sources, strict=True):
        whole = score_file(source.path, benchmark)
        assert result.path == source.path
        assert result.to_bytes(allow_partial=True) == whole.to_bytes(allow_partial=True)
        assert_frame_equal(result.frame, whole.frame, check_exact=True)


# Threads.


def test_what_runs_ahead_stays_near_and_ends() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    with Ahead(numbers, 2) as ahead:
        assert [next(ahead), next(ahead)] == [0, 1]
        time.sleep(0.2)
        assert len(made) <= 5
    time.sleep(0.1)
    assert len(made) <= 6
    assert io.THREADS not in {thread.name for thread in threading.enumerate()}
    assert list(Ahead(lambda: iter(range(50)), 3)) == list(range(50))


def test_errors_travel_to_where_the_item_is_missed() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise InputError("oops")

    ahead = Ahead(broken)
    assert next(ahead) == 1
    with pytest.raises(InputError, match="oops"):
        next(ahead)
    assert list(ahead) == []


# Processes.


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
        reader = {".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson, ".csv": pl.read_csv}
        signatures = reader.get(suffix, pl.read_ipc)(target)["signature"].to_list()
        assert [signature.count("questions:1/2") for signature in signatures] == [1, 0, 0, 0, 0]


# The command line, slow to decode or to write, in chunks that end soon.
SLOW = """
import functools, os, signal, sys, threading, time
from pfgen_rs import cli, io, jobs
from pfgen_rs.cli import score
from pfgen_rs.io import lines, writing
score.Options = functools.partial(io.Options, rows=10)
def busy(*arguments, **named):
    os.write(1, b"busy")
    time.sleep(60)
setattr(*PLACE, busy)
cli.main()
"""
PLACES = {
    "decoding": "(lines, '_read')",
    "writing": "(writing, 'register_io_source')",
    "summing up": "(jobs.Job, 'write')",
}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("place", PLACES)
def test_interrupted_within_a_second(tmp_path: Path, place: str) -> None:
    import signal

    folder = write_benchmark(tmp_path / "tiny")
    (tmp_path / "a.jsonl").write_bytes(lines(MANY))
    (tmp_path / "scores.parquet").write_text("old")
    script = SLOW.replace("*PLACE", f"*{PLACES[place]}")
    arguments = ["score", tmp_path / "a.jsonl", "-b", folder]
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
    for count in (60_000, 300_000):
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
    # The text alone grows by 70 MiB, the figures by 25 MiB.
    assert peaks[1] - peaks[0] < 60, peaks
    assert peaks[1] < 450, peaks
