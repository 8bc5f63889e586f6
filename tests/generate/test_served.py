"""Who answered, and how answers ended, is kept beside the published lines and said where it matters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fault_server as faults
from engine_tasks import engine
from fault_server import Asked, Behaviour, FaultServer, Handler
from generating import CONFIG, answers, journal, write_samples
from helpers import pfgen
from pfgen_rs.ask.protocol import Answered, Details, Task
from pfgen_rs.generate.runner import generate
from pfgen_rs.questions.locate import sample_runs

ENVIRONMENT = {"OPENAI_API_KEY": "none"}


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


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "tiny")


def run_in(tiny: Path, engine: Any, trials: int) -> Path:
    results = tiny.parent / "result"
    return generate(CONFIG, engine, benchmark=tiny, results=results, trials=trials).folder


def served(folder: Path) -> list[dict[str, Any]]:
    names = ("trial", "served", "system_fingerprint", "finish_reason")
    return [{name: r[name] for name in names if name in r} for r in journal(folder)]


def test_a_run_remembers_who_answered_and_warns_when_that_changes(
    tiny: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = Details(model="m-2026", system_fingerprint="fp", finish_reason="stop")
    other = Details(model="n", finish_reason="length")
    folder = run_in(tiny, ToldEngine([one, other, None, one]), trials=2)
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
    with (folder / "answers.jsonl").open("ab") as file:
        file.write(b'{"trial": 3, "que')  # a kill
    caplog.clear()
    run_in(tiny, ToldEngine([other, one]), trials=3)
    assert caplog.messages == []
    assert len(served(folder)) == 6


def reply(handler: Handler, asked: Asked) -> None:
    cut = len(cuts) % 3 == 0
    content = json.loads(faults.body("答え", finish_reason="length" if cut else "stop"))
    cuts.append(cut)
    handler.reply(
        200, json.dumps({**content, "model": "served", "system_fingerprint": None}).encode()
    )


cuts: list[bool] = []


def test_answers_cut_by_the_token_limit_are_counted_by_generate_score_and_compare(
    tmp_path: Path,
) -> None:
    pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")
    behave: Behaviour = reply
    with FaultServer(default=behave) as server:
        asked = ("generate", "org/m", "--engine=openai", "-b", "mini", f"--out={tmp_path}")
        done = pfgen(*asked, "--trials=2", f"--base-url={server.url}", env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    [folder] = (tmp_path / "org/m").iterdir()
    assert "the model that answers is 'served': 'org/m' was asked for" in done.stderr
    assert len(cuts) == 28
    said = f"{folder}: {sum(cuts)} of 28 answers ended by the token limit (--max-tokens)"
    assert done.stderr.count(said) == 1
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

    def behave(handler: Handler, asked: Asked) -> None:
        reply = json.loads(faults.body("答え"))
        reply.update({name: said[name] for name in said.keys() - {"finish_reason"}})
        reply["choices"][0].update({name: said[name] for name in said.keys() & {"finish_reason"}})
        handler.reply(200, json.dumps(reply).encode())

    with FaultServer(default=behave) as server:
        folder = run_in(tiny, engine(server, api_key=SECRET), trials=1)
    for record in served(folder):
        assert record == {"trial": 1, "finish_reason": "stop", **kept}
    assert SECRET[:8] not in caplog.text
