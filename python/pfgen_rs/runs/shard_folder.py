"""The folder of a shard, which appears whole or not at all.

    SHARD/shard.json        the manifest: which shard of what
    SHARD/scores.journal    the scores of its pieces of files, exact (see `journal`)
    SHARD/runs.jsonl        a line for each piece: what results say besides scores, and the samples they show
    SHARD/rows.bin          the rows of its responses with texts, if they are wanted (see `shard_rows`)

It is written under another, hidden name and renamed, so a shard that was killed leaves nothing that merges.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError, OutputError, unreadable
from pfgen_rs.io import system, writing_failed
from pfgen_rs.io.closing import Closing
from pfgen_rs.io.locks import lock
from pfgen_rs.io.remote.urls import is_url, shown_url
from pfgen_rs.runs.journal import Journal, Record
from pfgen_rs.runs.shard_plan import Input, Piece, Shard
from pfgen_rs.runs.shard_rows import DAMAGED, RowReader, RowWriter

__all__ = ["Manifest", "ShardFolder", "ShardWriter", "is_shard"]

_FORMAT = 2
_JUST_MADE = 60  # seconds
_MANIFEST, _SCORES, _RUNS, _ROWS = "shard.json", "scores.journal", "runs.jsonl", "rows.bin"


@dataclass(frozen=True)
class Manifest:
    """What a shard is: its number, `about` (what its scores depend on), and the plan of all shards.

    `benchmark`: the folder of the benchmark, if it has one. `mine`: the numbers of its pieces. `responses`:
    how many it has. `files`: sizes of its files, in bytes.
    """

    shard: Shard
    about: dict[str, Any]
    benchmark: str | None
    inputs: list[Input]
    pieces: list[Piece]
    mine: list[int]
    responses: int = 0
    files: dict[str, int] | None = None

    @property
    def key(self) -> dict[str, Any]:
        """The first line of the shard's other files: they belong to this shard."""
        plan = json.dumps([self.about, self.inputs, self.pieces], sort_keys=True)
        return {"shard": list(self.shard), "plan": hashlib.sha256(plan.encode()).hexdigest()}

    def to_bytes(self) -> bytes:
        """Returns it as JSON with a checksum."""
        content = {"format": _FORMAT, **asdict(self)}
        return json.dumps({**content, "digest": _manifest_digest(content)}, indent=1).encode()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a shard. Raises `InputError`."""
        path = folder / _MANIFEST
        try:
            content = json.loads(path.read_bytes())
            if content["format"] != _FORMAT:
                problem = "was written by another version of pfgen-rs: score it again with this one"
                raise InputError(problem, path=folder)
            digest = content.pop("digest")
            if digest != _manifest_digest(content):
                raise InputError(DAMAGED, path=path)
            del content["format"]
            return cls(
                **{
                    **content,
                    "shard": Shard(*content["shard"]),
                    "inputs": [Input(*file) for file in content["inputs"]],
                    "pieces": [
                        Piece(file, None if rows is None else (rows[0], rows[1]))
                        for file, rows in content["pieces"]
                    ],
                }
            )
        except FileNotFoundError:
            lacks = f"{_MANIFEST} is missing" if folder.is_dir() else "no such folder"
            raise InputError(f"not a shard: {lacks}", path=folder) from None
        except OSError as error:
            raise InputError(unreadable(error), path=path) from error
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            raise InputError(DAMAGED, path=path) from None


def _manifest_digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_shard(folder: Path) -> bool:
    """Whether a folder is that of a shard."""
    return (folder / _MANIFEST).is_file()


class ShardWriter(Closing):
    """Writes the folder `target` of a shard. A context manager; call `commit` at its end.

    Replaces a shard; raises `OutputError` if anything else is there.
    """

    def __init__(
        self, target: str | os.PathLike[str], manifest: Manifest, width: int, *, rows: bool
    ) -> None:
        if is_url(target):
            raise OutputError(f"{shown_url(target)}: shards are local folders, which can be copied")
        self._target = Path(os.path.abspath(target))  # noqa: PTH100 - "." has no name of its own
        self._manifest = manifest
        _refuse_other_folder(self._target)
        self._remove_leftovers()
        self._folder = self._unfinished()
        self._opened, self._held = ExitStack(), ExitStack()
        try:
            self._folder.mkdir(parents=True)
            file = cast("IO[bytes]", self._open(_SCORES, buffering=0))
            self._hold()
            place = self._target / _SCORES
            self._journal = Journal.new(file, place, width, manifest.key)
            self._runs = self._open(_RUNS)
            self._line(manifest.key)
            self._rows = RowWriter(self._open(_ROWS), self._target / _ROWS) if rows else None
        except OSError as error:
            self.close()
            raise writing_failed(self._target, error) from error

    def _open(self, name: str, buffering: int = -1) -> Any:
        return self._opened.enter_context((self._folder / name).open("w+b", buffering=buffering))

    def _hold(self) -> None:
        """Lock the folder until it is in place or removed."""
        file = self._held.enter_context((self._folder / _SCORES).open("r+b"))
        lock(file.fileno())

    def _unfinished(self) -> Path:
        return self._target.parent / f".{self._target.name}.{secrets.token_hex(8)}.tmp"

    def _remove_leftovers(self) -> None:
        """Remove what killed processes left of this shard, but nothing that another one is writing."""
        name = re.compile(rf"\.{re.escape(self._target.name)}\.[0-9a-f]{{16}}\.tmp")
        with suppress(OSError):
            for path in list(self._target.parent.iterdir()):
                if name.fullmatch(path.name) and not _is_being_written(path):
                    shutil.rmtree(path, ignore_errors=True)

    def add_rows(self, piece: int, frame: pl.DataFrame) -> None:
        """Add rows of a piece, in order."""
        if self._rows is not None:
            self._rows.add(piece, frame)

    def add_scores(
        self, key: str, matrix: NDArray[np.float64], bounds: dict[str, tuple[int, int]]
    ) -> None:
        """Add the scores of a run's responses in a chunk."""
        self._journal.append(key, matrix, bounds)

    def add_piece(self, content: Mapping[str, Any]) -> None:
        """Add what else is known of a piece; of values that are not JSON types, their `str`."""
        self._line(content)

    def _line(self, content: Any) -> None:
        line = json.dumps(content, default=str).encode()
        try:
            self._runs.write(b"%08x " % _line_check(line) + line + b"\n")
        except OSError as error:
            raise writing_failed(self._target / _RUNS, error) from error

    def commit(self, responses: int) -> None:
        """Put the folder in its place. Raises `OutputError`."""
        try:
            self._opened.close()
            self._sync()
            files = {path.name: path.stat().st_size for path in self._folder.iterdir()}
            manifest = replace(self._manifest, responses=responses, files=files)
            with (self._folder / _MANIFEST).open("xb") as file:
                file.write(manifest.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            self._replace()
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise writing_failed(self._target, error) from error

    def _sync(self) -> None:
        for name in (_SCORES, _RUNS, _ROWS):
            if (self._folder / name).exists():
                with (self._folder / name).open("rb+") as file:
                    os.fsync(file.fileno())

    def _replace(self) -> None:
        _refuse_other_folder(self._target)  # which may have appeared meanwhile
        old = self._unfinished()
        if system.WINDOWS:  # no folder is renamed there in which a file is open
            self._held.close()
        with suppress(FileNotFoundError):
            system.put_in_place(self._target, old)
        system.put_in_place(self._folder, self._target)
        shutil.rmtree(old, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder unless it is in place."""
        with suppress(OSError):  # what a full disk rejected is removed anyway
            self._opened.close()
        if system.WINDOWS:  # no open file is removed there
            self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._held.close()


def _is_being_written(folder: Path) -> bool:
    """Whether a process has the folder's scores open; also if it has just made the folder."""
    try:
        with (folder / _SCORES).open(
            "r+b"
        ) as file:  # over NFS, locks need a file that can be written
            return not lock(file.fileno())
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime < _JUST_MADE


def _line_check(line: bytes) -> int:
    return zlib.crc32(line)


def _refuse_other_folder(target: Path) -> None:
    if not target.exists() or is_shard(target):
        return
    if not target.is_dir() or any(target.iterdir()):
        raise OutputError(
            f"{target}: not empty and not a shard: choose another folder, for this shard alone"
        )


class ShardFolder:
    """A finished shard. Raises `InputError` if it is none, or damaged."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.manifest = Manifest.read(self.path)
        for name, size in (self.manifest.files or {}).items():
            place = self.path / name
            try:
                found = place.stat().st_size
            except OSError as error:
                raise InputError(unreadable(error), path=place) from error
            if found != size:
                raise InputError(DAMAGED, path=place)

    @property
    def has_rows(self) -> bool:
        """Whether it has the rows of its responses."""
        return _ROWS in (self.manifest.files or {})

    @property
    def rows(self) -> RowReader:
        """The rows of its responses."""
        return RowReader(self.path / _ROWS)

    def pieces(self) -> list[dict[str, Any]]:
        """Returns what was added of each piece, in order."""
        path = self.path / _RUNS
        try:
            key, *found = [_parsed_line(line) for line in path.read_bytes().splitlines()]
            if key != self.manifest.key or [line["piece"] for line in found] != self.manifest.mine:
                raise ValueError("of another shard")
        except OSError as error:
            raise InputError(unreadable(error), path=path) from error
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(DAMAGED, path=path) from None
        return found

    def scores(self, width: int, questions: Sequence[str]) -> Iterator[tuple[Record, Any]]:
        """Yield all records of scores; `questions`: the ids that they may have."""
        path, known = self.path / _SCORES, set(questions)
        try:
            with path.open("rb", buffering=0) as file:
                journal = Journal(cast("IO[bytes]", file), path, width)
                for record, matrix in journal.whole(self.manifest.key):
                    if not known.issuperset(record.bounds):
                        raise ValueError("of other questions")
                    yield record, matrix
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(DAMAGED, path=path) from None
        except OSError as error:
            raise InputError(unreadable(error), path=path) from error


def _parsed_line(line: bytes) -> Any:
    if int(line[:8], 16) != _line_check(line[9:]):
        raise ValueError("of another line")
    return json.loads(line[9:])
