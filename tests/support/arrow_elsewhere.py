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

import pyarrow as pa  # type: ignore[import-untyped]

import pfgen_rs

STEP = 30


def averages(job: tuple[bytes, pa.RecordBatch]) -> list[float]:
    """Those of some rows, in a process of its own."""
    pickled, batch = job
    return list(pickle.loads(pickled)(batch).column("average").to_pylist())


def batch_of_careless() -> pa.RecordBatch:
    """Read without polars, whose threads a fork does not copy."""
    with lzma.open(pfgen_rs.sample_runs()["careless"] / "trials.jsonl.xz") as lines:
        rows = [{key: json.loads(line)[key] for key in ("question", "answer")} for line in lines]
    return pa.RecordBatch.from_pylist(rows)


def main(method: str, pickled: bytes) -> None:
    """Score with processes that are started in one way."""
    if method == "load":
        _ = pickle.loads(pickled).benchmark
        return
    batch = batch_of_careless()
    jobs = [(pickled, batch.slice(start, STEP)) for start in range(0, batch.num_rows, STEP)]
    if method == "fork":
        averages(jobs[0])  # so that the benchmark is loaded before, too
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(json.dumps([value for part in pool.map(averages, jobs) for value in part]))


if __name__ == "__main__":
    main(sys.argv[1], bytes.fromhex(sys.argv[2]))
