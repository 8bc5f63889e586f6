"""Finds raw files by name and by digest, in folders and in archives."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from pfgen_rs.errors import InputError, InstallError, unreadable
from pfgen_rs.install.archive import matching_members
from pfgen_rs.io.compression import SUFFIXES, UNPACKED_LIMIT, UnpackingError, read_whole
from pfgen_rs.io.text import shortened
from pfgen_rs.llm_jp_eval.conversion import published as naming
from pfgen_rs.llm_jp_eval.conversion.datasets import has_documented_count
from pfgen_rs.llm_jp_eval.conversion.published import (
    DOCUMENTED,
    RawFile,
    RawFiles,
    Status,
    folder_of,
    is_folder,
    needs,
    published,
    sources,
)
from pfgen_rs.llm_jp_eval.conversion.reading import raw_text

MANIFEST = "manifest.json"
"""A file at the top of a folder that says which of its files stand in for which raw files."""

_ID = re.compile(r"[A-Za-z0-9_.-]+")
_MANIFESTED, _NAMED, _OTHER_VERSION, _STAND_IN = range(4)


def find_raw(source: str | Path, tasks: Iterable[str]) -> RawFiles:
    """Find the raw files of these tasks in a folder, an archive or a single file.

    Found are files with the digest of a published file, whatever their names, and files whose paths end as in
    the published repositories or in the reference's raw_files/, plain, compressed or in archives. A published
    file is preferred to others of the same name. The files that a `manifest.json` maps to raw files are used
    as those.

    Raises `InputError` for sources that cannot be read, and if several different files could be a raw file.
    """
    source = Path(source)
    search = _Search(source, frozenset(need for task in tasks for need in needs(task)))
    for entry in entries(source, search.wants):
        search.add(entry)
    return search.resolved()


@dataclass(frozen=True, slots=True)
class _Candidate:
    entry: Entry
    rank: int


class _Search:
    def __init__(self, source: Path, wanted: Collection[str]) -> None:
        self._wanted = wanted
        self._stated = _read_manifest(source)
        self._named: dict[str, list[_Candidate]] = defaultdict(list)
        self._unnamed: list[Entry] = []
        self._id_lists: dict[str, list[Entry]] = defaultdict(list)
        self._documents: dict[str, list[Entry]] = defaultdict(list)
        self._sizes = {each.size for name, each in published().items() if self._is_wanted(name)}
        self._names = {
            each.sha256: name for name, each in published().items() if self._is_wanted(name)
        }

    def _is_wanted(self, name: str) -> bool:
        return name in self._wanted or folder_of(name) in self._wanted

    def wants(self, path: str, size: int | None) -> bool:
        return (
            size is None
            or size in self._sizes
            or naming.name_of(path) is not None
            or naming.other_version_of(path) is not None
            or naming.id_list_of(path) is not None
            or naming.document_of(path) is not None
            or naming.is_jglue_train(path)
            or any(path.endswith(f"/{stated}") for stated in self._stated)
        )

    def add(self, entry: Entry) -> None:
        if entry.origin in self._stated:
            name, stands_in = self._stated[entry.origin]
            self._add_named(name, entry, _STAND_IN if stands_in else _MANIFESTED)
        elif (split := naming.id_list_of(entry.path)) is not None:
            self._id_lists[split].append(entry)
        elif (document := naming.document_of(entry.path)) is not None:
            self._documents[document].append(entry)
        elif (name_or_none := naming.name_of(entry.path)) is not None:
            self._add_named(name_or_none, entry, _NAMED)
        else:
            other = naming.other_version_of(entry.path)
            if other is not None:
                self._add_named(other, entry, _OTHER_VERSION)
            self._unnamed.append(entry)

    def _add_named(self, name: str, entry: Entry, rank: int) -> None:
        if self._is_wanted(name):
            self._named[name].append(_Candidate(entry, rank))

    def resolved(self) -> RawFiles:
        """Choose a file for each name."""
        self._name_documents()
        files, refused = {}, {}
        for name, candidates in self._named.items():
            found = _chosen(name, candidates)
            if isinstance(found, RawFile):
                files[name] = found
            else:
                refused[name] = found
        return RawFiles(files | self._by_digest(files), refused)

    def _name_documents(self) -> None:
        """Give the documents of the Wikipedia corpus the names of their splits, by the lists of ids."""
        for split, lists in self._id_lists.items():
            if f"{split}/" in self._wanted and self._documents and not self._has_folder(split):
                for entry in lists:
                    for document, line in _listed_documents(entry):
                        self._add_document(split, document, entry.label, line)

    def _has_folder(self, split: str) -> bool:
        return any(folder_of(name) == f"{split}/" for name in self._named)

    def _add_document(self, split: str, document: str, path: str, line: int) -> None:
        if document not in self._documents:
            problem = f"knp/{document[:8]}/{document}.knp, which is listed here, was not found"
            raise InputError(problem, path=path, line=line)
        for entry in self._documents[document]:
            self._add_named(f"{split}/{document}.knp", entry, _NAMED)

    def _by_digest(self, files: Mapping[str, RawFile]) -> dict[str, RawFile]:
        """Returns published files with other names, for the names and folders of which nothing was found."""
        present = {*files, *map(folder_of, files)}
        absent = {need for need in self._wanted if need not in present}
        if not absent:
            return {}
        found: dict[str, RawFile] = {}
        documents = (each for some in self._documents.values() for each in some)
        for entry in [*self._unnamed, *documents]:
            content = _read_if_possible(entry)
            name = self._names.get(_digest(content))
            if name is not None and (name in absent or folder_of(name) in absent):
                found[name] = RawFile(name, entry.label, content, Status.PUBLISHED)
            elif name is None and naming.is_jglue_train(entry.path):
                found |= _counted(absent & DOCUMENTED.keys(), entry.label, content)
        return found


def _listed_documents(entry: Entry) -> Iterator[tuple[str, int]]:
    listing = RawFile("", entry.label, entry.read(), Status.CHANGED)
    for number, line in enumerate(raw_text(listing).split("\n"), start=1):
        if document := line.strip():
            if not _ID.fullmatch(document):
                problem = f"invalid id {shortened(document)!r} of a document"
                raise InputError(problem, path=entry.label, line=number)
            yield document, number


def _counted(names: Iterable[str], label: str, content: bytes) -> dict[str, RawFile]:
    """Returns the file under the name for which it has the documented number of samples."""
    files = (RawFile(name, label, content, Status.UNVERIFIED) for name in names)
    return {file.name: file for file in files if has_documented_count(file)}


def _read_if_possible(entry: Entry) -> bytes:
    try:
        return entry.read()
    except InputError:  # a file that nobody said was a raw file
        return b""


def _chosen(name: str, candidates: Iterable[_Candidate]) -> RawFile | str:
    """Returns the file to use for a name, or why no candidate can be used."""
    ranked = sorted(candidates, key=lambda each: each.rank)
    contents = [(each, content := each.entry.read(), _digest(content)) for each in ranked]
    for each, content, digest in contents:
        if name in published() and digest == published()[name].sha256:
            return RawFile(name, each.entry.label, content, Status.PUBLISHED)
    refusal = ""
    for rank in sorted({each.rank for each in ranked}):
        same_rank = [(each, content) for each, content, _ in contents if each.rank == rank]
        first, content = same_rank[0]
        file = RawFile(name, first.entry.label, content, Status.CHANGED)
        if rank == _STAND_IN:
            return replace(file, status=Status.STAND_IN)
        if has_documented_count(file):
            return replace(file, status=Status.UNVERIFIED)
        if rank == _OTHER_VERSION:
            refusal = f"{file.label} is another version of it"
            continue
        _check_unambiguous(name, same_rank)
        return file
    return refusal


def _check_unambiguous(name: str, candidates: Iterable[tuple[_Candidate, bytes]]) -> None:
    by_content = {content: each.entry.label for each, content in candidates}
    if len(by_content) > 1:
        first, second = list(by_content.values())[:2]
        raise InputError(
            f"{first} and {second} differ, and neither is the published file: keep the one to use as {name}"
        )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_manifest(source: Path) -> dict[str, tuple[str, bool]]:
    """Returns name and whether it is a stand-in by path, for the files that a folder's manifest names.

    Files called manifest.json that contain something else are ignored.
    """
    path = source / MANIFEST
    try:
        records = json.loads(file_bytes(path)) if path.is_file() else []
    except (InputError, ValueError, RecursionError):
        return {}
    found = {}
    for record in records if isinstance(records, list) else []:
        if isinstance(record, dict) and _is_stated(record):
            stands_in = str(record.get("note", "")).startswith("SURROGATE")
            found[record["file"]] = (record["reference_name"], stands_in)
    return found


def _is_stated(record: dict[str, Any]) -> bool:
    name = record.get("reference_name")
    return isinstance(record.get("file"), str) and isinstance(name, str) and name in _fixed_names()


@cache
def _fixed_names() -> frozenset[str]:
    names = (name for source in sources().values() for name in source.files)
    return frozenset(name for name in names if not is_folder(name))


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
        yield from _of_source(source, wanted)
    except OSError as error:
        raise InputError(unreadable(error), path=error.filename or source) from error


def _of_source(source: Path, wanted: Wanted) -> Iterator[Entry]:
    above = "/".join(source.absolute().parts[1:])
    if source.is_dir():
        yield from _of_folder(source, above, wanted)
    elif source.is_file():
        parent = above.rpartition("/")[0]
        yield from _of_file(source, source.name, parent, wanted, _Kept())
    else:
        problem = "not a regular file or folder" if source.exists() else "no such file or folder"
        raise InputError(problem, path=source)


def _of_folder(source: Path, above: str, wanted: Wanted) -> Iterator[Entry]:
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
                yield from _of_file(path, inner, parent, wanted, kept)


def _raise_unlisted(error: OSError) -> NoReturn:
    raise error


def _of_file(path: Path, origin: str, parent: str, wanted: Wanted, kept: _Kept) -> Iterator[Entry]:
    if path.name.lower().endswith(_ARCHIVES):
        yield from _of_archive(path, origin, parent, wanted, kept)
        return
    compressed = path.suffix in SUFFIXES
    name = path.stem if compressed else path.name
    size: int | None = path.stat().st_size
    if compressed and (size or 0) <= _COMPRESSED_LIMIT:
        size = None
    logical = f"{parent}/{name}"
    if wanted(logical, size):
        yield Entry(logical, origin, str(path), partial(file_bytes, path))


def _of_archive(
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
