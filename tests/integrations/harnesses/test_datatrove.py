"""datatrove: agreement of documents in real pipelines, whose workers are processes of their own."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from pfgen_rs import Benchmark
from pfgen_rs.integrations.arrow import scorer
from told import bundled_run, needs, python_example

pytestmark = [needs("datatrove"), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Texts and what `score_file` makes of them, and two documents that cannot be scored."""
    frame = bundled_run(pfgen_rs.load_benchmark("mini"), "faithful").frame
    good = frame.select("question_id", "average", text="answer").rows(named=True)
    return [*good, {"question_id": "?", "text": "葉"}, {"question_id": 3, "text": "\ud800"}]


def documents(rows: list[dict[str, Any]]) -> list[Any]:
    from datatrove.data import Document

    return [
        Document(row["text"], str(n), metadata={"asked": row["question_id"], "url": f"u{n}"})
        for n, row in enumerate(rows)
    ]


def test_documents_that_name_their_question(rows: list[dict[str, Any]]) -> None:
    from pfgen_rs.integrations.datatrove import AgreementFilter

    step = AgreementFilter(
        scorer("mini", question_field="asked", answer_field="text"), batch_size=7
    )
    kept = list(pickle.loads(pickle.dumps(step)).run(iter(documents(rows))))
    assert [doc.id for doc in kept] == [str(n) for n in range(len(rows))]
    *good, unknown, broken = (doc.metadata for doc in kept)
    assert [each["pfgen_average"] for each in good] == [row["average"] for row in rows[:-2]]
    assert unknown["pfgen_problem"] == "unknown question"
    assert broken["pfgen_problem"] == "the question is not text"
    assert set(broken) == {"asked", "url", "pfgen_question_id", "pfgen_average", "pfgen_problem"}
    assert not list(step.run(iter([])))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pipeline_drops_documents_below_a_threshold(
    workers: int, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from pfgen_rs.integrations.datatrove import AgreementFilter

    (tmp_path / "in").mkdir()
    for part in range(2):
        lines = [
            json.dumps({"text": row["text"], "id": str(n)}) + "\n"
            for n, row in enumerate(rows[:-1])
            if n % 2 == part
        ]
        (tmp_path / "in" / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
    score = scorer("mini", question_field=None, answer_field="text")
    scored = best(pfgen_rs.load_benchmark("mini"), [row["text"] for row in rows[:-1]])
    least = sorted(average for average, _ in scored)[len(scored) // 2]
    dropped = JsonlWriter(str(tmp_path / "dropped"), compression=None)
    LocalPipelineExecutor(
        [
            JsonlReader(str(tmp_path / "in")),
            AgreementFilter(score, at_least=least, exclusion_writer=dropped),
            JsonlWriter(str(tmp_path / "kept"), compression=None),
        ],
        tasks=2,
        workers=workers,
        logging_dir=str(tmp_path / "logs"),
    ).run()
    found = {name: read(tmp_path / name) for name in ("kept", "dropped")}
    assert len(found["kept"]) + len(found["dropped"]) == len(scored)
    for doc in [*found["kept"], *found["dropped"]]:
        expected = scored[int(doc["id"])]
        assert (doc["metadata"]["pfgen_average"], doc["metadata"]["pfgen_question_id"]) == expected
    assert {doc["id"] for doc in found["kept"]} == {
        str(n) for n, (average, _) in enumerate(scored) if average >= least
    }
    reasons = Counter(doc["metadata"]["filter_reason"] for doc in found["dropped"])
    assert reasons == {"low_agreement": len(found["dropped"])}


def best(bench: Benchmark, texts: list[str]) -> list[tuple[float, str]]:
    """The highest average of each text over all questions, and the first question that has it."""
    found = [bench.score_batch([q.id] * len(texts), texts)["average"].to_list() for q in bench]
    ids = [question.id for question in bench]
    return [
        max(((value, id_) for value, id_ in zip(each, ids, strict=True)), key=lambda pair: pair[0])
        for each in zip(*found, strict=True)
    ]


def read(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("key", ["question_id", "length", "text"])
def test_metadata_may_have_any_names(key: str) -> None:
    from datatrove.data import Document

    from pfgen_rs.integrations.datatrove import AgreementFilter

    step = AgreementFilter(scorer("mini", question_field=key, answer_field="text"))
    made = [
        Document("葉", "1", metadata={key: "Q02"}),
        Document("\ud800", "2", metadata={key: "Q02"}),
    ]
    good, broken = (doc.metadata for doc in step.run(iter(made)))
    expected = pfgen_rs.load_benchmark("mini").score("Q02", "葉").average
    assert (good["pfgen_question_id"], good["pfgen_average"]) == ("Q02", expected)
    assert broken["pfgen_problem"] == "the answer is not UTF-8"


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    rows = bundled_run(pfgen_rs.load_benchmark("mini"), "careless").frame.with_row_index("place")
    rows.select("question", "answer", place=pl.col("place").cast(pl.Int64)).write_parquet(
        tmp_path / "answers.parquet"
    )
    python_example(tmp_path, "scale.md", "Corpora", "from datatrove")
    kept = pl.read_parquet(tmp_path / "kept" / "*.parquet")
    assert 0 < kept.height < rows.height
