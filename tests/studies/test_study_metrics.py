"""The metrics against each other, from published figures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pfgen_rs.checkout.entries import entries_frame, read_entries
from pfgen_rs.errors import InputError
from pfgen_rs.studies import Leaderboard, read_leaderboard, study_metrics
from pfgen_rs.studies.metrics import correlation_text
from study_tables import fisher_of, pearson_of, spearman_of, write_csv, write_published

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
