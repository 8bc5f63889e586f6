"""What a run's folder keeps of its answers besides the published lines: who answered, and tokens.

served.jsonl    one line per answer: trial, question and, where known, the model that answered, its
                `system_fingerprint` and the `finish_reason`. A line is written before its answer; of several
                for one answer, the last one counts
usage.json      the tokens that the run has used, to which all of its processes add
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from io import FileIO
from pathlib import Path
from typing import IO, Any

from pfgen_rs.ask.protocol import Details, Engine, Usage
from pfgen_rs.ask.waits import LOG
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.atomic import append, write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line
from pfgen_rs.io.locks import lock_now, locked
from pfgen_rs.io.run_files import USAGE
from pfgen_rs.io.text import counted

SERVED = "served.jsonl"
_KNOWN = ("model", "system_fingerprint", "finish_reason")


class Served:
    """The file in a run's folder, open while the run goes on; several processes may append to it."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self._path = folder / SERVED
        self._models = {record["model"] for record in _records(self._path) if "model" in record}
        self._asked = getattr(engine, "model", None)
        self._file: IO[bytes] | None = None

    def add(self, trial: int, question: str, details: Details | None) -> None:
        """Append what is known of an answer; warns of a model that has not answered before.

        Raises `OutputError`.
        """
        about = {name: getattr(details, name, None) for name in _KNOWN}
        known = {name: value for name, value in about.items() if value is not None}
        if known:
            record = {"trial": trial, "question": question, **known}
            self._append(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            self._note_model(known.get("model"))

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._file is not None:
            self._file.close()

    def _append(self, line: bytes) -> None:
        try:
            if self._file is None:
                self._file = self._path.open("a+b", buffering=0)
                if self._file.seek(0, os.SEEK_END):
                    self._file.seek(-1, os.SEEK_END)
                    if self._file.read(1) != b"\n":  # a process was killed within its line
                        line = b"\n" + line
        except OSError as error:
            raise writing_failed(self._path, error) from error
        append(self._path, self._file, self._file.seek(0, os.SEEK_END), line)

    def _note_model(self, model: str | None) -> None:
        if model is None or model in self._models:
            return
        if self._models:
            before = ", ".join(map(repr, sorted(self._models)))
            LOG.warning(
                "the model that answers is now %r: earlier answers are by %s", model, before
            )
        elif model != self._asked:
            LOG.warning("the model that answers is %r: %r was asked for", model, self._asked)
        self._models.add(model)


def cut_note(folder: Path) -> str | None:
    """Returns a remark on answers that the token limit ended, as far as `served.jsonl` tells; or `None`.

    Raises `InputError` if the file cannot be read.
    """
    last = {(r.get("trial"), r.get("question")): r for r in _records(folder / SERVED)}
    cut = sum(record.get("finish_reason") == "length" for record in last.values())
    if not cut:
        return None
    return f"{cut:,} of {counted(len(last), 'answer')} ended by the token limit (--max-tokens)"


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, if there is one; a line that a kill cut short is passed over."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    for line in lines:
        try:
            yield parse_line(line)
        except InputError:
            continue


def read_usage(folder: Path) -> Usage:
    """Read the usage of a run so far; raises `InputError` if the file is invalid."""
    path = folder / USAGE
    try:
        with path.open("rb") as file:
            lock_now(file.fileno())
            return _parsed_usage(file.read(), path)
    except FileNotFoundError:
        return Usage()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _parsed_usage(content: bytes, path: Path) -> Usage:
    try:
        record = parse_line(content)
    except InputError as error:
        raise InputError(f"{error.problem}: remove the file to count from 0", path=path) from None
    counts = {field.name: record.get(field.name, 0) for field in fields(Usage)}
    for name, count in counts.items():
        if type(count) is not int or count < 0:
            problem = f"{name!r} must be an integer of at least 0: remove the file to count from 0"
            raise InputError(problem, path=path)
    return Usage(**counts)


class UsageFile:
    """Adds what an engine uses from now on to the file of a run.

    An engine that counts its tokens has an attribute `usage`; for others nothing is written. Raises
    `InputError` if the file is invalid.
    """

    def __init__(self, folder: Path, engine: Engine) -> None:
        self._folder, self._engine = folder, engine
        self._first = self._saved = self._now()
        if self._first is not None:
            read_usage(folder)

    def _now(self) -> Usage | None:
        usage = getattr(self._engine, "usage", None)
        return usage if isinstance(usage, Usage) else None

    @property
    def used(self) -> Usage | None:
        """What the engine has used since; `None` if it does not count."""
        now = self._now()
        return None if now is None or self._first is None else now - self._first

    def save(self) -> None:
        """Add what was used since the last time to the file.

        Takes less than 0.1 ms, so that it can be called for every outcome: what is not saved is lost if the
        process is killed. Safe to call from several processes at once. Raises `OutputError`.
        """
        now = self._now()
        if now is None or self._saved is None or now == self._saved:
            return
        path = self._folder / USAGE
        try:
            with self._opened(path) as file:
                lock_now(file.fileno())
                _add_to_usage(file, now - self._saved, path)
        except OSError as error:
            raise writing_failed(path, error) from error
        self._saved = now

    def _opened(self, path: Path) -> FileIO:
        if not path.exists():
            with locked(self._folder):
                if not path.exists():
                    write_atomic(path, _usage_line(Usage(), 0))
        return path.open("r+b", buffering=0)


def _add_to_usage(file: FileIO, used: Usage, path: Path) -> None:
    """Replace a locked file's content in place, by one short write, which no signal interrupts."""
    old = file.read()
    total = _parsed_usage(old, path) + used
    file.seek(0)
    file.write(_usage_line(total, len(old)))


def _usage_line(usage: Usage, least: int) -> bytes:
    """Returns the content of a file of at least this many bytes."""
    return json.dumps(asdict(usage)).encode().ljust(least - 1) + b"\n"
