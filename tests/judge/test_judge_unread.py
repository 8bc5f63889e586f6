"""Outputs in which no verdict, rating or answer can be read: they end a run early, and are asked again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fault_server import Asked, FaultServer, Handler
from jpeval_data import write_data
from judging import JUDGE, FakeEngine, chat_reply, judging, keys, made_pairs, records
from made_dialogues import made_dialogue, write_json_lines
from pfgen_rs.ask.protocol import Answered, Details
from pfgen_rs.ask.request import Respondent, Retry
from pfgen_rs.cli.app import app
from pfgen_rs.errors import GenerationError
from pfgen_rs.judge.compare import compare, make_criteria
from pfgen_rs.judge.dialogues import answering, grading
from pfgen_rs.judge.dialogues.answering import items_of_dialogues, record_answers
from pfgen_rs.judge.dialogues.records import read_dialogues
from pfgen_rs.judge.grading import Graded, grade
from pfgen_rs.judge.pairs import write_pairs
from pfgen_rs.judge.requests import find_prompt
from pfgen_rs.judge.verdict_folder import VerdictFolder
from pfgen_rs.llm_jp_eval.catalog import read_tasks
from pfgen_rs.llm_jp_eval.running import TaskRun

RESULT, REASON = find_prompt("result", "pairwise"), find_prompt("reason", "pairwise")
CUT = "cut off by the token limit"


def says(*texts: str, finish: str = "stop") -> FakeEngine:
    """An engine that says the n-th of these texts to the n-th task, the last one from then on."""
    details = Details(finish_reason=finish)
    return FakeEngine(lambda n, task: Answered(task, texts[min(n, len(texts)) - 1], details))


def compared(engine: FakeEngine, out: Path) -> None:
    compare(made_pairs(280), engine, JUDGE, RESULT, out)


def graded(engine: FakeEngine, out: Path) -> None:
    values = [{"question": f"問{n}", "answer": "答", "reference": "模範"} for n in range(90)]
    items = [Graded(f"Q{n}/1/m", each, {"question_id": f"Q{n}"}) for n, each in enumerate(values)]
    grade(items, engine, JUDGE, find_prompt("single-reference", "grade"), out)


def criteria_made(engine: FakeEngine, out: Path) -> None:
    pairs = [replace(pair, criteria=None) for pair in made_pairs(280)]
    make_criteria(pairs, engine, JUDGE, find_prompt("criteria", "criteria"), out / "c.jsonl")


def dialogues_of(out: Path) -> Any:
    lines = [made_dialogue(f"d{n}", turns=[f"問{n}", "答", "次"]) for n in range(90)]
    return read_dialogues(write_json_lines(out.with_suffix(".jsonl"), lines))


def dialogues_answered(engine: FakeEngine, out: Path) -> None:
    answering.chats_in(out, JUDGE).answer(items_of_dialogues(dialogues_of(out)), engine)


def dialogues_graded(engine: FakeEngine, out: Path) -> None:
    found = dialogues_of(out)
    answers, prompts = record_answers(found), grading.find_grading_prompts("mtbench++-10")
    grading.grade_answers("v", items_of_dialogues(found), answers, engine, JUDGE, prompts, out)


def tasks_run(engine: FakeEngine, out: Path) -> None:
    samples = {"jamp": [(f"前提：{n}", "entailment") for n in range(90)]}
    datas = read_tasks(write_data(out.with_suffix(".data"), samples), samples)
    run = TaskRun(out, datas, Respondent("fake", "m"))
    run.open()
    run.ask(engine)


ASKERS = [compared, graded, dialogues_graded, criteria_made, dialogues_answered, tasks_run]
REFUSAL = "申し訳ありませんが、お答えできません。"


@pytest.mark.parametrize("asker", ASKERS)
def test_nothing_more_is_paid_for_once_no_output_can_be_read(
    asker: Callable[[FakeEngine, Path], None], tmp_path: Path
) -> None:
    """After 32 in a row with one such output in the message, or 320 once one was read."""
    text = REFUSAL if asker in ASKERS[:3] else " \n"
    engine = says(text)
    with pytest.raises(GenerationError, match="32 outputs could not be read in a row") as caught:
        asker(engine, tmp_path / "out")
    assert engine.asked == 32
    message = str(caught.value)
    assert (f"as in '{REFUSAL}'" in message) == (text == REFUSAL)
    assert ("They are kept: run the command again with --retry-invalid" in message) == (
        asker not in (criteria_made, tasks_run)
    )
    assert "--keep-going" in message


def test_a_few_outputs_without_a_verdict_end_nothing(tmp_path: Path) -> None:
    engine = says("A", *[REFUSAL] * 319, "B", REFUSAL)
    asked = compare(made_pairs(280), engine, JUDGE, RESULT, tmp_path / "v")
    assert (asked.complete, engine.asked) == (True, 560)
    engine = says(REFUSAL)
    assert compare(made_pairs(40), engine, JUDGE, RESULT, tmp_path / "w", keep_going=True).complete


@pytest.mark.parametrize(
    ("prompt", "text", "finish", "problem"),
    [
        ("result", "", "length", CUT),
        ("result", "どちらの回答も", "length", CUT),
        ("result", "A の方が", "length", None),
        ("result", "", "stop", "empty"),
        ("result", "どちらも", "stop", "no verdict"),
        ("reason", "", "length", CUT),
        ("reason", "A の方が", "length", CUT),
        ("mtbench++-10", "", "length", CUT),
        ("mtbench++-10", "評価は", "length", CUT),
        ("mtbench++-10", "8", "length", None),
        ("mtbench++-10", "", "stop", "empty"),
        ("answer", "<think>長い", "length", CUT),
        ("answer", "", "stop", "empty"),
        ("answer", "途中まで", "length", None),
    ],
)
def test_an_output_without_a_verdict_that_the_limit_ended_is_cut_not_empty(
    prompt: str, text: str, finish: str, problem: str | None, tmp_path: Path
) -> None:
    out, engine = tmp_path / "out", says(text, finish=finish)
    if prompt == "answer":
        answering.chats_in(out, JUDGE).answer(items_of_dialogues(dialogues_of(out))[:3], engine)
        name = "answers.jsonl"
    elif prompt == "mtbench++-10":
        found = dialogues_of(out)[:3]
        prompts, items = grading.find_grading_prompts(prompt), items_of_dialogues(found)
        grading.grade_answers("v", items, record_answers(found), engine, JUDGE, prompts, out)
        name = "grades.jsonl"
    else:
        compare(made_pairs(2), engine, JUDGE, find_prompt(prompt, "pairwise"), out)
        name = "judgments.jsonl"
    assert {record["problem"] for record in records(out, name)} == {problem}
    if problem is not None and name == "judgments.jsonl":
        assert {record["shown"] for record in records(out)} == {None}
        assert {*VerdictFolder(out).decisions()["strict_state"]} == {"invalid"}


def test_what_was_cut_or_invalid_is_asked_again_with_a_larger_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else: what is valid stays, in the same folder, for every reader."""
    pairs, out = tmp_path / "pairs.jsonl", tmp_path / "v"
    write_pairs(pairs, made_pairs(12))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    replies, bad = [("", "length"), ("まず", "length"), ("どちらも", "stop")], set[str]()

    def first(handler: Handler, asked: Asked) -> None:
        if len(bad) < 8:
            text, finish = replies[len(bad) % 3]
            bad.add(asked.prompt)
            handler.reply(200, chat_reply(text, finish=finish))
        else:
            judging(handler, asked)

    def said(url: str, *more: str) -> Any:
        options = ["-e", "openai", "-m", "judge", "--base-url", url, "--concurrency", "1"]
        options += ["--prompt", "result", "--out", str(out), *more]
        return CliRunner().invoke(app, ["judge", "compare", str(pairs), *options])

    with FaultServer(default=first) as server:
        done = said(server.url, "--max-tokens", "16")
        assert (done.exit_code, len(server.asked)) == (0, 24), done.stderr
        assert "6 judgments invalid: cut off by the token limit" in done.stderr
        assert "2 judgments invalid: no verdict" in done.stderr
        kept = [record for record in records(out) if record["problem"] is None]
        done = said(server.url, "--max-tokens", "256")
        assert len(server.asked) == 24
        assert "max_tokens (16, now 256)" in str(done.exception)
        assert "--retry-invalid" in str(done.exception)
    with FaultServer(default=judging) as server:
        dry = said(server.url, "--max-tokens", "256", "--retry-invalid", "--dry-run")
        assert "8 requests to send, 16 already answered" in dry.stdout
        assert "at most 2,048" in dry.stdout
        done = said(server.url, "--max-tokens", "256", "--retry-invalid")
        assert done.exit_code == 0, done.stderr
        assert "24 of 24 judgments, 8 new" in done.stdout
        assert "invalid" not in done.stderr
        assert {asked.prompt for asked in server.asked} == bad
        assert {asked.body["max_tokens"] for asked in server.asked} == {256}
        for more in (["--max-tokens", "256", "--retry-invalid"], ["--max-tokens", "16"]):
            assert "24 of 24 judgments, 0 new" in said(server.url, *more).stdout
        assert len(server.asked) == 8
    found = records(out)
    assert [record for record in found if record in kept] == kept
    assert all(record["judge"]["max_tokens"] == 256 for record in found[24:])
    assert len({*keys(found), *[record["digest"] for record in found]}) == 48
    assert VerdictFolder(out).decisions()["strict_state"].is_in(["decided", "undecided"]).all()


def test_what_stays_invalid_is_asked_once_a_call(tmp_path: Path) -> None:
    out = tmp_path / "v"
    compare(made_pairs(3), says("A", "?"), JUDGE, RESULT, out)
    for text, asked, again in (("?", 5, 5), ("B", 5, 5), ("C", 0, 0)):
        engine = says(text)
        retrying = replace(JUDGE, retry=Retry(128))
        found = compare(made_pairs(3), engine, retrying, RESULT, out)
        assert (engine.asked, found.new, found.complete) == (asked, again, True)
    assert VerdictFolder(out).decisions()["v1"].null_count() == 0


def test_retrying_also_asks_what_is_new(tmp_path: Path) -> None:
    """After a run that ended since everything was cut, the rest is asked with the larger limit."""
    out = tmp_path / "v"
    with pytest.raises(GenerationError, match="with --retry-invalid and a larger --max-tokens"):
        compare(made_pairs(40), says("", finish="length"), JUDGE, REASON, out)
    engine = says("理由。A")
    asked = compare(made_pairs(40), engine, replace(JUDGE, retry=Retry(9)), REASON, out)
    assert (asked.complete, engine.asked) == (True, 80)
