"""What is missing of a task's raw files, and where it is published."""

from __future__ import annotations

from dataclasses import dataclass

from pfgen_rs.io.counted import counted
from pfgen_rs.llm_jp_eval.raw.rawfiles import RawFiles
from pfgen_rs.llm_jp_eval.raw.sources import is_folder, published_names, source_of

__all__ = ["MissingFiles", "missing_files"]

_LISTED = 3  # most files that are listed one by one


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
        names = (
            ", ".join(map(_shown_need, self.names))
            if len(self.names) <= _LISTED
            else counted(len(self.names), "file")
        )
        return f"{names} ({'; '.join(self.reasons)})" if self.reasons else names


def missing_files(task: str, raw: RawFiles) -> MissingFiles | None:
    """Returns what is missing of a task's raw files; None if nothing is."""
    names = raw.missing(task)
    if not names:
        return None
    source = source_of(task)
    urls = [source.url(name) for name in names]
    if len(set(urls)) > _LISTED:
        urls = [source.archive]
    reasons = tuple(raw.refused[name] for name in names if name in raw.refused)
    return MissingFiles(
        task, names, reasons, source.name, tuple(dict.fromkeys(urls)), source.licence
    )


def _shown_need(name: str) -> str:
    return f"{name} ({counted(len(published_names(name)), 'file')})" if is_folder(name) else name
