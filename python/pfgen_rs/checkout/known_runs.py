"""Remembers which runs of a checkout are up to date, so that only files that have changed are read again.

    CACHE/checkouts/KEY.json                    one file per checkout
    CACHE/checkouts-as-published/KEY.json       the same where hashes alone decide what is stale

Files are recognised as `pfgen_rs.io.known_files` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.checkout.published import Published
from pfgen_rs.io.known_files import Files, path_of_known, read_known, write_known

__all__ = ["KnownRuns", "RememberedQuestions"]

_VERSION = [2, _native.__version__]  # of the format, and of what decides what is stale


class KnownRuns:
    """What is known about a checkout: the digest of its questions, and its runs that are up to date."""

    def __init__(self, checkout: Path, *, as_published: bool = False) -> None:
        kind = "checkouts-as-published" if as_published else "checkouts"
        self._path = path_of_known(kind, checkout)
        self._old = read_known(self._path, _VERSION) or {"questions": None, "runs": {}}
        self._new: dict[str, Any] = {"version": _VERSION, "questions": None, "runs": {}}

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
        questions = RememberedQuestions(entry["questions"])
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
        if self._new != self._old:
            write_known(self._path, self._new)


class RememberedQuestions(Mapping[str, Any]):
    """The questions of a result, parsed when they are needed, which is rarely."""

    def __init__(self, text: str) -> None:
        self._text = text

    def forget(self) -> None:
        """Free what was parsed, which takes 0.1 MB; it is parsed again when it is needed."""
        vars(self).pop("_parsed", None)

    @cached_property
    def _parsed(self) -> dict[str, Any]:
        return json.loads(self._text)  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self._parsed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)
