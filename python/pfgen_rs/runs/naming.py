"""Names runs after the paths of their files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Protocol, TypeVar

from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import portable_name
from pfgen_rs.io.remote.urls import is_url, split_url
from pfgen_rs.io.run_files import STANDARD_INPUT, STEM

_LONGEST = 200  # maximum length of a name in bytes


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str | None: ...


R = TypeVar("R", bound=_Named)


def named_results(results: Sequence[R]) -> dict[str, R]:
    """Returns scored runs by name.

    Repeated names get what tells the paths apart, whatever the order, or a number if the paths are the same.
    """
    counts = Counter(name for name, _ in {(each.name, each.path) for each in results})
    named: dict[str, R] = {}
    for result in results:
        name = result.name
        if counts[name] > 1:
            name = f"{name} ({_telling_part(result, [r for r in results if r.name == name])})"
        tries = chain([name], (f"{name} ({i})" for i in count(2)))
        named[next(free for free in tries if free not in named)] = result
    return named


def _telling_part(result: _Named, same: Sequence[_Named]) -> str:
    """Returns the shortest end of a run's path that others of the same name do not have."""
    paths = list(dict.fromkeys(each.path or STANDARD_INPUT for each in same))
    own = result.path or STANDARD_INPUT
    try:
        return output_names(paths)[paths.index(own)]
    except InputError:
        return own


def run_name(path: str | None) -> str:
    """Returns the name of a run's folder or, if it has none of its own or the path omits it, of its file."""
    return _naming_parts(path or STANDARD_INPUT)[-1]


def output_names(paths: Sequence[str]) -> list[str]:
    """Returns a unique relative folder name for each path.

    The name is that of the run's folder, or of the file without its suffixes; if names collide, as many
    parents as necessary are prepended, and finally suffixes are kept. Raises `InputError` if names still
    collide.
    """
    shapes: list[Callable[[str], tuple[str, ...]]] = [_naming_parts, _whole_parts]
    for shape in shapes:
        parts = [shape(path) for path in paths]
        for depth in range(1, max(map(len, parts), default=0) + 1):
            names = ["/".join(part[-depth:]) for part in parts]
            if len({name.casefold() for name in names}) == len(names):
                return names
    raise InputError("two files have the same path: results need different names")


def result_names(runs: Sequence[tuple[str, str | None]]) -> list[str]:
    """Returns a unique relative folder name for each run, given the path of its file and its name in it.

    The name is empty for a single file with one run. Several files are named as by `output_names`; runs
    within a file by their names, with characters that file names cannot contain replaced by `__`. Raises
    `InputError` if two names become the same.
    """
    files = list(dict.fromkeys(path for path, _ in runs))
    folders = dict(zip(files, output_names(files), strict=True)) if len(files) > 1 else {}
    names = [
        "/".join(filter(None, [folders.get(path), None if run is None else _name_for_folder(run)]))
        for path, run in runs
    ]
    seen: dict[str, tuple[str, str | None]] = {}
    for name, run in zip(names, runs, strict=True):
        if name.casefold() in seen:
            first = seen[name.casefold()]
            raise InputError(
                f"the runs {first[1]!r} and {run[1]!r} would have the same folder {name!r}: rename one",
                path=run[0],
            )
        seen[name.casefold()] = run
    return names


def _name_for_folder(run: str) -> str:
    """Convert a run's name to a folder name, as evaluation harnesses do with names of models."""
    name = re.sub(r'[\x00-\x1f\x7f"*/:<>?\\|\[\]]+', "__", run.encode(errors="replace").decode())
    name = name.strip(" ") if name.strip(" .") else "_" * len(name)
    return portable_name(name.encode()[:_LONGEST].decode(errors="ignore"))


def _whole_parts(path: str) -> tuple[str, ...]:
    if path == STANDARD_INPUT:
        return ("stdin",)
    if is_url(path):
        url = split_url(path)
        return tuple(part for part in (url.scheme, url.host, *url.path.split("/")) if part)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolves "..", which must not get into names
    return tuple(part for part in place.parts if part != place.anchor)


def _naming_parts(path: str) -> tuple[str, ...]:
    *parents, name = _whole_parts(path) or ("root",)
    stem = name.split(".", 1)[0] or name
    # A run's file has the same name in every run; its folder distinguishes the runs. The bare name of the
    # file does not imply that the current folder is a run's.
    if stem == STEM and PurePath(name).suffix and parents and PurePath(path).parent.name:
        return tuple(parents)
    return (*parents, stem)
