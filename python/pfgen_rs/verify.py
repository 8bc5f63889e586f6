"""Checking published results: score a run again and compare with its `result.json`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.run_files import RESULT

__all__ = ["Difference", "Verification", "compare", "verify"]

# Units of the last digit that each figure is published with; any other value must be the same.
_SPREAD = {"score": 1e-4, "score_std": 1e-4, "length": 0.1, "length_std": 0.1}
_TOTALS = {"helpfulness": 1e-5, "average": 1e-5}
_BY_SOURCE = ("fluency", "truthfulness")
_MEAN, _ANSWER = 1e-5, 1e-6
_SLACK = 1 + 1e-6  # the difference of two decimals is itself not exact


@dataclass(frozen=True)
class Difference:
    """A value that is not the same in both results.

    `place` is its path (`questions.Q01.samples[0].scores.average`), `theirs` and `ours` the values
    (`None` for one that is absent; `note` says so). `size` is the distance of two numbers, infinite
    for anything else. `unit` is that of the figure's last published digit, 0 where values must be
    the same.
    """

    place: str
    theirs: Any
    ours: Any
    size: float
    unit: float
    note: str = ""

    @property
    def tolerable(self) -> bool:
        """Whether the values differ by no more than a unit of the last published digit."""
        return self.size <= self.unit * _SLACK


@dataclass(frozen=True)
class Verification:
    """How a run's `result.json` compares with its answers scored again.

    `figures` numbers were compared, `agreeing` of them are exactly the same. `differences` lists
    every value that is not, texts and missing keys too. `identical`: the file is the same byte for
    byte.
    """

    run: str
    figures: int
    agreeing: int
    differences: list[Difference]
    identical: bool
    signature: str

    @property
    def largest(self) -> Difference | None:
        """The largest difference between two numbers, if there is any."""
        numbers = [d for d in self.differences if math.isfinite(d.size)]
        return max(numbers, key=lambda d: d.size, default=None)

    @property
    def failures(self) -> list[Difference]:
        """Differences of more than a unit of the last published digit."""
        return [d for d in self.differences if not d.tolerable]

    @property
    def passed(self) -> bool:
        """Whether no value differs by more than a unit of its last published digit."""
        return not self.failures


def verify(
    run: str | os.PathLike[str],
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
) -> Verification:
    """Score the run in the folder `run` again and compare every value with its `result.json`.

    Raises `InputError` where answers or result cannot be read.
    """
    folder = Path(run)
    content = _result(folder / RESULT)
    theirs = _parse(content, folder / RESULT)
    result = score_file(folder, benchmark, threads=threads)
    ours = result.to_bytes(allow_partial=True)
    figures, agreeing, differences = compare(theirs, json.loads(ours))
    return Verification(
        run=str(run),
        figures=figures,
        agreeing=agreeing,
        differences=differences,
        identical=content == ours,
        signature=result.signature,
    )


def compare(theirs: dict[str, Any], ours: dict[str, Any]) -> tuple[int, int, list[Difference]]:
    """Figures in both results, how many of them agree exactly, and all differences in file order.

    Figures are the numbers outside `config`, which is taken over rather than computed.
    """
    figures = agreeing = 0
    differences = []
    for path, a, b, note in _walk(theirs, ours, ()):
        if path[0] != "config" and _is_number(a) and _is_number(b):
            figures += 1
            agreeing += a == b
        if (difference := _difference(path, a, b, note)) is not None:
            differences.append(difference)
    return figures, agreeing, differences


_Path = tuple[str | int, ...]
_Leaf = tuple[_Path, Any, Any, str]


def _result(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        problem = (
            "there is no published result to compare with; pfgen-rs score RUN --out DIR writes one"
        )
        raise InputError(problem, path=path) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    try:
        result = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", path=path) from None
    if not isinstance(result, dict):
        raise InputError("must hold an object", path=path)
    return result


def _walk(theirs: Any, ours: Any, path: _Path) -> Iterator[_Leaf]:
    """All pairs of values that are no containers, with a note where one side has none."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in dict.fromkeys([*theirs, *ours]):
            yield from _member(theirs, ours, key, key in theirs, key in ours, path)
    elif isinstance(theirs, list) and isinstance(ours, list):
        for i in range(max(len(theirs), len(ours))):
            yield from _member(theirs, ours, i, i < len(theirs), i < len(ours), path)
    else:
        yield path, theirs, ours, ""


def _member(
    theirs: Any, ours: Any, key: Any, in_theirs: bool, in_ours: bool, path: _Path
) -> Iterator[_Leaf]:
    if in_theirs and in_ours:
        yield from _walk(theirs[key], ours[key], (*path, key))
    elif in_theirs:
        yield (*path, key), theirs[key], None, "only in the file"
    else:
        yield (*path, key), None, ours[key], "missing in the file"


def _difference(path: _Path, theirs: Any, ours: Any, note: str) -> Difference | None:
    if not note and _is_number(theirs) and _is_number(ours):
        if theirs == ours:
            return None
        return Difference(_place(path), theirs, ours, _distance(theirs, ours), _unit(path))
    if not note and type(theirs) is type(ours) and theirs == ours:
        return None
    return Difference(_place(path), theirs, ours, math.inf, 0.0, note)


def _distance(a: float, b: float) -> float:
    try:
        distance = abs(a - b)
    except OverflowError:  # an integer beyond every float
        return math.inf
    return math.inf if math.isnan(distance) else distance


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unit(path: _Path) -> float:
    """Unit of the last published digit of the number at `path`; 0 where there is no rounding."""
    match path:
        case (str(key),) | ("questions", _, str(key)):
            return _SPREAD.get(key, 0.0)
        case ("questions", _, "samples", _, "scores", metric, _) if metric in _BY_SOURCE:
            return _ANSWER
        case (*_, "scores", metric, _) if metric in _BY_SOURCE:
            return _MEAN
        case (*_, "scores", str(key)):
            return _TOTALS.get(key, 0.0)
        case _:
            return 0.0


def _place(path: _Path) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
