"""NeMo Curator: agreement of documents in a real pipeline on Ray, of which stages are sent to workers."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import pfgen_rs
from pfgen_rs import InputError
from pfgen_rs.integrations.arrow import scorer
from told import bundled_run, needs, python_example

pytestmark = [needs("nemo_curator"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Texts with their scores, and one that has none."""
    frame = bundled_run(pfgen_rs.load_benchmark("mini"), "faithful").frame
    rows = frame.select("question_id", "average", text="answer").rows(named=True)
    return pa.table(
        {
            "asked": [*(row["question_id"] for row in rows), "?"],
            "text": [*(row["text"] for row in rows), "葉"],
            "expected": [*(row["average"] for row in rows), None],
        }
    )


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        ray.init(num_cpus=2, object_store_memory=300 << 20, include_dashboard=False)
        yield
        ray.shutdown()


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_a_stage_keeps_columns_and_drops_documents(kind: str, table: pa.Table) -> None:
    from nemo_curator.tasks import DocumentBatch

    from pfgen_rs.integrations.nemo_curator import AgreementStage

    data: Any = (
        table
        if kind == "arrow"
        else table.to_pandas().set_index(pd.RangeIndex(5, 1000)[: len(table)])
    )
    batch = DocumentBatch(dataset_name="d", data=data, _metadata={"source": "s"})
    stage = AgreementStage(scorer("mini", question_field="asked", answer_field="text"))
    assert stage.validate_input(batch)
    scored = pickle.loads(pickle.dumps(stage)).process(batch)
    assert (scored.dataset_name, scored._metadata) == ("d", {"source": "s"})
    assert scored.get_columns() == [*table.column_names, *stage.scorer.fields.names]
    assert scored.to_pyarrow()["average"].to_pylist() == table["expected"].to_pylist()
    assert set(stage.outputs()[1]) <= set(scored.get_columns())
    least = 0.3
    few = AgreementStage(stage.scorer, at_least=least).process(batch).to_pyarrow()
    expected = [value for value in table["expected"].to_pylist() if value and value >= least]
    assert few["average"].to_pylist() == expected
    assert 0 < len(expected) < len(table)
    with pytest.raises(InputError, match="columns of its own called"):
        stage.process(scored)
    assert not stage.validate_input(DocumentBatch(dataset_name="d", data=table.drop(["asked"])))


def test_a_data_frame_may_have_what_arrow_cannot() -> None:
    from nemo_curator.tasks import DocumentBatch

    from pfgen_rs.integrations.nemo_curator import AgreementStage

    texts = pd.Series(["葉", "\ud800", 5, None], dtype=object, index=[7, 7, 8, 9])
    batch = DocumentBatch(
        dataset_name="d", data=pd.DataFrame({"text": texts, "m": [1, "a", {}, []]})
    )
    score = scorer("mini", question_field=None, answer_field="text")
    data = AgreementStage(score).process(batch).data
    assert data["m"].to_list() == [1, "a", {}, []]
    assert data.index.to_list() == [7, 7, 8, 9]
    assert data["problem"].fillna("").to_list() == [
        "",
        "the answer is not UTF-8",
        "the answer is not text",
        "the answer is null",
    ]
    assert len(AgreementStage(score, at_least=0).process(batch).data) == 1


def test_a_pipeline_on_ray(ray: None, table: pa.Table) -> None:
    from nemo_curator.backends.ray_data import RayDataExecutor
    from nemo_curator.pipeline import Pipeline
    from nemo_curator.tasks import DocumentBatch

    from pfgen_rs.integrations.nemo_curator import AgreementStage

    stage = AgreementStage(scorer("mini", question_field="asked", answer_field="text"), 0.0)
    parts = [table.slice(at, 20) for at in range(0, len(table), 20)]
    tasks: Any = [DocumentBatch(dataset_name="d", data=part) for part in parts]
    found = Pipeline(name="p", stages=[stage]).run(RayDataExecutor(), initial_tasks=tasks)
    rows = [row for batch in found for row in batch.to_pyarrow().to_pylist()]
    assert len(rows) == len(table) - 1
    assert all(row["average"] == row["expected"] for row in rows)


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    rows = bundled_run(pfgen_rs.load_benchmark("mini"), "careless").frame.with_row_index("place")
    rows.select("question", "answer", place=pl.col("place").cast(pl.Int64)).write_parquet(
        tmp_path / "answers.parquet"
    )
    python_example(tmp_path, "scale.md", "Corpora", "from nemo_curator")
    kept = pl.read_parquet(tmp_path / "kept" / "*.parquet")
    assert 0 < kept.height < rows.height
