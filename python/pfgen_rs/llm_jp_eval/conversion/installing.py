"""Installs raw files in the cache folder, and says what is missing."""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NoReturn

from pfgen_rs.errors import InputError, InstallError, unreadable
from pfgen_rs.install.archive import matching_members
from pfgen_rs.io import compression, text
from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.llm_jp_eval.conversion import raw_files
from pfgen_rs.llm_jp_eval.evaluation_files import installed_raw
from pfgen_rs.llm_jp_eval.registry import tasks

_ID = re.compile(r"[A-Za-z0-9_.-]+")
_READ_PATHS = (raw_files.name_of, raw_files.id_list_of, raw_files.document_of)


def find_raw(source: str | Path, tasks: Iterable[str]) -> raw_files.RawFiles:
    """Find the raw files of these tasks in a folder, an archive or a single file.

    Found are files with the digest of a published file, whatever their names, and files whose paths end as in
    the published repositories or in the reference's raw_files/, plain, compressed or in archives. A published
    file is preferred to others of the same name.

    Raises `InputError` for sources that cannot be read, and if several different files could be a raw file.
    """
    search = _Search(frozenset(need for task in tasks for need in raw_files.needs(task)))
    kept = 0
    for entry in entries(Path(source), search.wants):
        search.add(entry)
        kept += entry.kept
        if kept > KEPT_LIMIT:
            problem = f"more than {KEPT_LIMIT:,} bytes of raw files in archives"
            raise InputError(problem, path=source)
    return search.resolved()


@dataclass(frozen=True, slots=True)
class Entry:
    """A file.

    `path`: with "/", without the suffix of a compressed file; begins with the names of the folders that the
    source lies in. `label`: name in errors. `kept`: bytes that are kept of an archive.
    """

    path: str
    label: str
    read: Callable[[], bytes]
    kept: int = 0


class _Search:
    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._named: dict[str, list[Entry]] = defaultdict(list)
        self._unnamed: list[Entry] = []
        self._id_lists: dict[str, list[Entry]] = defaultdict(list)
        self._documents: dict[str, list[Entry]] = defaultdict(list)
        own = {name: each for name, each in raw_files.published().items() if self._is_wanted(name)}
        self._sizes = {each.size for each in own.values()}
        self._names = {each.sha256: name for name, each in own.items()}

    def _is_wanted(self, name: str) -> bool:
        return name in self._wanted or raw_files.folder_of(name) in self._wanted

    def wants(self, path: str, size: int | None) -> bool:
        return size is None or size in self._sizes or any(read(path) for read in _READ_PATHS)

    def add(self, entry: Entry) -> None:
        if split := raw_files.id_list_of(entry.path):
            self._id_lists[split].append(entry)
        elif document := raw_files.document_of(entry.path):
            self._documents[document].append(entry)
        elif name := raw_files.name_of(entry.path):
            self._add_named(name, entry)
        else:
            self._unnamed.append(entry)

    def _add_named(self, name: str, entry: Entry) -> None:
        if self._is_wanted(name):
            self._named[name].append(entry)

    def resolved(self) -> raw_files.RawFiles:
        """Choose a file for each name."""
        self._name_documents()
        files = {name: _chosen(name, candidates) for name, candidates in self._named.items()}
        return raw_files.RawFiles(files | self._by_digest(files))

    def _name_documents(self) -> None:
        """Give the documents of the Wikipedia corpus the names of their splits, by the lists of ids."""
        with_folder = {raw_files.folder_of(name) for name in self._named}
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

    def _by_digest(self, files: Mapping[str, raw_files.RawFile]) -> dict[str, raw_files.RawFile]:
        """Returns published files with other names, for the names and folders of which nothing was found."""
        absent = self._wanted - {*files, *map(raw_files.folder_of, files)}
        found: dict[str, raw_files.RawFile] = {}
        documents = (each for some in self._documents.values() for each in some)
        for entry in [*self._unnamed, *documents] if absent else []:
            content = _read_if_possible(entry)
            name = self._names.get(_digest(content))
            if name is not None and (name in absent or raw_files.folder_of(name) in absent):
                found[name] = raw_files.RawFile(
                    name, entry.label, content, raw_files.Status.PUBLISHED
                )
        return found


def _listed_documents(entry: Entry) -> Iterator[tuple[str, int]]:
    listing = raw_files.RawFile("", entry.label, entry.read(), raw_files.Status.CHANGED)
    for number, line in enumerate(raw_files.raw_text(listing).split("\n"), start=1):
        if document := line.strip():
            if not _ID.fullmatch(document):
                problem = f"invalid id {text.shortened(document)!r} of a document"
                raise InputError(problem, path=entry.label, line=number)
            yield document, number


def _read_if_possible(entry: Entry) -> bytes:
    try:
        return entry.read()
    except InputError:  # a file that nobody said was a raw file
        return b""


