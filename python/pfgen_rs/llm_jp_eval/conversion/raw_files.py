"""The raw files of the data sets: their digests, which of them a path stands for, what is known of them."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from pfgen_rs.llm_jp_eval.registry import find_task, tasks

DOCUMENTED: Mapping[str, tuple[int, bytes]] = MappingProxyType(
    {"jnli_train.json": (20073, b'"sentence1"'), "jsquad_train.json": (62859, b'"answers"')}
)
"""Documented number of samples of the published files whose digest is unknown, and a key of each sample."""


class Published(NamedTuple):
    """The SHA-256, in lower-case hex, and the size of a published file in bytes."""

    sha256: str
    size: int


@cache
def published() -> Mapping[str, Published]:
    """Returns digest and size of each published file by the reference's name.

    Without the files of `DOCUMENTED`, whose digests are unknown.
    """
    text = files(__package__).joinpath("published.txt").read_text(encoding="utf-8")
    lines = (line.split(" ") for line in text.splitlines() if not line.startswith("#"))
    return MappingProxyType({name: Published(digest, int(size)) for digest, size, name in lines})


def published_names(folder: str) -> frozenset[str]:
    """Returns the names of the published files of a folder such as `train/`."""
    return frozenset(name for name in published() if name.startswith(folder))


def needs(task: str) -> tuple[str, ...]:
    """Returns the names of the raw files, and folders of files, that a task is made from."""
    own = find_task(task).source
    return () if own is None else tuple(own.files)


def is_folder(name: str) -> bool:
    """Whether a name of `needs` stands for a folder of files."""
    return name.endswith("/")


FOLDERS = {
    "chabsa/chABSA-dataset/": ".json",
    "train/": ".knp",
    "dev/": ".knp",
    "test/": ".knp",
}
"""How the names of files end, by the names of folders."""


def _folder_of(name: str) -> str:
    return name[: name.rfind("/") + 1]


def need_of(name: str) -> str:
    """Returns the need that a file belongs to: that of its folder, or its own."""
    return _folder_of(name) if _folder_of(name) in FOLDERS else name


def names_by_path() -> dict[str, str]:
    """Returns the reference's names of raw files by the end of their paths in the repositories and its own.

    Of files in folders, by the names of the published ones alone.
    """
    names = {name.rpartition("/")[2]: name for name in published() if need_of(name) != name}
    for info in tasks().values():
        for name, path in (info.source.files if info.source else {}).items():
            if not is_folder(name):
                # JGLUE is also found without its folder `datasets`.
                names |= {name: name, path: name, path.removeprefix("datasets/"): name}
    return names


def name_of(path: str, names: Mapping[str, str]) -> str | None:
    """Returns the reference's name of the raw file that a path with "/" stands for; None if it is another.

    `names`: as `names_by_path` returns them.
    """
    parts = path.split("/")
    for tail in ("/".join(parts[at:]) for at in range(len(parts))):
        ending = FOLDERS.get(_folder_of(tail))
        if tail in names or (ending and tail.endswith(ending)):
            return names.get(tail, tail)
    return None


# Raw files as they were found.


class Status(StrEnum):
    """What is known about a raw file; from the best to the worst."""

    PUBLISHED = "published"
    """Its SHA-256 is that of the published file."""
    UNVERIFIED = "unverified"
    """The digest of the published file is unknown; if the number of its samples is, this one has as many."""
    CHANGED = "changed"
    """It is not the published file."""


@dataclass(frozen=True)
class RawFile:
    """A raw file: the reference's name, where it was found, and its content."""

    name: str
    label: str
    content: bytes

    @cached_property
    def sha256(self) -> str:
        """The digest of the content, in lower-case hex."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def status(self) -> Status:
        """What is known about the file."""
        if known := published().get(self.name):
            is_right = known.sha256 == self.sha256
            return Status.PUBLISHED if is_right else Status.CHANGED
        if self.name in DOCUMENTED:
            count, key = DOCUMENTED[self.name]
            is_unknown = self.content.count(key) == count
        else:
            is_unknown = need_of(self.name) == self.name
        return Status.UNVERIFIED if is_unknown else Status.CHANGED


def raw_text(content: bytes) -> str:
    """Returns a file's text as Python's text mode reads it: UTF-8, each line ends with one newline.

    A byte order mark is skipped. Raises `ValueError` for other encodings.
    """
    return io.TextIOWrapper(io.BytesIO(content), "utf-8-sig").read()


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Raw files by name."""

    files: Mapping[str, RawFile]

    def of(self, need: str) -> list[RawFile]:
        """Returns the file of this name, or the files of this folder in the order of their names."""
        names = sorted(name for name in self.files if need in (name, _folder_of(name)))
        return [self.files[name] for name in names]

    def missing(self, task: str) -> tuple[str, ...]:
        """Returns the names of files and folders that a task needs and that were not found."""
        return tuple(need for need in needs(task) if not self.of(need))

    def status(self, *tasks: str) -> Status:
        """Returns the worst status of files of these tasks; `CHANGED` if a folder lacks published files."""
        found = {Status.PUBLISHED}
        for need in {need for task in tasks for need in needs(task)}:
            own = self.of(need)
            found |= {file.status for file in own}
            if is_folder(need) and {file.name for file in own} != published_names(need):
                found.add(Status.CHANGED)
        return max(found, key=list(Status).index)
