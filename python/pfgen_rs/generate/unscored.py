"""Failed tasks, and why they failed: a run's `unscored.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io import write_atomic
from pfgen_rs.io.locks import locked
from pfgen_rs.io.records import parse_line, text_field

__all__ = ["UNSCORED", "Failure", "read_failures", "record_failures"]

UNSCORED = "unscored.jsonl"


class Failure(NamedTuple):
    """A question left unanswered in a trial, and the reason."""

    question: str
    trial: int
    reason: str


def read_failures(folder: Path) -> list[Failure]:
    """Read all failures, sorted by trial; raises `InputError` if the file is invalid."""
    path = folder / UNSCORED
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return [_parse_unscored_line(line, path, n) for n, line in enumerate(lines, 1) if line.strip()]


def _parse_unscored_line(line: bytes, path: Path, number: int) -> Failure:
    try:
        record = parse_line(line)
        trial = record.get("trial")
        if type(trial) is not int:
            raise InputError("'trial' must be an integer")
        return Failure(text_field(record, "question"), trial, text_field(record, "reason"))
    except InputError as error:
        problem = f"{error.problem}: remove the file to retry all failed tasks"
        raise InputError(problem, path=path, line=number) from None


def record_failures(folder: Path, trial: int, reasons: Mapping[str, str]) -> None:
    """Replace the failures of a trial (reasons by question), removing the file if no failures remain.

    Safe to call from several processes at once. Raises `OutputError`.
    """
    with locked(folder):
        old = read_failures(folder)
        new = [Failure(question, trial, reason) for question, reason in reasons.items()]
        kept = sorted([f for f in old if f.trial != trial] + new, key=lambda f: f.trial)
        if kept == old:
            return
        if not kept:
            (folder / UNSCORED).unlink()
            return
        lines = (json.dumps(f._asdict(), ensure_ascii=False) + "\n" for f in kept)
        # What servers say of an error may name accounts, and quotes what they were sent.
        write_atomic(folder / UNSCORED, "".join(lines).encode(), private=True)
