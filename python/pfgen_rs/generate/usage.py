"""The tokens that a run has used, in its `usage.json`, to which all of its processes add.

Not derived from the journal of answers, because requests that came to nothing count, too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from io import FileIO
from pathlib import Path

from pfgen_rs.ask.protocol import Engine, Usage
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.lines import parse_line
from pfgen_rs.io.locks import lock_now, locked
from pfgen_rs.io.run_files import USAGE


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
