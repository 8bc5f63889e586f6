"""Correlations of metrics, and of sources of reference answers."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import oracle
from helpers import CATS, QUESTIONS, SEAS, write_benchmark, write_run
from pfgen_rs import Benchmark, load_benchmark
from pfgen_rs.checkout.entries import entries_frame, read_entries
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.studies import (
    Leaderboard,
    SourceStudy,
    read_leaderboard,
    study_metrics,
    study_sources,
)
from pfgen_rs.studies.metrics import correlation_text
from pfgen_rs.studies.sources import restricted
from study_tables import fisher_of, pearson_of, spearman_of, write_csv, write_published

STARS, HILLS = "星はなぜ光るのですか？", "丘はなぜ低いのですか？"
MORE = {
    "Q03": {
        "question_id": "Q03",
        "question": STARS,
        "category": "physics",
        "note": "",
        "keywords": [{"t": "光"}],
        "answers": {"A": ["星は熱いので光ります。", "星は核融合で光ります。"]},
    },
    "Q04": {
        "question_id": "Q04",
        "question": HILLS,
        "category": "geography",
        "note": "",
        "keywords": [{"t": "低"}],
        "answers": {"C": ["丘は低い山のことです。"]},
    },
}
RUNS = {
    "one": [
        (CATS, "猫は狩りのために体力を残して眠ります。"),
        (SEAS, "海の水は赤い光を吸うので青いのです。"),
        (STARS, "星は熱いので光ります。"),
        (HILLS, "丘は低い山のことです。"),
    ],
    "two": [
        (CATS, "狩りをする猫は力をためるために眠ります。"),
        (SEAS, "水が赤い光を吸収し、青い光が残ります。"),
        (STARS, "星は光ります。"),
        (HILLS, "丘です。"),
    ],
    "three": [
        (CATS, "猫は夜に遊ぶので昼に眠ります。"),
        (SEAS, "空の色が映るからです。"),
        (STARS, "わかりません。"),
        (HILLS, "低い山です。"),
    ],
    "four": [
        (CATS, "猫は狩りに備えてよく眠ります。"),
        (SEAS, "赤い光が水に吸われて青く見えます。"),
        (STARS, "熱いからです。"),
        (HILLS, "山より低い土地です。"),
    ],
}


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    folder = write_benchmark(tmp_path / "bench")
    for question_id, question in MORE.items():
        text = json.dumps(question, ensure_ascii=False)
        (folder / f"{question_id}.json").write_text(text, encoding="utf-8")
    return load_benchmark(folder)


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    return [
        str(write_run(tmp_path / name, [*answers, *RUNS["one"]], model=f"org/{name}"))
        for name, answers in RUNS.items()
    ]


def means(name: str, sources: str, questions: list[str]) -> dict[str, float]:
    """A run's means over questions, by the scorer in plain Python."""
    found: dict[str, list[float]] = {"average": [], "fluency": [], "truthfulness": []}
    known: dict[str, dict[str, Any]] = {**QUESTIONS, **MORE}
    for question_id in questions:
        data = known[question_id]
        kept = {key: value for key, value in data["answers"].items() if key in sources}
        question = oracle.Question({**data, "answers": kept or data["answers"]})
        answers = [a for q, a in [*RUNS[name], *RUNS["one"]] if q == data["question"]]
        scores = [question.score(answer) for answer in answers]
        summary = oracle.mean_scores(sorted(scores, key=lambda score: -score["average"]))
        found["average"].append(summary["average"])
        for metric in ("fluency", "truthfulness"):
            found[metric].append(round(oracle.left_sum(summary[metric].values()), 5))
    return {metric: statistics.fmean(values) for metric, values in found.items()}


def test_scores_are_those_of_plain_python(benchmark: Benchmark, runs: list[str]) -> None:
    study = study_sources(runs, benchmark)
    assert (study.sources, study.common) == (("A", "B"), ("Q01", "Q02"))
    assert len(study.scores) == 4 * 3 * 2
    for row in study.scores.iter_rows(named=True):
        questions = list(study.common) if row["questions"] == "common" else [*QUESTIONS, *MORE]
        wanted = means(row["model"].removeprefix("org/"), row["sources"], questions)
        assert {key: row[key] for key in wanted} == pytest.approx(wanted, abs=1e-12)


