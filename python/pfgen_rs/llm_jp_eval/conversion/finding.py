"""Finds raw files by name and by digest, in folders and in archives."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NoReturn

from pfgen_rs.errors import InputError, InstallError, unreadable
from pfgen_rs.install.archive import matching_members
from pfgen_rs.io.compression import SUFFIXES, UNPACKED_LIMIT, UnpackingError, read_whole
from pfgen_rs.io.text import shortened
from pfgen_rs.llm_jp_eval.conversion.datasets import has_documented_count
from pfgen_rs.llm_jp_eval.conversion.published import (
    RawFile,
    RawFiles,
    Status,
    document_of,
    folder_of,
    id_list_of,
    name_of,
    needs,
    published,
)
from pfgen_rs.llm_jp_eval.conversion.reading import raw_text

_ID = re.compile(r"[A-Za-z0-9_.-]+")
_READ_PATHS = (name_of, id_list_of, document_of)


def find_raw(source: str | Path, tasks: Iterable[str]) -> RawFiles:
    """Find the raw files of these tasks in a folder, an archive or a single file.

    Found are files with the digest of a published file, whatever their names, and files whose paths end as in
    the published repositories or in the reference's raw_files/, plain, compressed or in archives. A published
    file is preferred to others of the same name.

    Raises `InputError` for sources that cannot be read, and if several different files could be a raw file.
    """
    search = _Search(frozenset(need for task in tasks for need in needs(task)))
    for entry in entries(Path(source), search.wants):
        search.add(entry)
    return search.resolved()


class _Search:
    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._named: dict[str, list[Entry]] = defaultdict(list)
        self._unnamed: list[Entry] = []
        self._id_lists: dict[str, list[Entry]] = defaultdict(list)
        self._documents: dict[str, list[Entry]] = defaultdict(list)
        own = {name: each for name, each in published().items() if self._is_wanted(name)}
        self._sizes = {each.size for each in own.values()}
        self._names = {each.sha256: name for name, each in own.items()}

    def _is_wanted(self, name: str) -> bool:
        return name in self._wanted or folder_of(name) in self._wanted

    def wants(self, path: str, size: int | None) -> bool:
        return size is None or size in self._sizes or any(read(path) for read in _READ_PATHS)

    def add(self, entry: Entry) -> None:
        if split := id_list_of(entry.path):
            self._id_lists[split].append(entry)
        elif document := document_of(entry.path):
            self._documents[document].append(entry)
        elif name := name_of(entry.path):
            self._add_named(name, entry)
        else:
            self._unnamed.append(entry)

    def _add_named(self, name: str, entry: Entry) -> None:
        if self._is_wanted(name):
            self._named[name].append(entry)

    def resolved(self) -> RawFiles:
        """Choose a file for each name."""
        self._name_documents()
        files = {name: _chosen(name, candidates) for name, candidates in self._named.items()}
        return RawFiles(files | self._by_digest(files))

    def _name_documents(self) -> None:
        """Give the documents of the Wikipedia corpus the names of their splits, by the lists of ids."""
        with_folder = {folder_of(name) for name in self._named}
        for split, lists in self._id_lists.items():
            if f"{split}/" in self._wanted and self._documents and f"{split}/" not in with_folder:
                for entry in lists:
                    for document, line in _listed_documents(entry):
                        self._add_document(split, document, entry.label, line)

    def _add_document(self, split: str, document: str, path: str, line: int) -> None:
        if document not in self._documents:
            problem = f"knp/{document[:8]}/{document}.knp, which is listed here, was not found"
            raise InputError(problem, path=path, line=line)
        for entry in self._documents[document]:
            self._add_named(f"{split}/{document}.knp", entry)

    def _by_digest(self, files: Mapping[str, RawFile]) -> dict[str, RawFile]:
        """Returns published files with other names, for the names and folders of which nothing was found."""
        absent = self._wanted - {*files, *map(folder_of, files)}
        found: dict[str, RawFile] = {}
        documents = (each for some in self._documents.values() for each in some)
        for entry in [*self._unnamed, *documents] if absent else []:
            content = _read_if_possible(entry)
            name = self._names.get(_digest(content))
            if name is not None and (name in absent or folder_of(name) in absent):
                found[name] = RawFile(name, entry.label, content, Status.PUBLISHED)
        return found


def _listed_documents(entry: Entry) -> Iterator[tuple[str, int]]:
    listing = RawFile("", entry.label, entry.read(), Status.CHANGED)
    for number, line in enumerate(raw_text(listing).split("\n"), start=1):
        if document := line.strip():
            if not _ID.fullmatch(document):
                problem = f"invalid id {shortened(document)!r} of a document"
                raise InputError(problem, path=entry.label, line=number)
            yield document, number


def _read_if_possible(entry: Entry) -> bytes:
    try:
        return entry.read()
    except InputError:  # a file that nobody said was a raw file
        return b""


def _chosen(name: str, candidates: Iterable[Entry]) -> RawFile:
    """Returns the file to use for a name: the published one if it is there."""
    by_content = {each.read(): each.label for each in candidates}
    digest = published()[name].sha256 if name in published() else None
    files = [RawFile(name, label, content, Status.CHANGED) for content, label in by_content.items()]
    for file in files:
        if file.sha256 == digest:
            return replace(file, status=Status.PUBLISHED)
        if has_documented_count(file):
            return replace(file, status=Status.UNVERIFIED)
    if len(files) > 1:
        raise InputError(
            f"{files[0].label} and {files[1].label} differ, and neither is the published file: keep the "
            f"one to use as {name}"
        )
    return files[0]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# The files of a folder, and of the archives in it, that may be raw files.


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
    source lies in. `label`: name in errors.
    """

    path: str
    label: str
    read: Callable[[], bytes]