def _chosen(name: str, candidates: Iterable[Entry]) -> raw_files.RawFile:
    """Returns the file to use for a name: the published one if it is there."""
    by_content = {each.read(): each.label for each in candidates}
    digest = raw_files.published()[name].sha256 if name in raw_files.published() else None
    files = [
        raw_files.RawFile(name, label, content, raw_files.Status.CHANGED)
        for content, label in by_content.items()
    ]
    for file in files:
        if file.sha256 == digest:
            return replace(file, status=raw_files.Status.PUBLISHED)
        if raw_files.has_documented_count(file):
            return replace(file, status=raw_files.Status.UNVERIFIED)
    if len(files) > 1:
        raise InputError(
            f"{files[0].label} and {files[1].label} differ, and neither is the published file: keep the "
            f"one to use as {name}"
        )
    return files[0]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# The files of a folder, and of the archives in it, that may be raw files.


FILE_LIMIT = compression.UNPACKED_LIMIT
"""Most bytes a raw file may have, decompressed."""
KEPT_LIMIT = 2**30
"""Most bytes that are kept of the archives in a folder."""
FILES_LIMIT = 200_000
"""Most files a folder may have."""

Wanted = Callable[[str, int | None], bool]
"""Whether a file may be a raw file, by its path and its size in bytes (None if unknown)."""

_COMPRESSED_LIMIT = 64 * 2**20  # of compressed files whose names do not say that they are raw files
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz")


def entries(source: Path, wanted: Wanted) -> Iterator[Entry]:
    """Yield the wanted files of a folder, an archive or a single file.

    Archives (.zip, .tar, .tar.gz, .tar.xz) in folders are read as well, hidden files are not. Raises
    `InputError` for sources that cannot be read or exceed the limits.
    """
    try:
        if source.is_dir():
            yield from _of_folder(source, wanted)
        elif source.is_file():
            yield from _of_file(source, wanted)
        else:
            there = "not a regular file or folder" if source.exists() else "no such file or folder"
            raise InputError(there, path=source)
    except OSError as error:
        raise InputError(unreadable(error), path=error.filename or source) from error


def _of_folder(source: Path, wanted: Wanted) -> Iterator[Entry]:
    count = 0
    for folder, subfolders, names in os.walk(source, onerror=_raise_unlisted):
        subfolders[:] = sorted(name for name in subfolders if not _is_hidden(name))
        for name in sorted(name for name in names if not _is_hidden(name)):
            count += 1
            if count > FILES_LIMIT:
                problem = f"more than {FILES_LIMIT:,} files: name the folder with the raw files"
                raise InputError(problem, path=source)
            path = Path(folder, name)
            if path.is_file():
                yield from _of_file(path, wanted)


def _raise_unlisted(error: OSError) -> NoReturn:
    raise error


def _of_file(path: Path, wanted: Wanted) -> Iterator[Entry]:
    parent = "/".join(path.absolute().parts[1:-1])
    if path.name.lower().endswith(_ARCHIVES):
        yield from _of_archive(path, parent, wanted)
        return
    compressed = path.suffix in compression.SUFFIXES
    logical = f"{parent}/{path.stem if compressed else path.name}"
    size = path.stat().st_size
    if wanted(logical, None if compressed and size <= _COMPRESSED_LIMIT else size):
        yield Entry(logical, str(path), partial(file_bytes, path))


def _of_archive(path: Path, parent: str, wanted: Wanted) -> Iterator[Entry]:
    def match(name: str, size: int) -> str | None:
        parts = PurePosixPath(name).parts
        if any(map(_is_hidden, parts)) or not parts:
            return None
        return name if wanted(f"{parent}/{'/'.join(parts)}", size) else None

    try:
        for name, content in matching_members(path, match, limit=FILE_LIMIT):
            logical = f"{parent}/{PurePosixPath(name)}"
            yield Entry(logical, f"{path}: {name}", partial(bytes, content), len(content))
    except InstallError as error:
        raise InputError(str(error).removeprefix(f"{path}: "), path=path) from error


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def file_bytes(path: Path) -> bytes:
    """Returns the content of a file, decompressed if it is compressed. Raises `InputError`."""
    try:
        return compression.read_whole(path, FILE_LIMIT)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except compression.UnpackingError as error:
        raise InputError(str(error), path=path) from None


@dataclass(frozen=True, slots=True)
class Taken:
    """A raw file, or a folder of raw files, that was installed: its name and size, where it was found."""

    name: str
    files: int
    size: int
    status: raw_files.Status
    origin: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """The installed raw files of a data set; `status` is None if there are none.

    `missing`: number of missing files, or folders of files.
    """

    name: str
    tasks: tuple[str, ...]
    licence: str
    files: int
    missing: int
    status: raw_files.Status | None


@dataclass(frozen=True, slots=True)
class Installation:
    """The installed raw files.

    `taken`: what was installed now. `refused`: what was found but not installed, and why, by name. `missing`:
    what tasks lack, with addresses.
    """

    folder: Path
    taken: tuple[Taken, ...]
    refused: dict[str, str]
    datasets: tuple[DataSet, ...]
    missing: "tuple[MissingFiles, ...]"


