"""Installs raw files in the cache folder, downloaded or from a folder, and says what is missing."""

import hashlib
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pfgen_rs.errors import InputError, InstallError, unreadable
from pfgen_rs.install.archive import matching_members
from pfgen_rs.install.installer import download
from pfgen_rs.io import compression, text
from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.llm_jp_eval import registry
from pfgen_rs.llm_jp_eval.conversion import raw_files
from pfgen_rs.llm_jp_eval.evaluation_files import installed_raw

GITHUB, FILES = "https://github.com", "https://raw.githubusercontent.com"
"""Where archives and files of repositories are."""
FILE_LIMIT = compression.UNPACKED_LIMIT
"""Most bytes a raw file may have, decompressed."""

Wanted = Callable[[str, int | None], bool]
"""Whether a file may be a raw file, by its path and its size in bytes (None if unknown)."""
_PACKED_LIMIT = 2**26  # bytes of compressed files whose names do not say that they are raw files
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz")
_HIDDEN = re.compile(r"/\.[^/]|/__MACOSX/")


def find_raw(source: str | Path, tasks: Iterable[str]) -> raw_files.RawFiles:
    """Find the raw files of these tasks in a folder, an archive or a single file.

    Found are files with the digest of a published file, whatever their names, and files whose paths end as in
    the published repositories or in the reference's raw_files/, plain, compressed or in archives; hidden ones
    are not. A published file is preferred to others of the same name.

    Raises `InputError` for sources that cannot be read, and if several different files could be a raw file.
    """
    wanted = {need for task in tasks for need in raw_files.needs(task)}
    known = {n: p for n, p in raw_files.published().items() if raw_files.need_of(n) in wanted}
    digests = {each.sha256: name for name, each in known.items()}
    sizes = {each.size for each in known.values()}
    names = raw_files.names_by_path()
    found: dict[str, dict[bytes, str]] = defaultdict(dict)

    def named(path: str) -> str | None:
        name = raw_files.name_of(path, names)
        return name if name is not None and raw_files.need_of(name) in wanted else None

    def wants(path: str, size: int | None) -> bool:
        return size is None or size in sizes or named(path) is not None

    for path, label, content in _entries(Path(source), wants):
        if name := digests.get(hashlib.sha256(content).hexdigest(), named(path)):
            found[name].setdefault(content, label)
    return raw_files.RawFiles({name: _chosen(name, files) for name, files in found.items()})


def _entries(source: Path, wants: Wanted) -> Iterator[tuple[str, str, bytes]]:
    """Yield path, name in errors, and content of the wanted files. Raises `InputError`."""
    if not source.exists():
        raise InputError("no such file or folder", path=source)
    path = source
    try:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            hidden = _HIDDEN.search("/" + path.relative_to(source).as_posix())
            if not hidden and path.is_file():
                read = _members if path.name.endswith(_ARCHIVES) else _file
                yield from read(path, "/".join(path.absolute().parts[1:-1]), wants)
    except OSError as error:
        raise InputError(unreadable(error), path=error.filename or path) from error
    except (InstallError, compression.UnpackingError) as error:
        raise InputError(str(error).removeprefix(f"{path}: "), path=path) from error


def _file(path: Path, folder: str, wants: Wanted) -> Iterator[tuple[str, str, bytes]]:
    packed, size = path.suffix in compression.SUFFIXES, path.stat().st_size
    inner = f"{folder}/{path.stem if packed else path.name}"
    if wants(inner, None if packed and size < _PACKED_LIMIT else size):
        yield inner, str(path), compression.read_whole(path, FILE_LIMIT)


def _members(path: Path, folder: str, wants: Wanted) -> Iterator[tuple[str, str, bytes]]:
    def match(name: str, size: int) -> str | None:
        return name if wants(f"{folder}/{name}", size) and not _HIDDEN.search(f"/{name}") else None

    for name, content in matching_members(path, match, limit=FILE_LIMIT):
        yield f"{folder}/{name}", f"{path}: {name}", content


