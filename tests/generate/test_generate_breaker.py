"""Runs in which nothing succeeds end early, say why, and go on once the cause is removed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import engine
from fault_server import Behaviour, FaultServer
from generating import FakeEngine
from helpers import lines, pfgen
from pfgen_rs.ask.loop import Breaker
from pfgen_rs.ask.protocol import Failed
from pfgen_rs.errors import GenerationError
from pfgen_rs.generate import Example, Run, RunConfig, Task, generate
from pfgen_rs.generate.runner import why_blank

EXAMPLES = [Example(f"{n}番の質問は何ですか？", f"{n}番です。") for n in range(10)]
CHAT = RunConfig("openai-api", "m", "chat")
THINKING = {"role": "assistant", "content": None, "reasoning_content": "hm"}


def run(tmp_path: Path, asked: Any, config: RunConfig = CHAT, **options: Any) -> Run:
    options = {"trials": 84, **options}
    return generate(config, asked, examples=EXAMPLES, results=tmp_path, **options)


def thinking() -> Behaviour:
    choice = {"index": 0, "finish_reason": "length", "message": THINKING}
    return faults.raw(json.dumps({"choices": [choice]}).encode())


HTML = faults.raw(b"<!DOCTYPE html>\n<html>hello", headers={"content-type": "text/html"})
CASES: dict[str, tuple[Callable[[], Behaviour], int, tuple[str, ...]]] = {
    "null content": (
        thinking,
        64,
        (
            "tasks failed in a row, and no task was answered: the server's answer has no text: content is "
            "null (only reasoning; try a larger max_tokens). If the model thinks before it answers, allow",
            '--max-tokens (or none), or switch thinking off, as with --set \'extra={"chat_template_kwargs"',
            "These tasks stay open: run the command again once the cause is removed, or",
            "--keep-going",
        ),
    ),
    "html": (
        lambda: HTML,
        32,
        (
            "/v1: the server's replies are not JSON; they begin with '<!DOCTYPE html> <html>hello'.",
            "Check the base URL (OPENAI_BASE_URL), whose path is /v1 for most servers",
        ),
    ),
    "a rejection": (
        lambda: faults.status(400, "no chat template"),
        250,
        ("tasks failed in a row, and no task was answered: the server answered 400: no chat",),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_server_that_answers_nothing_is_not_asked_everything(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    behaviour, most, said = CASES[kind]
    with FaultServer(default=behaviour()) as server:
        with pytest.raises(GenerationError) as caught:
            run(tmp_path, engine(server, concurrency=32, retries=1))
        assert len(server.asked) <= most  # of 840 tasks
    shown = " ".join(str(caught.value).split())
    assert all(part in shown for part in said), shown
    with FaultServer(default=faults.answer("はい。")) as server:
        assert run(tmp_path, engine(server, concurrency=32), trials=3).complete
        assert len(server.asked) == 30


class Scripted(FakeEngine):
    """Answers, fails or says nothing, by the task's number in the order of asking."""

    def __init__(self, reply: Callable[[int, Task], Any]) -> None:
        self.count = 0

        def numbered(task: Task) -> Any:
            self.count += 1
            return reply(self.count, task)

        super().__init__(numbered)


def no(_number: int, _task: Task) -> Any:
    return ValueError("no")


@pytest.mark.parametrize(
    ("reply", "before", "after"),
    [(lambda: ValueError("no"), 8, 64), (lambda: " ", 32, 320)],
    ids=["failures", "blanks"],
)
def test_how_many_in_a_row_end_a_run(
    reply: Callable[[], Any], before: int, after: int, tmp_path: Path
) -> None:
    never = Scripted(lambda _n, _task: reply())
    with pytest.raises(GenerationError, match=f"{before} .* in a row, and no task was answered"):
        run(tmp_path / "never", never)
    assert never.count == before

    at_first = Scripted(lambda n, _task: "はい" if n == before else reply())
    with pytest.raises(GenerationError, match=rf"{after} [\w ]+ in a row: "):
        run(tmp_path / "first", at_first)
    assert at_first.count == before + after

    now_and_then = Scripted(lambda n, _task: "はい" if n % before == 0 else reply())
    outcome = run(tmp_path / "then", now_and_then)
    assert outcome.new + len(outcome.failures) == 840
    assert outcome.new >= 840 // before


