"""Raw files as they were found."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pfgen_rs.llm_jp_eval.raw.sources import is_folder, needs, published_names

__all__ = ["RawFile", "RawFiles", "Status"]


class Status(StrEnum):
    """What is known about a raw file; from the best to the worst."""

    PUBLISHED = "published"
    """Its SHA-256 is that of the published file."""
    UNVERIFIED = "unverified"
    """The digest of the published file is unknown; this one has as many samples."""
    CHANGED = "changed"
    """It is not the published file."""
    STAND_IN = "stand-in"
    """A manifest says that it stands in for a file that could not be had."""


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
    """Raw files by name. `refused`: for files that were found but cannot be used, the reasons by name."""

    files: Mapping[str, RawFile]
    refused: Mapping[str, str]

    def of(self, need: str) -> list[RawFile]:
        """Returns the file of this name, or the files of this folder in the order of their names."""
        if not is_folder(need):
            return [self.files[need]] if need in self.files else []
        return [self.files[name] for name in sorted(self.files) if name.startswith(need)]

    def missing(self, task: str) -> tuple[str, ...]:
        """Returns the names of files and folders that a task needs and that were not found."""
        return tuple(need for need in needs(task) if not self.of(need))

    def stand_ins(self, task: str) -> tuple[str, ...]:
        """Returns the names of files that only stand in for the published ones."""
        found = (file for need in needs(task) for file in self.of(need))
        return tuple(file.name for file in found if file.status is Status.STAND_IN)

    def status(self, task: str) -> Status:
        """Returns the worst status of a task's files; `CHANGED` if a folder lacks published files."""
        worst = Status.PUBLISHED
        for need in needs(task):
            found = self.of(need)
            worst = max([worst, *(file.status for file in found)], key=_BADNESS.__getitem__)
            if is_folder(need) and {file.name for file in found} != published_names(need):
                worst = max(worst, Status.CHANGED, key=_BADNESS.__getitem__)
        return worst


_BADNESS = {status: rank for rank, status in enumerate(Status)}
