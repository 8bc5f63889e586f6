"""Parquet files in pieces for Ray's tasks, without Ray."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from pfgen_rs import InputError
from pfgen_rs.integrations import ray_pieces
from pfgen_rs.integrations.ray_pieces import Piece, ReadingTask, pieces_of

ROWS = 1000
GROUP = 100
AT_ONCE = 64
SCHEMA = pa.schema({"row": pa.int64(), "answer": pa.large_string(), "tags": pa.list_(pa.string())})


def write(path: Path, first: int = 0, rows: int = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + rows)
    texts = [f"{number}番目の答え" if number % 7 else None for number in numbers]
    columns = {"row": list(numbers), "answer": texts, "tags": [[str(i)] for i in numbers]}
    table = pa.table(columns, schema=SCHEMA)
    pq.write_table(table, path, row_group_size=GROUP)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "answers" / "b.parquet", ROWS, 3 * ROWS)
    write(tmp_path / "answers" / "a.parquet")
    write(tmp_path / "answers" / "more" / "c.parquet", 4 * ROWS, 0)
    return tmp_path / "answers"


def read(pieces: list[Piece]) -> list[pa.Table]:
    named = pa.Table.from_pylist([piece._asdict() for piece in pieces])
    return list(ReadingTask(AT_ONCE)(named))


@pytest.mark.parametrize("most", [1, 20_000, 1 << 30])
def test_pieces_have_every_row_group_once(
    most: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_pieces, "_MOST_BYTES", most)
    pieces = pieces_of([str(folder)])
    assert pieces is not None
    groups = [(piece.path, at) for piece in pieces for at in range(piece.first, piece.stop)]
    files = [str(folder / "a.parquet")] * 10 + [str(folder / "b.parquet")] * 30
    assert groups == list(zip(files, [*range(10), *range(30)], strict=True))
    expected = {1: range(40, 41), 20_000: range(5, 30), 1 << 30: range(2, 3)}
    assert len(pieces) in expected[most]
    tables = read(pieces)
    assert max(map(len, tables)) <= AT_ONCE
    assert pa.concat_tables(tables).equals(pq.read_table(folder))


def test_what_is_left_to_ray(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = str(folder)
    assert pieces_of([plain])
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"row": [1.5]}), other)
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 and no more")
    left = {
        "s3://bucket/answers.parquet",
        str(other),  # has other columns
        str(damaged),
        str(tmp_path / "missing.parquet"),
        str(write(tmp_path / "model=a" / "a.parquet")),
        str(write(tmp_path / "hidden" / "_old" / "a.parquet").parents[1]),
        str(write(tmp_path / "hidden-file" / ".a.parquet").parent),
        str(write(tmp_path / "answers.pq")),
    }
    for path in left:
        assert pieces_of([plain, path]) is None, path
    assert pieces_of([str(write(tmp_path / "none" / "a.parquet", rows=0))]) is None
    monkeypatch.setattr(ray_pieces, "_MOST_FILES", 2)
    assert pieces_of([plain]) is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    pieces = pieces_of([str(path)])
    assert pieces is not None
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read: .*") as found:
        read(pieces)
    assert "\n" not in str(found.value)
    path.unlink()
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read: .*No such file"):
        read(pieces)
