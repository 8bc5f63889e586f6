"""Where the raw files are published, under which licences, and their digests."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

__all__ = [
    "DOCUMENTED",
    "Published",
    "Source",
    "folder_of",
    "is_folder",
    "needs",
    "published",
    "published_names",
    "source_of",
    "sources",
]

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
    def archive(self) -> str:
        """The address of an archive that contains all files, or of the page that links to it."""
        return self.page or f"https://github.com/{self.repository}/archive/{self.revision}.tar.gz"

    def url(self, name: str) -> str:
        """Returns the address of one file, by the reference's name, or of the archive with it."""
        if self.page is not None or is_folder(name) or name not in self.files:
            return self.archive
        return f"https://raw.githubusercontent.com/{self.repository}/{self.revision}/{self.files[name]}"


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
