"""Remembers which runs of a checkout are up to date, so that only files that have changed are read again.

    CACHE/checkouts/KEY.json      one file per checkout: a line with the digest of the rest, and the rest

A file is taken for unchanged if size, times of change, inode and device are those that it had before it was
last read, as in git's index. Files that had changed within the last seconds before that are not remembered:
they could change again within the same tick of the clock. A damaged file, or one of another version, costs
only time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.checkout.published import Published
from pfgen_rs.errors import OutputError
from pfgen_rs.io.cache_folder import cache_folder

__all__ = ["Files", "KnownRuns", "file_states", "is_settled"]

_LOG = logging.getLogger(__name__)
_VERSION = [1, _native.__version__]  # of the format, and of what decides what is stale
_TICK = 2_000_000_000  # nanoseconds; the coarsest clock of a file system is that of FAT

Files = dict[str, list[int]]
"""Files of a folder: size, times of change of content and of status (ns), inode and device by name."""


def file_states(folder: str | os.PathLike[str], names: Iterable[str]) -> Files | None:
    """Returns the states of regular files. `None` if one is not there, or something else."""
    found: Files = {}
    try:
        for name in names:
            state = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - there are thousands
            if not stat.S_ISREG(state.st_mode):
                return None
            times = [state.st_mtime_ns, state.st_ctime_ns]
            found[name] = [state.st_size, *times, state.st_ino, state.st_dev]
    except (OSError, ValueError):
        return None
    return found


def is_settled(files: Files, now: int) -> bool:
    """Whether all files had last changed long enough before `now` (ns) for any change since to be seen."""
    return all(max(changed, status) < now - _TICK for _, changed, status, *_ in files.values())


class KnownRuns:
    """What is known about a checkout: the digest of its questions, and its runs that are up to date."""

    def __init__(self, checkout: Path) -> None:
        place = os.path.realpath(checkout)
        key = hashlib.sha256(os.fsencode(place)).hexdigest()[:32]
        self._path = cache_folder() / "checkouts" / f"{key}.json"
        self._old = self._read()
        self._new: dict[str, Any] = {"version": _VERSION, "questions": None, "runs": {}}

    def _read(self) -> Mapping[str, Any]:
        try:
            digest, _, content = self._path.read_bytes().partition(b"\n")
            if digest == _known_digest(content):
                found = json.loads(content)
                if found["version"] == _VERSION:
                    return found  # type: ignore[no-any-return]
            _LOG.info("%s: damaged, or of another version: all files are read again", self._path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass  # not there: nothing is known
        return {"questions": None, "runs": {}}

    def metadata_hash(self, questions: Files) -> str | None:
        """Returns the metadata hash of these question files, if they are unchanged."""
        entry = self._old["questions"]
        if entry is None or entry["files"] != questions:
            return None
        self._new["questions"] = entry
        return entry["metadata_hash"]  # type: ignore[no-any-return]

    def keep_questions(self, questions: Files, metadata_hash: str) -> None:
        """Remember the hash of settled question files, in the states before they were read."""
        self._new["questions"] = {"files": questions, "metadata_hash": metadata_hash}

    def published(self, run: str, files: Files | None, metadata_hash: str) -> Published | None:
        """Returns a run's result without samples, if nothing about the run is stale.

        `files`: all that its state depends on.
        """
        entry = self._old["runs"].get(run)
        if entry is None or entry["files"] != files:
            return None
        if entry["result"]["metadata_hash"] != metadata_hash:
            return None
        self._new["runs"][run] = entry
        questions = _RememberedQuestions(entry["questions"])
        return Published(run, {**entry["result"], "questions": questions}, entry["digest"])

    def keep(self, published: Published, files: Files) -> None:
        """Remember a run that is up to date, with settled files in the states before they were read."""
        result = dict(published.result)
        questions = result.pop("questions")
        without = {key: {**entry, "samples": []} for key, entry in questions.items()}
        self._new["runs"][published.run] = {
            "files": files,
            "digest": published.digest,
            "result": result,
            "questions": json.dumps(without, ensure_ascii=False),
        }

    def save(self) -> None:
        """Write what is known, if it has changed. A file that cannot be written costs only time."""
        if self._new == self._old:
            return
        from pfgen_rs.io.atomic import write_atomic

        content = json.dumps(self._new, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            write_atomic(self._path, _known_digest(content) + b"\n" + content)
        except OutputError as error:
            _LOG.info("%s", error)


class _RememberedQuestions(Mapping[str, Any]):
    """The questions of a result, parsed when they are needed, which is rarely."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _parsed(self) -> dict[str, Any]:
        return json.loads(self._text)  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self._parsed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)


def _known_digest(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest().encode()