def test_correlations(benchmark: Benchmark, runs: list[str]) -> None:
    told: list[str] = []

    def track(names: Any) -> Any:
        told.extend(names)
        return names

    study = study_sources(runs, benchmark, track=track)
    matrix = study.matrix()
    assert told == ["A", "B", "A+B"]
    assert matrix.names == ("A", "B", "A+B")
    values = {
        sources: [means(name, sources, ["Q01", "Q02"])["average"] for name in RUNS]
        for sources in ("A", "B")
    }
    [pair] = [pair for pair in matrix.pairs if (pair.one, pair.other) == ("A", "B")]
    assert pair.n == 4
    assert pair.pearson == pytest.approx(pearson_of(values["A"], values["B"]))
    assert pair.spearman == pytest.approx(spearman_of(values["A"], values["B"]))
    assert (pair.pearson_low, pair.pearson_high) == pytest.approx(fisher_of(pair.pearson, 4))
    assert study.frame().height == 2 * 3 * 3
    assert set(study.frame()["metric"]) == {"average", "fluency", "truthfulness"}
    assert study.to_dict()["common_questions"] == ["Q01", "Q02"]


def test_sources_need_a_question_in_common(benchmark: Benchmark, runs: list[str]) -> None:
    with pytest.raises(InputError, match="no question has reference answers of two sources"):
        study_sources(runs, restricted(benchmark, ["A"]))


def test_too_few_runs_and_unanswered_questions(
    benchmark: Benchmark, runs: list[str], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="2 runs to correlate: expected at least 3"):
        study_sources(runs[:2], benchmark)
    lacking = write_run(tmp_path / "lacking", RUNS["one"][:2], model="m")
    with pytest.raises(InputError, match="2 of 4 questions"):
        study_sources([*runs, str(lacking)], benchmark)


def test_wrong_names_of_matrices(benchmark: Benchmark, runs: list[str]) -> None:
    study = study_sources(runs, benchmark)
    with pytest.raises(SettingsError, match="'helpfulness' does not depend on sources"):
        study.matrix("helpfulness")


def test_a_set_of_all_sources_is_the_set(benchmark: Benchmark) -> None:
    whole = restricted(benchmark, ["A", "B", "C"])
    alone = restricted(benchmark, ["B"])
    assert [dict(q.answers) for q in whole] == [dict(q.answers) for q in benchmark]
    assert [q.sources for q in alone] == [["B"], ["B"], ["A"], ["C"]]
    assert len({whole.metadata_hash, alone.metadata_hash, benchmark.metadata_hash}) == 3


