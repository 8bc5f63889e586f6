"""`pfgen-rs judge` on its bundled sample: commands print what the library computes, the demo runs them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from typer.main import get_group

import judge_sample
from helpers import environment
from judging import command
from pfgen_rs.cli import judge
from pfgen_rs.cli.judge_agree import show_comparison
from pfgen_rs.judge import VerdictFolder, agree, pairs, read_humans, read_verdict_text
from pfgen_rs.judge.agreement.agree import JudgeComparison
from pfgen_rs.judge.agreement.intervals import Interval

SAMPLE = pairs.sample_path()
WHICH = {"careful": "last", "hasty": "first"}
CAREFUL, HASTY = (SAMPLE / "verdicts" / name for name in WHICH)
HUMANS = SAMPLE / "humans.jsonl"


def printed(*arguments: object) -> str:
    return command(*arguments).stdout


def test_agree_prints_what_the_library_computes() -> None:
    decisions = VerdictFolder(HASTY).decisions()
    humans = read_humans(HUMANS, set(decisions["pair"]))
    expected = agree(decisions, humans, judge="demo/hasty-judge")
    [found] = json.loads(printed("agree", HASTY, "--humans", HUMANS, "--format", "json"))["judges"]
    wanted = json.loads(json.dumps(expected.to_dict()))
    assert found == {"name": "demo/hasty-judge · result", **wanted}
    table = printed("agree", HASTY, CAREFUL, "--humans", HUMANS)
    all_raters = pl.col("task").is_null() & pl.col("rater").is_null()
    mean = expected.concordance.filter(all_raters, rule="strict")["concordance"].item()
    line, _ = (x for x in table.splitlines() if x.split()[:1] == ["strict"] and "to" in x)
    assert f"{100 * mean:.1f}" in line
    assert expected.rater_agreement is not None
    assert f"Fleiss' κ {expected.rater_agreement.value:.3f}" in table
    # Two folders are compared, too.
    assert "concordance of demo/hasty-judge · result" in table
    assert ", p = " in table


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
    error = command("agree", *arguments, status=2).stderr
    assert problem in error
    assert "Traceback" not in error


def test_one_order_is_said_to_be_one(tmp_path: Path) -> None:
    folder = VerdictFolder(HASTY)
    pairs.write_pairs(tmp_path / "pairs.jsonl", folder.pairs())
    (tmp_path / "config.json").write_bytes((HASTY / "config.json").read_bytes())
    lines = [json.dumps(r) + "\n" for r in folder.judgments() if r["order"] == 1]
    (tmp_path / "judgments.jsonl").write_text("".join(lines))
    table = printed("agree", tmp_path, "--humans", HUMANS, "--by", "first")
    assert "only one order was judged" in table
    assert "robustness  " not in table


def test_decisions_are_listed_and_rankings_printed() -> None:
    expected = VerdictFolder(CAREFUL).decisions()
    rows = json.loads(printed("decide", CAREFUL, "--by", "strict", "--format", "json"))
    assert [row["state"] for row in rows] == expected["strict_state"].to_list()
    table = pl.read_csv(printed("decide", CAREFUL, "--by", "tie", "--format", "csv").encode())
    assert table["decision"].to_list() == expected["tie"].to_list()
    assert table["p_a"].to_list() == pytest.approx(expected["p_a"].to_list())
    found = json.loads(printed("rank", CAREFUL, "--format", "json"))
    assert [row["rank"] for row in found["models"]] == [1, 2, 3]
    lines = printed("rank", CAREFUL).splitlines()
    for row in found["models"]:
        line = next(line for line in lines if row["model"] in line)
        assert f"{row['wins']}/{row['ties']}/{row['losses']}" in line
        assert f"{row['strength']:.2f}" in line


# The sample


def test_the_script_makes_exactly_these_files() -> None:
    made = judge_sample.files()
    found = {p for p in SAMPLE.rglob("*") if p.is_file() and p.name != "README.md"}
    assert {p.relative_to(SAMPLE).as_posix() for p in found} == made.keys()
    assert all((SAMPLE / name).read_bytes() == content for name, content in made.items())


@pytest.mark.parametrize(("judge", "decided"), [("careful", 25), ("hasty", 17)])
def test_recorded_verdicts_are_what_the_outputs_say(judge: str, decided: int) -> None:
    folder = VerdictFolder(SAMPLE / "verdicts" / judge)
    for each in folder.judgments():
        read: Any = read_verdict_text(each["output"], WHICH[judge])  # type: ignore[arg-type]
        shown = None if each["finish_reason"] == "length" else read.shown
        assert each["shown"] == shown
        assert (each["problem"] is None) == (shown is not None)
        probabilities = each["probabilities"]
        if probabilities is not None:
            assert max(probabilities, key=probabilities.__getitem__) == shown
            assert 0.97 < sum(probabilities.values()) < 1
    found = folder.decisions()
    assert folder.judge_name.startswith(f"demo/{judge}-judge · ")
    assert (len(found), found["strict"].null_count()) == (30, 30 - decided)
    assert found["probability"].null_count() == 0
    assert found["single"].any()
    assert folder.pairs() == pairs.read_pairs(SAMPLE / "pairs.jsonl")
    assert len(read_humans(HUMANS, set(found["pair"]))) == 90


def marked(output: str, mark: str) -> list[str]:
    return [line[2:] for line in output.splitlines() if line.startswith(f"{mark} ")]


def test_the_demo_prints_what_its_commands_print_when_they_are_typed() -> None:
    done = command("demo")
    assert "error" not in done.stderr
    folder, *commands = marked(done.stdout, "$")
    assert folder == f"cd {SAMPLE}"
    assert [each.removeprefix("pfgen-rs judge ") for each in commands] == [
        words for _, words in judge._STEPS
    ]
    for each in commands:
        typed = subprocess.run(
            [Path(sys.executable).parent / "pfgen-rs", *shlex.split(each)[1:]],
            cwd=SAMPLE,
            env=environment(),
            capture_output=True,
            check=True,
        )
        assert typed.stdout
        assert f"$ {each}\n{typed.stdout.decode()}" in done.stdout
    # What is not run has commands and options that exist.
    shown = marked(done.stdout, "#")
    assert len(shown) == 3
    group = get_group(judge.app)
    for line in shown:
        name, *rest = line.removeprefix("pfgen-rs judge ").split()
        _, known, _ = group.resolve_command(typer.Context(group), [name])
        assert known is not None
        options = {option for each in known.params for option in each.opts}
        assert {each for each in rest if each.startswith("--")} <= options


def test_a_step_that_fails_does_not_end_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judge, "_STEPS", (("broken", "decide nowhere"), *judge._STEPS[:1]))
    with pytest.raises(typer.Exit) as ended:
        judge.demo()
    assert ended.value.exit_code == 2
    captured = capsys.readouterr()
    assert "error: nowhere: is not a folder of verdicts" in captured.err
    assert "decisions by probability" in captured.out
