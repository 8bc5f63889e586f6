"""Files, run folders, pipes and standard input, all of which can be read more than once."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import stat
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, cast

from pfgen_rs.errors import ConfigError, InputError, unreadable
from pfgen_rs.io.atomic import temporary_copy
from pfgen_rs.io.compression import SUFFIXES
from pfgen_rs.io.remote.urls import COPY_FIRST, checked_options, is_url, refused_url
from pfgen_rs.io.run_files import (
    CONFIG,
    RESPONSES,
    RESULT,
    run_file,
    runs_below,
    unpacked_trials_advice,
)
from pfgen_rs.io.text import counted

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage

DELIMITED = {".csv": ",", ".tsv": "\t"}
"""Suffixes of delimited text files, with their separators."""
TABLE_SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc")
"""Suffixes of files that are not read from front to back."""
DATASET, DATASETS = "state.json", "dataset_dict.json"
"""Files in the folder of a Hugging Face dataset on disk, and in that of several splits."""
_BLOCK = 1 << 20
_SHOWN = 3  # files of a folder
SURROGATE = "contains a lone surrogate (\\ud800…\\udfff), which is not valid Unicode"


def storage_for(
    places: Iterable[str | os.PathLike[str] | None], options: Mapping[str, Any] | None = None
) -> Storage | None:
    """Returns what opens URLs with these options; `None` if no place or pattern is a URL.

    Raises `SettingsError` for invalid options.
    """
    checked = checked_options(options or {})
    if not any(place is not None and is_url(place) for place in places):
        return None
    from pfgen_rs.io.remote.storage import Storage  # which files on disks do without

    return Storage(checked)


def opened_sources(paths: Iterable[str], storage: Storage | None = None) -> list[Source]:
    """Returns a source for each path and, with `storage`, each URL. Nothing is opened until it is read.

    Raises `InputError` for URLs that are not read.
    """
    return [_opened_source(path, storage) for path in paths]


def _opened_source(path: str, storage: Storage | None) -> Source:
    if path != "-" and is_dataset(Path(path)):
        return DatasetSource(path)
    if storage is None or not is_url(path):
        return Source(path)
    from pfgen_rs.io.remote.files import RemoteSource

    return RemoteSource(path, storage)


class Source:
    """A file, or a pipe that is copied into a temporary file while it is read for the first time.

    `path` is its name in messages. Nothing is opened until it is read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if is_url(path):
            raise refused_url(path, COPY_FIRST)
        place = Path(path)
        if path != "-" and os.path.isdir(place):  # noqa: PTH112 - is_dir raises for impossible names
            place = _source_of_run(place)
        self._begin_source(str(place))

    def _begin_source(self, path: str) -> None:
        self.path = path
        self._copy: IO[bytes] | None = None
        self._state: os.stat_result | None = None

    @property
    def suffix(self) -> str:
        """The lower-case suffix of the name; for compressed CSV and TSV, the one before the compression's."""
        *before, last = ["", *(suffix.lower() for suffix in Path(self.path).suffixes)]
        inner = before[-1] if before else ""
        return inner if last in SUFFIXES and inner in DELIMITED else last

    @property
    def is_table(self) -> bool:
        """Whether the file's name is that of a Parquet or Arrow file."""
        return self.suffix in TABLE_SUFFIXES

    @property
    def size(self) -> int | None:
        """Size on disk in bytes, if known before reading."""
        try:
            found = Path(self.path).stat() if self.path != "-" else os.fstat(sys.stdin.fileno())
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def open(self) -> Raw:
        """Open the file at its beginning. Raises `InputError` if it has changed since it was first opened."""
        try:
            if self._copy is not None:
                return Raw(_reopened_source(self._copy))
            if self.path == "-":
                return Raw(cast("IO[bytes]", sys.stdin.buffer), self._new_copy())
            return self._opened(cast("IO[bytes]", open(self.path, "rb", buffering=0)))  # noqa: PTH123
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(unreadable(error), path=self.path) from error

    def _opened(self, file: IO[bytes]) -> Raw:
        try:
            found = os.fstat(file.fileno())
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                return Raw(file, self._new_copy())
            self._check(found)
        except BaseException:
            file.close()
            raise
        return Raw(file, check=self._check)

    def check(self) -> None:
        """Raise `InputError` if the file has changed since it was first opened."""
        if self._copy is None and self.path != "-":
            try:
                self._check(Path(self.path).stat())
            except OSError as error:
                raise InputError(unreadable(error), path=self.path) from error

    def file(self) -> str:
        """Returns the name of a regular file with the content; reads a pipe to its end first."""
        with self.open() as raw:
            if not raw.copied:
                return self.path
            raw.drain()
        return cast("IO[bytes]", self._copy).name

    def schema_file(self) -> str:
        """Returns the name of a file from which the columns of a table can be read, if not the rows."""
        return self.file()

    def release(self) -> None:
        """Say that the file is not being read now, so that a copy that can be made again may go."""

    def config(self) -> dict[str, Any] | None:
        """Returns the `config.json` beside the file, or `None`. Raises `InputError` for a damaged one."""
        return read_config(self.path)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the place and the state of the file; of a pipe that was read, the content."""
        kept = None
        if self._copy is not None:
            with _reopened_source(self._copy) as copy:
                kept = lzma.compress(copy.read())
        return {**vars(self), "_copy": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up the state; the content of a pipe becomes a copy again."""
        vars(self).update(state, _copy=None)
        if state["_copy"] is not None:
            self._new_copy().write(lzma.decompress(state["_copy"]))

    def _new_copy(self) -> IO[bytes]:
        self._copy = temporary_copy(self.suffix)
        weakref.finalize(self, self._copy.close)
        return self._copy

    def _check(self, found: os.stat_result) -> None:
        if self._state is not None and not is_same_state(self._state, found):
            raise InputError("the file changed while it was in use: score it again", path=self.path)
        self._state = found


