"""Subsets of models, and whether correlations with other benchmarks hold."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given, settings, strategies as st
from scipy.stats import rankdata  # type: ignore[import-untyped]

from helpers import pfgen
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.report.site.model_facts import Fact, ModelFacts, bundled_facts
from pfgen_rs.stats import holm
from pfgen_rs.stats.correlation_tests import cluster_intervals, compare_dependent
from pfgen_rs.studies import AgainstStudy, BenchmarkTable, Leaderboard, examine, study_against
from pfgen_rs.studies.against import _facts
from pfgen_rs.studies.models import Models
from study_tables import pearson_of, spearman_of, write_csv

ROWS: list[dict[str, Any]] = [
    {"model": "a/one-7b", "kind": "base", "r.avg": 0.5, "JA-MT (All)": 3, "when": "2024-01-02"},
    {"model": "a/two-70b", "kind": "chat", "r.avg": 0.7, "JA-MT (All)": None, "when": ""},
    {"model": "b/three", "kind": "it's", "r.avg": "", "JA-MT (All)": 5.5, "when": "2025-01-02"},
    {"model": "four-13b", "kind": None, "r.avg": -1e3, "JA-MT (All)": 1, "when": "2023-12-31"},
]
FACTS = ModelFacts({"parameters": {"a/two-70b": Fact(72.7, "card")}})


def models() -> Models:
    runs = pl.DataFrame({"model": [row["model"] for row in ROWS], "score": [0.9, 0.5, 0.7, 0.4]})
    ours = Leaderboard(runs.with_columns(mode=pl.lit("qa"), length=pl.Series([90, 100, 110, 120])))
    theirs = BenchmarkTable("t", tuple(ROWS[0]), tuple(ROWS))
    return Models(ours.by_model().sort("key"), FACTS, theirs, "model", {})


# By key: four-13b, one-7b, three, two-70b. None: unknown.
CONDITIONS: dict[str, list[bool | None]] = {
    "size < 15": [True, True, None, False],
    "size=7": [False, True, None, False],
    "size == 72.7 or kind = 'base'": [None, True, None, True],
    "not size < 15": [False, False, None, True],
    "NOT (size < 15 AND score > 0.5)": [True, False, None, True],
    "kind in ('base', 'chat')": [None, True, False, True],
    "kind not in ('base')": [None, False, True, True],
    "kind = 'it''s'": [None, False, True, False],
    "kind like '%a%'": [None, True, False, True],
    "kind is null": [True, False, False, False],
    'avg > 0 and "JA-MT (All)" >= 3': [False, True, None, None],
    "r.avg between -1e3 and 0.5": [True, True, None, False],
    "length <> 100 and mode = 'qa'": [True, True, True, False],
    "when >= '2024-01-01'": [False, True, True, None],
    "organisation != 'a'": [None, False, True, False],
    "released > '2024-01-01'": [None] * 4,
    "weights = 'open' or licence is null": [True] * 4,
    "  model = 'b/three'  ": [False, False, True, False],
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(condition: str) -> None:
    assert models().chosen(condition).to_list() == CONDITIONS[condition]


@pytest.mark.parametrize(
    ("condition", "place", "problem"),
    [
        ("sizes < 15", 1, "no column 'sizes'"),
        ("size < 15 and モデル = 1", 15, "no column 'モデル'"),
        ("size < 15; drop", 10, "';' is no part of a condition"),
        ("size <  `a`", 9, "'`' is no part of a condition"),
        ("kind = 'base", 8, '"\'" is no part of a condition'),
        ("exists(select 1)", 1, "no column 'exists'"),
        ("size < (select 1)", 9, "no column 'select'"),
        ("read_csv('/etc/passwd')", 1, "no column 'read_csv'"),
        ("kind = \"base\"", 8, "no column 'base'"),
        ("size <", 1, "expected a comparison"),
        ("size < 'x'", 1, "cannot compare"),
        ("size size", 1, ""),
        ("kind('a') = 'b'", 1, ""),
        ("size", 1, "expected a comparison"),
        ("1 < 2", 1, "expected a comparison"),
        ("", 1, ""),
        ("(" * 990 + "size < 1", 1, ""),
        ("not " * 240 + "size", 1, ""),
        ("size < 1 or " * 90, 1001, "is longer than 1,000 characters"),
    ],
)  # fmt: skip
def test_what_is_no_condition(condition: str, place: int, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        models().chosen(condition)
    assert f", character {place}: " in str(caught.value)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 1_000


PARTS = [
    "size",
    "kind",
    "r.avg",
    '"JA-MT',
    '(All)"',
    "'a'",
    "7",
    "-1e400",
    "99999999999999999999999",
    "and",
    "or",
    "not",
    "in",
    "(",
    ")",
    ",",
    "<",
    "=",
    "<>",
    "is",
    "null",
    "like",
    "between",
    "'%('",
    "x",
    "--",
    "/*",
    "\x00",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12))
def test_any_words_are_a_condition_or_an_error(parts: list[str]) -> None:
    try:
        found = models().chosen(" ".join(parts))
    except SettingsError:
        return
    assert found.dtype == pl.Boolean
    assert len(found) == len(ROWS)


# What `examine` finds, computed once more with statsmodels and statistics.


@pytest.fixture(scope="module")
def tables() -> tuple[Leaderboard, BenchmarkTable]:
    """30 models of 8 organisations: `like` follows the score, `big` the size alone."""
    random = np.random.default_rng(4)
    sizes, skill, score_noise, other_noise, third = random.normal(size=(5, 30))
    score = 0.5 + 0.1 * (skill + sizes + 0.3 * score_noise)
    names = [f"org{i % 8}/m{i:02}-{round(2 ** (3 + s), 1)}b" for i, s in enumerate(sizes)]
    runs = {"model": names, "mode": ["qa"] * 30, "score": score, "length": 100 + 10 * third}
    noise = {"score_std": [0.1] * 30, "num_trials": [10.0] * 29 + [1.0]}
    columns = {
        "like": skill + sizes + 0.3 * other_noise,
        "big": sizes + other_noise,
        "same": score * 2 + 1,
    }
    rows = [
        {"name": name, **{key: float(each[i]) for key, each in columns.items()}}
        for i, name in enumerate(names)
    ]
    return Leaderboard(pl.DataFrame({**runs, **noise})), BenchmarkTable(
        "t", tuple(rows[0]), tuple(rows)
    )


@pytest.fixture(scope="module")
def study(tables: tuple[Leaderboard, BenchmarkTable]) -> AgainstStudy:
    return study_against(tables[1], tables[0], ["like", "big"], name="name")


def left_of(values: Any, controls: Any) -> list[float]:
    residuals: list[float] = sm.OLS(values, sm.add_constant(controls)).fit().resid.tolist()
    return residuals


def test_tables_by_other_means(study: AgainstStudy) -> None:
    found = examine(
        study, correct=True, controls=["size", "length"], cluster="organisation",
        reliability={"like": 0.9}, compare="williams",
    ).tests  # fmt: skip
    assert list(found) == ["corrected", "partial", "clustered", "noiseless", "compared"]
    points = {one.column: one.points.sort("key") for one in study.columns}
    keys = points["like"]["key"].to_list()
    size = np.log([float(key[len("m00-") : -1].replace("-", ".")) for key in keys])
    length = study.models.ours.sort("key")["length"].to_numpy()
    for i, one in enumerate(study.columns):
        x, y = (points[one.column][name].to_list() for name in ("figure", "value"))
        controls = np.array([size, length]).T
        row = found["partial"].row(i, named=True)
        assert row["n"] == 30
        assert row["partial_r"] == pytest.approx(
            pearson_of(left_of(x, controls), left_of(y, controls))
        )
        by_rank = np.array([rankdata(size), rankdata(length)]).T
        sides = left_of(rankdata(x), by_rank), left_of(rankdata(y), by_rank)
        assert row["partial_rho"] == pytest.approx(pearson_of(*sides))
        fit = sm.OLS(y, sm.add_constant(np.column_stack([x, controls]))).fit()
        assert row["p"] == pytest.approx(fit.pvalues[1], rel=1e-6)

        organisations = points[one.column]["model"].str.head(4)
        row = found["clustered"].row(i, named=True)
        assert row["groups"] == 8
        groups = organisations.rank("dense").to_numpy().astype(np.int64) - 1
        assert (row["r_low"], row["r_high"]) == cluster_intervals(x, y, groups)[0]

        share = 1 - 0.1**2 / 9 / np.var(x, ddof=1)
        row = found["noiseless"].row(i, named=True)
        assert row["reliability"] == pytest.approx(share)
        theirs = 0.9 if one.column == "like" else 1.0
        assert row["noiseless_r"] == pytest.approx(pearson_of(x, y) / math.sqrt(share * theirs))
    assert found["corrected"]["p_holm"].to_list() == holm(found["corrected"]["p"]).tolist()

    [row] = found["compared"].to_dicts()
    figures, near, far = (
        points[name][column].to_list()
        for name, column in (("like", "figure"), ("like", "value"), ("big", "value"))
    )
    for prefix, of, test in (("", pearson_of, "williams"), ("rho_", spearman_of, "ranks")):
        values = of(figures, near), of(figures, far), of(near, far)
        apart = compare_dependent(*values, 30, test=test)  # type: ignore[arg-type]
        assert [
            row[f"{prefix}{name}"] for name in ("difference", "difference_low", "p")
        ] == pytest.approx([apart.value, apart.low, apart.p])
    assert examine(study, compare="steiger").tests["compared"]["p"][0] != row["p"]


def test_tables_stand_in_json_and_csv(study: AgainstStudy) -> None:
    found = examine(study, controls=["size"], compare="williams")
    assert found.to_dict()["tests"]["partial"][0]["column"] == study.columns[0].column
    assert [name for name in found.frame().columns if "." in name][:2] == ["partial.n", "partial.r"]
    assert "tests" not in examine(study).to_dict()
    assert examine(study).frame().equals(study.frame())


def test_subsets_are_studies_of_their_own(tables: tuple[Leaderboard, BenchmarkTable]) -> None:
    found = study_against(tables[1], tables[0], ["like"], name="name", where="size < 8")
    kept = found.columns[0].points
    assert 3 < len(kept) < 30
    named = [name for name in kept["model"] if float(name.rpartition("-")[2][:-1]) < 8]
    assert kept["model"].to_list() == named
    assert found.columns[0].correlation.pearson == pytest.approx(
        pearson_of(kept["figure"].to_list(), kept["value"].to_list())
    )
    assert (found.unmatched_ours, found.unmatched_theirs) == ({}, {})


@pytest.mark.parametrize(
    ("asked", "kind", "problem"),
    [
        ({"controls": ["mode"]}, InputError, "'mode' has texts: expected numbers, or dates"),
        ({"controls": ["sizes"]}, InputError, "no column 'sizes'"),
        ({"controls": ["released"]}, InputError, "'released' is unknown for all models"),
        ({"cluster": "families"}, InputError, "no column 'families'"),
        (
            {"reliability": {"avg": 0.9}},
            SettingsError,
            "no column 'avg' to know the reliability of",
        ),
        ({"reliability": {"like": 1.5}}, InputError, "invalid reliability 1.5"),
    ],
)
def test_what_cannot_be_examined(
    asked: dict[str, Any], kind: type[Exception], problem: str, study: AgainstStudy
) -> None:
    with pytest.raises(kind, match=problem):
        examine(study, **asked)


def test_columns_that_cannot_be_compared(tables: tuple[Leaderboard, BenchmarkTable]) -> None:
    alone = study_against(tables[1], tables[0], ["like"], name="name")
    for study in (alone, study_against(tables[1], tables[0], ["like", "same"], name="name")):
        with pytest.raises(InputError, match="no columns to compare"):
            examine(study, compare="williams")


def test_dates_and_unknown_values_are_controlled_for() -> None:
    found = models()
    assert found.numbers("when").to_list() == [19722, 19724, 20090, None]
    assert found.numbers("size").to_list() == pytest.approx(
        [math.log(13), math.log(7), None, math.log(72.7)]
    )


def test_the_command(tables: tuple[Leaderboard, BenchmarkTable], tmp_path: Path) -> None:
    board, table = tables
    ours = tmp_path / "ours.csv"
    board.runs.write_csv(ours)
    rows = [list(row.values()) for row in table.rows]
    theirs = write_csv(tmp_path / "theirs.csv", table.columns, rows)

    def command(*more: str) -> Any:
        options = ("--name=name", "--column=like", "--column=big", "--where", "size > 2", *more)
        place: tuple[str | Path, ...] = ("study", "against", theirs, "--leaderboard", ours)
        return pfgen(*place, *options, env={"COLUMNS": "110"})

    asked = [
        "--correct",
        "--compare=steiger",
        "--control=size",
        "--control=length",
        "--cluster=organisation",
    ]
    asked += ["--reliability=trials=1", "--reliability=big=0.8"]
    shown = command(*asked)
    assert (shown.returncode, shown.stderr) == (0, "")
    told = json.loads(command(*asked, "--format=json").stdout)
    assert list(told["tests"]) == ["corrected", "partial", "clustered", "noiseless", "compared"]
    assert set(told["tests"]) <= {line.strip() for line in shown.stdout.splitlines()}
    partial = told["tests"]["partial"][0]
    figures = [f"{partial[key]:.4f}" for key in ("partial_r", "partial_r_low", "partial_r_high")]
    assert "{} ({} to {})".format(*figures) in shown.stdout
    assert f"{told['tests']['compared'][0]['p_fdr']:.2g}" in shown.stdout
    [first, _] = csv.DictReader(io.StringIO(command(*asked, "--format=csv").stdout))
    assert float(first["partial.partial_r"]) == partial["partial_r"]
    failed = command("--reliability", "big")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "expected NAME=SHARE, such as avg=0.9" in failed.stderr


def test_facts_are_those_of_the_checkout(tmp_path: Path) -> None:
    text = '[[parameters]]\nbillions = 7\nsource = "s"\nmodels = ["org/own"]\n'
    assert _facts(tmp_path) == bundled_facts()
    (tmp_path / "models.toml").write_text(text, encoding="utf-8")
    assert _facts(tmp_path).of("org/own")["parameters"].value == 7
