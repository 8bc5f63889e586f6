"""Reads cached scorers in a thread while what scores with them is imported, which keeps one core busy."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread

from pfgen_rs import _native
from pfgen_rs.errors import PfgenError
from pfgen_rs.io.run_files import run_file
from pfgen_rs.questions.index_cache import index_key, index_path
from pfgen_rs.questions.known_questions import KnownQuestion, KnownSet

__all__ = ["EarlyScorers"]

_HEAD = 1 << 18  # bytes of a file in which questions are looked for


class EarlyScorers:
    """The scorers of the questions that a file of responses begins with.

    Others are left to be read when they are asked for, since they take megabytes each. So are all of files
    that are compressed or no text, and errors.
    """

    def __init__(self, questions: KnownSet, path: str) -> None:
        self.questions, self._path = questions, path
        self._found: dict[str, _native.Scorer] = {}
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def found(self) -> Mapping[str, _native.Scorer]:
        """Wait for them. Returns them by the ids of their questions."""
        self._thread.join()
        return self._found

    def _read(self) -> None:
        questions, settings = self.questions, self.questions.settings
        key = index_key([(question.id, question.digest) for question in questions], settings)
        try:
            head = _head_of_responses(self._path)
            if key is None or not head:
                return
            store = _native.Store(index_path(key), key)
            if len(store) != len(questions):
                return
            for number, question in enumerate(questions):
                if any(name in head for name in _names_in_lines(question)):
                    answers = list(question.answers.values())
                    self._found[question.id] = store.scorer(number, settings.native, answers)
        except (PfgenError, OSError, ValueError):
            return  # told where they are read again


def _names_in_lines(question: KnownQuestion) -> Iterator[bytes]:
    """Yield what JSON lines may call a question."""
    for name in (question.text, question.id):
        for is_ascii in (False, True):
            yield json.dumps(name, ensure_ascii=is_ascii).encode(errors="surrogatepass")


def _head_of_responses(path: str) -> bytes:
    """Returns how a run's regular file begins; nothing for others, which can be read only once."""
    place = run_file(Path(path)) if Path(path).is_dir() else Path(path)
    if place is None or not place.is_file():
        return b""
    descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - what was replaced by a pipe must not be waited for
        return file.read(_HEAD) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
