"""A run goes on where it can: progress, failures, the breaker."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fault_server as faults
from engine_tasks import engine, until
from fault_server import Behaviour, FaultServer
from generating import CONFIG, FakeEngine, answer_to, journal, key_of, names, write_samples
from helpers import CATS, SEAS, lines, pfgen
from pfgen_rs import IncompleteRunError, InputError, Result, load_benchmark
from pfgen_rs.ask import engines
from pfgen_rs.ask.loop import Breaker
from pfgen_rs.ask.protocol import LOG, Failed, Task
from pfgen_rs.cli import engine_options
from pfgen_rs.cli.app import app
from pfgen_rs.errors import GenerationError
from pfgen_rs.generate import Example, Run, RunConfig, generate
from pfgen_rs.generate.runner import why_blank
from pfgen_rs.runs.outputs import write_results
from pfgen_rs.verify import verify


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ((1200, 5000, 12.4, 3), "1,200 of 5,000 answers, 12.4/s, 6 min left, 3 failed"),
        ((0, 36_000, 2.0, 0), "0 of 36,000 answers, 2.0/s, 5 h 0 min left"),
    ],
)
def test_lines_where_there_is_no_terminal(
    figures: tuple[int, int, float, int],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(engine_options, "EVERY", 0.01)
    shown: list[str] = []

    def told() -> bool:
        shown.extend(capsys.readouterr().err.splitlines())
        return len(shown) > 1

    with engine_options.asking_progress() as update:
        update(*figures)
        until(told)
    assert set(shown) == {said}


def test_warnings_are_lines_and_are_handed_to_nobody_else(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with engine_options.asking_progress():
        LOG.warning("waiting %d s: %s", 3, "\x1b[31m")
    assert capsys.readouterr().err == "waiting 3 s: \\x1b[31m\n"
    assert caplog.messages == []
    LOG.warning("later")
    assert capsys.readouterr().err == ""
    assert caplog.messages == ["later"]


def test_progress_counts_what_was_given_up(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    generate(
        RunConfig("fake", "m"),
        FakeEngine(lambda task: ValueError("no") if task.trial == 1 else answer_to(task)),
        benchmark=write_samples(tmp_path / "tiny"),
        trials=2,
        results=tmp_path / "result",
        progress=lambda done, _total, _rate, failed: told.append((done, failed)),
    )
    assert told == [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]


def run_cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: FakeEngine, *more: str
) -> tuple[int, str, str]:
    """Exit code, output and remarks, but the first, of two trials with this engine."""
    monkeypatch.setattr(engines, "make", lambda *_, **__: engine)
    place = write_samples(tmp_path / "tiny")
    given = ["-b", str(place), "--trials=2", f"--out={tmp_path / 'result'}"]
    args = ["generate", "m", "--engine=command", "--command=x", *given, *more]
    done = CliRunner().invoke(app, args)
    first, _, rest = done.stderr.partition("\n")
    assert first.startswith(f"benchmark {place}: 2 questions, 2 trials, into ")
    return done.exit_code, done.stdout, rest


def test_a_question_that_always_fails_leaves_the_answers_to_the_others_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(task: Task) -> str | Exception:
        return ValueError("no") if task.question == SEAS else answer_to(task)

    code, out, err = run_cli(tmp_path, monkeypatch, FakeEngine(reply), "--score")
    first, *listed, count, partial = err.splitlines()
    assert code == 1
    assert first == f"first failure: trial 1, {SEAS}: no"
    assert listed == [f"warning: trial {n}, {SEAS}: no" for n in (1, 2)]
    assert count == "warning: 2 requests failed: run the same command to ask again"
    assert "partial result of 2 of 4 answers, to 1 of 2 questions" in partial
    assert "|questions:1/2|answers:2/4|" in out
    code, _, err = run_cli(tmp_path, monkeypatch, FakeEngine(), "--score")
    assert (code, err) == (0, "")
    [folder] = (tmp_path / "result/m").iterdir()
    assert not (folder / "result.json").exists()


def test_scores_of_a_run_can_be_kept_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cli(tmp_path, monkeypatch, FakeEngine())
    [packed] = tmp_path.glob("result/m/*/trials.jsonl.xz")
    folder, tiny = str(packed.parent), f"--benchmark={tmp_path / 'tiny'}"
    with pytest.raises(InputError, match=r"no published result .* pfgen-rs score RUN --out DIR"):
        verify(folder, tmp_path / "tiny")
    for args in (["score", folder, "--out", folder, tiny], ["verify", folder, tiny]):
        assert CliRunner().invoke(app, args).exit_code == 0

    packed.unlink()
    done = CliRunner().invoke(app, ["score", folder, tiny])
    assert "the run has 2 finished trials" in str(done.exception)
    lines = b"".join(path.read_bytes() for path in sorted(packed.parent.glob("trial_*.jsonl")))
    done = CliRunner().invoke(app, ["score", "-", tiny], input=lines)
    assert done.exit_code == 0, done.output


TEXTS = {CATS: "猫は小さな動物です。", SEAS: "海は青く広いです。"}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, reply: Any, **options: Any) -> Run:
    options = {"trials": 4, "score": True, **options}
    return generate(
        CONFIG, FakeEngine(reply), benchmark=tiny, results=tiny.parent / "result", **options
    )


def result_in(tiny: Path, reply: Any) -> Result:
    result = run_in(tiny, reply).result
    assert result is not None
    return result


def text_of(task: Task) -> str:
    return TEXTS[task.question] + str(task.trial)


def seas_fail(task: Task) -> Any:
    return ValueError("filtered") if task.question == SEAS else text_of(task)


def seas_fail_once(task: Task) -> Any:
    return ValueError("filtered") if key_of(task) == (2, SEAS) else text_of(task)


def test_a_question_without_answers_leaves_the_others(tiny: Path) -> None:
    result = result_in(tiny, seas_fail)
    texts = [f"{TEXTS[CATS]}{n}" for n in (1, 2, 3, 4)]
    plain = load_benchmark(tiny).evaluate([CATS] * 4, texts)
    assert (result.score, result.height, result.planned) == (plain.score, 4, 8)
    assert result.name == "org/model"


def test_all_answers_count_however_many_each_question_has(tiny: Path) -> None:
    def few_seas(task: Task) -> Any:
        return seas_fail(task) if task.trial > 1 else text_of(task)

    result = result_in(tiny, few_seas)
    means = result.by_question.get_column("average").to_list()
    assert result.by_question.get_column("answers").to_list() == [4, 1]
    assert result.score == pytest.approx(sum(means) / 2, abs=1e-4)
    assert "|answers:5/8|" in result.signature
    assert "questions:" not in result.signature
    assert result.num_trials == 1
    assert result.summary()["score_low"] is not None  # the score is the mean of all answers


def test_no_partial_result_passes_for_a_whole_one(tiny: Path, tmp_path: Path) -> None:
    result = result_in(tiny, seas_fail_once)
    assert not result.missing
    with pytest.raises(IncompleteRunError, match="partial result of 7 of 8 answers, to 2 of 2"):
        result.to_dict()
    with pytest.raises(IncompleteRunError, match="7 of 8 answers"):
        write_results([result], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert "result.json" not in names(run_in(tiny, seas_fail_once).folder)
    allowed = result.to_dict(allow_partial=True)
    assert allowed["signature"] == result.signature
    assert allowed["score"] == result.score
    assert allowed["config"]["model"] == "org/model"


def test_more_trials_than_asked_for_are_counted(tiny: Path) -> None:
    run_in(tiny, answer_to, trials=3, score=False)
    [folder] = (tiny.parent / "result/org/model").iterdir()
    (folder / "journal.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in journal(folder)[:3])
    )
    (folder / "trial_002.jsonl").unlink()
    (folder / "trials.jsonl.xz").unlink()
    result = run_in(tiny, lambda _: None, trials=2).result
    assert result is not None
    assert (result.height, result.planned) == (5, 6)


def test_where_nothing_was_answered_there_is_nothing_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is the run done where the engine ends early."""
    silent = FakeEngine(lambda _: None)
    code, _, err = run_cli(tmp_path, monkeypatch, silent, "--score")
    assert (code, err) == (1, "warning: nothing to score: no question has an answer\n")


# Runs in which nothing succeeds end early, say why, and go on once the cause is removed.


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
        40,  # 32, and what a slow machine sends again meanwhile
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


def test_blank_answers_come_first_where_an_earlier_call_ended(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="64 tasks failed in a row"):
        run(tmp_path, Scripted(lambda n, _task: "はい" if n <= 10 else ValueError("no")))
    assert run(tmp_path, Scripted(lambda n, _task: " " if n <= 100 else "はい")).complete


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