def test_keep_going_tries_everything(tmp_path: Path) -> None:
    asked = Scripted(no)
    outcome = run(tmp_path, asked, keep_going=True)
    assert (asked.count, len(outcome.failures), outcome.new) == (840, 840, 0)
    blank = Scripted(lambda _n, _task: "")
    assert len(run(tmp_path / "blank", blank, trials=2, keep_going=True).failures) == 20
    assert blank.count == 200


def test_questions_that_are_never_answered_end_nothing(tmp_path: Path) -> None:
    """In batches their retries come last, one after the other."""
    never = {example.question for example in EXAMPLES[:3]}
    asked = Scripted(lambda _, task: " " if task.question in never else "はい")
    outcome = run(tmp_path, asked)
    assert len(outcome.failures) == 3 * 84
    assert outcome.new == 7 * 84


def test_rejections_that_are_faster_than_answers_end_nothing(tmp_path: Path) -> None:
    """Every third prompt is too long; what is answered takes its time."""
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

    def behave(handler: faults.Handler, asked: faults.Asked) -> None:
        if int(asked.prompt[3]) % 3 == 0:
            faults.status(400, "the prompt is too long")(handler, asked)
        else:
            time.sleep(0.3)
            faults.answer("はい。")(handler, asked)

    with FaultServer(default=behave) as server:
        outcome = run(tmp_path, engine(server, concurrency=32), trials=20)
    assert (outcome.new, len(outcome.failures)) == (120, 80)


def test_the_first_failure_is_told_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[list[str]] = []

    def reply(number: int, _task: Task) -> Any:
        told.append(list(caplog.messages))
        return ValueError("so") if number in (2, 4) else "はい"

    run(tmp_path, Scripted(reply), trials=1)
    said = f"first failure: trial 1, {EXAMPLES[1].question}: so"
    assert told[:3] == [[], [], [said]]
    assert caplog.record_tuples == [("pfgen_rs.generate", logging.WARNING, said)]


def test_the_command_line_tells_it_and_can_go_on_regardless(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    path = tmp_path / "questions.jsonl"
    path.write_bytes(lines([(e.question, e.answer) for e in EXAMPLES]))
    args = ["generate", "org/m", "--engine=openai", "--mode=chat", f"--benchmark={path}"]
    args += ["--trials=3", "--concurrency=1", f"--out={tmp_path / 'result'}"]
    with FaultServer(default=thinking()) as server:
        done = pfgen(*args, env={"OPENAI_BASE_URL": server.url})
        assert len(server.asked) < 12
        _, first, _, last = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "")
        assert first.startswith(f"first failure: trial 1, {EXAMPLES[0].question}: the server's")
        assert last.startswith("error: 8 tasks failed in a row, and no task was answered: ")
        done = pfgen(*args, "--keep-going", env={"OPENAI_BASE_URL": server.url})
        assert done.returncode == 1
    assert "30 requests failed: run the same command to ask again" in done.stderr


def test_streaks_of_different_kinds_are_counted_apart() -> None:
    tasks = [Task(f"q{n}", 1, "qa", "p", 1) for n in range(10)]
    breaker = Breaker(10)
    for number in range(7):
        breaker.failed(Failed(tasks[number], "no"), 0)
        breaker.failed(Failed(tasks[number], "too long", individual=True), 100)
        breaker.unread("q", "no text", "", "These tasks stay open")
    with pytest.raises(GenerationError, match=r"8 tasks failed .*: no\. These tasks"):
        breaker.failed(Failed(tasks[7], "later"), 0)
    breaker = Breaker(10)
    for number in range(99):
        breaker.failed(Failed(tasks[number % 10], "too long.", "cut it", individual=True), 100)
    with pytest.raises(GenerationError, match=r"100 tasks failed .*: too long\. Cut it\. These"):
        breaker.failed(Failed(tasks[9], "too long", individual=True), 100)


STRIP = RunConfig("vllm", "m", "chat", more={"think": "strip"})


@pytest.mark.parametrize(
    ("text", "config", "said"),
    [
        ("", CHAT, ("the model generated no text", "try another --mode; if the model thinks")),
        ("<think>hm", STRIP, ("nothing but thinking", """off, as with --set 'chat_template_kwa""")),
        ("\nQ: x", CHAT, (r"nothing is left of '\nQ: x'", "other stop strings (--stop)")),
        ("x" * 99 + "A: ", CHAT, ("x…' after cleaning (stop strings: 'Q:')", "another --mode")),
    ],
)
def test_why_an_answer_is_blank(text: str, config: RunConfig, said: tuple[str, str]) -> None:
    reason, cure = why_blank(text, config)
    assert said[0] in reason
    assert said[1] in cure
