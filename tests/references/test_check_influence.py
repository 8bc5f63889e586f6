"""What models that wrote reference answers do to their own scores, against sets made without them."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from helpers import pfgen, write_run
from pfgen_rs import Benchmark, load_benchmark, score_file
from pfgen_rs.references import check

MODELS = ("a/one", "a/two", "b/three", "unused")
RUNS = {"a/one": 0, "A/One": 1, "b/four": 2, "elsewhere": 3}
"""Names of runs, and whose words they have."""


def words(model: int, number: int) -> str:
    """An answer in what all share and in a phrase of this model's own."""
    phrase = (
        "水は赤い光を吸収します",
        "光の色は波長で決まります",
        "海底の砂は白いのです",
        "魚が泳ぎます",
    )
    return f"空と海は青く見えます。{phrase[model]}。{'よく' * (number % 3)}わかります。"


@pytest.fixture(scope="module")
def bench() -> Benchmark:
    """Two questions whose answers three models wrote, and somebody unknown."""
    makers = [number % 4 if number % 4 < 3 else None for number in range(24)]
    answers = [words(3 if maker is None else maker, n) for n, maker in enumerate(makers)]
    mini = list(load_benchmark("mini"))[:2]
    return Benchmark(
        [
            dataclasses.replace(q, answers={"X": answers}, models=MODELS, makers={"X": makers})
            for q in mini
        ],
        "",
    )


@pytest.fixture(scope="module")
def runs(bench: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        write_run(folder / str(n), [(q.text, words(own, n)) for q in bench], model=model)
        for n, (model, own) in enumerate(RUNS.items())
    ]


def average(bench: Benchmark, run: Path) -> float:
    frame = score_file(run, bench).frame
    return float(frame.group_by("question_id").agg(pl.mean("average"))["average"].mean())  # type: ignore[arg-type]


def test_models_against_sets_without_them(bench: Benchmark, runs: list[Path]) -> None:
    found = bench.check(runs, influence="model")
    rows = found.tables["influence"].to_dicts()
    assert [(row["models"], row["run"]) for row in rows] == [
        ("a/one", None),
        ("a/one", "a/one"),
        ("a/one", "A/One"),
        ("a/two", None),
        ("b/three", None),
    ]
    own = found.tables["self_scores"].filter(pl.col("answer") % 4 == 0)
    assert (rows[0]["answers"], rows[0]["score"]) == (12, pytest.approx(own["average"].mean()))
    left = bench.without_models(["a/one"])
    for row, run in zip(rows[1:3], runs[:2], strict=True):
        assert row["score"] == pytest.approx(average(bench, run), abs=2e-6)
        assert row["score_without"] == pytest.approx(average(left, run), abs=2e-6)
        others = [average(bench, other) for other in runs if other != run]
        for score, rank in (("score", "rank"), ("score_without", "rank_without")):
            assert row[rank] == 1 + sum(other > row[score] for other in others)
    assert rows[1]["score"] > rows[1]["score_without"]
    told = [line for line in found.findings if line.startswith("models' own reference answers")]
    assert "of their other reference answers by +0." in told[0]
    assert "of their runs by +0." in told[1]
    assert "of 2 runs would have another rank" in told[1]
    assert "## Models that wrote reference answers" in check.report_markdown(found)


def test_families_are_left_out_together(bench: Benchmark, runs: list[Path]) -> None:
    rows = bench.check(runs, influence="family").tables["influence"].to_dicts()
    assert [(row["models"], row["run"]) for row in rows] == [
        ("a/one, a/two", None),
        ("a/one, a/two", "a/one"),
        ("a/one, a/two", "A/One"),
        ("b/three", None),
        ("b/three", "b/four"),
    ]
    left = bench.without_models(["a/one", "a/two"])
    assert rows[1]["score_without"] == pytest.approx(average(left, runs[0]), abs=2e-6)


@pytest.mark.parametrize(
    ("models", "makers", "reason"),
    [
        ((), {}, "the set does not say who wrote its answers"),
        (MODELS[:1], {"X": [0] * 24}, "without any of them, a source would have no answers"),
    ],
)
def test_what_cannot_be_measured(
    models: tuple[str, ...],
    makers: Mapping[str, list[int]],
    reason: str,
    bench: Benchmark,
    runs: list[Path],
) -> None:
    questions = [dataclasses.replace(q, models=models, makers=makers) for q in bench]
    found = Benchmark(questions, "").check(runs, influence="model")
    assert found.tables["influence"].is_empty()
    assert f"how much models lift their own scores is unknown: {reason}" in found.findings


def test_the_command_needs_no_runs(bench: Benchmark, tmp_path: Path) -> None:
    for q in bench:
        content = {"question_id": q.id, "question": q.text, "keywords": [], "answers": q.answers}
        content |= {"set": {"format": 2}, "models": MODELS, "makers": q.makers}
        (tmp_path / f"{q.id}.json").write_text(json.dumps(content), encoding="utf-8")
    done = pfgen(
        "build", "check", tmp_path, "--influence", "--leave-out", "family", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["influence"]
    assert [row["models"] for row in rows] == ["a/one, a/two", "b/three"]
    assert all(row["rank"] is None for row in rows)
