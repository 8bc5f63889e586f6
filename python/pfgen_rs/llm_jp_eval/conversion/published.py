"""The published raw files: sources, licences, digests, and which of them a path stands for."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from pfgen_rs.llm_jp_eval.catalog import SPLITS

DOCUMENTED: Mapping[str, int] = MappingProxyType(
    {"jnli_train.json": 20073, "jsquad_train.json": 62859}
)
"""Number of samples of the published files whose digest is unknown, as JGLUE documents it."""


class Published(NamedTuple):
    """The SHA-256, in lower-case hex, and the size of a published file in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Source:
    """A data set's repository.

    `files`: path in the repository by the reference's name, in the order in which they are read; names that
    end with "/" stand for folders of files. `page`: the page that links to an archive, if the files are not
    in a repository.
    """

    name: str
    tasks: tuple[str, ...]
    repository: str
    revision: str
    licence: str
    files: Mapping[str, str]
    page: str | None = None

    @property
    def url(self) -> str:
        """The address of an archive that contains all files, or of the page that links to it."""
        return self.page or f"https://github.com/{self.repository}/archive/{self.revision}.tar.gz"


@cache
def sources() -> Mapping[str, Source]:
    """Returns all sources by key."""
    text = files(__package__).joinpath("sources.toml").read_text(encoding="utf-8")
    return MappingProxyType(
        {
            key: Source(**{**fields, "tasks": tuple(fields["tasks"])})
            for key, fields in tomllib.loads(text).items()
        }
    )


@cache
def published() -> Mapping[str, Published]:
    """Returns digest and size of each published file by the reference's name.

    Without the files of `DOCUMENTED`, whose digests are unknown.
    """
    text = files(__package__).joinpath("published.txt").read_text(encoding="utf-8")
    lines = (line.split(" ") for line in text.splitlines() if not line.startswith("#"))
    return MappingProxyType({name: Published(digest, int(size)) for digest, size, name in lines})


@cache
def published_names(folder: str) -> frozenset[str]:
    """Returns the names of the published files of a folder such as `train/`."""
    return frozenset(name for name in published() if name.startswith(folder))


def source_of(task: str) -> Source:
    """Returns the source of a task's raw files."""
    return next(source for source in sources().values() if task in source.tasks)


def needs(task: str) -> tuple[str, ...]:
    """Returns the names of the raw files, and folders of files, that a task is made from."""
    names = source_of(task).files
    # Files of several tasks begin with the task; the tasks of the Wikipedia corpus share all documents.
    return tuple(name for name in names if name.startswith(task)) or tuple(names)


def is_folder(name: str) -> bool:
    """Whether a name of `needs` stands for a folder of files."""
    return name.endswith("/")


def folder_of(name: str) -> str:
    """Returns the folder of a file's name, with its "/"; empty for files that are not in a folder."""
    return name[: name.rfind("/") + 1]


# Raw files as they were found.


class Status(StrEnum):
    """What is known about a raw file; from the best to the worst."""

    PUBLISHED = "published"
    """Its SHA-256 is that of the published file."""
    UNVERIFIED = "unverified"
    """The digest of the published file is unknown; this one has as many samples."""
    CHANGED = "changed"
    """It is not the published file."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """A raw file: the reference's name, where it was found, its content, and what is known about it."""

    name: str
    label: str
    content: bytes
    status: Status

    @property
    def sha256(self) -> str:
        """The digest of the content, in lower-case hex."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Raw files by name."""

    files: Mapping[str, RawFile]

    def of(self, need: str) -> list[RawFile]:
        """Returns the file of this name, or the files of this folder in the order of their names."""
        if not is_folder(need):
            return [self.files[need]] if need in self.files else []
        return [self.files[name] for name in sorted(self.files) if name.startswith(need)]

    def missing(self, task: str) -> tuple[str, ...]:
        """Returns the names of files and folders that a task needs and that were not found."""
        return tuple(need for need in needs(task) if not self.of(need))

    def status(self, task: str) -> Status:
        """Returns the worst status of a task's files; `CHANGED` if a folder lacks published files."""
        found = {Status.PUBLISHED, *(file.status for need in needs(task) for file in self.of(need))}
        for need in filter(is_folder, needs(task)):
            if {file.name for file in self.of(need)} != published_names(need):
                found.add(Status.CHANGED)
        return worst(found)


def worst(statuses: Iterable[Status]) -> Status:
    """Returns the worst of these statuses."""
    return max(statuses, key=list(Status).index)


# Which raw file a path stands for: in checkouts, in the reference's raw_files/ and in the cache folder.


_TAIL = 4  # most components of a path that decide
_CHABSA = "chabsa/chABSA-dataset/"
_ANNOTATED = re.compile(r"(?:^|/)(?:chABSA-dataset|chABSA)/([^/]+_ann\.json)$")
_REFERENCE = re.compile(
    r"(?:^|/)(chabsa/chABSA-dataset/[^/]+\.json|(?:train|dev|test)/[^/]+\.knp)$"
)
_DOCUMENT = re.compile(r"(?:^|/)knp/([^/]{1,8})/([^/]+)\.knp$")
_ID_LIST = re.compile(rf"(?:^|/)id/({'|'.join(SPLITS)})\.id$")


def name_of(path: str) -> str | None:
    """Returns the reference's name of the raw file that a path stands for; None if it is another file.

    Paths end as in the published repositories or as in the reference's raw_files/.
    """
    if found := _REFERENCE.search(path):
        return found[1]
    if found := _ANNOTATED.search(path):
        return _CHABSA + found[1]
    parts = path.split("/")
    tails = ("/".join(parts[-count:]) for count in range(min(_TAIL, len(parts)), 0, -1))
    return next((_names_by_tail()[tail] for tail in tails if tail in _names_by_tail()), None)


def id_list_of(path: str) -> str | None:
    """Returns the split whose documents a file of the Wikipedia corpus lists."""
    found = _ID_LIST.search(path)
    return found[1] if found else None


def document_of(path: str) -> str | None:
    """Returns the id of a document as the repository of the Wikipedia corpus stores it."""
    found = _DOCUMENT.search(path)
    return found[2] if found and found[2].startswith(found[1]) else None


@cache
def _names_by_tail() -> Mapping[str, str]:
    tails: dict[str, str] = {}
    for source in sources().values():
        for name, path in source.files.items():
            if not is_folder(name):
                # JGLUE is also found without its folder `datasets`.
                tails |= {name: name, path: name, path.removeprefix("datasets/"): name}
    return MappingProxyType(tails)
