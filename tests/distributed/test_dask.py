"""Dask: values of `scan` and results of one machine, with a worker killed in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from many_answers import Answers, check_results, check_scored, one_killed
from pfgen_rs.integrations.arrow import scorer

frames = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask.distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers with a thread each."""
    with (
        dask.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("killed", [False, True])
def test_values_are_those_of_scan_when_a_worker_is_killed(
    killed: bool, client: Any, answers: Answers, tmp_path: Path
) -> None:
    score = scorer(answers.benchmark)

    def scored(frame: Any) -> Any:
        return score(pa.Table.from_pandas(frame, preserve_index=False)).to_pandas()

    out = tmp_path / "out"
    workers = {worker["pid"] for worker in client.run(_own_id).values()}

    def is_worker(process: Any) -> bool:
        return killed and process.pid in workers

    data = frames.read_parquet(str(answers.folder), split_row_groups=True)
    with one_killed(is_worker, lambda: any(out.rglob("*.parquet"))) as dead:
        data.map_partitions(scored, meta=scored(data.head(1))).to_parquet(
            str(out), write_index=False
        )
    assert len(dead) == killed
    check_scored(pl.read_parquet(out / "*.parquet"), answers)
    check_results(out / "*.parquet", answers)


def _own_id() -> dict[str, int]:
    import os

    return {"pid": os.getpid()}
