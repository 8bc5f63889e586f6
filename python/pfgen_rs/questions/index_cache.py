"""Stores the scorers of whole benchmarks in files: built once, then read by every process.

    CACHE/indexes/KEY.pfgenidx      one file per benchmark and settings
    CACHE/indexes/.*.tmp            work in progress; never read
    CACHE/indexes/.*.lock           of the process that builds one (see `index_lock`)

The key is a digest of the question files' digests, the settings and the package's version; native code checks
the format's version, byte order and length when a file is opened, and a scorer's checksum and tables when it
is read, on first use. A damaged file costs time, not correctness: it is reported in one line of the log, and
the scorers are built again. Scorers are read into memory rather than mapped: a file may be changed in place,
or cut short, while they are in use.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pfgen_rs import _native
from pfgen_rs.errors import OutputError, StoreError
from pfgen_rs.io.atomic import put_in_place
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.io.locks import alone_with
from pfgen_rs.metrics.settings import Settings

if TYPE_CHECKING:
    from logging import Logger

    from pfgen_rs.questions.question import Question


_SUFFIX = ".pfgenidx"


def indexes_folder() -> Path:
    """Returns the folder of all index files, which need not exist."""
    return cache_folder() / "indexes"


class IndexFile(NamedTuple):
    """An index file: path, size in bytes, and when it was written (seconds since 1970)."""

    path: Path
    size: int
    written: float


def index_files() -> list[IndexFile]:
    """Returns all index files, sorted by name, then temporary files left by interrupted processes."""
    found = []
    for pattern in (f"*{_SUFFIX}", f".*{_SUFFIX}.*.tmp"):
        for path in sorted(indexes_folder().glob(pattern)):
            with suppress(OSError):  # another process may have removed it
                state = path.stat()
                found.append(IndexFile(path, state.st_size, state.st_mtime))
    return found


def clear_index_cache() -> list[IndexFile]:
    """Remove all index files, and return them. Processes that use a file can continue to do so.

    Raises `OutputError` if one cannot be removed.
    """
    files = index_files()
    for file in files:
        try:
            file.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{file.path}: cannot be removed: {error.strerror}") from error
    return files


class IndexCache:
    """The index file for some questions and settings; does nothing for questions without files."""

    def __init__(self, questions: Sequence[Question], settings: Settings) -> None:
        self._settings = settings
        self._questions = questions
        self._key = index_key([(q.id, q.digest) for q in questions], settings)
        self._store: _native.Store | None = None
        self._looked = False
        self._seen: tuple[int, ...] | None = None  # state of the file when it was looked for
        self._lock = threading.Lock()

    @property
    def path(self) -> Path | None:
        """Path of the file, which need not exist; `None` if the questions were not read from files."""
        return None if self._key is None else index_path(self._key)

    @property
    def is_usable(self) -> bool:
        """Whether there is a file with all scorers, as far as can be said before they are read."""
        return self._open() is not None

    def load(self, number: int) -> _native.Scorer | None:
        """Returns the scorer of question `number`, or `None` if it must be built."""
        store = self._open()
        if store is None:
            return None
        try:
            return store.scorer(number, self._settings.native, self._answers(number))
        except StoreError as error:
            self.give_up(error)
            return None

    def stored(self, number: int) -> _native.StoredScorer:
        """Returns the scorer of question `number`, to be read whenever it is used; if the file is usable."""
        store = cast("_native.Store", self._open())
        return store.stored(number, self._settings.native, self._answers(number))

    def _answers(self, number: int) -> list[int]:
        return [len(answers) for answers in self._questions[number].answers.values()]

    @contextmanager
    def building(self) -> Iterator[None]:
        """Hold back other processes that would build the file, or wait for the one that does.

        Inside, the file is usable if another process has written it in the meantime.
        """
        if self.path is None or self._open() is not None:
            yield
            return
        with alone(self.path, self._report_waiting):
            with self._lock:
                if _index_state(self.path) != self._seen:
                    self._looked = False
            yield

    def save(self, scorers: Sequence[_native.Scorer]) -> bool:
        """Write the file atomically unless a usable one exists. Returns whether it was written."""
        if self.path is None or self._key is None or self._open() is not None:
            return False
        from pfgen_rs.io.atomic import new_file  # who reads an index need not wait for it

        try:
            temporary, file = new_file(self.path)  # open meanwhile, so that nobody removes it
            try:
                with file:
                    _native.Store.write(temporary, self._key, list(scorers))
                    put_in_place(temporary, self.path, file)
            finally:
                temporary.unlink(missing_ok=True)
        except (OSError, OutputError) as error:
            reason = getattr(error, "strerror", None) or error
            _index_log().info("index cache %s: cannot be written (%s)", self.path, reason)
            return False
        with self._lock:
            self._looked = False
        _index_log().info("index cache %s: built", self.path)
        return True

    def _open(self) -> _native.Store | None:
        """Returns the file's scorers; opens it at most once, and not again once it is known to be damaged."""
        with self._lock:
            if not self._looked:
                self._looked = True
                self._seen = None if self.path is None else _index_state(self.path)
                self._store = self._opened()
            return self._store

    def _opened(self) -> _native.Store | None:
        if self.path is None or self._key is None or not os.path.lexists(self.path):
            return None
        try:
            store = _native.Store(self.path, self._key)
        except StoreError as error:
            self._report(error)
            return None
        if len(store) == len(self._questions):
            return store
        self._report(StoreError("wrong number of questions"))
        return None

    def give_up(self, error: StoreError) -> None:
        """Report that the file is damaged, and do without it."""
        with self._lock:
            given_up, self._store = self._store, None
        if given_up is not None:
            self._report(error)

    def _report_waiting(self) -> None:
        _index_log().info("index cache %s: waiting for the process that builds it", self.path)

    def _report(self, error: StoreError) -> None:
        _index_log().warning("index cache %s: %s; rebuilding it", self.path, error)