def is_same_state(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a file still is what it was, as far as its size and times say.

    Times of change can be set back, unlike those of status, which differ also when a name of the file is made
    or removed, such as when another file takes its place: what is open then is still what it was.
    """
    for key in ("st_dev", "st_ino", "st_size", "st_mtime_ns"):
        if getattr(before, key) != getattr(after, key):
            return False
    return before.st_nlink != after.st_nlink or before.st_ctime_ns == after.st_ctime_ns


def _reopened_source(copy: IO[bytes]) -> IO[bytes]:
    copy.flush()
    return open(copy.name, "rb", buffering=0)  # noqa: PTH123


class Raw(io.RawIOBase):
    """The bytes of a file as on disk: counted, hashed, and copied if they come from a pipe.

    `check`: called with the file's state after each read, so that what was read is of one version.
    """

    def __init__(
        self,
        file: IO[bytes],
        copy: IO[bytes] | None = None,
        size: int | None = None,
        check: Callable[[os.stat_result], None] | None = None,
    ) -> None:
        self._file, self._into, self._size, self._check = file, copy, size, check
        self._hash = hashlib.sha1(usedforsecurity=False)
        self.count = 0

    @property
    def copied(self) -> bool:
        """Whether the bytes come from a pipe."""
        return self._into is not None

    @property
    def size(self) -> int | None:
        """Number of bytes in a regular file, `None` for pipes."""
        if self._size is not None or self.copied:
            return self._size
        return os.fstat(self._file.fileno()).st_size

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the whole buffer unless the file ends, so that pipes are read in the same blocks as files."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            got = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
        if self._check is not None:
            self._check(os.fstat(self._file.fileno()))
        self._hash.update(view[:filled])
        if self._into is not None:
            self._into.write(view[:filled])
        self.count += filled
        return filled

    def seekable(self) -> bool:
        """True for files, false for pipes."""
        return self._into is None and self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Continue at another offset; the digest and count are meaningless afterwards."""
        return self._file.seek(offset, whence)

    def drain(self) -> str:
        """Read to the end; returns the SHA-1 of all bytes."""
        buffer = bytearray(_BLOCK)
        while self.readinto(buffer):
            pass
        if self._into is not None:
            self._into.flush()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file, except standard input."""
        if not self.closed and self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


def _source_of_run(folder: Path) -> Path:
    found = folder if is_dataset(folder) else run_file(folder)
    if found is not None:
        return found
    if (folder / DATASETS).is_file():
        splits = parsed_config((folder / DATASETS).read_bytes(), folder / DATASETS).get("splits")
        advice = ", ".join(str(folder / str(split)) for split in splits or ())
        raise InputError(f"is a dataset of several splits: name one of {advice}", path=folder)
    problem = unpacked_trials_advice(folder)
    if not problem:
        runs = runs_below(str(folder))
        problem = f"the folder has none of {', '.join(RESPONSES)}" + (
            f", but contains {counted(len(runs), 'run')} in subfolders: score them with score_runs or "
            "pfgen-rs score"
            if runs
            else _advice_on_files(folder)
        )
    raise InputError(problem, path=folder)


# Hugging Face datasets, as `save_to_disk` writes them.


def is_dataset(folder: Path) -> bool:
    """Whether a folder has a dataset."""
    return all(os.path.isfile(folder / name) for name in (DATASET, "dataset_info.json"))  # noqa: PTH113


class DatasetSource(Source):
    """A folder of Arrow streams. Its bytes are those of the streams, one after the other."""

    def _begin_source(self, path: str) -> None:
        super()._begin_source(path)
        state = parsed_config((Path(path) / DATASET).read_bytes(), Path(path) / DATASET)
        if state.get("_indices_data_files"):
            raise InputError(
                "the dataset has a mapping of indices: save it after flatten_indices()", path=path
            )
        names = [each.get("filename") for each in state.get("_data_files") or ()]
        self.shards = [Source(Path(path) / Path(str(name)).name) for name in names]

    @property
    def size(self) -> int | None:
        """Size of all streams in bytes."""
        return sum(shard.size or 0 for shard in self.shards)

    def open(self) -> Raw:
        """Open all streams, to be read one after the other."""
        return Raw(cast("IO[bytes]", _Joined(self.shards)), size=self.size)

    def check(self) -> None:
        """Raise `InputError` if a stream has changed since it was first opened."""
        for shard in self.shards:
            shard.check()


class _Joined:
    """Files that are read one after the other."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._left = list(sources)
        self._open: Raw | None = None

    def readinto(self, view: memoryview) -> int:
        """Fill some of the buffer; 0 at the end of the last file."""
        while self._open is not None or self._left:
            self._open = self._open or self._left.pop(0).open()
            if got := self._open.readinto(view):
                return got
            self.close()
        return 0

    def seekable(self) -> bool:
        """Always false."""
        return False

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _advice_on_files(folder: Path) -> str:
    if (folder / RESULT).is_file():
        return f": {RESULT} has scores, but no answers; name the folder of the run"
    files = sorted(str(path) for path in folder.iterdir() if path.is_file())[:_SHOWN]
    if not files:
        return ": it has no files, so name another folder or file"
    return f": name the files to score instead, such as {', '.join(files)}"


def read_config(place: str) -> dict[str, Any] | None:
    """Returns the `config.json` beside the file, or `None`. Raises `InputError` for a damaged one."""
    path = Path(place).parent / CONFIG
    if place == "-" or not path.is_file():
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"is not valid JSON: {error}", path=path) from None
    return parsed_config(content, path)


def parsed_config(content: bytes, path: str | Path) -> dict[str, Any]:
    """Returns the object in a `config.json` or `result.json`. Raises `InputError` for a damaged one."""
    try:
        config = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}", path=path) from None
    if not isinstance(config, dict):
        raise InputError("expected an object", path=path)
    if has_lone_surrogate(config):
        raise InputError(SURROGATE, path=path)
    return config


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the table in a TOML file. Raises `ConfigError` for one that cannot be read."""
    import tomllib  # which scoring does without

    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"invalid TOML: not UTF-8 ({error})", path=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"invalid TOML: {error}", path=path) from None


def has_lone_surrogate(value: Any) -> bool:
    """Whether any text in a JSON value is not valid Unicode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


# A base class for context managers that have a `close` method.


class Closing(ABC):
    """A context manager that calls `close` at the end of its block."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Self:
        """Returns itself; it is closed at the end of the block."""
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Close it."""
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:  # noqa: ARG002 - some subclasses use it
        """Close it at the end of the block; `error` is the exception that ended the block, if any."""
        self.close()
