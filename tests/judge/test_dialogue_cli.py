"""Commands of judges, about pairs and about dialogues."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
from typer.main import get_group

import judge_sample
from helpers import SCRIPT, environment, pfgen
from judging import command
from made_dialogues import CATEGORIES, TYPES, made_dialogue, made_set, rating, write_json_lines
from pfgen_rs.cli import judge
from pfgen_rs.cli.judge_agree import show_comparison
from pfgen_rs.judge import VerdictFolder, agree, pairs, read_humans, read_verdict_text
from pfgen_rs.judge.agreement.agree import JudgeComparison
from pfgen_rs.judge.dialogues.fastchat_files import read_answers, read_ratings
from pfgen_rs.stats.resampling import Interval
from places import SUPPORT

PROGRAM = SUPPORT / "dialogue_program.py"
Words = list[str | Path]


def dialogues(*args: str | Path) -> Any:
    return pfgen("judge", "dialogues", *args)


def asked(path: Path) -> list[dict[str, Any]]:
    """The tasks that the program got."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def program(log: Path, *more: str) -> Words:
    command = " ".join([sys.executable, str(PROGRAM), str(log), *more])
    return ["--engine", "command", "--model", "made", "--command", command]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_json_lines(tmp_path / "d.jsonl", made_set(4, unscored=1))


def test_sizes(data: Path) -> None:
    done = dialogues("sizes", data)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["same", "5", "5", "5", "5", "5", "25"] in rows
    assert ["total", "10", "10", "10", "10", "10", "50"] in rows
    found = json.loads(dialogues("sizes", data, "--format", "json").stdout)
    assert found[2] == {"turn2_type": "total", **dict.fromkeys(CATEGORIES, 10), "total": 50}


def test_light_versions_are_a_selection_of_the_same_lines(data: Path, tmp_path: Path) -> None:
    lines = data.read_bytes().splitlines(keepends=True)
    out = tmp_path / "hard.jsonl"
    done = dialogues("light", data, "hard", "--out", out, "-n", "4")
    assert done.returncode == 0
    assert done.stdout == f"wrote 20 dialogues to {out}\n"
    assert done.stderr == "warning: left out 10 dialogues without human scores\n"
    chosen = out.read_bytes().splitlines(keepends=True)
    assert [line for line in lines if line in chosen] == chosen
    kinds = [(r["category"], r["turn2_type"]) for r in map(json.loads, chosen)]
    assert sorted(kinds) == sorted((c, t) for c in CATEGORIES for t in TYPES for _ in range(2))
    drawn = []
    for seed in ("0", "1"):
        assert not dialogues("light", data, "lite", "-o", out, "-n", "4", "--seed", seed).returncode
        drawn.append(out.read_bytes())
    assert drawn[0] != drawn[1]


