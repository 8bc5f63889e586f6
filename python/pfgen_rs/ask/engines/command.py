"""External programs that read tasks from standard input and write results to standard output, as JSON lines.

    in   {"id": 1, "question": "…", "trial": 1, "mode": "qa", "prompt": "…", "seed": 5, "max_tokens": 300, …}
    out  {"id": 1, "answer": "…"}   or   {"id": 1, "error": "…"}

In mode `chat`, and if there are earlier turns, `messages` takes the place of `prompt`. Results may be written
in any order, and each is replaced by a further task. The program is started once; its input stays open until
the run ends, so it must not wait for the end of its input before it answers.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, cast

from pfgen_rs.ask import Answered, Failed, Outcome, Parameters, Task, protocol, server
from pfgen_rs.ask.engines import engine
from pfgen_rs.errors import GenerationError, InputError, SettingsError
from pfgen_rs.io import ahead, atomic, processes
from pfgen_rs.io.lines import parse_line, text_field

_LONGEST = 4 << 20  # bytes of a line
_LINES = 16  # read ahead
_OPEN = 1000  # tasks with the program, at most
_REASON = 500  # characters


class Program:
    """A running program in its own process group; its standard error is passed through.

    Lines are written and read by threads, so that neither side blocks the other.

    Raises `GenerationError` if it cannot be started. Messages name only the program, not its arguments, which
    may contain keys.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.name = command[0]
        try:
            self._group = processes.ProcessGroup(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise GenerationError(f"{self.name!r} cannot be started: {reason}") from error
        self._process = self._group.process
        self._to_write: SimpleQueue[Iterable[bytes] | None] = SimpleQueue()
        self._lines = ahead.Pipe[bytes](_LINES)
        for target in (self._write, self._read):
            Thread(target=target, name=ahead.THREADS, daemon=True).start()

    def send(self, lines: Iterable[bytes]) -> None:
        """Queue lines for writing; returns immediately."""
        self._to_write.put(lines)

    def next_line(self, seconds: float | None) -> bytes | None:
        """Returns the next line of the program's output, or `None` at its end.

        Raises `TimeoutError` if there is none within `seconds`, and `GenerationError` for too long a line.
        """
        try:
            return self._lines.take(seconds)
        except StopIteration:
            return None

    def _write(self) -> None:
        stdin = cast("IO[bytes]", self._process.stdin)
        with suppress(OSError, ValueError), stdin:  # an exited program is noticed when reading
            for lines in iter(self._to_write.get, None):
                stdin.writelines(lines)
                stdin.flush()

    def _read(self) -> None:
        stdout = cast("IO[bytes]", self._process.stdout)
        with suppress(OSError, ValueError), stdout:
            while line := stdout.readline(_LONGEST + 1):
                if len(line) > _LONGEST:
                    self._lines.end(
                        GenerationError(f"{self.name!r} wrote a line of more than {_LONGEST} bytes")
                    )
                    return
                if not self._lines.put(line):
                    return
        self._lines.end()

    def ending(self) -> str:
        """Describe how the program ended, for a message; waits briefly for it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(processes.GRACE)
        return self._group.ending or "closed its output"

    def close(self) -> None:
        """Close the program's input, and stop it if it does not exit by itself."""
        self._to_write.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(processes.GRACE)
        self.stop()

    def stop(self) -> None:
        """Stop the program now. May be called twice."""
        self._group.stop()  # first, since it would complain about its closed output
        self._lines.stop()
        self._to_write.put(None)


@engine("command")
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
        self._command = _words(command)
        if timeout is not None and not timeout > 0:
            raise SettingsError(f"timeout must be positive, not {timeout}")
        self._timeout = timeout
        self._program: Program | None = None
        self._ids = count(1)

    def generate(self, tasks: Iterable[Task | None], parameters: Parameters) -> Iterator[Outcome]:
        """Yield one outcome per task, in the order of the program's results.

        Up to 1,000 tasks are written at once, and further ones after each outcome.
        """
        if self._program is None:
            self._program = Program(self._command)
        program, source = self._program, iter(tasks)
        open_tasks: dict[int, Task] = {}
        try:
            while True:
                room = _OPEN - len(open_tasks)
                more = {next(self._ids): task for task in protocol.available(source, room)}
                open_tasks.update(more)
                if more:
                    lines = (f"{task_line(n, more[n], parameters)}\n" for n in more)
                    program.send([line.encode() for line in lines])
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
            return _parsed(line, open_tasks)
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


def _words(command: str | Sequence[str]) -> list[str]:
    if not isinstance(command, str):
        parts = list(command)
    else:
        try:
            parts = atomic.command_words(command)
        except ValueError as error:
            raise SettingsError(f"the command cannot be split into arguments: {error}") from None
    if not parts:
        raise SettingsError("the command is empty")
    return parts


def _parsed(line: bytes, open_tasks: dict[int, Task]) -> Outcome:
    """Parse the outcome in a line, removing its task from the open ones."""
    record = parse_line(line)
    number = record.get("id")
    if type(number) is not int or number not in open_tasks:
        raise InputError(f"'id' must be that of an open task, not {number!r:.60}")
    if "error" in record:
        # A program that asks a server gets the key from the environment, too.
        reason = server.redacted(text_field(record, "error"), os.environ.get(server.OPENAI.key))
        return Failed(open_tasks.pop(number), reason[:_REASON])
    answer = text_field(record, "answer")
    return Answered(open_tasks.pop(number), answer)


def task_line(number: int, task: Task, parameters: Parameters) -> str:
    """Returns a task as one line of JSON, with everything needed to answer it, without the newline.

    Keys: `id` (the number), `question`, `trial`, `mode`, `messages` in mode `chat` (or if there are earlier
    turns) and `prompt` otherwise, `seed`, and `max_tokens`, `temperature`, `top_p` and `stop` if they are
    set.
    """
    is_chat = task.mode == "chat" or bool(task.history)
    record: dict[str, Any] = {
        "id": number,
        "question": task.question,
        "trial": task.trial,
        "mode": task.mode,
        **({"messages": task.messages} if is_chat else {"prompt": task.prompt}),
        "seed": task.seed,
        **replace(parameters, logprobs=None).given,
    }
    return json.dumps(record, ensure_ascii=False)
