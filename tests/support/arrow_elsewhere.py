"""Scores the bundled run `careless` with a pickled `ArrowScorer` in two other processes.

Run as a program with a start method (or `load`, which only unpickles and asks for the benchmark) and the
pickle in hexadecimal; prints the averages as JSON.
"""

from __future__ import annotations

import json
import lzma
import multiprocessing
import pickle
import sys
from itertools import pairwise

import pyarrow as pa  # type: ignore[import-untyped]

import pfgen_rs

PARTS = 5


def averages(job: tuple[bytes, bytes]) -> list[float]:
    """Those of some rows, in a process of its own."""
    score = pickle.loads(job[0])
    with pa.ipc.open_stream(job[1]) as reader:
        return [value for batch in score(reader) for value in batch.column("average").to_pylist()]


def rows_of_careless() -> list[dict[str, str]]:
    """Read without polars, whose threads a fork does not copy."""
    with lzma.open(pfgen_rs.sample_runs()["careless"] / "trials.jsonl.xz") as lines:
        return [{key: json.loads(line)[key] for key in ("question", "answer")} for line in lines]


def as_stream(rows: list[dict[str, str]]) -> bytes:
    """Rows as Arrow's stream format has them."""
    batch, sink = pa.RecordBatch.from_pylist(rows), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    return bytes(sink.getvalue())


def main(method: str, pickled: bytes) -> None:
    """Score with processes that are started in one way."""
    if method == "load":
        _ = pickle.loads(pickled).benchmark
        return
    rows = rows_of_careless()
    cuts = [len(rows) * part // PARTS for part in range(PARTS + 1)]
    jobs = [(pickled, as_stream(rows[a:b])) for a, b in pairwise(cuts)]
    if method == "fork":
        averages(jobs[0])  # so that the benchmark is loaded before, too
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(json.dumps([value for part in pool.map(averages, jobs) for value in part]))


if __name__ == "__main__":
    main(sys.argv[1], bytes.fromhex(sys.argv[2]))
