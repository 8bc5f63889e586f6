"""The journal of a folder: one record a line, appended as answers arrive, by any number of processes."""

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Self

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io import atomic, json_lines, locks

Key = tuple[Any, ...]
_PLACES = 1 << 12
"""Offsets that may be locked: a system searches all locks of a file for each new one.

Keys that share one are claimed by one process at a time.
"""
_CLAIMED: set[tuple[str, Key]] = set()  # by this process, whose own locks do not exclude it
_LOCKED = Counter[tuple[str, int]]()  # how many of them are at each offset of a file
# The handle of each file of claims, and how many journals of this process use it: closing any other handle
# would drop all POSIX locks of the process on the file.
_HANDLES: dict[str, tuple[IO[bytes], int]] = {}
_CLAIMED_LOCK = threading.Lock()


class Journal:
    """Records of answers in a file of JSON lines, each found by the values of some `fields`.

    Every process reads what others append. A record is claimed before it is asked for, by locking a byte
    whose position follows from a digest of its key; the lock ends with the process. On file systems without
    locks, only one process may use a journal. `noted` is called with every record that is read or appended.
    `added`: number of records that were appended by this object.
    """

    def __init__(
        self,
        path: Path,
        fields: Iterable[str],
        noted: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> None:
        self.path = path
        self._fields = tuple(fields)
        self._noted = noted
        self._keys: set[Key] = set()
        self._claimed: dict[tuple[str, Key], int] = {}  # and at which offset
        self._invalid = Counter[Key]()  # records with a problem, of keys whose last one has any
        self._read, self._lines, self.added = 0, 0, 0
        self._open_file: IO[bytes] | None = None
        self._claims: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Open the file and read it. Raises `InputError` for invalid lines, and `OutputError`."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open_file = self.path.open("a+b", buffering=0)
            self._claims = self._shared_claims()
            with self._exclusive():
                self._catch_up()
        except OSError as error:
            self.__exit__()
            raise atomic.writing_failed(self.path, error) from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_reason: object) -> None:
        if self._open_file is not None:
            self._open_file.close()
        for _, key in list(self._claimed):
            self.release(key)
        if self._claims is not None:
            with _CLAIMED_LOCK:
                file, count = _HANDLES.pop(self._name)
                if count > 1:
                    _HANDLES[self._name] = file, count - 1
                else:
                    file.close()
        self._open_file = self._claims = None

    def _shared_claims(self) -> IO[bytes] | None:
        with _CLAIMED_LOCK:
            file, count = _HANDLES.get(self._name, (None, 0))
            if file is None:
                file = self._claims_path.open("a+b", buffering=0)
            _HANDLES[self._name] = file, count + 1
        return file

    @property
    def _file(self) -> IO[bytes]:
        if self._open_file is None:
            raise ValueError("the journal is not open")
        return self._open_file

    @property
    def _claims_path(self) -> Path:
        return self.path.with_name(f".{self.path.name}.claims")

    @cached_property
    def _name(self) -> str:
        return str(self.path.absolute())

    def key(self, record: Mapping[str, Any]) -> Key:
        """Returns the values that identify a record."""
        values = tuple(map(record.get, self._fields))
        try:
            hash(values)
        except TypeError:
            values = tuple(v if isinstance(v, Hashable) else repr(v) for v in values)
        return values

    def stored_keys(self, *, valid: bool = False) -> set[Key]:
        """Returns the keys of the file's records, without opening it for writing.

        `valid`: only those whose last record has no `problem`.
        """
        self.look()
        return self._keys - self._invalid.keys() if valid else set(self._keys)

    def look(self) -> None:
        """Read what is new up to a torn last line, without opening the file for writing."""
        try:
            with self.path.open("rb") as file:
                self._read_new(file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(unreadable(error), path=self.path) from error

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def forget_invalid(self) -> Counter[Key]:
        """Take records with a `problem` for missing until others with their keys are appended.

        Returns how many there are of each key.
        """
        self._keys -= self._invalid.keys()
        return self._invalid.copy()

    def refresh(self) -> None:
        """Read what other processes have appended."""
        if os.fstat(self._file.fileno()).st_size > self._read:
            with self._exclusive():
                self._catch_up()

    def claim(self, key: Key) -> bool:
        """Claim a record that is to be asked for; returns false if another process has claimed it."""
        place, offset = (self._name, key), (self._name, _offset(key))
        with _CLAIMED_LOCK:
            if place in _CLAIMED or not (_LOCKED[offset] or self._lock_place(offset[1])):
                return False
            _LOCKED[offset] += 1
            _CLAIMED.add(place)
            self._claimed[place] = offset[1]
        return True

    def release(self, key: Key) -> None:
        """Give up a claim."""
        place = self._name, key
        with _CLAIMED_LOCK:
            if place not in self._claimed:
                return
            _CLAIMED.discard(place)
            offset = self._name, self._claimed.pop(place)
            _LOCKED[offset] -= 1
            if not _LOCKED[offset]:
                del _LOCKED[offset]
                if self._claims is not None:
                    locks.unlock(self._claims.fileno(), offset[1])

    def _lock_place(self, offset: int) -> bool:
        return self._claims is None or locks.lock(self._claims.fileno(), offset)

    def add(self, *records: Mapping[str, Any]) -> int:
        """Append records whose keys differ, but those whose key there is; returns how many.

        Raises `OutputError` if they cannot be written; the journal is then as it was.
        """
        with self._exclusive():
            self._catch_up()
            new = [record for record in records if self.key(record) not in self._keys]
            lines = [json_lines.as_line(record) for record in new]
            content = b"".join(lines)
            atomic.append(self.path, self._file, self._read, content)
            self._read += len(content)
            self._lines += len(lines)
            self.added += len(lines)
            for record in new:
                self._note(record)
        return len(new)

    def _catch_up(self) -> None:
        """Read new lines; with the lock held, a torn last line has no writer any more and is cut off."""
        if os.fstat(self._file.fileno()).st_size == self._read:
            return
        with self.path.open("rb") as file:
            if not self._read_new(file):
                self._file.truncate(self._read)

    def _read_new(self, file: IO[bytes]) -> bool:
        """Read new lines; returns false if the last one is torn."""
        file.seek(self._read)
        for line in file:
            if not line.endswith(b"\n"):
                return False
            if line.strip():
                self._note(json_lines.appended_record(self.path, self._lines + 1, line))
            self._read += len(line)
            self._lines += 1
        return True

    def _note(self, record: Mapping[str, Any]) -> None:
        key = self.key(record)
        self._keys.add(key)
        if record.get("problem") is None:
            self._invalid.pop(key, None)
        else:
            self._invalid[key] += 1
        if self._noted is not None:
            self._noted(record)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Lock the file against the writes of other processes."""
        handle = self._file.fileno()
        locks.lock_now(handle)
        try:
            yield
        finally:
            locks.unlock(handle)


def _offset(key: Key) -> int:
    digest = hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % _PLACES
