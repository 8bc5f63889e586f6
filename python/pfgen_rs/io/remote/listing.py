"""Expands globs over object storage, whose matches are listed rather than looked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.io.remote import hub
from pfgen_rs.io.remote.storage import Storage, StorageError, storage_errors
from pfgen_rs.io.remote.urls import MAGIC, WEB, Place, shown_url, split_url
from pfgen_rs.io.run_files import RESPONSES

__all__ = ["expanded_url", "runs_below_url"]

_ANY_DEPTH = "**"
Found = Iterator[tuple[str, int]]


def expanded_url(url: str, storage: Storage) -> list[str]:
    """Returns the URLs that a URL or glob stands for, sorted; their sizes go into `storage.sizes`.

    Raises `InputError` if a glob matches nothing, and for globs on web servers, which list no files.
    """
    place = split_url(url)
    if place.scheme in WEB:
        if "*" in place.path:
            problem = "web servers list no files, so globs are not read there: name the files"
            raise InputError(problem, path=shown_url(url))
        return [url]
    if not MAGIC.intersection(url) or interruptibly(lambda: _is_object(url, place, storage)):
        return [url]
    found = interruptibly(lambda: sorted(_matches(url, place, storage)))
    if not found:
        raise InputError("no file matches this pattern", path=shown_url(url))
    storage.sizes.update(found)
    return [name for name, _ in found]


def runs_below_url(folder: str, storage: Storage) -> list[str]:
    """Returns the files of the run in a folder, whose URL ends in `/`, or else of runs below it, sorted.

    Skips runs within runs and hidden folders, as for local folders. Raises `InputError` if there are none.
    """
    place_of_folder = split_url(folder)
    if place_of_folder.scheme in WEB:
        if place_of_folder.path.endswith("/") or not place_of_folder.path:
            problem = "web servers list no files, so folders are not read there: name the files"
            raise InputError(problem, path=shown_url(folder))
        return [folder]  # whose query ends in "/"
    found = interruptibly(
        lambda: sorted(_matches(f"{folder}**", split_url(f"{folder}**"), storage))
    )
    files: dict[str, set[str]] = {}
    for url, _ in found:
        place, _, name = url.rpartition("/")
        files.setdefault(place, set()).add(name)
    runs: dict[str, str] = {}
    for place, names in sorted(files.items()):
        name = next((name for name in RESPONSES if name in names), None)
        if name is not None and not any(place.startswith(f"{run}/") for run in runs):
            runs[place] = f"{place}/{name}"
    if not runs:
        problem = f"neither the folder nor those below it have any of {', '.join(RESPONSES)}"
        raise InputError(problem, path=shown_url(folder))
    storage.sizes.update(found)
    return list(runs.values())


def _is_object(url: str, place: Place, storage: Storage) -> bool:
    """Whether an object has exactly this name, such as "a[1].jsonl"; those of the hub are in its list."""
    if place.scheme == "hf":
        return False
    found = storage.object(url)
    try:
        with storage_errors(found.shown):
            storage.sizes[url] = found.store.head(found.key)["size"]
    except StorageError as error:
        if error.kind == "missing" and error.code != "NoSuchBucket":
            return False
        if error.kind == "denied":  # what is not there is denied to those who may not list
            return False
        raise
    return True


def _matches(url: str, place: Place, storage: Storage) -> Found:
    """Yield matching URLs and sizes."""
    if place.scheme == "hf":
        yield from _in_hub(url, storage)
        return
    with storage_errors(shown_url(url)):
        for key, size in _below(storage.bucket(place, url), "", place.path.split("/")):
            yield f"{place.scheme}://{place.host}/{key}", size


def _in_hub(url: str, storage: Storage) -> Found:
    repository, pattern = hub.repository(url)
    segments = pattern.split("/")
    fixed = next(at for at, segment in enumerate(segments) if MAGIC.intersection(segment))
    folder = "/".join(segments[:fixed])
    files = list(hub.files_below(repository.begin + folder, storage.client))
    exact = [(key, size) for key, size in files if key == pattern]
    for key, size in exact or files:
        if exact or _fits(key.split("/"), segments):
            yield repository.begin + key, size


def _below(store: Any, folder: str, segments: Sequence[str]) -> Found:
    """Yield keys and sizes below a folder; lists no folder that cannot match."""
    head, *rest = segments
    if head == _ANY_DEPTH:
        yield from _at_any_depth(store, folder, segments)
    elif not rest:
        for entry in store.list_with_delimiter(folder or None)["objects"]:
            if _is_match(_name(entry["path"]), head):
                yield entry["path"], entry["size"]
    elif not MAGIC.intersection(head):
        yield from _below(store, f"{folder}{head}/", rest)
    else:
        for name in store.list_with_delimiter(folder or None)["common_prefixes"]:
            if _name(name) and _is_match(_name(name), head):  # no name: of keys that begin with "/"
                yield from _below(store, f"{name.rstrip('/')}/", rest)


def _at_any_depth(store: Any, folder: str, segments: Sequence[str]) -> Found:
    depth = folder.count("/")
    for page in store.list(folder or None):
        for entry in page:
            if _fits(entry["path"].split("/")[depth:], segments):
                yield entry["path"], entry["size"]


def _name(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]


def _fits(names: Sequence[str], segments: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern."""
    if not segments:
        return not names
    head, *rest = segments
    if head != _ANY_DEPTH:
        return bool(names) and _is_match(names[0], head) and _fits(names[1:], rest)
    if not rest:
        return not any(name.startswith(".") for name in names)
    for at in range(len(names) + 1):
        if _fits(names[at:], rest):
            return True
        if at < len(names) and names[at].startswith("."):
            return False
    return False


def _is_match(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern as in a local glob: hidden ones only if the pattern says so."""
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
