"""Files that are rewritten in place while they are read: an error, and never a score of neither version."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from helpers import CATS, SEAS, write_benchmark
from pfgen_rs import InputError, scan, score_runs


def frame(name: str, text: str) -> pl.DataFrame:
    """So many rows or bytes that not all are read before the first are scored."""
    rows, times = (100_000, 5) if name in ("x.parquet", "x.arrow") else (12_000, 1_000)
    answers = [f"{text * times}{row}" for row in range(rows)]
    return pl.DataFrame({"question": [CATS, SEAS] * (rows // 2), "answer": answers})


def as_array(rows: pl.DataFrame) -> bytes:
    return json.dumps(rows.to_dicts(), ensure_ascii=False).encode()


def parquet(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_parquet(file, compression="uncompressed", row_group_size=1_000)
    return file.getvalue()


def arrow(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_ipc(file)
    return file.getvalue()


FORMATS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    "x.jsonl": lambda rows: rows.write_ndjson().encode(),
    "x.jsonl.gz": lambda rows: gzip.compress(rows.write_ndjson().encode(), 0),
    "x.json": as_array,
    "x.csv": lambda rows: rows.write_csv().encode(),
    "x.parquet": parquet,
    "x.arrow": arrow,
}


def rewrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_rewritten_while_it_is_scored_gets_no_score(
    name: str, tmp_path: Path
) -> None:
    path, bench = tmp_path / name, write_benchmark(tmp_path / "bench")
    path.write_bytes(FORMATS[name](frame(name, "猫")))
    after = FORMATS[name](frame(name, "海"))
    assert path.stat().st_size == len(after)
    begun: list[object] = []

    def progress(*what: object) -> None:
        if not begun:
            rewrite(path, after)
        begun.append(what)

    with pytest.raises(InputError, match=f"{name}: the file changed while it was in use: score it"):
        score_runs(path, bench, progress=progress)
    assert begun


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_rewritten_while_it_is_scanned_is_an_error(
    name: str, tmp_path: Path
) -> None:
    path, bench = tmp_path / name, write_benchmark(tmp_path / "bench")
    path.write_bytes(FORMATS[name](frame(name, "猫")))
    after, seen = FORMATS[name](frame(name, "海")), set[str]()

    def note(found: pl.DataFrame) -> pl.DataFrame:
        rewrite(path, after)
        seen.update(text[:1] for text in found["answer"])
        return found

    query = scan(path, bench).select("answer").map_batches(note, streamable=True)
    with pytest.raises((InputError, pl.exceptions.ComputeError), match="changed while it was in"):
        query.collect(engine="streaming")
    assert seen <= {"猫"}
