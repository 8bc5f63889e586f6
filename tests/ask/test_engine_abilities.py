"""What engines declare that they can do, and tasks with earlier turns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine_tasks import tasks
from generating import FakeEngine
from pfgen_rs.ask.engines.command import CommandEngine, task_line
from pfgen_rs.ask.engines.manual import AnswersFile, ManualEngine
from pfgen_rs.ask.protocol import Parameters, abilities
from pfgen_rs.generate.prompts import Mode

TURNS = (("user", "u1"), ("assistant", "a1"))


def test_an_engine_that_declares_nothing_has_the_two_modes() -> None:
    assert abilities(FakeEngine()) == {"completion", "chat"}


def test_engines_without_a_model_declare_what_they_can_do(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"")
    assert abilities(ManualEngine("m", ask=lambda _: None)) == {"completion", "chat"}
    assert abilities(AnswersFile("m", path)) == {"completion", "chat"}
    command = CommandEngine("m", command="program")
    assert abilities(command) == {"completion", "chat", "history", "seed"}


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
