"""What engines add to scoring on one machine: `scan`, Ray, Spark and Dask, from Parquet to Parquet.

For `make test-distributed`'s environment, with the folder `tests/support` in PYTHONPATH: scores a folder of
Parquet files with each of the engines that are named, after start-up, and prints wall and CPU time and
the peak of memory of all processes, per million rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]

import pfgen_rs
from pfgen_rs.integrations.arrow import scorer
from processes import watched

Run = Callable[[str, str], Any]
"""Scores the files of a folder into another folder."""


@contextmanager
def with_scan(benchmark: str) -> Iterator[Run]:
    """One process of many threads."""
    loaded = pfgen_rs.load_benchmark(benchmark).prepare()

    def run(source: str, out: str) -> None:
        Path(out).mkdir()
        pfgen_rs.scan(pl.scan_parquet(f"{source}/*.parquet"), loaded).sink_parquet(
            f"{out}/a.parquet"
        )

    yield run


@contextmanager
def with_ray(benchmark: str) -> Iterator[Run]:
    """Tasks of Ray Data, and figures by the way."""
    import ray

    from pfgen_rs.integrations.ray import score_file

    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    yield lambda source, out: score_file(source, out, benchmark)
    ray.shutdown()


@contextmanager
def with_ray_alone(benchmark: str) -> Iterator[Run]:
    """Tasks of Ray Data, which writes."""
    import ray

    from pfgen_rs.integrations.ray import score

    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    yield lambda source, out: score(ray.data.read_parquet(source), benchmark).write_parquet(out)
    ray.shutdown()


@contextmanager
def with_spark(benchmark: str) -> Iterator[Run]:
    """`mapInArrow`, a worker a core."""
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").config(
        "spark.ui.enabled", "false"
    )
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    score = scorer(benchmark)

    def run(source: str, out: str) -> None:
        data = session.read.parquet(source)
        schema = from_arrow_schema(score.schema(to_arrow_schema(data.schema)))
        data.mapInArrow(score, schema).write.parquet(out)

    yield run
    session.stop()


@contextmanager
def with_dask(benchmark: str) -> Iterator[Run]:
    """`map_partitions`, a worker a core."""
    from dask import dataframe
    from dask.distributed import Client, LocalCluster

    score = scorer(benchmark)

    def scored(frame: Any) -> Any:
        return score(pa.Table.from_pandas(frame, preserve_index=False)).to_pandas()

    def run(source: str, out: str) -> None:
        data = dataframe.read_parquet(source)
        data.map_partitions(scored, meta=scored(data.head(1))).to_parquet(out, write_index=False)

    with (
        LocalCluster(
            n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        yield run


ENGINES = {
    "scan": with_scan,
    "ray": with_ray,
    "ray-alone": with_ray_alone,
    "spark": with_spark,
    "dask": with_dask,
}


def main() -> None:
    """Measure the engines, each after a first run on as many files as there are cores."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a folder of Parquet files")
    parser.add_argument("engines", nargs="+", choices=list(ENGINES))
    parser.add_argument("--benchmark", default="mini")
    asked = parser.parse_args()
    millions = pl.scan_parquet(asked.source / "*.parquet").select(pl.len()).collect().item() / 1e6
    for engine in asked.engines:
        with tempfile.TemporaryDirectory() as folder, ENGINES[engine](asked.benchmark) as run:
            first = Path(folder, "first")
            first.mkdir()
            for path in sorted(asked.source.glob("*.parquet"))[: os.cpu_count()]:
                shutil.copy(path, first)
            run(str(first), str(Path(folder, "warm")))
            with watched() as usage:
                run(str(asked.source), str(Path(folder, "out")))
        each = (
            f"{usage.wall / millions:.2f} s and {usage.cpu / millions:.2f} s of CPU time a million"
        )
        print(f"{engine}: {millions:g} million rows: {usage}; {each}", flush=True)


if __name__ == "__main__":
    main()
