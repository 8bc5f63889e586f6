"""The engine that is a program: results in any order, and every way in which a program fails."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from generating import answer_to
from pfgen_rs import SettingsError
from pfgen_rs.ask.engines.command import CommandEngine
from pfgen_rs.ask.protocol import Answered, Failed, Parameters
from pfgen_rs.errors import GenerationError
from pfgen_rs.generate import Example, Prompter, Task
from places import SUPPORT

PROGRAM = str(SUPPORT / "answering_program.py")
PROMPTER = Prompter([Example(f"{n}番は何ですか？", "これ。") for n in range(4)], "qa")
TASKS = PROMPTER.tasks(1)
DEADLINE = 10.0


def engine_for(tmp_path: Path, *fault: str, timeout: float | None = None) -> CommandEngine:
    command = [sys.executable, PROGRAM, str(tmp_path / "log"), *fault]
    return CommandEngine("m", command=command, timeout=timeout)


def outcomes(engine: CommandEngine, tasks: list[Task] = TASKS) -> Iterator[Answered | Failed]:
    return engine.generate(tasks, Parameters())


def process_of(engine: CommandEngine) -> int:
    assert engine._program is not None
    return engine._program._process.pid


def is_gone(process: int) -> bool:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_one_program_for_all_rounds(tmp_path: Path) -> None:
    engine = engine_for(tmp_path)
    assert list(outcomes(engine)) == [Answered(task, answer_to(task)) for task in TASKS]
    process = process_of(engine)
    later = PROMPTER.tasks(2)
    assert list(outcomes(engine, later)) == [Answered(task, answer_to(task)) for task in later]
    assert process_of(engine) == process
    engine.close()
    engine.close()
    assert is_gone(process)


def test_results_in_any_order(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, "backwards", "4")
    assert list(outcomes(engine)) == [Answered(task, answer_to(task)) for task in TASKS[::-1]]
    engine.close()


def test_errors_are_failures_of_their_tasks(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, "error", "2")
    *answered, third, fourth = outcomes(engine)
    assert answered == [Answered(task, answer_to(task)) for task in TASKS[:2]]
    assert [type(third), type(fourth)] == [Failed, Failed]
    assert isinstance(third, Failed)
    assert third.reason.startswith("too\u202elong")
    assert len(third.reason) == 500
    engine.close()


SAID = {
    "die": "exited with code 3 before sending all results (3 missing)",
    "kill": "was killed by signal 9 before",
    "garbage": "wrote an invalid result: is not JSON",
    "blank": "wrote an invalid result: is not JSON",
    "list": "wrote an invalid result: expected an object, found '[1]'",
    "bytes": "wrote an invalid result: is not UTF-8",
    "unknown": "'id' must be that of an open task, not 99",
    "twice": "'id' must be that of an open task, not 1",
    "true": "'id' must be that of an open task, not True",
    "no answer": "missing key 'answer'",
    "wrong type": "'answer' must be text",
    "endless": "wrote a line of more than 4194304 bytes",
    "deep": "wrote an invalid result: is nested too deeply",
}


@pytest.mark.parametrize("fault", SAID)
def test_a_program_that_fails(tmp_path: Path, fault: str) -> None:
    engine = engine_for(tmp_path, fault, "1")
    results = outcomes(engine)
    assert next(results) == Answered(TASKS[0], answer_to(TASKS[0]))
    process = process_of(engine)
    with pytest.raises(GenerationError) as caught:
        list(results)
    assert SAID[fault] in str(caught.value)
    assert len(str(caught.value)) < 400
    assert is_gone(process)
    engine.close()


def test_a_program_that_hangs(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, "silence", timeout=1.0)
    with pytest.raises(GenerationError, match="no result for 1 seconds"):
        list(outcomes(engine))


def test_closing_the_iterator_ends_the_program(tmp_path: Path) -> None:
    engine = engine_for(tmp_path, "silence", "2")
    results = outcomes(engine)
    next(results)
    process = process_of(engine)
    results.close()  # type: ignore[attr-defined]
    assert is_gone(process)
    again = engine_for(tmp_path)
    assert len(list(outcomes(again))) == len(TASKS)
    again.close()


def test_a_program_that_cannot_be_started() -> None:
    engine = CommandEngine("m", command="/no/such/program --key=geheim")
    with pytest.raises(GenerationError, match="'/no/such/program' cannot be started") as caught:
        list(outcomes(engine))
    assert "geheim" not in str(caught.value)


def test_bad_settings() -> None:
    commands: list[str | list[str]] = ["", "  ", "'open", []]
    for command in commands:
        with pytest.raises(SettingsError, match="command"):
            CommandEngine("m", command=command)
    with pytest.raises(SettingsError, match="positive"):
        CommandEngine("m", command="true", timeout=0)