def test_errors_are_one_line_and_write_nothing(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    bad = write_json_lines(tmp_path / "bad.jsonl", [made_dialogue("1"), made_dialogue("1")])
    names = tmp_path / "fields.toml"
    names.write_text("[fields]\nid = 'missing'\n")
    cases: list[tuple[Words, str]] = [
        (["light", data, "easy", "--out", out, "-n", "5"], "per category 5: expected an even"),
        (["light", data, "easy", "--out", data, "-n", "2"], "is one of the inputs"),
        (["sizes", bad], f"{bad}, line 2: duplicate id '1': already on line 1"),
        (["sizes", data, "--fields", names], f"{data}, line 1: missing key 'missing'"),
    ]
    for arguments, message in cases:
        done = dialogues(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert line.startswith("error: ")
        assert message in line
    assert not out.exists()


def test_tables(data: Path, tmp_path: Path) -> None:
    done = dialogues(
        "tables", data, "-n", "4", "-t", "1", "-t", "2", "--out", tmp_path / "t", "--language", "ja"
    )
    assert done.returncode == 0
    for name in ("1", "2"):
        assert f"Table {name}: " in done.stdout
        for suffix in (".parquet", ".csv", ".md"):
            assert (tmp_path / "t" / f"table-{name}{suffix}").stat().st_size
    assert (tmp_path / "t/table-1.svg").stat().st_size
    assert done.stderr == f"wrote 7 files to {tmp_path / 't'}\n"
    done = dialogues("tables", data, "-t", "5", "-f", "json")
    assert list(json.loads(done.stdout)) == ["5"]
    assert json.loads(done.stdout)["5"][-1]["author"] == "all"
    done = dialogues("tables", data)
    assert done.stderr.startswith("warning: table 1 left out: too few dialogues")
    assert "Table 2: number of dialogues" in done.stdout


def test_doubtful_ratings_are_warnings(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write_json_lines(path, [rating(), rating(question_id="1"), rating(score=-1)])
    done = dialogues("tables", path)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: 1 answer is rated more than once, and all ratings are kept: question 1, turn 1 of m",
        "warning: 1 invalid rating left out of means",
    ]
    assert "more than once" not in done.stdout


def test_answering_and_grading_from_the_beginning_to_table_6(tmp_path: Path) -> None:
    records = [
        made_dialogue(f"{category}-{kind}", category=category, turn2_type=kind)
        for category in CATEGORIES
        for kind in TYPES
    ]
    data = write_json_lines(tmp_path / "lite.jsonl", records)
    log, out = tmp_path / "answers.log", tmp_path / "answers"
    arguments: Words = ["answer", data, "--out", out, "--name", "org/m", *program(log)]
    done = dialogues(*arguments, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "10 requests to send, 0 already answered" in done.stdout
    assert not out.exists()
    killed = dialogues(*arguments[:-1], f"{arguments[-1]} 4")  # the program ends itself
    assert killed.returncode == 2
    assert f"everything answered so far is kept in {out}" in killed.stderr
    done = dialogues(*arguments)
    assert done.returncode == 0, done.stderr
    assert f"{out}: 10 of 10 answers, 6 new" in done.stdout
    tasks = asked(log)
    assert len(tasks) == 10
    for task in tasks:
        assert [each["role"] for each in task["messages"]] == ["user", "assistant", "user"]
        assert [each["content"] for each in task["messages"]] == records[0]["turns"]
    [found] = read_answers(out / "model_answer.jsonl")
    assert found.model == "org/m"
    assert set(found.answers.values()) == {(records[0]["turns"][1], "回答2：夕焼けは")}

    grades, log = tmp_path / "grades", tmp_path / "grades.log"
    arguments = ["grade", data, "--answers", out, "--out", grades, *program(log)]
    done = dialogues(*arguments)
    assert done.returncode == 0, done.stderr
    assert f"{grades}: 10 of 10 ratings, 10 new" in done.stdout
    score = 1 + len("回答2：夕焼けは") % 10
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["lite", "org/m", *[f"{score}.00"] * 7] in rows
    done = dialogues(*arguments)
    assert f"{grades}: 10 of 10 ratings, 0 new" in done.stdout
    assert len(asked(log)) == 10
    assert read_ratings([grades / "judgments.jsonl"]).frame["score"].to_list() == [score] * 10
    done = dialogues("tables", grades, "--out", tmp_path / "t")
    assert "Table 6: mean rating of each model by version and category" in done.stdout
    assert (tmp_path / "t" / "table-6.svg").stat().st_size


def test_the_records_own_answers_are_graded(tmp_path: Path) -> None:
    data = write_json_lines(tmp_path / "d.jsonl", [made_dialogue("1")])
    arguments: Words = ["grade", data, "--out", tmp_path / "g", "--prompt", "mtbench++-5"]
    done = dialogues(*arguments, *program(tmp_path / "log"))
    assert done.returncode == 0, done.stderr
    found = read_ratings([tmp_path / "g" / "judgments.jsonl"])
    assert found.frame["model"].to_list() == ["calm", "human"]
    none = write_json_lines(tmp_path / "none.jsonl", [made_dialogue("1", answers2=[])])
    done = dialogues("grade", none, "--out", tmp_path / "n", *program(tmp_path / "log"))
    assert done.returncode == 2
    assert "DATA contains no answers to grade" in done.stderr
    # 11 and 14 characters: the second rating, 5, is on the scale of 5, the first, 1, too
    assert found.frame["score"].to_list() == [1.0, 5.0]


def test_mt_benchs_questions(tmp_path: Path) -> None:
    questions = [
        {"question_id": 1, "category": "writing", "turns": ["詩を書いて", "短くして"]},
        {"question_id": 2, "category": "math", "turns": ["1+1は？", "2倍は？"]},
    ]
    data = write_json_lines(tmp_path / "question.jsonl", questions)
    out, log = tmp_path / "a", tmp_path / "a.log"
    done = dialogues("answer", data, "--out", out, *program(log))
    assert done.returncode == 0, done.stderr
    assert f"{out}: 4 of 4 answers, 4 new" in done.stdout
    later = [task for task in asked(log) if "messages" in task and len(task["messages"]) == 3]
    assert [task["messages"][1]["content"] for task in later] == ["回答1：詩を書い", "回答1：1+1は"]
    common = {"type": "single", "system_prompt": 'Rate as "[[rating]]".', "category": "x"}
    one, two = "{question}{answer}", "{question_1}{answer_1}{question_2}{answer_2}"
    prompts = [
        {**common, "name": f"single{name}", "prompt_template": text, "output_format": "[[rating]]"}
        for name, text in (
            ("-v1", one),
            ("-v1-multi-turn", two),
            ("-math-v1", f"{{ref_answer_1}}{one}"),
            ("-math-v1-multi-turn", f"{{ref_answer_1}}{two}"),
        )
    ]
    judge = write_json_lines(tmp_path / "judge_prompts.jsonl", prompts)
    reference = {"question_id": 2, "model_id": "r", "choices": [{"turns": ["2", "4"]}]}
    references = write_json_lines(tmp_path / "reference.jsonl", [reference])
    arguments: Words = ["grade", data, "--answers", out / "model_answer.jsonl", "--out"]
    arguments += [tmp_path / "g", "--prompts", judge, "--prompt", "single-v1"]
    arguments += program(tmp_path / "g.log")
    done = dialogues(*arguments, "--dry-run")
    assert "no question has a reference answer" in done.stderr
    done = dialogues(*arguments, "--references", references)
    assert done.returncode == 0, done.stderr
    found = read_ratings([tmp_path / "g" / "judgments.jsonl"]).frame
    assert found.select("question_id", "turn", "prompt").rows() == [
        ("1", 1, "single-v1"),
        ("1", 2, "single-v1-multi-turn"),
        ("2", 1, "single-math-v1"),
        ("2", 2, "single-math-v1-multi-turn"),
    ]
    assert found["score"].null_count() == 0
    done = dialogues("tables", tmp_path / "g" / "judgments.jsonl", "--questions", data)
    assert "writing" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_what_a_killed_command_answered_is_not_asked_again(tmp_path: Path) -> None:
    questions = [
        {"question_id": n, "category": "math", "turns": [f"{n}の問い", "次？"]} for n in range(6)
    ]
    data = write_json_lines(tmp_path / "question.jsonl", questions)
    out, log = tmp_path / "a", tmp_path / "log"
    words = ["judge", "dialogues", "answer", data, "--out", out, *program(log, "0", "0.2")]
    running = subprocess.Popen([SCRIPT, *map(str, words)], env=environment())
    journal = out / "answers.jsonl"
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 8:
        assert running.poll() is None
        time.sleep(0.02)
    running.kill()
    running.wait()
    kept = journal.read_bytes().splitlines()
    asked_before = len(asked(log))
    done = dialogues(*words[2:])
    assert done.returncode == 0, done.stderr
    assert f"{out}: 12 of 12 answers, {12 - len(kept)} new" in done.stdout
    assert journal.read_bytes().splitlines()[: len(kept)] == kept
    assert len(asked(log)) - asked_before == 12 - len(kept)
    keys = [(r["item"], r["turn"]) for r in map(json.loads, journal.read_bytes().splitlines())]
    assert len(keys) == len(set(keys)) == 12


# `pfgen-rs judge` on its bundled sample: commands print what the library computes, the demo runs them.


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
