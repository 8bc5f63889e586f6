"""What an engine says of each answer besides its text: a run's `served.jsonl`, beside the published lines.

One line per answer: trial, question and, where known, the model that answered, its `system_fingerprint` and
the `finish_reason`. A line is written before its answer; of several for one answer, the last one counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pfgen_rs.ask.protocol import Details, Engine
from pfgen_rs.ask.waits import LOG
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.atomic import append, writing_failed
from pfgen_rs.io.counted import counted
from pfgen_rs.io.records import parse_line

__all__ = ["SERVED", "Served", "cut_note"]

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
