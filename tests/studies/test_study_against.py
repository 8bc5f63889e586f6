"""The leaderboard against other benchmarks: the published tables' figures, and made-up tables."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pfgen_rs.errors import InputError, PlotError, SettingsError
from pfgen_rs.studies import BenchmarkTable, study_against
from pfgen_rs.studies.plots import against_figure
from study_tables import (
    OTHERS,
    SCORES,
    fisher_of,
    key_of,
    pearson_of,
    public_table,
    residuals_of,
    spearman_of,
    write_csv,
    write_leaderboard,
)

TABLES = {"swallow": ("swallow-leaderboard.json", "id"), "shaberi": ("shaberi.csv", "model_name")}


def expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("source", TABLES)
def test_published_tables(source: str, studies_dir: Path, tmp_path: Path) -> None:
    file, name = TABLES[source]
    wanted = {
        column.removeprefix(f"{source} "): figures
        for column, figures in expected(studies_dir).items()
        if column.startswith(f"{source} ")
    }
    assert len(wanted) == 5
    study = study_against(
        public_table(file, studies_dir, tmp_path),
        studies_dir / "published.csv",
        list(wanted),
        name=name,
    )
    assert {found.column for found in study.columns} == set(wanted)
    for found in study.columns:
        told, r = wanted[found.column], found.correlation
        assert r.n == told["n"]
        assert found.points.height == told["n"]
        names = ("pearson", "pearson_low", "pearson_high", "spearman")
        values = [getattr(r, key) for key in names]
        assert values == pytest.approx(
            [told[key] for key in ("pearson", "low", "high", "spearman")], abs=1e-9
        )
        outliers = found.outliers(3).select("key", "residual").rows()
        assert [key for key, _ in outliers] == [key for key, _ in told["outliers"]]
        assert [x for _, x in outliers] == pytest.approx([x for _, x in told["outliers"]], abs=1e-9)
    rs = [found.correlation.pearson for found in study.columns]
    assert rs == sorted(rs, reverse=True)


def test_published_tables_by_other_means(studies_dir: Path, tmp_path: Path) -> None:
    """Every column of the Swallow leaderboard, with csv and statistics and the rule spelled out."""
    ours: dict[str, float] = {}
    with (studies_dir / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = key_of(row["model"])
            ours[key] = max(float(row["score"]), ours.get(key, -math.inf))
    table = public_table("swallow-leaderboard.json", studies_dir, tmp_path)
    records = json.loads(table.read_text(encoding="utf-8"))
    study = study_against(table, studies_dir / "published.csv", ["ja_pre.*"], name="id")
    assert len(study.columns) == 11
    for found in study.columns:
        theirs: dict[str, float] = {}
        for record in records:
            value = record["results"].get("ja_pre", {}).get(found.column.removeprefix("ja_pre."))
            if value is not None:
                key = key_of(record["id"])
                theirs[key] = max(value, theirs.get(key, -math.inf))
        common = sorted(ours.keys() & theirs.keys())
        x, y = [ours[key] for key in common], [theirs[key] for key in common]
        r = found.correlation
        assert r.pearson == pytest.approx(pearson_of(x, y), abs=1e-9)
        assert r.spearman == pytest.approx(spearman_of(x, y), abs=1e-9)
        assert (r.pearson_low, r.pearson_high) == pytest.approx(
            fisher_of(r.pearson, len(x)), abs=1e-9
        )
        residuals = dict(found.points.select("key", "residual").iter_rows())
        assert [residuals[key] for key in common] == pytest.approx(residuals_of(x, y), abs=1e-9)


MORE = [
    *OTHERS,
    ("delta", "4.5", "100"),
    ("Epsilon", "7", "8"),
    ("org/DELTA/", "50", "50"),
    ("Alpha-7B", "", "nan"),
]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return write_leaderboard(tmp_path)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "theirs.csv", ["name", "a", "b"], MORE)


def test_made_up_tables(ours: Path, theirs: Path) -> None:
    study = study_against(theirs, ours, ["a", "b"], name="name")
    found = {one.column: one for one in study.columns}
    x, y = [0.9, 0.7, 0.6, 0.4, 0.2], [1.0, 3.0, 2.0, 5.0, 4.0]
    r = found["a"].correlation
    assert (r.n, r.level, found["a"].missing) == (5, 0.95, 2)  # a name without letters is none
    assert r.pearson == pytest.approx(pearson_of(x, y))
    assert r.spearman == pytest.approx(-0.8)
    assert found["a"].points["figure"].to_list() == x
    assert found["a"].points["mode"].unique().to_list() == ["completion"]
    assert found["a"].points["residual"].to_list() == pytest.approx(residuals_of(x, y))
    assert found["b"].points.filter(pl.col("key") == "delta")["value"].to_list() == [100.0]
    assert study.unmatched_theirs == {"epsilon": "Epsilon"}
    assert study.unmatched_ours == {}
    assert study.frame()["column"].to_list() == ["b", "a"]


def test_several_columns(ours: Path, theirs: Path) -> None:
    study = study_against(theirs, ours, ["a", "b"], name="name")
    assert study.matrix.pairs[:2] == tuple(one.correlation for one in study.columns)
    assert study.to_dict()["correlations"]["pairs"][0]["n"] == len(SCORES)
    assert (study.matrix.pairs[2].one, study.matrix.pairs[2].n) == ("b", len(SCORES))
    alone = study_against(theirs, ours, ["a"], name="name")
    assert alone.matrix.pairs == (alone.columns[0].correlation,)


def test_columns_called_like_the_score(ours: Path) -> None:
    rows = tuple(
        {"name": name, "r.pfgen score": i * i, "r.pfgen score (ours)": -i}
        for i, name in enumerate(SCORES)
    )
    table = BenchmarkTable("t", tuple(rows[0]), rows)
    study = study_against(table, ours, ["*score*"], name="name")
    assert study.ours == "pfgen score (ours) (ours)"
    assert len(set(study.matrix.names)) == 3
    assert len(study.matrix.pairs) == 3
    found = study.columns[0].correlation
    assert study.matrix.values()[0, 1] == found.pearson


def test_many_columns_are_not_all_correlated(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("correlated")

    names = tuple(f"c{i}" for i in range(40))
    rows = tuple(
        {"name": name, **{column: (i * 7 + k) % 5 for k, column in enumerate(names)}}
        for i, name in enumerate(SCORES)
    )
    table = BenchmarkTable("t", ("name", *names), rows)
    monkeypatch.setattr("pfgen_rs.studies.metrics.correlations", fail)
    study = study_against(table, ours, names, name="name")
    told = study.to_dict()
    assert len(told["correlations"]["pairs"]) == 40
    assert told["notes"][-1] == "left out: correlations of 40 columns with each other"
    with pytest.raises(PlotError, match="too many names for one figure: 41, at most 40"):
        against_figure(study)


def test_order_of_rows_changes_nothing(tmp_path: Path, ours: Path, theirs: Path) -> None:
    turned = write_csv(tmp_path / "turned.csv", ["name", "a", "b"], MORE[::-1])
    rows = list(csv.reader(ours.read_text(encoding="utf-8").splitlines()))
    mirrored = write_csv(tmp_path / "mirrored.csv", rows[0], rows[:0:-1])
    one = study_against(theirs, ours, ["b", "a"], name="name")
    other = study_against(turned, mirrored, ["a", "b"], name="name")
    assert [x.correlation for x in one.columns] == [x.correlation for x in other.columns]
    assert one.frame().equals(other.frame())


def test_aliases_join_and_idle_ones_are_told(ours: Path, theirs: Path) -> None:
    named = {"epsilon": "ORG/delta", "zeta": "Delta", "alpha-7b": "Omega"}
    study = study_against(theirs, ours, ["a"], name="name", aliases=named)
    points = dict(study.columns[0].points.select("key", "value").iter_rows())
    assert points == {"beta-13b": 3.0, "gamma-2-0": 2.0, "delta": 7.0, "モデル3": 4.0}
    assert study.unmatched_ours == {"alpha-7b": "org/Alpha-7B"}
    assert set(study.notes) == {
        "alias 'zeta': the table has no such model",
        "alias 'Omega': the leaderboard has no such model",
    }


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("alpha-7b", "1"), ("delta", "2")], "have 2 models in common: expected at least 3"),
        ([("x", "1"), ("y", "2")], "have 0 models in common"),
        ([("alpha-7b", "1"), ("y", "2")], "have 1 model in common"),
        ([(name, "2") for name in SCORES], "'a' is 2 for all 5 models"),
        ([("alpha-7b", "1"), ("delta", "high")], "row 2: 'a' is 'high': expected a number"),
        ([("alpha-7b", "inf")], "row 1: 'a' is 'inf': expected a number"),
        ([("alpha-7b", "1_000")], "row 1: 'a' is '1_000': expected a number"),
        ([("alpha-7b", "=1+1")], "row 1: 'a' is '=1+1': expected a number"),
        ([("alpha-7b", "95%")], "row 1: 'a' is '95%': expected a number"),
    ],
)
def test_what_cannot_be_correlated(
    rows: list[tuple[str, str]], problem: str, ours: Path, tmp_path: Path
) -> None:
    table = write_csv(tmp_path / "t.csv", ["name", "a"], rows)
    with pytest.raises(InputError) as caught:
        study_against(table, ours, ["a"], name="name")
    assert problem in str(caught.value)
    assert str(table) in str(caught.value)


def test_patterns_leave_out_what_cannot_be_correlated(ours: Path, tmp_path: Path) -> None:
    header = ["name", "good", "constant", "text"]
    rows = [(name, i * i, 1, "?") for i, name in enumerate(SCORES)]
    table = write_csv(tmp_path / "t.csv", header, rows)
    study = study_against(table, ours, ["*"], name="name")
    assert [found.column for found in study.columns] == ["good"]
    assert len(study.notes) == 2
    assert "left out: 'constant'" in study.notes[0]
    assert "left out: 'text'" in study.notes[1]
    with pytest.raises(InputError, match="no column matches 'z\\*'"):
        study_against(table, ours, ["z*"], name="name")
    with pytest.raises(InputError, match="no column can be correlated"):
        study_against(table, ours, ["c*"], name="name")


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"metric": "speed"}, "unknown metric 'speed'"),
        ({"columns": []}, "no column to correlate with"),
        ({"name": "nobody"}, "no column 'nobody'"),
        ({"columns": ["aa"]}, "no column 'aa': the table has 'name', 'a', 'b'"),
        ({"name": None}, "which column has the models' names"),
        ({"metric": "fluency"}, "the leaderboard has no run with 'fluency'"),
    ],
)
def test_unknown_choices(choices: dict[str, Any], problem: str, ours: Path, theirs: Path) -> None:
    arguments = {"columns": ["a"], "name": "name", **choices}
    with pytest.raises((InputError, SettingsError)) as caught:
        study_against(theirs, ours, **arguments)
    assert problem in str(caught.value)


def test_system_runs_are_no_models(tmp_path: Path, theirs: Path) -> None:
    rows = [(name, "completion", score) for name, score in SCORES.items()]
    ours = write_csv(
        tmp_path / "o.csv", ["model", "mode", "score"], [*rows, ("Epsilon", "system", 2)]
    )
    assert study_against(theirs, ours, ["a"], name="name").columns[0].correlation.n == 5


def test_points_on_a_line_have_no_residuals(ours: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", ["name", "a"], [(n, 2 * s) for n, s in SCORES.items()])
    [found] = study_against(table, ours, ["a"], name="name").columns
    assert found.correlation.pearson == pytest.approx(1)
    assert found.points["residual"].to_list() == [0.0] * 5
