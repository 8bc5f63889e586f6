"""Remote files as sources: text is read piece by piece, tables are copied into a temporary file."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from threading import Lock
from typing import IO, Any, cast

from pfgen_rs.errors import InputError
from pfgen_rs.io.ahead import Ahead, begun, interruptibly
from pfgen_rs.io.atomic import temporary_copy
from pfgen_rs.io.remote.storage import Object, Storage, StorageError, storage_errors
from pfgen_rs.io.remote.urls import BUCKETS, MAGIC, shown_url, split_url, url_text
from pfgen_rs.io.run_files import CONFIG, RESPONSES
from pfgen_rs.io.source import Raw, Source, parsed_config

_FIRST, _LARGEST = 1 << 20, 4 << 20  # bytes of a request
_LARGEST_COPIES = 4 << 30  # bytes of copies that are kept in case that they are read again
_AT_ONCE = 2  # requests that run ahead
_LARGEST_CONFIG = 16 << 20
_Version = tuple[int, str | datetime | None]  # size, and ETag or else time
_CHANGED = "the file changed while it was in use: score it again"


_FREE = weakref.WeakValueDictionary[int, "RemoteSource"]()
"""Sources whose copies are not being read now: the latest stay, up to a size altogether."""
_FREE_GUARD = Lock()


def _remote_source_again(url: str, version: _Version | None) -> RemoteSource:
    source = RemoteSource(url, Storage())
    source._version = version  # which whatever is read again must have
    return source


class RemoteSource(Source):
    """A file behind a URL. `path` is the URL as it may be shown.

    Text is read by requests for a few megabytes each, so that any part can be read again. Tables, which are
    not read from front to back, are copied into a temporary file, as are files of servers that send whole
    files only. All parts, and whatever is read again later, must be of the same version.
    """

    def __init__(self, url: str, storage: Storage) -> None:
        self._url, self._storage = url_text(url), storage
        split_url(self._url)
        self._begin_source(shown_url(self._url))
        self._version: _Version | None = None
        self._sketch: IO[bytes] | None = None
        self._guard = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the URL and the version of the file, but no options, which may be credentials."""
        return _remote_source_again, (self._url, self._version)

    @property
    def size(self) -> int | None:
        """Size in bytes, if it was listed or the file was opened."""
        if self._version is not None:
            return self._version[0]
        return self._storage.sizes.get(self._url)

    def open(self) -> Raw:
        """Open the file at its beginning. Raises `InputError` if it has changed since it was first opened."""
        copy = self._copy
        if copy is not None and self._is_whole(copy):
            return Raw(cast("IO[bytes]", open(copy.name, "rb", buffering=0)))  # noqa: PTH123
        file = self._asked()
        if isinstance(file, _Ranged) and not self.is_table:
            return Raw(cast("IO[bytes]", file), size=file.size)
        return Raw(cast("IO[bytes]", file), self._new_copy())

    def _asked(self) -> _Received:
        found = self._storage.object(self._url)
        try:
            return _Ranged(found, found.get(0, _FIRST), self._check_version)
        except StorageError as error:
            if error.kind != "unranged":  # it is empty, or the server sends whole files only
                raise
            answer = found.get()
            self._check_version(answer.meta)
            return _streamed(found, answer)

    def check(self) -> None:
        """Do nothing: each part was checked when it came."""

    def file(self) -> str:
        """Returns the name of a local file with the content of a table; of others, the URL."""
        if not self.is_table:
            return self.path
        with _FREE_GUARD:
            _FREE.pop(id(self), None)
        try:
            with self.open() as raw:
                if raw.copied:
                    raw.drain()
        except OSError as error:
            self.drop()
            problem = f"cannot be copied to {tempfile.gettempdir()}: {error.strerror or error}"
            raise InputError(f"{problem} (TMPDIR names another folder)", path=self.path) from None
        return cast("IO[bytes]", self._copy).name

    def schema_file(self) -> str:
        """Returns the name of a file that has the beginning and the end of the table, and a hole between."""
        if self._copy is None and self._sketch is None:
            file = self._asked()
            if isinstance(file, _Ranged) and file.size > _LARGEST:
                self._sketch = _ends_of_table(file, self.suffix)
                weakref.finalize(self, self._sketch.close)
        return self.file() if self._sketch is None else self._sketch.name

    def release(self) -> None:
        """Let the copy go, now or later."""
        if self._copy is None:
            return
        with _FREE_GUARD:
            _FREE.pop(id(self), None)
            _FREE[id(self)] = self
            room = _LARGEST_COPIES
            for each in reversed(list(_FREE.values())):
                room -= each.size or 0
                if room < 0:
                    each.drop()
                    del _FREE[id(each)]

    def drop(self) -> None:
        """Remove the copy, which is made again when the file is read again."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()

    def config(self) -> dict[str, Any] | None:
        """Returns the `config.json` in the same folder, or `None`; web addresses have none."""
        place = split_url(self._url)
        if place.scheme in ("http", "https"):
            return None
        url = f"{self._url.rpartition('/')[0]}/{CONFIG}"
        try:
            content = self._storage.content(url, _LARGEST_CONFIG)
        except StorageError as error:  # which is about the storage
            raise InputError(error.problem, path=self.path) from None
        return None if content is None else parsed_config(content, shown_url(url))

    def _is_whole(self, copy: IO[bytes]) -> bool:
        copy.flush()
        return self._version is not None and os.stat(copy.name).st_size == self._version[0]  # noqa: PTH116

    def _check_version(self, meta: Mapping[str, Any]) -> int:
        """Returns the size of the file. Raises `InputError` if it is not the one that was first opened."""
        version = meta["size"], meta["e_tag"] or meta["last_modified"]
        with self._guard:
            if self._version is not None and self._version != version:
                raise InputError(_CHANGED, path=self.path)
            self._version = version
        return int(meta["size"])


def _ends_of_table(file: _Ranged, suffix: str) -> IO[bytes]:
    """Returns a file as long as the table, with a hole where the rows are."""
    length = 8 if suffix == ".parquet" else 10  # of the footer's length and the magic bytes
    sketch = temporary_copy(suffix)
    reader = io.BufferedReader(file)
    sketch.write(reader.read(_FIRST))
    reader.seek(-length, 2)
    footer = length + int.from_bytes(reader.read(4), "little")
    sketch.seek(reader.seek(-min(footer, file.size), 2))
    shutil.copyfileobj(reader, sketch)
    sketch.flush()
    return sketch


class _Received(io.RawIOBase):
    """Bytes that come in parts: `following` returns the next one, empty only at the end."""

    _left = memoryview(b"")
    _at = 0

    def __init__(self, following: Callable[[], memoryview]) -> None:
        self._following = following

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; none only at the end."""
        view = memoryview(buffer).cast("B")
        if not self._left:
            self._left = self._following()
        count = min(len(view), len(self._left))
        view[:count] = self._left[:count]
        self._left = self._left[count:]
        self._at += count
        return count


