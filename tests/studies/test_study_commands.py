"""The commands and pages of studies."""

import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from helpers import CATS, SEAS, pfgen, write_benchmark, write_run
from places import DOCS
from study_tables import OTHERS, SCORES, public_table, write_csv, write_leaderboard, write_published

NARROW = {"COLUMNS": "80"}


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return write_leaderboard(tmp_path)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return write_csv(
        tmp_path / "theirs.csv", ["name", "a", "b"], [*OTHERS, ("Epsilon\x1b[31m", "7", "")]
    )


def printed(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_against_as_a_table(ours: Path, theirs: Path) -> None:
    done = pfgen(
        *("study", "against", theirs, "--leaderboard", ours, "--name", "name"),
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


def test_against_in_other_formats(ours: Path, theirs: Path) -> None:
    command = ("study", "against", theirs, "--leaderboard", ours, "--name", "name", "--column", "a")
    done = pfgen(*command, "--format", "csv")
    [row] = csv.DictReader(io.StringIO(done.stdout))
    assert (row["column"], row["n"], row["missing"], row["outliers"]) == (
        "a",
        "5",
        "0",
        "delta gamma-2-0 モデル3",
    )
    found = json.loads(pfgen(*command, "--format", "json").stdout)
    assert found["unmatched_theirs"] == {"epsilon-31m": "Epsilon\x1b[31m"}
    assert [row["model"] for row in found["columns"][0]["points"]] == list(SCORES)
    assert found["columns"][0]["pearson"] == float(row["pearson"])


def test_against_draws(ours: Path, theirs: Path, tmp_path: Path) -> None:
    for count, columns in enumerate((["a"], ["a", "b"])):
        plot = tmp_path / f"{count}.svg"
        named: list[str] = [part for column in columns for part in ("--column", column)]
        command = ("study", "against", theirs, "--leaderboard", ours, "--name", "name")
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
    arguments: list[str], problem: str, ours: Path, theirs: Path
) -> None:
    done = pfgen("study", "against", theirs, "--leaderboard", ours, "--name", "name", *arguments)
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
    for command in commands:
        assert (folder / command.rpartition("--plot ")[2]).stat().st_size
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    tables = [line for line in part.splitlines() if line.startswith("|")]
    told = [found for line in tables if (found := COEFFICIENT.findall(line))]
    assert len(told) == rows
    assert {each for found in told for each in found} <= set(COEFFICIENT.findall(text))
