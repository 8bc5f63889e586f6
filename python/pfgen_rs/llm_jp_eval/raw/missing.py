"""What is missing of a task's raw files, and where it is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pfgen_rs.io.counted import counted
from pfgen_rs.llm_jp_eval.raw.rawfiles import RawFiles
from pfgen_rs.llm_jp_eval.raw.sources import is_folder, published_names, source_of

__all__ = ["MissingFiles", "links", "missing_files", "shown_names"]

_LISTED = 3  # most names that are listed one by one
_LINKED = 2  # most files whose addresses are listed rather than that of an archive


@dataclass(frozen=True, slots=True)
class MissingFiles:
    """Missing raw files of a task: the reference's names, the reason, where they are published, the licence.

    Names that end with "/" stand for folders. `urls`: the files, or an archive or a page with all of them.
    """

    task: str
    names: tuple[str, ...]
    reasons: tuple[str, ...]
    dataset: str
    urls: tuple[str, ...]
    licence: str

    @property
    def summary(self) -> str:
        """The names, or their number if there are many, and reasons."""
        names = shown_names(self.names)
        return f"{names} ({'; '.join(self.reasons)})" if self.reasons else names


def missing_files(task: str, raw: RawFiles) -> MissingFiles | None:
    """Returns what is missing of a task's raw files; None if nothing is."""
    names = raw.missing(task)
    if not names:
        return None
    source = source_of(task)
    urls = [source.url(name) for name in names]
    if len(set(urls)) > _LINKED:
        urls = [source.archive]
    reasons = tuple(raw.refused[name] for name in names if name in raw.refused)
    return MissingFiles(
        task, names, reasons, source.name, tuple(dict.fromkeys(urls)), source.licence
    )


def shown_names(names: Sequence[str]) -> str:
    """Returns names of missing files as text, or their number if there are many."""
    if len(names) > _LISTED:
        return counted(len(names), "file")
    return ", ".join(map(_shown_need, names))


def links(missing: Sequence[MissingFiles]) -> list[str]:
    """Returns where to download the missing files of a data set: few files, or an archive with all."""
    urls = list(dict.fromkeys(url for each in missing for url in each.urls))
    # Files with one name would replace each other when they are downloaded.
    if len(urls) <= _LINKED and len({PurePosixPath(url).name for url in urls}) == len(urls):
        return urls
    return [source_of(missing[0].task).archive]


def _shown_need(name: str) -> str:
    return f"{name} ({counted(len(published_names(name)), 'file')})" if is_folder(name) else name