def _index_log() -> Logger:
    import logging  # which takes a while, and there is rarely anything to log

    return logging.getLogger(__name__)


def index_key(digests: Sequence[tuple[str, str | None]], settings: Settings) -> bytes | None:
    """Returns the key of an index for questions with these ids and digests; `None` if one has no file."""
    if any(digest is None for _, digest in digests):
        return None
    content = {
        "version": _native.__version__,
        "questions": digests,
        "settings": _index_settings(settings),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


def index_path(key: bytes) -> Path:
    """Returns the path of the file with this key, which need not exist."""
    return indexes_folder() / f"{key.hex()[:32]}{_SUFFIX}"


def _index_state(path: Path) -> tuple[int, ...] | None:
    """Returns what differs when the file is replaced; `None` without one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _index_settings(settings: Settings) -> dict[str, Any]:
    """Returns the settings that scorers depend on: all except those of totals."""
    totals = ("summation", "helpfulness")
    return {key: value for key, value in asdict(settings).items() if key not in totals}


# One of several processes, perhaps on several machines, builds an index; the others wait for it.
#
#     CACHE/indexes/.KEY.pfgenidx.lock    locked by the process that builds KEY.pfgenidx; empty
#
# The lock is one of the operating system's (`flock`), which Linux passes on to NFS servers. It ends with
# its process, however that ends, so whoever waits for one that was killed builds in its place. On network
# file systems without such locks, or whose locks hold on one machine only (Lustre with `localflock`), and
# after `PATIENCE` seconds of waiting, the index is built more than once. That costs time alone: files of
# indexes appear whole, and are the same whoever builds them.
#
# Whoever is done removes the file, and one that is killed cannot. So those that waited and find it removed
# have the index, or it could not be written (a full disk): then they build it side by side, not one after
# another.


PATIENCE = 600.0
"""Seconds to wait for a process that builds, which takes some seconds for the published set."""


@contextmanager
def alone(index: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Lock the index file `index`, which need not exist, for the duration of the context.

    Waits while another process has the lock, having called `waiting` once. Without a folder that can be
    written to there is nothing to wait for: no process can keep what it builds.
    """
    with suppress(OSError):
        index.parent.mkdir(parents=True, exist_ok=True)
    lock = index.with_name(f".{index.name}.lock")
    with alone_with(lock, patience=PATIENCE, waiting=waiting):
        yield
