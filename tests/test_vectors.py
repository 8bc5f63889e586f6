"""Published edge cases: every intermediate value bit for bit, every rounded one exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs import Benchmark, Score

pytestmark = pytest.mark.published


@pytest.fixture(scope="module")
def vectors(vectors_dir: Path) -> list[dict[str, Any]]:
    lines = (vectors_dir / "edge_cases.jsonl").read_bytes().decode().split("\n")
    return [json.loads(line) for line in lines if line]


def discount(cut: int) -> float:
    """What a cut of so many characters keeps."""
    return 1.0 - max(cut - 100, 0) / 50


def unrounded(score: Score) -> dict[str, Any]:
    """The unrounded values in the vectors' shape."""
    details = score.details
    cuts = details.fluency_cut
    return {
        "fluency": {s: [value, discount(cuts[s])] for s, value in details.fluency.items()},
        "truthfulness": details.truthfulness,
        "helpfulness": details.helpfulness,
    }


def exact(value: object) -> str:
    """Text that tells any two float64 values and any two orders of keys apart."""
    return json.dumps(value, ensure_ascii=False)


def test_edge_cases(published_benchmark: Benchmark, vectors: list[dict[str, Any]]) -> None:
    assert len(vectors) >= 300
    for number, vector in enumerate(vectors, 1):
        score = published_benchmark.score(vector["question_id"], vector["answer"])
        place = f"row {number} ({vector['kind']})"
        if "unrounded" in vector:  # not in those of golden/make.py
            assert exact(unrounded(score)) == exact(vector["unrounded"]), place
        assert exact(score.to_dict()) == exact(vector["scores"]), place


def test_edge_cases_as_a_batch(
    published_benchmark: Benchmark, vectors: list[dict[str, Any]]
) -> None:
    questions = [vector["question_id"] for vector in vectors]
    answers = [vector["answer"] for vector in vectors]
    frame = published_benchmark.score_batch(questions, answers)
    for row, vector in zip(frame.iter_rows(named=True), vectors, strict=True):
        for metric in ("fluency", "truthfulness"):
            got = {source: row[f"{metric}_{source}"] for source in vector["scores"][metric]}
            assert exact(got) == exact(vector["scores"][metric])
        for metric in ("helpfulness", "average"):
            assert exact(row[metric]) == exact(vector["scores"][metric])


def test_baselines(published_benchmark: Benchmark, vectors_dir: Path) -> None:
    path = vectors_dir / "baselines.json"
    if not path.exists():
        pytest.skip("baselines.json is not there: golden/make.py makes none")
    expected = json.loads(path.read_bytes())
    got = {q: published_benchmark.baselines(published_benchmark[q]) for q in expected}
    assert expected
    assert exact(got) == exact(expected)
