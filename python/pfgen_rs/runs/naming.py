"""Names of runs, by the paths of their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

from pfgen_rs.errors import InputError
from pfgen_rs.io.patterns import STANDARD_INPUT
from pfgen_rs.io.run_files import STEM

__all__ = ["output_names", "run_name"]


def run_name(path: str | None) -> str:
    """The name of a run's folder or, where it has none of its own or the path names none, of its file."""
    return _parts(path or STANDARD_INPUT)[-1]


def output_names(paths: Sequence[str]) -> list[str]:
    """A different relative folder name for each path.

    The name of the run's folder, or of the file without its suffixes; where two would be the same,
    as many parents in front as it takes, and at last the suffixes. Raises `InputError` where even
    those are the same.
    """
    shapes: list[Callable[[str], tuple[str, ...]]] = [_parts, _whole_parts]
    for shape in shapes:
        parts = [shape(path) for path in paths]
        for depth in range(1, max(map(len, parts), default=0) + 1):
            names = ["/".join(part[-depth:]) for part in parts]
            if len({name.casefold() for name in names}) == len(names):
                return names
    raise InputError("two of the files have the same path; results need different names")


def _whole_parts(path: str) -> tuple[str, ...]:
    if path == STANDARD_INPUT:
        return ("stdin",)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolves "..", which must not get into names
    return tuple(part for part in place.parts if part != place.anchor)


def _parts(path: str) -> tuple[str, ...]:
    *parents, name = _whole_parts(path) or ("root",)
    stem = name.split(".", 1)[0] or name
    # A run's file is called the same in every run; its folder tells the runs apart. A path of the file alone
    # does not say that the current folder is a run's.
    if stem == STEM and PurePath(name).suffix and parents and PurePath(path).parent.name:
        return tuple(parents)
    return (*parents, stem)
