"""Installs raw files in the cache folder, and says what is missing."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pfgen_rs.errors import InputError, OutputError
from pfgen_rs.io.atomic import put_in_place, writing_failed
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.conversion.finding import find_raw
from pfgen_rs.llm_jp_eval.conversion.published import (
    DOCUMENTED,
    RawFile,
    RawFiles,
    Source,
    Status,
    is_folder,
    needs,
    published,
    published_names,
    source_of,
    sources,
    worst,
)
from pfgen_rs.llm_jp_eval.data import installed_raw


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
    chosen: dict[str, list[RawFile]] = {}
    for need in dict.fromkeys(need for task in tasks() for need in needs(task)):
        files = found.of(need)
        if reason := _refusal(need, files):
            refused[need] = reason
        elif files:
            chosen[need] = files
    if not chosen:
        raise InputError(_nothing(refused), path=source)
    taken = tuple(_taken(need, files) for need, files in chosen.items())
    folder = installed_raw()
    with staged_folder(folder, "installing") as content:
        for file in (file for files in chosen.values() for file in files):
            target = content / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
    return _installation(taken, refused)


def raw_installation() -> Installation:
    """Returns what is installed, and what is missing. Raises `InputError` if it cannot be read."""
    return _installation((), {})


def _installation(taken: tuple[Taken, ...], refused: dict[str, str]) -> Installation:
    folder = installed_raw()
    found = find_raw(folder, tasks()) if folder.is_dir() else RawFiles({})
    missing = tuple(filter(None, (missing_files(task, found) for task in tasks())))
    absent = {name for each in missing for name in each.names}
    still_refused = {name: reason for name, reason in refused.items() if name in absent}
    datasets = tuple(_dataset(source, found) for source in sources().values())
    return Installation(folder, taken, still_refused, datasets, missing)


def _dataset(source: Source, found: RawFiles) -> DataSet:
    count = sum(len(found.of(need)) for need in source.files)
    status = worst(map(found.status, source.tasks)) if count else None
    missing = sum(1 for need in source.files if not found.of(need))
    return DataSet(source.name, source.tasks, source.licence, count, missing, status)


def _refusal(need: str, files: list[RawFile]) -> str | None:
    """Returns why files are not installed."""
    if not files:
        return None
    if is_folder(need):
        right = {file.name for file in files if file.status is Status.PUBLISHED}
        expected = published_names(need)
        if right == expected and len(files) == len(expected):
            return None
        found = f"found {len(right):,} of {counted(len(expected), 'published file')}"
        return f"{found}, {len(files) - len(right):,} others"
    [file] = files
    if file.status is not Status.CHANGED:
        return None
    if need in DOCUMENTED:
        return f"{file.label} does not have the {DOCUMENTED[need]:,} samples of the published file"
    digest = published()[need].sha256
    return f"{file.label} is not the published file: SHA-256 {file.sha256}, expected {digest}"


def _nothing(refused: dict[str, str]) -> str:
    if not refused:
        return (
            "contains no raw files of llm-jp-eval: `pfgen-rs llm-jp-eval install` without --from lists what "
            "is published where"
        )
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
    return (
        f"contains none of the published raw files ({reasons}); `pfgen-rs llm-jp-eval convert --raw` takes "
        "others"
    )


def _taken(need: str, files: list[RawFile]) -> Taken:
    status = worst(file.status for file in files)
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


def missing_files(task: str, raw: RawFiles) -> MissingFiles | None:
    """Returns what is missing of a task's raw files; None if nothing is."""
    names = raw.missing(task)
    if not names:
        return None
    source = source_of(task)
    return MissingFiles(task, names, source.name, (source.url,), source.licence)


def shown_names(names: Sequence[str]) -> str:
    """Returns names of missing files as text, or their number if there are many."""
    if len(names) > _LISTED:
        return counted(len(names), "file")
    return ", ".join(map(_shown_need, names))


def _shown_need(name: str) -> str:
    return f"{name} ({counted(len(published_names(name)), 'file')})" if is_folder(name) else name


# Writes the files of a conversion all at once.


_ABANDONED = 24 * 3600.0  # seconds after which another process's temporary folder is removed


@contextmanager
def staged_folder(out: Path, prefix: str) -> Iterator[Path]:
    """Yield a new temporary folder; if the block succeeds, its files take their places in `out`.

    `out` is created if it does not exist, with all files at once. In an existing folder, files are replaced
    one by one, each atomically, and others are left alone. If the block fails, nothing is changed. Raises
    `OutputError` for folders that cannot be written.
    """
    temporary = None
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out}: not a directory")
        beside = out if out.is_dir() else out.parent
        beside.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(beside, prefix)
        temporary = Path(tempfile.mkdtemp(prefix=f".{prefix}.", suffix=".tmp", dir=beside))
        content = temporary / "content"  # with the permissions of a new folder
        content.mkdir()
        yield content
        _check_places(content, out)
        _move(content, out)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise writing_failed(Path(error.filename or out), error) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_places(source: Path, target: Path) -> None:
    """Find out before the first file is moved whether a file and a folder have the same name."""
    if source.is_dir() != target.is_dir() and os.path.lexists(target):
        raise OutputError(f"{target}: {'not a directory' if source.is_dir() else 'a directory'}")
    if source.is_dir() and target.is_dir():
        for child in source.iterdir():
            _check_places(child, target / child.name)


def _move(source: Path, target: Path) -> None:
    if not (source.is_dir() and target.is_dir()):
        try:
            put_in_place(source, target)
            return
        except OSError:  # another process may have made the folder in between
            if not (source.is_dir() and target.is_dir()):
                raise
    for child in sorted(source.iterdir()):
        _move(child, target / child.name)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what killed processes have left."""
    for left in folder.glob(f".{prefix}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
