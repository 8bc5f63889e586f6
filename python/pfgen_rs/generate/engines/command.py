"""External programs that read tasks from standard input and write results to standard output, as JSON lines.

    in   {"id": 1, "question": "…", "trial": 1, "mode": "qa", "prompt": "…", "seed": 5, "max_tokens": 300, …}
    out  {"id": 1, "answer": "…"}   or   {"id": 1, "error": "…"}

In mode `chat`, and if there are earlier turns, `messages` takes the place of `prompt`. Results may be written
in any order, and each is replaced by a further task. The program is started once; its input stays open until
the run ends, so it must not wait for the end of its input before it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from os import environ

from pfgen_rs.errors import GenerationError, InputError, SettingsError
from pfgen_rs.generate.engines.openai_place import KEY, redacted
from pfgen_rs.generate.engines.program import Program
from pfgen_rs.generate.engines.protocol import Answered, Failed, Outcome, Parameters
from pfgen_rs.generate.engines.rolling import available
from pfgen_rs.generate.prompts import Task
from pfgen_rs.generate.task_lines import task_line
from pfgen_rs.io.records import parse_line, text_field
from pfgen_rs.io.system import command_words

__all__ = ["CommandEngine"]

_REASON = 500  # characters


class CommandEngine:
    """Generates answers with an external program.

    `command`: its name and arguments, as a list or as a string split like a shell command (no shell is
    involved). `timeout`: seconds without a result after which the program is considered hung (default: no
    limit).

    A result with an `error` makes its task `Failed`. Raises `GenerationError` if the program cannot be
    started, exits too early, hangs or writes an invalid result. The program is then stopped, as it is when
    the iterator is closed early.
    """

    name = "command"
    rolling = True
    abilities = frozenset({"completion", "chat", "history", "seed"})

    def __init__(
        self, model: str, *, command: str | Sequence[str], timeout: float | None = None
    ) -> None:
        """Check the settings without starting the program; raises `SettingsError`."""
        self.model = model
        self._command = _engine_command_words(command)
        if timeout is not None and not timeout > 0:
            raise SettingsError(f"timeout must be positive, not {timeout}")
        self._timeout = timeout
        self._program: Program | None = None
        self._ids = count(1)

    def generate(self, tasks: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order of the program's results.

        All available tasks are written at once, and further ones after each outcome.
        """
        if self._program is None:
            self._program = Program(self._command)
        program, source = self._program, iter(tasks)
        open_tasks: dict[int, Task] = {}
        try:
            while True:
                more = {next(self._ids): task for task in available(source)}
                open_tasks.update(more)
                if more:
                    program.send([_task_for_command(n, more[n], parameters) for n in more])
                if not open_tasks:
                    return
                yield self._outcome(program, open_tasks)
        finally:
            if open_tasks:
                self._program = None
                program.stop()

    def _outcome(self, program: Program, open_tasks: dict[int, Task]) -> Outcome:
        try:
            line = program.next_line(self._timeout)
        except TimeoutError:
            raise GenerationError(
                f"{program.name!r} sent no result for {self._timeout:g} seconds "
                f"({len(open_tasks)} missing)"
            ) from None
        if line is None:
            raise GenerationError(
                f"{program.name!r} {program.ending()} before sending all results "
                f"({len(open_tasks)} missing): see its standard error for the reason"
            )
        try:
            return _outcome_from_command(line, open_tasks)
        except InputError as error:
            raise GenerationError(
                f"{program.name!r} wrote an invalid result: {error.problem}"
            ) from None

    def stop(self) -> None:
        """Stop the program now, from any thread; the next tasks start it again."""
        program = self._program
        if program is not None:
            program.stop()

    def close(self) -> None:
        """Close the program's input, and wait for it to exit."""
        if self._program is not None:
            self._program.close()
            self._program = None


def _engine_command_words(command: str | Sequence[str]) -> list[str]:
    if not isinstance(command, str):
        parts = list(command)
    else:
        try:
            parts = command_words(command)
        except ValueError as error:
            raise SettingsError(f"the command cannot be split into arguments: {error}") from None
    if not parts:
        raise SettingsError("the command is empty")
    return parts


def _task_for_command(number: int, task: Task, parameters: Parameters) -> bytes:
    return f"{task_line(number, task, parameters)}\n".encode()


def _outcome_from_command(line: bytes, open_tasks: dict[int, Task]) -> Outcome:
    """Parse the outcome in a line, removing its task from the open ones."""
    record = parse_line(line)
    number = record.get("id")
    if type(number) is not int or number not in open_tasks:
        raise InputError(f"'id' must be that of an open task, not {number!r:.60}")
    if "error" in record:
        # A program that asks a server gets the key from the environment, too.
        reason = redacted(text_field(record, "error"), environ.get(KEY))
        return Failed(open_tasks.pop(number), reason[:_REASON])
    answer = text_field(record, "answer")
    return Answered(open_tasks.pop(number), answer)
