"""Files of any size: chunks of any size give what the whole gives, and memory stays bounded."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from helpers import CATS, GOOD, SEAS, lines, write_benchmark, zstd
from pfgen_rs import Benchmark, InputError, Result, UnknownQuestionError, load_benchmark, score_file
from pfgen_rs.io import lines as line_reader
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.source import Source
from pfgen_rs.runs import streaming

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
    assert len(got.response_scores.parts) > len(MANY) / 7
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
def test_a_table_damaged_in_the_middle(benchmark: Benchmark, tmp_path: Path, name: str) -> None:
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
    with pytest.raises(InputError, match=r"row 101: question or answer is null"):
        streamed(benchmark, tmp_path / "a.parquet")
    result = streamed(benchmark, tmp_path / "a.parquet", skip_bad_lines=True)
    assert result.frame["line"].to_list() == [*range(1, 101), *range(102, 201)]
    assert [problem.line for problem in result.problems] == [101]


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


def test_a_line_may_be_long_but_not_too_long(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(lines([*GOOD, (CATS, "猫" * 1000)]))
    assert streamed(benchmark, path).frame["length"].max() == 1000
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 1 << 10)
    with pytest.raises(InputError, match=r"long\.jsonl: a line is longer"):
        streamed(benchmark, path)


# Runs each for itself.


def test_a_broken_file_stops_no_other(benchmark: Benchmark, tmp_path: Path) -> None:
    contents = {"a": lines(), "b": b"x", "c": lines(GOOD[:2]), "d": lines([("?", "")]), "e": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    sources = [Source(tmp_path / name) for name in (*contents, "nowhere")]
    found = list(streaming.score_each(benchmark, sources, Options()))
    for name, result in zip("ac", (found[0], found[2]), strict=True):
        assert isinstance(result, Result)
        assert result.to_bytes() == score_file(tmp_path / name, benchmark).to_bytes()
    errors = [found[i] for i in (1, 3, 4, 5)]
    for name, error in zip([*"bde", "nowhere"], errors, strict=True):
        assert isinstance(error, InputError)
        assert str(error.path) == str(tmp_path / name)


@pytest.mark.parametrize("threads", [1, 2])
def test_responses_before_an_unknown_question_are_stored(tmp_path: Path, threads: int) -> None:
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    many = [(CATS if i % 3 else SEAS, f"猫{i}") for i in range(100)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([*many, ("unknown", "猫")]))
    store = streaming.new_store(benchmark)
    options = Options(text_size=500)
    with pytest.raises(UnknownQuestionError):
        streaming.score_sources(benchmark, [Source(path)], options, store, threads=threads)
    stored = sum(part.rows for part in store._held)
    assert stored >= len(many) - 12  # those in the chunk that has the error
    path.write_bytes(lines(many))
    [result] = streaming.score_sources(
        benchmark, [Source(path)], options, streaming.new_store(benchmark), threads=threads
    )
    assert result.to_bytes() == score_file(path, benchmark).to_bytes()
