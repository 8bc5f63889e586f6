"""The files of a folder, and of the archives in it, that may be raw files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NoReturn

from pfgen_rs.errors import InputError, InstallError, unreadable
from pfgen_rs.install.archive import matching_members
from pfgen_rs.io.compression import SUFFIXES, UNPACKED_LIMIT, UnpackingError, read_whole

__all__ = ["FILES_LIMIT", "FILE_LIMIT", "KEPT_LIMIT", "Entry", "Wanted", "entries", "file_bytes"]

FILE_LIMIT = UNPACKED_LIMIT
"""Most bytes a raw file may have, decompressed."""
KEPT_LIMIT = 2**30
"""Most bytes that are kept of the archives in a folder."""
FILES_LIMIT = 200_000
"""Most files a folder may have."""

Wanted = Callable[[str, int | None], bool]
"""Whether a file may be a raw file, by its path and its size in bytes (None if unknown)."""

_COMPRESSED_LIMIT = 64 * 2**20  # of compressed files whose names do not say that they are raw files
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file.

    `path`: with "/", without the suffix of a compressed file; begins with the names of the folders that the
    source lies in. `origin`: the path of the file or its archive within the source. `label`: name in errors.
    """

    path: str
    origin: str
    label: str
    read: Callable[[], bytes]


def entries(source: Path, wanted: Wanted) -> Iterator[Entry]:
    """Yield the wanted files of a folder, an archive or a single file.

    Archives (.zip, .tar, .tar.gz, .tar.xz) in folders are read as well, hidden files are not. Raises
    `InputError` for sources that cannot be read or exceed the limits.
    """
    try:
        yield from _entries_of_source(source, wanted)
    except OSError as error:
        raise InputError(unreadable(error), path=error.filename or source) from error


def _entries_of_source(source: Path, wanted: Wanted) -> Iterator[Entry]:
    above = "/".join(source.absolute().parts[1:])
    if source.is_dir():
        yield from _entries_of_folder(source, above, wanted)
    elif source.is_file():
        parent = above.rpartition("/")[0]
        yield from _entries_of_file(source, source.name, parent, wanted, _Kept())
    else:
        problem = "not a regular file or folder" if source.exists() else "no such file or folder"
        raise InputError(problem, path=source)


def _entries_of_folder(source: Path, above: str, wanted: Wanted) -> Iterator[Entry]:
    kept, count = _Kept(), 0
    for folder, subfolders, names in os.walk(source, onerror=_raise_unlisted):
        subfolders[:] = sorted(name for name in subfolders if not _is_hidden(name))
        for name in sorted(name for name in names if not _is_hidden(name)):
            count += 1
            if count > FILES_LIMIT:
                problem = f"more than {FILES_LIMIT:,} files: name the folder with the raw files"
                raise InputError(problem, path=source)
            path = Path(folder, name)
            if path.is_file():
                inner = path.relative_to(source).as_posix()
                parent = f"{above}/{inner}".rpartition("/")[0]
                yield from _entries_of_file(path, inner, parent, wanted, kept)


def _raise_unlisted(error: OSError) -> NoReturn:
    raise error


def _entries_of_file(
    path: Path, origin: str, parent: str, wanted: Wanted, kept: _Kept
) -> Iterator[Entry]:
    if path.name.lower().endswith(_ARCHIVES):
        yield from _entries_of_archive(path, origin, parent, wanted, kept)
        return
    compressed = path.suffix in SUFFIXES
    name = path.stem if compressed else path.name
    size: int | None = path.stat().st_size
    if compressed and (size or 0) <= _COMPRESSED_LIMIT:
        size = None
    logical = f"{parent}/{name}"
    if wanted(logical, size):
        yield Entry(logical, origin, str(path), partial(file_bytes, path))


def _entries_of_archive(
    path: Path, origin: str, parent: str, wanted: Wanted, kept: _Kept
) -> Iterator[Entry]:
    def match(name: str, size: int) -> str | None:
        parts = PurePosixPath(name).parts
        if any(map(_is_hidden, parts)) or not parts:
            return None
        return name if wanted(f"{parent}/{'/'.join(parts)}", size) else None

    try:
        for name, content in matching_members(path, match, limit=FILE_LIMIT):
            kept.add(len(content), path)
            logical = f"{parent}/{PurePosixPath(name)}"
            yield Entry(logical, origin, f"{path}: {name}", partial(bytes, content))
    except InstallError as error:
        raise InputError(str(error).removeprefix(f"{path}: "), path=path) from error


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def file_bytes(path: Path) -> bytes:
    """Returns the content of a file, decompressed if it is compressed. Raises `InputError`."""
    try:
        return read_whole(path, FILE_LIMIT)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except UnpackingError as error:
        raise InputError(str(error), path=path) from None


class _Kept:
    """Counts the bytes that are kept of archives."""

    def __init__(self) -> None:
        self._size = 0

    def add(self, size: int, path: Path) -> None:
        self._size += size
        if self._size > KEPT_LIMIT:
            raise InputError(f"more than {KEPT_LIMIT:,} bytes of raw files in archives", path=path)
