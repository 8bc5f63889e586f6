"""Kinds of results that a site takes: each is one file of this folder, which registers itself.

    @site_source("my-kind", about="folders with a mine.json", recognises=lambda path: …)
    def read_mine(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]: ...

A reader takes all paths of its kind, since some belong on one page, and yields contributions with labels for
messages. Other packages add theirs by an entry point of the group `pfgen_rs.site_sources`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pfgen_rs.errors import InputError, meant, unreadable
from pfgen_rs.registry import Registry
from pfgen_rs.report.site.board import Contribution, Section
from pfgen_rs.report.site.folder import MARKER, digest_of, slug
from pfgen_rs.report.site.own_page import INDEX
from pfgen_rs.report.site.pages import Frame

_DEEPEST = 8  # folders within folders in which results are looked for
_LARGEST_JSON = 4 << 20  # bytes: larger files are results with outputs, no tables


class Given(NamedTuple):
    """A path with results. `names`: the column with the models' names, which tables need."""

    path: Path
    names: str | None = None


def given(text: str | os.PathLike[str]) -> Given:
    """Returns what `FILE` or `FILE:COLUMN` names; a path that exists is one, colons and all.

    Raises `InputError` if there is none.
    """
    path = Path(text)
    before, colon, column = os.fspath(text).rpartition(":")
    if colon and before and not path.exists():
        path = Path(before)
    if path.exists():
        return Given(path, column if path != Path(text) else None)
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    near = meant(path.name, [each.name for each in beside])
    raise InputError(f"no such file or folder{near}", path=path)


Reader = Callable[[Sequence[Given]], Iterable[tuple[str, Contribution]]]


@dataclass(frozen=True)
class Source:
    """A kind of results. `about`: what its paths are, for messages. `recognises`: whether a path is one.

    `in_folders`: whether its files are taken from folders, too, by what is in them. `read`: yields what they
    contribute, by labels that differ; raises `InputError` with the path.
    """

    name: str
    about: str
    recognises: Callable[[Path], bool]
    read: Reader
    in_folders: bool


_registry: Registry[Source] = Registry("kind of results", __name__, "pfgen_rs.site_sources")


def site_source(
    name: str, *, about: str, recognises: Callable[[Path], bool], in_folders: bool = False
) -> Callable[[Reader], Reader]:
    """Register the decorated reader as a kind of results."""

    def register(read: Reader) -> Reader:
        _registry.add(name, Source(name, about, recognises, read, in_folders))
        return read

    return register


def section(
    nav: str,
    title: str,
    paths: Sequence[Path],
    files: Callable[[Frame], Iterable[tuple[str, bytes]]],
    models: Sequence[str],
) -> Section:
    """Returns a page of its own, in a folder of the site's page `nav`, made of what is in `paths`."""
    return Section(nav, title, f"{nav}/{slug(title)}/{INDEX}", state(paths), files, models)


def find(given: Iterable[Given]) -> tuple[dict[str, list[Given]], list[Path]]:
    """Returns what is to be read, by kind: the paths, and of folders of no kind the folders within them.

    Files are of a kind where they are given themselves, and in folders if the kind says so: what else lies
    in folders is no table. Also returns folders without results. Raises `InputError` for files of no kind,
    and where there is nothing of any kind.
    """
    sources = _registry.usable()
    found: dict[str, dict[Path, Given]] = {}
    nothing: list[Path] = []
    for each in given:
        kinds = [*_kinds(each, sources.values(), _DEEPEST)]
        if not kinds:
            nothing.append(each.path)
        for kind, own in kinds:
            found.setdefault(kind, {})[own.path.resolve()] = own
    if unusable := [path for path in nothing if not found or path.is_file()]:
        known = "; ".join(f"{own.name}: {own.about}" for own in sources.values())
        raise InputError(f"no results that a site takes, which are {known}", path=unusable[0])
    return {kind: list(own.values()) for kind, own in found.items()}, nothing


def _kinds(given: Given, sources: Iterable[Source], depth: int) -> Iterator[tuple[str, Given]]:
    kind = next((own.name for own in sources if own.recognises(given.path)), None)
    if kind is not None:
        yield kind, given
    elif depth and given.path.is_dir():
        for path in sorted(given.path.iterdir()):
            if path.is_dir() and not path.name.startswith(".") and not _is_apart(path):
                yield from _kinds(given._replace(path=path), sources, depth - 1)
            elif path.is_file():
                own = next((s for s in sources if s.in_folders and s.recognises(path)), None)
                if own is not None:
                    yield own.name, given._replace(path=path)


def _is_apart(place: str | os.PathLike[str]) -> bool:
    """Whether a folder is a site, which is no source, or a link to a folder that it is in."""
    if not os.path.islink(place):  # noqa: PTH114 - many files, and paths are slow
        return os.path.lexists(f"{os.fspath(place)}/{MARKER}")
    around, target = map(os.path.realpath, (os.path.dirname(place), place))  # noqa: PTH120
    return f"{around}{os.sep}".startswith(f"{target}{os.sep}")


def read(found: dict[str, list[Given]]) -> dict[str, Contribution]:
    """Returns what paths contribute, by label; `found` as `find` returns it. Raises what readers raise."""
    return {
        label: contribution
        for kind, given in found.items()
        for label, contribution in _registry.get(kind).read(given)
    }


def state(paths: Iterable[Path]) -> str:
    """Returns a digest of names, sizes and times of files, and of all within folders, of which none is read.

    Hidden files count for nothing: what is in them follows from the others. About 0.1 s for 10,000 files.
    """
    return digest_of([[str(path), [*_files(os.fspath(path), "")]] for path in paths])


def _files(place: str, name: str) -> Iterator[tuple[str, int, int]]:
    try:
        if not os.path.isdir(place):  # noqa: PTH112 - many files, and paths are slow
            is_there = os.path.exists(place) or not name  # noqa: PTH110 - links may lead nowhere
            known = (os.stat if is_there else os.lstat)(place)
            yield name, known.st_size, known.st_mtime_ns
            return
        for each in sorted(os.listdir(place)):  # noqa: PTH208
            if not each.startswith(".") and not _is_apart(f"{place}/{each}"):
                yield from _files(f"{place}/{each}", f"{name}/{each}")
    except OSError as error:
        raise InputError(unreadable(error), path=Path(place)) from error


def json_keys(path: Path) -> frozenset[str] | None:
    """Returns the keys of a JSON file's object, none for other files; `None` for one of more than 4 MiB."""
    try:
        if path.suffix.lower() != ".json" or not path.is_file():
            return frozenset()
        if path.stat().st_size > _LARGEST_JSON:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return frozenset(found if isinstance(found, dict) else ())
