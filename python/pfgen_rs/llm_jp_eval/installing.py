"""Installs raw files in the cache folder, by the reference's names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.counted import counted
from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.conversion.placing import staged_folder
from pfgen_rs.llm_jp_eval.places import installed_raw
from pfgen_rs.llm_jp_eval.raw.finding import MANIFEST, find_raw
from pfgen_rs.llm_jp_eval.raw.missing import MissingFiles, missing_files
from pfgen_rs.llm_jp_eval.raw.rawfiles import RawFile, RawFiles, Status
from pfgen_rs.llm_jp_eval.raw.sources import (
    DOCUMENTED,
    Source,
    is_folder,
    needs,
    published,
    published_names,
    sources,
)

__all__ = ["DataSet", "Installation", "Taken", "install_raw", "raw_installation"]

_NOTES = {
    Status.PUBLISHED: "",
    Status.UNVERIFIED: "digest of the published file unknown; as many samples as documented",
    Status.CHANGED: "not the published file",
    Status.STAND_IN: "SURROGATE for the published file",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """A raw file, or a folder of raw files, that was installed: its name and size, where it was found."""

    name: str
    files: int
    size: int
    status: Status
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
    status: Status | None


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
    missing: tuple[MissingFiles, ...]


def install_raw(source: str | Path, *, accept_unknown: bool = False) -> Installation:
    """Install the raw files that a folder or an archive contains, for `convert`.

    Files are found by their digests, and by their paths in the published repositories and in the reference's
    raw_files/. Installed are files with the published digests, and those whose published digests are unknown
    (`jnli_train.json`, `jsquad_train.json`) if they have as many samples as documented. `accept_unknown`
    installs others as well; their statuses say so. Files that are already installed stay, so several sources
    can be installed one after another.

    Raises `InputError` if the source cannot be read or contains nothing to install, `OutputError` if the
    cache folder cannot be written.
    """
    found = find_raw(source, tasks())
    refused = dict(found.refused)
    chosen: dict[str, list[RawFile]] = {}
    for need in dict.fromkeys(need for task in tasks() for need in needs(task)):
        files = found.of(need)
        reason = None if accept_unknown else _reason_to_refuse(need, files)
        if reason is not None:
            refused[need] = reason
        elif files:
            chosen[need] = files
    if not chosen:
        raise InputError(_nothing_to_install(refused), path=source)
    taken = tuple(_taken(need, files) for need, files in chosen.items())
    folder = installed_raw()
    with staged_folder(folder, "installing") as content:
        _write_raw(content, chosen, _records(folder, taken))
    _remove_others(folder, chosen)
    return _installation(taken, refused)


def raw_installation() -> Installation:
    """Returns what is installed, and what is missing. Raises `InputError` if it cannot be read."""
    return _installation((), {})


def _installation(taken: tuple[Taken, ...], refused: dict[str, str]) -> Installation:
    folder = installed_raw()
    found = find_raw(folder, tasks()) if folder.is_dir() else RawFiles({}, {})
    missing = tuple(filter(None, (missing_files(task, found) for task in tasks())))
    absent = {name for each in missing for name in each.names}
    still_refused = {name: reason for name, reason in refused.items() if name in absent}
    datasets = tuple(_dataset(source, found) for source in sources().values())
    return Installation(folder, taken, still_refused, datasets, missing)


def _dataset(source: Source, found: RawFiles) -> DataSet:
    count = sum(len(found.of(need)) for need in source.files)
    statuses = [found.status(task) for task in source.tasks]
    worst = max(statuses, key=list(Status).index) if count else None
    missing = sum(1 for need in source.files if not found.of(need))
    return DataSet(source.name, source.tasks, source.licence, count, missing, worst)


def _reason_to_refuse(need: str, files: list[RawFile]) -> str | None:
    """Returns why files are not installed unless unknown ones are accepted."""
    if not files:
        return None
    if is_folder(need):
        right = {file.name for file in files if file.status is Status.PUBLISHED}
        expected = published_names(need)
        if right == expected and len(files) == len(expected):
            return None
        others = len(files) - len(right)
        found = f"found {len(right):,} of {counted(len(expected), 'published file')}"
        return f"{found} and {counted(others, 'other')}" if others else found
    [file] = files
    if file.status in (Status.PUBLISHED, Status.UNVERIFIED):
        return None
    if file.status is Status.STAND_IN:
        return f"{file.label} only stands in for the published file"
    if need in DOCUMENTED:
        return f"{file.label} does not have the {DOCUMENTED[need]:,} samples of the published file"
    digest = published()[need].sha256
    return f"{file.label} is not the published file: SHA-256 {file.sha256}, expected {digest}"


def _nothing_to_install(refused: dict[str, str]) -> str:
    if not refused:
        return (
            "contains no raw files of llm-jp-eval: `pfgen-rs llm-jp-eval install` without --from lists what "
            "is published where"
        )
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
    return f"contains none of the published raw files ({reasons}); --accept-unknown installs others"


def _taken(need: str, files: list[RawFile]) -> Taken:
    complete = not is_folder(need) or _reason_to_refuse(need, files) is None
    status = max((file.status for file in files), key=list(Status).index)
    if not complete and status is Status.PUBLISHED:
        status = Status.CHANGED
    size = sum(len(file.content) for file in files)
    return Taken(need, len(files), size, status, files[0].label)


def _write_raw(
    folder: Path, chosen: dict[str, list[RawFile]], records: Iterable[dict[str, Any]]
) -> None:
    for files in chosen.values():
        for file in files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
    manifest = json.dumps(list(records), ensure_ascii=False, indent=1) + "\n"
    (folder / MANIFEST).write_bytes(manifest.encode())


def _records(folder: Path, taken: Iterable[Taken]) -> Iterator[dict[str, Any]]:
    """Yield the records of the manifest, those of files that stay included."""
    now = {each.name: each for each in taken}
    yield from (record for record in _installed_records(folder) if record.get("file") not in now)
    for each in now.values():
        yield {
            "file": each.name,
            "reference_name": each.name,
            "files": each.files,
            "bytes": each.size,
            "status": each.status.value,
            "note": _NOTES[each.status],
        }


def _installed_records(folder: Path) -> list[dict[str, Any]]:
    try:
        records = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return []
    return [each for each in records if isinstance(each, dict)] if isinstance(records, list) else []


def _remove_others(folder: Path, chosen: dict[str, list[RawFile]]) -> None:
    """Remove the files of replaced folders that the new ones do not have."""
    for need, files in chosen.items():
        if is_folder(need):
            names = {Path(file.name).name for file in files}
            for path in (folder / need).iterdir():
                if path.name not in names:
                    with suppress(OSError):
                        path.unlink()
