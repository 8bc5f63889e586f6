"""Files appear whole or not at all, and what killed writers leave is removed by the next; also of tables."""

from __future__ import annotations

import datetime
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings, strategies as st

from helpers import CATS, SEAS, environment, lines, pfgen, python, write_benchmark, write_run
from pfgen_rs import InputError, OutputError
from pfgen_rs.checkout.checkout import remove_unfinished
from pfgen_rs.io import atomic
from pfgen_rs.io.ahead import THREADS, Ahead, begun
from pfgen_rs.io.atomic import new_file, own, write_atomic
from pfgen_rs.io.table_writer import TableWriter


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomic(tmp_path / "new.json", b"1")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o666 & ~mask


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "result.json"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_atomic(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["folder", "file/result.json", "a" * 300])
def test_places_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write_atomic(tmp_path / name, b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


WRITING = """
import sys, time
from pathlib import Path
from pfgen_rs.io.atomic import new_file
temporary, file = new_file(Path(sys.argv[1]))
file.write(b"half")
file.flush()
print("writing", flush=True)
time.sleep(60)
"""


def temporary_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.tmp"))


def killed(command: list[str | Path], *, after: float = 0.0) -> None:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    if after:
        time.sleep(after)
    else:
        assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@posix
def test_what_a_kill_left_is_removed_by_the_next_run_of_the_same_command(tmp_path: Path) -> None:
    run, bench = write_run(tmp_path / "run"), write_benchmark(tmp_path / "bench")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("o.parquet", "result.json", "other"):
        killed([sys.executable, "-c", WRITING, out / name])
    assert len(temporary_files(out)) == 3
    command = ("score", run, f"--benchmark={bench}", f"--out={out}")
    done = pfgen(*command, f"--per-response={out / 'o.parquet'}")
    assert done.returncode == 0, done.stderr
    [left] = temporary_files(out)  # of another file
    assert left.name.startswith(".other.")


@posix
def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    temporary, file = new_file(path)
    with file:
        file.write(b"half")
        file.flush()
        write_atomic(path, b"whole")
        empty, another = new_file(path)
        with another:
            write_atomic(path, b"again")
            remove_unfinished(tmp_path)  # as a report does, of any file
            assert temporary_files(tmp_path) == sorted([temporary, empty])
    write_atomic(path, b"last")
    assert temporary_files(tmp_path) == []


@posix
def test_an_unmarked_file_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def own_late(handle: int, path: Path) -> bool:
        if not made:
            remove_unfinished(tmp_path)  # as another process might
        made.append(path)
        return own(handle, path)

    monkeypatch.setattr(atomic, "own", own_late)
    write_atomic(tmp_path / "x", b"whole")
    assert len(made) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@posix
def test_an_index_that_was_cut_off_leaves_nothing_for_long(tmp_path: Path) -> None:
    bench, cache = write_benchmark(tmp_path / "bench"), tmp_path / "cache"
    env = {"PFGEN_RS_CACHE": str(cache)}
    assert pfgen("index", "build", "-b", bench, env=env).returncode == 0
    [index] = (cache / "indexes").glob("*.pfgenidx")
    index.unlink()
    killed([sys.executable, "-c", WRITING, index])
    assert len(temporary_files(cache / "indexes")) == 1
    assert pfgen("index", "build", "-b", bench, env=env).returncode == 0
    assert temporary_files(cache / "indexes") == []


# Tables written bit by bit, by native code or polars.


GROUP = 1 << 13
INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
DAY = datetime.datetime(2025, 6, 13, 12, 30)
PLAIN = pl.DataFrame(
    [
        pl.Series("text", ["", None, "猫は\u2028狩り\x00", "a" * 100]),
        pl.Series("none", [None] * 4, dtype=pl.String),
        pl.Series("a.b", ["x"] * 4),  # no path into a structure
        pl.Series("flag", [True, None, False, True]),
        pl.Series("float", [0.1, None, float("nan"), -0.0]),
        pl.Series("short float", [0.1, None, float("inf"), -0.0], dtype=pl.Float32),
        *(pl.Series(str(i), [0, None, 1, np.iinfo(str(i).lower()).max], dtype=i) for i in INTEGERS),
        pl.Series("day", [DAY.date(), None, DAY.date(), None]),
        pl.Series("time", [DAY, None, DAY, None]).cast(pl.Datetime("ms", "Asia/Tokyo")),
    ]
)
OTHERS = [
    pl.Series([[1, 2], None, []]),
    pl.Series([["x"], None, ["y" * 30, None]]),
    pl.Series([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
    pl.Series(["a", None, "b"], dtype=pl.Categorical),
    pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    pl.Series([b"\xff", None, b""]),
    pl.Series([None, None, None]),
]


def written(path: Path, frames: Sequence[pl.DataFrame]) -> Path:
    """The frames as one table at `path`."""
    writer = TableWriter(path, frames[0].schema)
    for frame in frames:
        writer.write(frame)
    writer.finish()
    writer.commit()
    return path


def elsewhere(path: Path) -> pl.DataFrame:
    """The table as another library reads it."""
    return pl.DataFrame(pl.from_arrow(pq.read_table(path)))


def test_plain_types(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", [PLAIN, PLAIN[:0], PLAIN[1:]])
    expected = pl.concat([PLAIN, PLAIN[1:]])
    for found in (pl.read_parquet(path), elsewhere(path)):
        assert found.schema == expected.schema
        assert found.equals(expected)
    polars = tmp_path / "polars.parquet"
    PLAIN.lazy().sink_parquet(polars)
    assert pq.read_schema(path).remove_metadata() == pq.read_schema(polars).remove_metadata()
    assert pq.read_schema(path).field("text").type == pa.large_string()
    assert "parquet-rs" in pq.read_metadata(path).created_by


@pytest.mark.parametrize("column", OTHERS, ids=lambda column: str(column.dtype.base_type()))
def test_other_types(tmp_path: Path, column: pl.Series) -> None:
    frame = pl.DataFrame([column.alias("kept"), pl.Series("text", ["a", None, "b"])])
    path = written(tmp_path / "x.parquet", [frame, frame])
    found = pl.read_parquet(path)
    assert found.schema == frame.schema
    assert found.equals(pl.concat([frame, frame]))
    assert "Polars" in pq.read_metadata(path).created_by


def test_row_groups_and_dictionaries(tmp_path: Path) -> None:
    rng = random.Random(15)
    texts = ["".join(rng.choices("猫犬魚鳥", k=rng.randrange(300))) for _ in range(3 * GROUP)]
    frame = pl.DataFrame({"question": [CATS, SEAS, None] * GROUP, "answer": texts})
    sizes = [1, GROUP - 2, GROUP + 5, 7]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = [frame[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    parts.append(frame[sum(sizes) :])
    path = written(tmp_path / "x.parquet", parts)
    assert pl.read_parquet(path).equals(frame)
    assert elsewhere(path).equals(frame)
    about = pq.read_metadata(path)
    assert [about.row_group(i).num_rows for i in range(about.num_row_groups)] == [GROUP] * 3
    question, answer = (about.row_group(1).column(i) for i in range(2))
    assert question.compression == answer.compression == "UNCOMPRESSED"
    assert question.total_uncompressed_size < 2 * GROUP  # two bits a row, and each text once
    size = sum(len(text.encode()) + 4 for text in texts[GROUP : 2 * GROUP])
    assert size < answer.total_uncompressed_size < 1.02 * size


ROW = st.tuples(st.none() | st.text(max_size=20), st.none() | st.floats())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(ROW, max_size=9)))
def test_any_values(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[tuple[str | None, float | None]]]
) -> None:
    schema = pl.Schema({"text": pl.String, "value": pl.Float64})
    frames = [pl.DataFrame(part, schema=schema, orient="row") for part in [*parts, []]]
    path = written(tmp_path_factory.mktemp("any") / "x.parquet", frames)
    assert pl.read_parquet(path).equals(pl.concat(frames))


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    writer = TableWriter(tmp_path / "x.parquet", PLAIN.schema)
    writer.write(PLAIN.select(pl.col("text")))
    with pytest.raises(OutputError, match=r"x\.parquet: cannot be written: "):
        writer.finish()
    writer.discard()
    assert not list(tmp_path.iterdir())


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (@, @))
from pfgen_rs.cli import main
main()
"""


@posix
@pytest.mark.parametrize("size", [3, 300_000, 1_100_000])
def test_a_disk_that_fills(tmp_path: Path, size: int) -> None:
    folder = write_benchmark(tmp_path / "tiny")
    rows = [(CATS if i % 3 else SEAS, f"猫は{i}" * 20) for i in range(2 * GROUP)]
    (tmp_path / "a.jsonl").write_bytes(lines(rows))
    (tmp_path / "scores.parquet").write_text("old")
    command = ("score", tmp_path / "a.jsonl", "-b", folder, "--per-response")
    cache = {"PFGEN_RS_CACHE": str(tmp_path / "cache")}
    limited = LIMITED.replace("@", str(size))
    done = python(limited, *command, tmp_path / "scores.parquet", env=cache)
    assert done.returncode == 2, done.stderr
    assert "scores.parquet: cannot be written: File too large\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "scores.parquet").read_text() == "old"
    assert not list(tmp_path.glob(".scores*.tmp"))


# Work in threads that run ahead.


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
    assert THREADS not in {thread.name for thread in threading.enumerate()}
    assert list(Ahead(lambda: iter(range(50)), 3)) == list(range(50))


def test_nothing_is_made_before_there_is_room_for_it() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(9):
            made.append(i)
            yield i

    with Ahead(numbers, room_first=True) as ahead:
        for i in range(9):
            assert next(ahead) == i
            time.sleep(0.02)
            assert len(made) <= i + 2
        assert list(ahead) == []


def test_errors_travel_to_where_the_item_is_missed() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise InputError("oops")

    ahead = Ahead(broken)
    assert next(ahead) == 1
    with pytest.raises(InputError, match="oops"):
        next(ahead)
    assert list(ahead) == []


def test_begun_work_goes_on_meanwhile_and_raises_where_it_is_awaited() -> None:
    started = threading.Barrier(3, timeout=10)

    def meet(number: int) -> int:
        started.wait()
        return number

    both = [begun(partial(meet, number)) for number in (1, 2)]
    started.wait()  # both are at work
    assert [next(work) for work in both] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        next(begun(lambda: 1 // 0))