@pytest.fixture(scope="module")
def published(
    published_dir: Path, published_benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> SourceStudy:
    """Three published runs in a checkout of their own, without copies of the questions' files."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "data").symlink_to(published_dir / "data")
    names = sorted(published_dir.glob("result/**/trials.jsonl.xz"))[:9:3]
    for path in names:
        target = folder / path.parent.relative_to(published_dir)
        shutil.copytree(path.parent, target)
    return study_sources(str(folder), published_benchmark)


def test_published_runs(published: SourceStudy, published_dir: Path) -> None:
    assert published.sources == ("P", "T", "S")
    assert len(published.common) == 37
    by_run = published.scores.filter(questions="all", sources="P+T+S")
    assert len(by_run) == 3
    for row in by_run.iter_rows(named=True):
        result = json.loads((Path(row["run"]).parent / "result.json").read_text(encoding="utf-8"))
        found = [entry["scores"]["average"] for entry in result["questions"].values()]
        assert row["average"] == pytest.approx(statistics.fmean(found), abs=1e-12)
        common = [result["questions"][key]["scores"] for key in published.common]
        [alone] = published.scores.filter(
            questions="common", sources="P", run=row["run"]
        ).iter_rows(named=True)
        shares = [3 * scores["fluency"]["P"] for scores in common]  # of three sources each
        assert alone["fluency"] == pytest.approx(statistics.fmean(shares), abs=3e-5)


def test_equal_scores_have_no_correlation(benchmark: Benchmark, tmp_path: Path) -> None:
    runs = [str(write_run(tmp_path / name, RUNS["one"], model=name)) for name in "xyz"]
    with pytest.raises(InputError, match="all 3 runs have the same score"):
        study_sources(runs, benchmark)


# The metrics against each other, from published figures.


METRICS = ("fluency", "truthfulness", "helpfulness", "score")


def board(rows: list[tuple[object, ...]]) -> Leaderboard:
    schema = {"model": pl.String, "mode": pl.String, **dict.fromkeys(METRICS, pl.Float64)}
    return Leaderboard(pl.DataFrame(rows, schema=schema, orient="row"), ("a note",))


ROWS: list[tuple[object, ...]] = [
    ("a", "qa", 0.9, 0.8, 0.5, 0.7333),
    ("A", "completion", 0.7, 0.9, 0.4, 0.6667),
    ("b", "qa", 0.3, 0.2, 0.0, 0.1667),
    ("c", None, 0.5, 0.6, 0.1, 0.4),
    ("d", "qa", 0.5, None, 0.1, 0.4),
    ("e", "qa", 0.5, float("nan"), 0.1, 0.4),
]


def test_made_up_runs() -> None:
    study = study_metrics(board(ROWS))
    assert study.matrix.names == METRICS
    assert study.notes == ("a note", "left out: 2 runs without a metric")
    columns = {name: [row[2 + i] for row in ROWS[:4]] for i, name in enumerate(METRICS)}
    assert [pair.n for pair in study.matrix.pairs] == [4] * 6
    for pair in study.matrix.pairs:
        x, y = ([float(str(value)) for value in columns[name]] for name in (pair.one, pair.other))
        assert pair.pearson == pytest.approx(pearson_of(x, y))
        assert pair.spearman == pytest.approx(spearman_of(x, y))
        assert (pair.pearson_low, pair.pearson_high) == pytest.approx(fisher_of(pair.pearson, 4))
    assert study.spread().rows()[0] == ("fluency", 0.3, pytest.approx(0.6), 0.9)


def test_columns_that_are_nested_absent_or_no_numbers(tmp_path: Path) -> None:
    header = ["x.model", "x.score", "x.fluency", "truthfulness", "helpfulness", "x.mode"]
    rows = [(f"m{i}", i, i * i, i, 5 - i, "qa") for i in range(4)]
    found = read_leaderboard(write_csv(tmp_path / "t.csv", header, rows))
    assert found.runs.select("score", "fluency", "mode").rows()[2] == (2.0, 4.0, "qa")
    assert len(study_metrics(found).matrix.pairs) == 6
    bad = write_csv(tmp_path / "b.csv", header, [*rows, ("m9", 1, 1, "high", 1, "qa")])
    with pytest.raises(InputError) as caught:
        study_metrics(bad)
    assert "no run with 'truthfulness'; without truthfulness: " in str(caught.value)
    assert "row 5: 'truthfulness' is 'high': expected a number" in str(caught.value)
    lacking = write_csv(tmp_path / "l.csv", header[:4], [row[:4] for row in rows])
    with pytest.raises(InputError, match=r"the leaderboard has no run with 'helpfulness'$"):
        study_metrics(lacking)


def test_what_cannot_be_correlated() -> None:
    with pytest.raises(InputError, match="2 of 2 runs with all of fluency"):
        study_metrics(board(ROWS[:2]))
    with pytest.raises(InputError, match="the metrics of all 4 runs are equal"):
        study_metrics(board([("m", "qa", 1, 1, 1, 1)] * 4))
    constant = study_metrics(board([("m", "qa", i, 0.5, i * i, i) for i in range(5)]))
    assert {pair.one for pair in constant.matrix.pairs} == {"fluency", "helpfulness"}
    assert constant.matrix.values()[0, 1] != constant.matrix.values()[0, 1]


def test_a_checkout(published_dir: Path) -> None:
    study = study_metrics(published_dir)
    assert len(study.runs) == 24
    assert "system" not in study.runs["mode"]
    assert study.matrix.pairs[0].pearson == pytest.approx(0.9716, abs=5e-5)


def test_leaderboards_of_every_kind(published_dir: Path, tmp_path: Path) -> None:
    frame = entries_frame(read_entries(published_dir)[0])
    frame.write_parquet(tmp_path / "leaderboard.parquet")
    frame.write_csv(tmp_path / "leaderboard.csv")
    rows = json.dumps({"runs": frame.to_dicts()}, ensure_ascii=False)
    (tmp_path / "leaderboard.json").write_text(rows, encoding="utf-8")
    found = [
        study_metrics(place).matrix
        for place in (
            published_dir,
            *(tmp_path / f"leaderboard.{x}" for x in ("parquet", "csv", "json")),
        )
    ]
    assert found == [found[0]] * 4


def test_a_leaderboard_with_half_a_surrogate_pair(published_dir: Path, tmp_path: Path) -> None:
    rows = entries_frame(read_entries(published_dir)[0]).to_dicts()
    rows[3]["model"] = "m\ud800"
    (tmp_path / "leaderboard.json").write_text(json.dumps({"runs": rows}), encoding="utf-8")
    with pytest.raises(InputError, match=r"leaderboard\.json: has a text that is no Unicode"):
        study_metrics(tmp_path / "leaderboard.json")


def test_all_published_runs(studies_dir: Path, tmp_path: Path) -> None:
    """The figures that docs/studies.md states."""
    study = study_metrics(write_published(tmp_path / "all.csv", studies_dir))
    found = {
        (pair.one, pair.other): (pair.n, round(pair.pearson, 3)) for pair in study.matrix.pairs
    }
    assert found["fluency", "truthfulness"] == (522, 0.952)
    assert found["fluency", "helpfulness"] == (522, 0.851)
    assert found["truthfulness", "helpfulness"] == (522, 0.752)


def test_coefficients_as_text() -> None:
    texts = {0.9999999999999998: "1.0000", -1.0: "-1.0000", 0.99999: "0.99999", -1e-9: "0.0000"}
    assert {value: correlation_text(value) for value in texts} == texts
