"""Verifies published results: scores runs again and compares them with their `result.json`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.io.source import parsed_config
from pfgen_rs.metrics.settings import BY_SOURCE, Summation
from pfgen_rs.runs.result import Result

# One unit of the last published digit, by key; all other values must be equal.
_SPREAD = {"score": 1e-4, "score_std": 1e-4, "length": 0.1, "length_std": 0.1}
_TOTALS = {"helpfulness": 1e-5, "average": 1e-5}
_MEAN, _ANSWER = 1e-5, 1e-6
_SLACK = 1 + 1e-6  # the difference of two decimals is itself not exact


@dataclass(frozen=True)
class Difference:
    """A value that differs between the two results.

    `place` is its path (`questions.Q01.samples[0].scores.average`), `theirs` and `ours` are the values
    (`None` where one is missing; `note` says so). `size` is the distance between two numbers, infinite for
    anything else. `unit` is one unit of the last published digit, 0 where values must be equal.
    """

    place: str
    theirs: Any
    ours: Any
    size: float
    unit: float
    note: str = ""

    @property
    def tolerable(self) -> bool:
        """Whether the values differ by at most one unit of the last published digit."""
        return self.size <= self.unit * _SLACK


@dataclass(frozen=True)
class Verification:
    """How a run's `result.json` compares with its answers scored again.

    `numbers` of them were compared and `agreeing` of them are exactly equal. `differences` lists all others,
    texts and missing keys included. `identical`: the file is the same byte for byte. `summation`: the reading
    of Python's `sum` that the file was compared in, the one that fits better (`plain` if both fit equally).
    """

    run: str
    numbers: int
    agreeing: int
    differences: list[Difference]
    identical: bool
    signature: str
    summation: Summation = "plain"

    @property
    def largest(self) -> Difference | None:
        """The largest difference between two numbers; `None` if there are none."""
        numbers = [d for d in self.differences if math.isfinite(d.size)]
        return max(numbers, key=lambda d: d.size, default=None)

    @property
    def failures(self) -> list[Difference]:
        """Differences of more than one unit of the last published digit."""
        return [d for d in self.differences if not d.tolerable]

    @property
    def passed(self) -> bool:
        """Whether no value differs by more than one unit of its last published digit."""
        return not self.failures


def verify(
    run: str | os.PathLike[str],
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    **reading: Any,
) -> Verification:
    """Score the run in the folder `run` again and compare every value with its `result.json`.

    The last digits of a file depend on the version of Python that wrote it (see `Settings.summation`), so
    both readings are tried. `reading`: how the answers were read and scored, as options of `score_file`, if
    not as usual. Raises `InputError` if the answers or the result cannot be read.
    """
    content = _published_result(Path(run, RESULT))  # before the answers, which take longer
    return _verified(run, content, score_file(run, benchmark, threads=threads, **reading))


def verify_scored(run: str | os.PathLike[str], result: Result) -> Verification:
    """Compare `result`, the scores of the run in the folder `run`, with its file, as `verify` does."""
    return _verified(run, _published_result(Path(run, RESULT)), result)


def _verified(run: str | os.PathLike[str], content: bytes, result: Result) -> Verification:
    theirs = parsed_config(content, Path(run, RESULT))
    best = best_reading(theirs, result)
    return Verification(
        run=str(run),
        numbers=best.numbers,
        agreeing=best.agreeing,
        differences=best.differences,
        identical=content == best.content,
        signature=best.result.signature,
        summation=best.result.benchmark.settings.summation,
    )


def compare(theirs: dict[str, Any], ours: dict[str, Any]) -> tuple[int, int, list[Difference]]:
    """Compare all values of two results.

    Returns how many numbers are in both (outside `config`, which is copied rather than computed), how many of
    them are exactly equal, and all differences in the order of the file.
    """
    numbers = agreeing = 0
    differences = []
    for path, a, b, note in _walk_both_results(theirs, ours, ()):
        if path[0] != "config" and _is_number(a) and _is_number(b):
            numbers += 1
            agreeing += a == b
        if (difference := _difference_at(path, a, b, note)) is not None:
            differences.append(difference)
    return numbers, agreeing, differences


class Reading(NamedTuple):
    """A result with its sums in one reading, the content of its `result.json`, and how that compares."""

    result: Result
    content: bytes
    numbers: int
    agreeing: int
    differences: list[Difference]


def best_reading(theirs: dict[str, Any], result: Result) -> Reading:
    """Read the sums of `result` as those of the published object `theirs` were computed.

    Returns the reading with fewer failures, then with fewer differences; the plain one if both are alike.
    """
    plain = _read_with_summation(theirs, result, "plain")
    agrees = plain.agreeing == plain.numbers
    if agrees or result.benchmark.settings.variant != "pfgen-bench":
        return plain
    return min(plain, _read_with_summation(theirs, result, "compensated"), key=_misfit)


def _read_with_summation(theirs: dict[str, Any], result: Result, summation: Summation) -> Reading:
    ours = result.with_summation(summation)
    content = ours.to_bytes(allow_partial=True)
    return Reading(ours, content, *compare(theirs, json.loads(content)))


def _misfit(reading: Reading) -> tuple[int, int]:
    differences = reading.differences
    return sum(not found.tolerable for found in differences), len(differences)


_Path = tuple[str | int, ...]
_Leaf = tuple[_Path, Any, Any, str]


def _published_result(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if path.parent.is_file():
            problem = f"not a run folder with {RESULT}"
            raise InputError(problem, path=path.parent) from None
        problem = "no published result to compare with: pfgen-rs score RUN --out DIR writes one"
        raise InputError(problem, path=path) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _walk_both_results(theirs: Any, ours: Any, path: _Path) -> Iterator[_Leaf]:
    """All pairs of values other than containers, with a note where one side lacks the value."""
    if isinstance(theirs, list) and isinstance(ours, list):
        theirs, ours = dict(enumerate(theirs)), dict(enumerate(ours))
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        yield path, theirs, ours, ""
        return
    for key in dict.fromkeys([*theirs, *ours]):
        if key in theirs and key in ours:
            yield from _walk_both_results(theirs[key], ours[key], (*path, key))
        elif key in theirs:
            yield (*path, key), theirs[key], None, "only in the file"
        else:
            yield (*path, key), None, ours[key], "missing in the file"


def _difference_at(path: _Path, theirs: Any, ours: Any, note: str) -> Difference | None:
    if not note and _is_number(theirs) and _is_number(ours):
        if theirs == ours:
            return None
        return Difference(
            _place_of_value(path), theirs, ours, _distance(theirs, ours), _last_digit_unit(path)
        )
    if not note and type(theirs) is type(ours) and theirs == ours:
        return None
    return Difference(_place_of_value(path), theirs, ours, math.inf, 0.0, note)


def _distance(a: float, b: float) -> float:
    try:
        distance = abs(a - b)
    except OverflowError:  # an integer beyond every float
        return math.inf
    return math.inf if math.isnan(distance) else distance


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _last_digit_unit(path: _Path) -> float:
    """One unit of the last published digit of the number at `path`; 0 for numbers that are not rounded."""
    match path:
        case (str(key),) | ("questions", _, str(key)):
            return _SPREAD.get(key, 0.0)
        case ("questions", _, "samples", _, "scores", metric, _) if metric in BY_SOURCE:
            return _ANSWER
        case (*_, "scores", metric, _) if metric in BY_SOURCE:
            return _MEAN
        case (*_, "scores", str(key)):
            return _TOTALS.get(key, 0.0)
        case _:
            return 0.0


def _place_of_value(path: _Path) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")