def entries(source: Path, wanted: Wanted) -> Iterator[Entry]:
    """Yield the wanted files of a folder, an archive or a single file.

    Archives (.zip, .tar, .tar.gz, .tar.xz) in folders are read as well, hidden files are not. Raises
    `InputError` for sources that cannot be read or exceed the limits.
    """
    try:
        if source.is_dir():
            yield from _of_folder(source, wanted)
        elif source.is_file():
            yield from _of_file(source, wanted, _Kept())
        else:
            there = "not a regular file or folder" if source.exists() else "no such file or folder"
            raise InputError(there, path=source)
    except OSError as error:
        raise InputError(unreadable(error), path=error.filename or source) from error


def _of_folder(source: Path, wanted: Wanted) -> Iterator[Entry]:
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
                yield from _of_file(path, wanted, kept)


def _raise_unlisted(error: OSError) -> NoReturn:
    raise error


def _of_file(path: Path, wanted: Wanted, kept: _Kept) -> Iterator[Entry]:
    parent = "/".join(path.absolute().parts[1:-1])
    if path.name.lower().endswith(_ARCHIVES):
        yield from _of_archive(path, parent, wanted, kept)
        return
    compressed = path.suffix in SUFFIXES
    logical = f"{parent}/{path.stem if compressed else path.name}"
    size = path.stat().st_size
    if wanted(logical, None if compressed and size <= _COMPRESSED_LIMIT else size):
        yield Entry(logical, str(path), partial(file_bytes, path))


def _of_archive(path: Path, parent: str, wanted: Wanted, kept: _Kept) -> Iterator[Entry]:
    def match(name: str, size: int) -> str | None:
        parts = PurePosixPath(name).parts
        if any(map(_is_hidden, parts)) or not parts:
            return None
        return name if wanted(f"{parent}/{'/'.join(parts)}", size) else None

    try:
        for name, content in matching_members(path, match, limit=FILE_LIMIT):
            kept.add(len(content), path)
            logical = f"{parent}/{PurePosixPath(name)}"
            yield Entry(logical, f"{path}: {name}", partial(bytes, content))
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
