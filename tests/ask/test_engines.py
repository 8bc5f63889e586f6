"""The registry of engines, and what every engine is, whichever it is."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine_tasks import tasks
from generating import FakeEngine
from helpers import pfgen
from pfgen_rs.ask import engines
from pfgen_rs.ask.engines.command import task_line
from pfgen_rs.ask.engines.manual import AnswersFile
from pfgen_rs.ask.protocol import ABILITIES, Parameters, abilities
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.cleaning import Mode
from places import ROOT

TURNS = (("user", "u1"), ("assistant", "a1"))
COLUMNS = ("completion", "history", "seed", "logprobs", "usage")


@pytest.mark.parametrize("name", engines.names())
def test_every_engine(name: str) -> None:
    kind = engines.kind(name)
    assert kind.name
    assert kind.__doc__
    assert {"completion", "chat"} <= abilities(kind) <= ABILITIES
    assert len(inspect.signature(kind.generate).parameters) == 3
    assert callable(kind.close)
    assert "api_key" not in engines.options(name)
    assert engines.recorded_name(name) == kind.name
    if "more" not in engines.options(name):  # else any option may be one of its library
        needs: dict[str, dict[str, object]] = {
            "command": {"command": "true"},
            "manual": {"path": "answers.jsonl"},
        }
        with pytest.raises(SettingsError, match=rf"engine {name}: .*'colour'.* \(its options: "):
            engines.make(name, "m", **needs.get(name, {}), colour="red")


@pytest.mark.parametrize(("page", "yes"), [("generate.md", "yes"), ("generate.ja.md", "○")])
def test_the_pages_say_what_engines_can_do(page: str, yes: str) -> None:
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    table = [
        " | ".join(
            [name, *(yes if each in abilities(engines.kind(name)) else "–" for each in COLUMNS)]
        )
        for name in engines.names()
    ]
    assert "\n".join(f"| {row} |" for row in table) in text


def test_an_engine_without_declared_abilities_has_the_two_modes(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"")
    assert abilities(FakeEngine()) == abilities(AnswersFile("m", path)) == {"completion", "chat"}


def test_options_decide_which_engines_have_them() -> None:
    assert engines.names_with("timeout") == ["openai", "command"]
    assert engines.names_with("colour") == []
    with pytest.raises(SettingsError, match="unknown engine 'psychic': expected one of openai, "):
        engines.make("psychic", "m")


OTHER = """
from pfgen_rs.ask import Answered

class Parrot:
    name = "parrot"

    def __init__(self, model, *, word="ok"):
        self.word = word

    def generate(self, tasks, parameters):
        for task in tasks:
            yield Answered(task, self.word)

    def close(self):
        pass
"""


def test_an_engine_of_another_package(tmp_path: Path) -> None:
    info = tmp_path / "parrots-1.dist-info"
    info.mkdir()
    (tmp_path / "parrots.py").write_text(OTHER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1\n")
    points = ["parrot = parrots:Parrot", "openai = parrots:Parrot"]  # the second hides nothing
    points.append("finch = parrots:Finch")
    (info / "entry_points.txt").write_text("\n".join(["[pfgen_rs.engines]", *points]))
    asked = ("generate", "org/m", "-b", "mini", "--trials=1", f"--out={tmp_path}", "--set=word=hm")
    env = {"PYTHONPATH": str(tmp_path)}
    done = pfgen(*asked, "--engine=parrot", env=env)
    assert done.returncode == 0, done.stderr
    [trial] = tmp_path.rglob("trial_001.jsonl")
    answers = [json.loads(line)["answer"] for line in trial.read_text("utf-8").splitlines()]
    assert set(answers) == {"hm"}
    config = json.loads((trial.parent / "config.json").read_text("utf-8"))
    assert (config["engine"], config["word"]) == ("parrot", "hm")
    none = pfgen(*asked, "--engine=crow", env=env)
    assert none.returncode == 2
    assert "unknown engine 'crow'" in none.stderr
    assert "manual, parrot, finch" in none.stderr
    broken = pfgen(*asked, "--engine=finch", env=env)
    assert (broken.returncode, "Traceback" in broken.stderr) == (2, False)
    assert "error: engine 'finch' of parrots:Finch: module 'parrots' has no" in broken.stderr
    beside = pfgen(*asked, "--engine=parrot", "--concurrency=2", env=env)
    assert "--concurrency requires the engine openai" in beside.stderr


@pytest.mark.parametrize("mode", ["chat", "qa"])
def test_earlier_turns_lie_between_the_system_message_and_the_prompt(mode: Mode) -> None:
    [task] = tasks(mode=mode)
    turns = [{"role": role, "content": text} for role, text in TURNS]
    expected = [*task.messages[:-1], *turns, task.messages[-1]]
    later = replace(task, history=TURNS)
    assert later.messages == expected
    record = json.loads(task_line(1, later, Parameters()))
    assert record["messages"] == expected
    assert "prompt" not in record
