"""`pfgen-rs judge decide` and `agree`, as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from pfgen_rs.cli.judge_agree import show_comparison
from pfgen_rs.judge import VerdictFolder, agree, read_humans
from pfgen_rs.judge.agreement.agree import JudgeComparison
from pfgen_rs.judge.agreement.intervals import Interval
from pfgen_rs.judge.pairs import write_pairs
from pfgen_rs.judge.sample import sample_path

SCRIPT = Path(sys.executable).parent / "pfgen-rs"
SAMPLE = sample_path()
HASTY, CAREFUL = (SAMPLE / "verdicts" / name for name in ("hasty", "careful"))
HUMANS = SAMPLE / "humans.jsonl"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, "judge", *map(str, arguments)], capture_output=True, text=True)


def test_agree_prints_what_the_library_computes() -> None:
    decisions = VerdictFolder(HASTY).decisions()
    humans = read_humans(HUMANS, set(decisions["pair"]))
    expected = agree(decisions, humans, judge="demo/hasty-judge")
    done = run("agree", HASTY, "--humans", HUMANS, "--format", "json")
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["judges"]
    assert found == {
        "name": "demo/hasty-judge · result",
        **json.loads(json.dumps(expected.to_dict())),
    }
    table = run("agree", HASTY, "--humans", HUMANS).stdout
    all_raters = pl.col("task").is_null() & pl.col("rater").is_null()
    mean = expected.concordance.filter(all_raters, rule="strict")["concordance"].item()
    [line] = [x for x in table.splitlines() if x.split()[:1] == ["strict"] and "to" in x]
    assert f"{100 * mean:.1f}" in line
    assert expected.rater_agreement is not None
    assert f"Fleiss' κ {expected.rater_agreement.value:.3f}" in table


def test_two_folders_are_compared() -> None:
    done = run("agree", HASTY, CAREFUL, "--humans", HUMANS)
    assert done.returncode == 0, done.stderr
    assert "concordance of demo/hasty-judge · result" in done.stdout
    assert ", p = " in done.stdout


def test_p_values_of_judges_say_what_they_resolve(capsys: pytest.CaptureFixture[str]) -> None:
    interval = Interval(0.1, 0.2, 0.95)
    for p, smallest, told in (
        (1 / 10_001, 1 / 10_001, "p <0.0001, 10,000 permutations, "),
        (0.005, 0.005, "p ≤0.0050, 199 permutations, "),
        (0.0, 0.0, "p <0.0001, "),
        (0.25, 0.005, "p = 0.2500, "),
    ):
        show_comparison("ab", JudgeComparison(0.7, 0.55, 0.15, interval, p, smallest, 9, 3, 0, 0))
        assert f"(10.0 to 20.0), {told}9 pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((HASTY, CAREFUL), "two folders and --humans"),
        ((SAMPLE,), "is not a folder of verdicts"),
        ((HASTY, "--humans", SAMPLE / "pairs.jsonl"), "'verdict'"),
    ],
)
def test_bad_usage_says_what_is_wrong(arguments: tuple[object, ...], problem: str) -> None:
    done = run("agree", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_one_order_is_said_to_be_one(tmp_path: Path) -> None:
    folder = VerdictFolder(HASTY)
    out = tmp_path / "one"
    out.mkdir()
    write_pairs(out / "pairs.jsonl", folder.pairs())
    (out / "config.json").write_bytes((HASTY / "config.json").read_bytes())
    records = [r for r in folder.judgments() if r["order"] == 1]
    (out / "judgments.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    done = run("agree", out, "--humans", HUMANS, "--by", "first")
    assert done.returncode == 0, done.stderr
    assert "only one order was judged" in done.stdout
    assert "robustness  " not in done.stdout


def test_decisions_are_listed() -> None:
    expected = VerdictFolder(CAREFUL).decisions()
    rows = json.loads(run("decide", CAREFUL, "--by", "strict", "--format", "json").stdout)
    assert [row["state"] for row in rows] == expected["strict_state"].to_list()
    table = pl.read_csv(run("decide", CAREFUL, "--by", "tie", "--format", "csv").stdout.encode())
    assert table["decision"].to_list() == expected["tie"].to_list()
    assert table["p_a"].to_list() == pytest.approx(expected["p_a"].to_list())


def test_rankings_are_printed() -> None:
    found = json.loads(run("rank", CAREFUL, "--format", "json").stdout)
    assert [row["rank"] for row in found["models"]] == [1, 2, 3]
    table = run("rank", CAREFUL).stdout
    for row in found["models"]:
        line = next(line for line in table.splitlines() if row["model"] in line)
        assert f"{row['wins']}/{row['ties']}/{row['losses']}" in line
        assert f"{row['strength']:.2f}" in line