def _streamed(found: Object, answer: Any) -> _Received:
    """Returns the content of one answer, from front to back."""
    parts = iter(answer.stream(_FIRST))

    def following() -> memoryview:
        with storage_errors(found.shown):
            return memoryview(next((part for part in parts if part), b""))

    return _Received(following)


class _Ranged(_Received):
    """A file of which parts are asked for: ahead while it is read in order, and few after a seek."""

    def __init__(
        self, found: Object, first: Any, check: Callable[[Mapping[str, Any]], int]
    ) -> None:
        super().__init__(self._asked_ahead)
        self._found, self._check = found, check
        self.size = check(first.meta)
        self._left = self._received(first, min(_FIRST, self.size))
        self._next = len(self._left)
        self._request, self._ahead = 2 * _FIRST, _AT_ONCE
        self._coming: deque[Ahead[memoryview]] = deque()

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Continue at another offset."""
        at = max(0, offset + (0, self._at, self.size)[whence])
        if self._at <= at <= self._at + len(self._left):
            self._left = self._left[at - self._at :]
        else:
            self._coming.clear()
            self._left = memoryview(b"")
            self._next, self._request, self._ahead = at, _FIRST, 0
        self._at = at
        return at

    def tell(self) -> int:
        """Returns the offset."""
        return self._at

    def close(self) -> None:
        """Ask for nothing more."""
        self._coming.clear()
        super().close()

    def _asked_ahead(self) -> memoryview:
        if self._at >= self.size:
            return memoryview(b"")
        while len(self._coming) <= self._ahead and self._next < self.size:
            start, end = self._next, min(self._next + self._request, self.size)
            self._coming.append(begun(partial(self._part, start, end)))
            self._next, self._request = end, min(2 * self._request, _LARGEST)
        self._ahead = _AT_ONCE
        return next(self._coming.popleft())

    def _part(self, start: int, end: int) -> memoryview:
        try:
            answer = self._found.get(start, end)
        except StorageError as error:
            if error.kind == "unranged":  # the file is shorter now
                raise InputError(_CHANGED, path=self._found.shown) from None
            raise
        self._check(answer.meta)
        return self._received(answer, end - start)

    def _received(self, answer: Any, size: int) -> memoryview:
        with storage_errors(self._found.shown):
            content = memoryview(answer.bytes())
        if len(content) != size:
            raise StorageError("the answer was cut short", path=self._found.shown)
        return content


# Expands globs over object storage, whose matches are listed rather than looked for.


_ANY_DEPTH = "**"


def expanded_url(url: str, storage: Storage) -> list[str]:
    """Returns the URLs that a URL or glob stands for, sorted; their sizes go into `storage.sizes`.

    Raises `InputError` if a glob matches nothing, and for globs where no files are listed.
    """
    place = split_url(url)
    if place.scheme not in BUCKETS and "*" in place.path:
        problem = "globs are read in object storage alone: name the files"
        raise InputError(problem, path=shown_url(url))
    if place.scheme not in BUCKETS or not MAGIC.intersection(url):
        return [url]
    found = _listed(url, storage)
    if not found:
        raise InputError("no file matches this pattern", path=shown_url(url))
    return found


def runs_below_url(folder: str, storage: Storage) -> list[str]:
    """Returns the files of the run in a folder, whose URL ends in `/`, or else of runs below it, sorted.

    Skips runs within runs and hidden folders, as for local folders. Raises `InputError` if there are none.
    """
    place_of_folder = split_url(folder)
    if place_of_folder.scheme not in BUCKETS:
        if place_of_folder.path.endswith("/") or not place_of_folder.path:
            problem = "folders are read in object storage alone: name the files"
            raise InputError(problem, path=shown_url(folder))
        return [folder]  # whose query ends in "/"
    files: dict[str, set[str]] = {}
    for url in _listed(f"{folder}**", storage):
        place, _, name = url.rpartition("/")
        files.setdefault(place, set()).add(name)
    runs: dict[str, str] = {}
    for place, names in sorted(files.items()):
        here = next((name for name in RESPONSES if name in names), None)
        if here is not None and not any(place.startswith(f"{run}/") for run in runs):
            runs[place] = f"{place}/{here}"
    if not runs:
        problem = f"neither the folder nor those below it have any of {', '.join(RESPONSES)}"
        raise InputError(problem, path=shown_url(folder))
    return list(runs.values())


def _listed(url: str, storage: Storage) -> list[str]:
    """Returns the URLs that match a pattern, or the one of an object that is called like it, sorted."""
    place = split_url(url)
    segments = place.path.split("/")
    fixed = next(at for at, segment in enumerate(segments) if MAGIC.intersection(segment))

    def found() -> dict[str, int]:
        sizes = {}
        with storage_errors(shown_url(url)):
            for page in storage.bucket(place, url).list("/".join(segments[:fixed]) or None):
                for entry in page:
                    key = entry["path"]
                    if key == place.path or _fits(key.split("/"), segments):
                        sizes[f"{place.scheme}://{place.host}/{key}"] = entry["size"]
        return sizes

    sizes = interruptibly(found)
    storage.sizes.update(sizes)
    return [url] if url in sizes else sorted(sizes)


def _fits(names: Sequence[str], segments: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern."""
    if not segments:
        return not names
    head, *rest = segments
    if head != _ANY_DEPTH:
        return bool(names) and _is_match(names[0], head) and _fits(names[1:], rest)
    if not rest:
        return not any(name.startswith(".") for name in names)
    if _fits(names, rest):
        return True
    return bool(names) and not names[0].startswith(".") and _fits(names[1:], segments)


def _is_match(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern as in a local glob: hidden ones only if the pattern says so."""
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
