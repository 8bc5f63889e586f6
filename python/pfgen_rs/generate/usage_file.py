"""The tokens that a run has used: its `usage.json`, to which all of its processes add."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, fields
from pathlib import Path

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.generate.engines.protocol import Engine
from pfgen_rs.generate.engines.usage import Usage
from pfgen_rs.io import write_atomic
from pfgen_rs.io.locks import locked
from pfgen_rs.io.records import parse_line
from pfgen_rs.io.run_files import USAGE

__all__ = ["UsageFile", "read_usage"]

_EVERY = 1.0
"""Seconds between writes; what is counted in between is lost if the process is killed."""


def read_usage(folder: Path) -> Usage:
    """Read the usage of a run so far; raises `InputError` if the file is invalid."""
    path = folder / USAGE
    try:
        record = parse_line(path.read_bytes())
    except FileNotFoundError:
        return Usage()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
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
        self._next = 0.0
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

    def save_at_times(self) -> None:
        """Save, at most once a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY
            self.save()

    def save(self) -> None:
        """Add what was used since the last time to the file.

        Safe to call from several processes at once. Raises `OutputError`.
        """
        now = self._now()
        if now is None or self._saved is None or now == self._saved:
            return
        with locked(self._folder):
            total = read_usage(self._folder) + (now - self._saved)
            content = f"{json.dumps(asdict(total))}\n".encode()
            write_atomic(self._folder / USAGE, content)
        self._saved = now
