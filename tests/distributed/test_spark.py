"""Spark: values of `scan` and results of one machine, with a worker killed in the middle."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from many_answers import Answers, check_results, check_scored, one_killed
from pfgen_rs.integrations.arrow import scorer

sql = pytest.importorskip("pyspark.sql")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Spark with two cores, which tries a failed task again."""
    if shutil.which("java") is None:
        pytest.skip("there is no java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.files.maxPartitionBytes", "4m").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.mark.parametrize("killed", [False, True])
def test_values_are_those_of_scan_when_a_worker_is_killed(
    killed: bool, spark: Any, answers: Answers, tmp_path: Path
) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    score, out = scorer(answers.benchmark), tmp_path / "out"
    data = spark.read.parquet(str(answers.folder))
    schema = from_arrow_schema(score.schema(to_arrow_schema(data.schema)))

    def is_worker(process: Any) -> bool:
        return killed and "pyspark.daemon" in " ".join(process.cmdline()) and not process.children()

    with one_killed(is_worker, lambda: any(out.rglob("*.parquet"))) as dead:
        data.mapInArrow(score, schema).write.parquet(str(out))
    assert len(dead) == killed
    check_scored(pl.read_parquet(out / "*.parquet"), answers)
    check_results(out / "*.parquet", answers)