def install_raw(source: str | Path) -> Installation:
    """Install the raw files that a folder or an archive contains, for `convert`.

    Files are found by their digests, and by their paths in the published repositories and in the reference's
    raw_files/. Installed are files with the published digests, and those whose published digests are unknown
    (`jnli_train.json`, `jsquad_train.json`) if they have as many samples as documented. Files that are
    already installed stay, so several sources can be installed one after another.

    Raises `InputError` if the source cannot be read or contains nothing to install, `OutputError` if the
    cache folder cannot be written.
    """
    found = find_raw(source, tasks())
    refused: dict[str, str] = {}
    chosen: dict[str, list[raw_files.RawFile]] = {}
    for need in dict.fromkeys(need for task in tasks() for need in raw_files.needs(task)):
        files = found.of(need)
        if reason := _refusal(need, files):
            refused[need] = reason
        elif files:
            chosen[need] = files
    if not chosen:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise InputError(
            f"contains none of the published raw files{f' ({reasons})' if refused else ''}: `pfgen-rs "
            "llm-jp-eval install` without --from lists them, and `convert --raw` takes others",
            path=source,
        )
    taken = tuple(_taken(need, files) for need, files in chosen.items())
    folder = installed_raw()
    with staged_folder(folder, "installing") as content:
        for file in (file for files in chosen.values() for file in files):
            target = content / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
    return raw_installation(taken, refused)


def raw_installation(
    taken: tuple[Taken, ...] = (), refused: Mapping[str, str] = MappingProxyType({})
) -> Installation:
    """Returns what is installed, and what is missing. Raises `InputError` if it cannot be read."""
    folder = installed_raw()
    found = find_raw(folder, tasks()) if folder.is_dir() else raw_files.RawFiles({})
    missing = tuple(filter(None, (missing_files(task, found) for task in tasks())))
    absent = {name for each in missing for name in each.names}
    still_refused = {name: reason for name, reason in refused.items() if name in absent}
    datasets = tuple(_dataset(source, found) for source in raw_files.sources().values())
    return Installation(folder, taken, still_refused, datasets, missing)


def _dataset(source: raw_files.Source, found: raw_files.RawFiles) -> DataSet:
    count = sum(len(found.of(need)) for need in source.files)
    status = raw_files.worst(map(found.status, source.tasks)) if count else None
    missing = sum(1 for need in source.files if not found.of(need))
    return DataSet(source.name, source.tasks, source.licence, count, missing, status)


def _refusal(need: str, files: list[raw_files.RawFile]) -> str | None:
    """Returns why files are not installed."""
    if not files:
        return None
    if raw_files.is_folder(need):
        right = {file.name for file in files if file.status is raw_files.Status.PUBLISHED}
        expected = raw_files.published_names(need)
        if right == expected and len(files) == len(expected):
            return None
        found = f"found {len(right):,} of {text.counted(len(expected), 'published file')}"
        return f"{found}, {len(files) - len(right):,} others"
    [file] = files
    if file.status is not raw_files.Status.CHANGED:
        return None
    if need in raw_files.DOCUMENTED:
        return f"{file.label} does not have the {raw_files.DOCUMENTED[need]:,} samples of the published file"
    digest = raw_files.published()[need].sha256
    return f"{file.label} is not the published file: SHA-256 {file.sha256}, expected {digest}"


def _taken(need: str, files: list[raw_files.RawFile]) -> Taken:
    status = raw_files.worst(file.status for file in files)
    return Taken(need, len(files), sum(len(f.content) for f in files), status, files[0].label)


# What is missing of a task's raw files, and where it is published.


_LISTED = 3  # most names that are listed one by one


@dataclass(frozen=True, slots=True)
class MissingFiles:
    """Missing raw files of a task: the reference's names, where they are published, and the licence.

    Names that end with "/" stand for folders. `urls`: an archive, or a page that links to it.
    """

    task: str
    names: tuple[str, ...]
    dataset: str
    urls: tuple[str, ...]
    licence: str


def missing_files(task: str, raw: raw_files.RawFiles) -> MissingFiles | None:
    """Returns what is missing of a task's raw files; None if nothing is."""
    names = raw.missing(task)
    if not names:
        return None
    source = raw_files.source_of(task)
    return MissingFiles(task, names, source.name, (source.url,), source.licence)


def shown_names(names: Sequence[str]) -> str:
    """Returns names of missing files as text, or their number if there are many."""
    if len(names) > _LISTED:
        return text.counted(len(names), "file")
    return ", ".join(map(_shown_need, names))


def _shown_need(name: str) -> str:
    return (
        f"{name} ({text.counted(len(raw_files.published_names(name)), 'file')})"
        if raw_files.is_folder(name)
        else name
    )