def _chosen(name: str, labels: dict[bytes, str]) -> raw_files.RawFile:
    """Returns the file to use for a name: the published one if it is there."""
    files = [raw_files.RawFile(name, label, content) for content, label in labels.items()]
    for file in files:
        if file.status is not raw_files.Status.CHANGED:
            return file
    if len(files) > 1:
        raise InputError(
            f"{files[0].label} and {files[1].label} differ, and neither is the published file: keep the "
            f"one to use as {name}"
        )
    return files[0]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set of tasks, and how many of its raw files there are.

    `url`: the repository, or a page that links to an archive. `missing`: the reference's names of missing
    files; those that end with "/" stand for folders. `status` is None if there are no files.
    """

    name: str
    tasks: tuple[str, ...]
    licence: str
    url: str
    files: int
    missing: tuple[str, ...]
    status: raw_files.Status | None


@dataclass(frozen=True, slots=True)
class Installation:
    """The installed raw files.

    `taken`: numbers of files that were installed now, by the names of files and folders. `refused`: what was
    found but not installed, and why, by name.
    """

    folder: Path
    taken: dict[str, int]
    refused: dict[str, str]
    datasets: tuple[DataSet, ...]


def install_raw(
    source: str | Path | None = None, names: Iterable[str] | None = None
) -> Installation:
    """Install the raw files of tasks, for `convert`: what is missing is downloaded, or taken from a folder.

    `source`: the folder, see `find_raw`. `names`: tasks or categories (default: all). Installed are files
    with the published digests, and those whose published digests are unknown (`jnli_train.json`,
    `jsquad_train.json`) if they have as many samples as documented. Each appears when it is complete and
    checked, and stays, so a second call goes on where the first was interrupted.

    Raises `InputError` if the folder cannot be read or contains nothing to install, `InstallError` if a
    download fails, `SettingsError` for unknown tasks, `OutputError` if the cache folder cannot be written.
    """
    tasks = [info.name for info in registry.chosen_tasks(names)]
    refused: dict[str, str] = {}
    taken: dict[str, int] = {}
    some = _downloads(tasks) if source is None else [find_raw(source, tasks)]
    for found in some:
        for need in dict.fromkeys(map(raw_files.need_of, found.files)):
            files = found.of(need)
            if reason := _refusal(need, files):
                refused[need] = reason
                continue
            with staged_folder(installed_raw(), "installing") as content:
                for file in files:
                    target = content / file.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(file.content)
            taken[need] = len(files)
    if source is not None and not taken:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise InputError(
            f"contains none of the published raw files{f' ({reasons})' if refused else ''}: without --from, "
            "they are downloaded, and `convert --raw` takes others",
            path=source,
        )
    datasets = data_sets(tasks, _installed(tasks))
    absent = {name for each in datasets for name in each.missing}
    still_refused = {name: reason for name, reason in refused.items() if name in absent}
    return Installation(installed_raw(), taken, still_refused, datasets)


def _installed(tasks: Iterable[str]) -> raw_files.RawFiles:
    folder = installed_raw()
    return find_raw(folder, tasks) if folder.is_dir() else raw_files.RawFiles({})


def data_sets(tasks: Iterable[str], raw: raw_files.RawFiles) -> tuple[DataSet, ...]:
    """Returns the data sets of these tasks, and what is there of them."""
    own: dict[str, list[str]] = defaultdict(list)
    sources: dict[str, registry.Source] = {}
    for task in tasks:
        if source := registry.find_task(task).source:
            own[source.name].append(task)
            sources[source.name] = source
    return tuple(_data_set(sources[name], each, raw) for name, each in own.items())


def _data_set(source: registry.Source, tasks: Sequence[str], raw: raw_files.RawFiles) -> DataSet:
    needs = dict.fromkeys(need for task in tasks for need in raw_files.needs(task))
    count = sum(len(raw.of(need)) for need in needs)
    return DataSet(
        source.name,
        tuple(tasks),
        source.licence,
        source.page or f"{GITHUB}/{source.repository}/tree/{source.revision}",
        count,
        tuple(need for need in needs if not raw.of(need)),
        raw.status(*tasks) if count else None,
    )


def _refusal(need: str, files: list[raw_files.RawFile]) -> str | None:
    """Returns why files are not installed."""
    names = raw_files.published_names(need)
    wanted = len(names) if raw_files.is_folder(need) else 1
    others = [file.label for file in files if file.status is raw_files.Status.CHANGED]
    if len(files) == wanted and not others:
        return None
    shown = ", ".join(others[:1])
    found = f"found {len(files) - len(others):,} of {text.counted(wanted, 'published file')}"
    return f"{found}, {len(others):,} others{shown and f' such as {shown}'}"


# Downloads: single files by their paths in a repository, and folders of files from its archive.


def _downloads(tasks: Sequence[str]) -> Iterator[raw_files.RawFiles]:
    """Download what is not installed, file by file."""
    installed = _installed(tasks)
    needs: dict[str, str] = {}
    for source in filter(None, (registry.find_task(task).source for task in tasks)):
        for need, path in source.files.items():
            if source.page is None and _refusal(need, installed.of(need)):
                file = f"{FILES}/{source.repository}/{source.revision}/{quote(path)}"
                archive = f"{GITHUB}/{source.repository}/archive/{source.revision}.tar.gz"
                needs[archive if raw_files.is_folder(need) else file] = need
    for url, need in needs.items():
        with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
            target = Path(folder, "download.tar.gz" if raw_files.is_folder(need) else need)
            target.parent.mkdir(exist_ok=True)
            download(url, target)
            yield find_raw(target, tasks)


def shown_names(names: Sequence[str]) -> str:
    """Returns names of missing files as text, or their number if there are many."""
    return text.counted(len(names), "file") if len(names) > _LISTED else ", ".join(names)


_LISTED = 3
"""Most names that are listed one by one."""
