"""The leaderboard against other benchmarks: published and made-up tables; commands and pages of studies."""

import csv
import io
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import CATS, SEAS, pfgen, write_benchmark, write_run
from pfgen_rs.errors import InputError, PlotError, SettingsError
from pfgen_rs.studies import BenchmarkTable, study_against
from pfgen_rs.studies.plots import against_figure
from places import DOCS
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
    write_published,
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


# The commands and pages of studies.


NARROW = {"COLUMNS": "80"}


@pytest.fixture
def their_table(tmp_path: Path) -> Path:
    return write_csv(
        tmp_path / "theirs.csv", ["name", "a", "b"], [*OTHERS, ("Epsilon\x1b[31m", "7", "")]
    )


def printed(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_against_as_a_table(ours: Path, their_table: Path) -> None:
    done = pfgen(
        *("study", "against", their_table, "--leaderboard", ours, "--name", "name"),
        *("--column", "a", "--column", "b"),
        env=NARROW,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert printed(done.stdout) == [
        "pfgen score and 2 columns",
        " column  n        r            r, 95 %        ρ            ρ, 95 %",
        " ─────────────────────────────────────────────────────────────────",
        " b       5   0.6013  -0.5984 to 0.9693   0.4000  -0.7685 to 0.9530",
        " a       5  -0.8193  -0.9877 to 0.2272  -0.8000  -0.9908 to 0.4571",
        "furthest from the line, in residual standard deviations:",
        "  b: Beta_13b -1.45, Alpha-7B +0.85, Gamma 2.0 +0.31",
        "  a: Delta +1.18, Gamma 2.0 -0.77, ガンマ／モデル３ -0.69",
        "unmatched: 0 models of the leaderboard, 1 of the table (--format json lists them)",
    ]


def test_against_in_other_formats(ours: Path, their_table: Path) -> None:
    command = ("study", "against", their_table, "--leaderboard", ours, "--name=name", "--column=a")
    done = pfgen(*command, "--format", "csv")
    [row] = csv.DictReader(io.StringIO(done.stdout))
    found = tuple(row[name] for name in ("column", "n", "missing", "outliers"))
    assert found == ("a", "5", "0", "delta gamma-2-0 モデル3")
    found = json.loads(pfgen(*command, "--format", "json").stdout)
    assert found["unmatched_theirs"] == {"epsilon-31m": "Epsilon\x1b[31m"}
    assert [row["model"] for row in found["columns"][0]["points"]] == list(SCORES)
    assert found["columns"][0]["pearson"] == float(row["pearson"])


def test_against_draws(ours: Path, their_table: Path, tmp_path: Path) -> None:
    for count, columns in enumerate((["a"], ["a", "b"])):
        plot = tmp_path / f"{count}.svg"
        named: list[str] = [part for column in columns for part in ("--column", column)]
        command = ("study", "against", their_table, "--leaderboard", ours, "--name", "name")
        done = pfgen(*command, *named, "--plot", plot, "--language", "ja")
        assert done.returncode == 0, done.stderr
        assert b"<svg" in plot.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--column", "z"], "theirs.csv: no column 'z': the table has 'name', 'a', 'b'"),
        (["--column", "name"], "theirs.csv, row 1: 'name' is 'alpha_7b': expected a number"),
        (
            ["--column", "a", "--exclude", "zeta"],
            "the leaderboard has no model 'zeta' to leave out",
        ),
        (["--column", "a", "--aliases", "none.toml"], "none.toml: cannot be read: No such file"),
        (["--column", "a", "--plot", "p.pdf"], "expected a name ending in .svg or .png"),
        (["--column", "a", "--plot", "none/p.svg"], "none: not a directory"),
    ],
)
def test_against_says_what_is_wrong(
    arguments: list[str], problem: str, ours: Path, their_table: Path
) -> None:
    done = pfgen(
        "study", "against", their_table, "--leaderboard", ours, "--name", "name", *arguments
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in " ".join(done.stderr.replace("│", " ").split())


def test_metrics(tmp_path: Path) -> None:
    header = ["model", "mode", "score", "fluency", "truthfulness", "helpfulness"]
    rows = [(f"m{i}", "qa", i / 9, i / 8, (i / 8) ** 0.5, (i / 8) ** 3) for i in range(8)]
    table = write_csv(tmp_path / "t.csv", header, [*rows, ("m9", "qa", 0.5, "", "", "")])
    done = pfgen("study", "metrics", table, "--plot", tmp_path / "m.png", env=NARROW)
    assert (done.returncode, done.stderr) == (0, "warning: left out: 1 run without a metric\n")
    assert printed(done.stdout)[:5] == [
        "metrics over 8 runs",
        "               and           n       r           r, 95 %       ρ  ρ, 95 %",
        " ────────────────────────────────────────────────────────────────────────",
        " fluency       truthfulness  8  0.9557  0.7685 to 0.9922  1.0000        –",
        " fluency       helpfulness   8  0.9072  0.5614 to 0.9833  1.0000        –",
    ]
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert pfgen("study", "metrics", table, "--format", "csv").stdout.count("\n") == 7
    found = json.loads(pfgen("study", "metrics", table, "--format", "json").stdout)
    assert len(found["runs"]) == 8


def test_sources(tmp_path: Path) -> None:
    benchmark = write_benchmark(tmp_path / "tiny")
    answers = {
        "one": ("猫は狩りのために体力を残して眠ります。", "海の水は赤い光を吸うので青いのです。"),
        "two": ("狩りをする猫は眠ります。", "水が赤い光を吸収します。"),
        "three": ("猫は夜に遊びます。", "空の色が映るからです。"),
        "four": ("猫は狩りに備えてよく眠ります。", "赤い光が水に吸われます。"),
    }
    runs = [
        write_run(tmp_path / "runs" / name, [(CATS, cats), (SEAS, seas)], model=name)
        for name, (cats, seas) in answers.items()
    ]
    command: tuple[str | Path, ...] = ("study", "sources", *runs, "-b", benchmark)
    done = pfgen(*command, "--plot", tmp_path / "s.svg", env=NARROW)
    assert done.returncode == 0, done.stderr
    shown = printed(done.stdout)
    assert shown[0] == "average over 2 questions with all of A, B"
    assert [line.split()[:3] for line in shown[3:6]] == [
        ["A", "B", "4"],
        ["A", "A+B", "4"],
        ["B", "A+B", "4"],
    ]
    assert shown[6] == "average over all questions"
    assert shown[-1] == "questions without a source keep their own reference answers"
    assert b"<svg" in (tmp_path / "s.svg").read_bytes()
    found = json.loads(pfgen(*command, "--format", "json").stdout)
    assert len(found["correlations"]) == 18
    assert pfgen(*command, "--format", "csv").stdout.count("\n") == 19
    assert "fluency over" in pfgen(*command, "--metric", "fluency").stdout
    few = pfgen("study", "sources", *runs[:2], "-b", benchmark)
    assert few.returncode == 2
    assert "error: 2 runs to correlate: expected at least 3" in few.stderr


def test_a_run_that_is_cut_short_is_told_of_once(tmp_path: Path) -> None:
    benchmark = write_benchmark(tmp_path / "tiny")
    runs = [
        write_run(
            tmp_path / f"run{i}", [(CATS, f"猫は{'よく' * i}眠ります。"), (SEAS, "青い。" * i)]
        )
        for i in range(5)
    ]
    responses = runs[3] / "trials.jsonl"
    responses.write_bytes(responses.read_bytes().rstrip())
    done = pfgen("study", "sources", *runs, "-b", benchmark)
    assert done.returncode == 0, done.stderr
    [told] = [line for line in done.stderr.splitlines() if "scoring with" not in line]
    assert "run3" in told


# docs/studies.md: its commands run, and print the coefficients that its tables have.


PAGE = (DOCS / "studies.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^pfgen-rs (study .*)$", PAGE, flags=re.MULTILINE)
COEFFICIENT = re.compile(r"-?\d\.\d{4}(?: to -?\d\.\d{4})?")


@pytest.fixture(scope="module")
def folder(
    studies_dir: Path, published_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files that the page speaks of."""
    place = tmp_path_factory.mktemp("page")
    (place / "pfgen-bench").symlink_to(published_dir)
    (place / "shaberi.csv").symlink_to(studies_dir / "shaberi.csv")
    public_table("swallow-leaderboard.json", studies_dir, place)
    write_published(place / "published.csv", studies_dir)
    return place


def run(command: str) -> str:
    done = pfgen(*shlex.split(command), env={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("heading", "kind", "rows"),
    [
        ("Experiment 1: metrics", "metrics", 3),
        ("Experiment 1: sources", "sources", 6),
        ("Experiment 3: other benchmarks", "against", 5),
        ("Whether a correlation holds", "against", 6),
    ],
)
def test_commands_print_what_the_page_says(
    folder: Path, heading: str, kind: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    commands = [command for command in COMMANDS if command.split()[1] == kind]
    text = "".join(map(run, commands))
    if kind == "against":
        text += run(commands[0].partition(" --plot")[0].replace("ja_pre.*", "en_pre.avg"))
    for command in (each for each in commands if "--plot" in each):
        assert (folder / command.rpartition("--plot ")[2]).stat().st_size
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    tables = [line for line in part.splitlines() if line.startswith("|")]
    told = [found for line in tables if (found := COEFFICIENT.findall(line))]
    assert len(told) == rows
    assert {each for found in told for each in found} <= set(COEFFICIENT.findall(text))
