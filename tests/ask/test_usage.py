"""What a run keeps beside its answers: tokens, as servers report them, and who answered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import engine, tasks
from fault_server import Asked, Behaviour, FaultServer, Handler
from generating import CONFIG, FakeEngine, answers, finished_names, journal, names, write_samples
from helpers import pfgen
from pfgen_rs.ask.protocol import Answered, Counting, Details, Outcome, Parameters, Task, Usage
from pfgen_rs.ask.wire import reported_usage
from pfgen_rs.generate import Run, generate
from pfgen_rs.questions.locate import sample_runs

TOKENS = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def reply(text: object = "答え", usage: object = TOKENS, **choice: Any) -> Behaviour:
    """An answer that reports its tokens."""

    def behave(handler: Handler, asked: Asked) -> None:
        chat = asked.path.endswith("/chat/completions")
        content = json.loads(faults.body(text, chat, **choice))
        handler.reply(200, json.dumps({**content, "usage": usage}).encode())

    return behave


def test_every_reply_with_tokens_counts_and_every_request() -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    script = {
        "p0": [faults.status(500), reply()],
        "p1": [reply("")],
        "p2": [reply(None)],
        "p3": [reply(finish_reason="content_filter")],
        "p4": [faults.answer()],
        "p5": [faults.status(400)],
    }
    with FaultServer(script) as server:
        asked = engine(server)
        assert asked.usage == Usage()
        list(asked.generate(tasks(6), Parameters()))
        assert asked.usage == Usage(7, 4, 40, 20, 8, 12)
        list(asked.generate(tasks(1), Parameters()))
        assert asked.usage == Usage(8, 4, 40, 20, 8, 12)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (TOKENS, Usage(0, 1, 10, 5, 2, 3)),
        ({"prompt_tokens": 1}, Usage(0, 1, 1)),
        ({"prompt_tokens": 1, "completion_tokens": "7"}, Usage(0, 1, 1)),
        ({"prompt_tokens": 0, "prompt_tokens_details": None}, Usage(0, 1)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 1.5, "completion_tokens": 10**400}, Usage()),
        ({"prompt_tokens_details": {"cached_tokens": 2}}, Usage()),
        (None, Usage()),
        ([1], Usage()),
    ],
)
def test_invalid_numbers_are_not_counted(usage: object, found: Usage) -> None:
    assert reported_usage({"usage": usage}) == found


class CountingEngine(FakeEngine, Counting):
    """Uses two prompt tokens and one completion token for each task that it is asked."""

    def generate(self, tasks: Any, parameters: Parameters) -> Iterator[Outcome]:
        for outcome in super().generate(tasks, parameters):
            self.count(Usage(1, 1, 2, 1))
            yield outcome


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, asked: Any, **options: Any) -> Run:
    options = {"trials": 2, **options}
    return generate(CONFIG, asked, benchmark=tiny, results=tiny.parent / "result", **options)


def test_a_run_says_what_this_call_used(tiny: Path) -> None:
    asked = CountingEngine()
    first = run_in(tiny, asked)
    assert first.usage == Usage(4, 4, 8, 4)
    assert names(first.folder) == finished_names(2)
    assert len(answers(first.folder)) == 4  # and their records have the published keys
    assert run_in(tiny, asked, trials=3).usage == Usage(2, 2, 4, 2)
    assert run_in(tiny, CountingEngine(), trials=3).usage == Usage()
    assert run_in(tiny, FakeEngine(), trials=3).usage is None


def _generate(server: FaultServer, folder: Path, *more: str) -> tuple[list[str], str]:
    """What a run of the bundled benchmark prints, and its warnings."""
    env: Mapping[str, str] = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
    arguments = ("generate", "org/m", "--engine=openai", "-b", "mini", f"--out={folder}")
    done = pfgen(*arguments, *more, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:], done.stderr


def test_the_command_prints_tokens(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    with FaultServer(default=reply()) as server:
        first, _ = _generate(server, tmp_path, "--trials=1")
        second, _ = _generate(server, tmp_path, "--trials=3")
    with FaultServer() as server:
        none, _ = _generate(server, tmp_path, "--trials=4")
    tokens = "140 prompt tokens (28 cached), 70 completion tokens (42 of reasoning)"
    assert first == [f"used: 14 requests, {tokens}"]
    assert second[0].startswith("used: 28 requests, 280 prompt tokens")
    assert none == ["used: 14 requests; no numbers of tokens were reported"]


class ToldEngine:
    """Answers with what it knows of each answer."""

    name, model = "told", "m"

    def __init__(self, details: Sequence[Details | None]) -> None:
        self._details = list(details)

    def generate(self, tasks: Sequence[Task], _parameters: object) -> Any:
        for task in tasks:
            yield Answered(task, "答え", self._details.pop(0))

    def close(self) -> None:
        pass


def served(folder: Path) -> list[dict[str, Any]]:
    names = ("trial", "served", "system_fingerprint", "finish_reason")
    return [{n: r[n] for n in names if r[n] is not None} for r in journal(folder)]


def test_a_run_remembers_who_answered_and_warns_when_that_changes(
    tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = Details(model="m-2026", system_fingerprint="fp", finish_reason="stop")
    other = Details(model="n", finish_reason="length")
    folder = run_in(tiny, ToldEngine([one, other, None, one])).folder
    assert served(folder) == [
        {"trial": 1, "served": "m-2026", "system_fingerprint": "fp", "finish_reason": "stop"},
        {"trial": 1, "served": "n", "finish_reason": "length"},
        {"trial": 2},
        {"trial": 2, "served": "m-2026", "system_fingerprint": "fp", "finish_reason": "stop"},
    ]
    assert caplog.messages == [
        "the model that answers is 'm-2026': 'm' was asked for",
        "the model that answers is now 'n': earlier answers are by 'm-2026'",
    ]
    assert len(answers(folder)) == 4  # and their records have the published keys
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b'{"trial": 3, "que')  # a kill
    caplog.clear()
    run_in(tiny, ToldEngine([other, one]), trials=3)
    assert caplog.messages == []
    assert len(served(folder)) == 6


def test_answers_cut_by_the_token_limit_are_counted_by_generate_score_and_compare(
    tmp_path: Path,
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    cuts: list[bool] = []

    def cutting(handler: Handler, asked: Asked) -> None:
        cuts.append(len(cuts) % 3 == 0)
        content = json.loads(faults.body("答え", finish_reason="length" if cuts[-1] else "stop"))
        content |= {"model": "served", "system_fingerprint": None}
        handler.reply(200, json.dumps(content).encode())

    with FaultServer(default=cutting) as server:
        _, told = _generate(server, tmp_path, "--trials=2", "--concurrency=1")
    [folder] = (tmp_path / "org/m").iterdir()
    assert "the model that answers is 'served': 'org/m' was asked for" in told
    assert len(cuts) == 28
    said = f"{folder}: {sum(cuts)} of 28 answers ended by the token limit (--max-tokens)"
    assert told.count(said) == 1
    for command in (("score", folder), ("compare", folder, sample_runs()["faithful"])):
        assert said in pfgen(*command, "-b", "mini").stderr


SECRET = "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1112223"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"model": f"proxy/{SECRET}"}, {"served": "proxy/***"}),
        ({"model": "x" * 190 + SECRET}, {"served": "x" * 190 + "***"}),
        ({"system_fingerprint": SECRET[:30]}, {"system_fingerprint": "***"}),
        ({"model": "m\ud800\x1b\u202e"}, {"served": "m\ufffd\ufffd\ufffd"}),
        ({"model": ["m"], "system_fingerprint": 1}, {}),
        ({"finish_reason": "stop\ud800"}, {"finish_reason": "stop?"}),
    ],
)
def test_what_a_server_calls_itself_is_kept_without_the_key_and_as_valid_text(
    said: dict[str, Any], kept: dict[str, str], tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

    reply = json.loads(faults.body("答え"))
    for name, value in said.items():
        (reply["choices"][0] if name == "finish_reason" else reply)[name] = value
    with FaultServer(default=faults.raw(json.dumps(reply).encode())) as server:
        folder = run_in(tiny, engine(server, api_key=SECRET), trials=1).folder
    for record in served(folder):
        assert record == {"trial": 1, "finish_reason": "stop", **kept}
    assert SECRET[:8] not in caplog.text
