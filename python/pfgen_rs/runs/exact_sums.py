"""Sums of scores that are the same in every order of the rows, and the figures that follow from them.

Sums are integers in units of 2^-1074, of which every float64 is a multiple, and divided and rounded at the
end. The published figures add float64 values by falling average, where each addition rounds: the two can
differ in the last digit of a figure whose exact value lies about halfway between two others, which is noted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.metrics.names import share_names
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.summaries import (
    Summaries,
    Summary,
    rounded_aggregate,
    rounded_question_scores,
    run_scores,
)

__all__ = [
    "SQUARED",
    "Cell",
    "exact_cells",
    "limits",
    "out_of_range",
    "summarise_exactly",
    "summed_columns",
]

SQUARED = ("average", "length")
"""The columns whose squares are summed, too."""
_ONE = 1 << _native.SUM_UNIT
_LARGEST = 1e9  # far more than any score
_ULP = 2.0**-53  # the relative error of an addition
_OWN = 8  # additions that make up for the other roundings on the way to a figure


class Cell(NamedTuple):
    """Answers to one question: their number, and exact sums of `summed_columns`, then of squares."""

    answers: int
    sums: list[int]

    def plus(self, other: Cell) -> Cell:
        """Returns that of both."""
        sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        return Cell(self.answers + other.answers, sums)


def summed_columns(sources: Sequence[str]) -> list[str]:
    """Returns the columns of scores that figures follow from, for a benchmark with these sources."""
    return [*share_names(sources), "helpfulness", "average", "length"]


def limits(column: str) -> tuple[float, float]:
    """Returns the least and the largest value that is taken for a score, or for a length in characters."""
    return (0, 2**32 - 1) if column == "length" else (-_LARGEST, _LARGEST)


def out_of_range(cell: Cell, columns: Sequence[str]) -> str | None:
    """Returns a column whose sums no values within its limits have, or None. `columns`: those summed."""
    sums = dict(zip(columns, cell.sums, strict=False))
    for name, total in sums.items():
        least, most = map(int, limits(name))
        if not least * cell.answers * _ONE <= total <= most * cell.answers * _ONE:
            return name
    for name, squares in zip(SQUARED, cell.sums[len(columns) :], strict=True):
        # Each square may have lost less than a unit; no sum of squares is smaller than that of equal values.
        too_small = cell.answers * (squares + cell.answers) * _ONE < sums[name] ** 2
        if too_small or squares > int(limits(name)[1]) ** 2 * cell.answers * _ONE:
            return name
    return None


def exact_cells(
    groups: NDArray[np.uint32], count: int, columns: Mapping[str, NDArray[np.float64]]
) -> list[Cell]:
    """Returns a cell for each of the groups 0 to `count` - 1, to which rows belong by `groups`.

    `columns`: those of `summed_columns`; NaN counts as 0. Linear in the number of values.
    """
    sums = [
        _exact_integers(groups, count, columns[name], squared)
        for squared, names in ((False, list(columns)), (True, SQUARED))
        for name in names
    ]
    counts = np.bincount(groups, minlength=count).tolist()
    return [Cell(*cell) for cell in zip(counts, map(list, zip(*sums, strict=True)), strict=True)]


def _exact_integers(
    groups: NDArray[np.uint32], count: int, values: NDArray[np.float64], squared: bool
) -> list[int]:
    found = _native.exact_sums(groups, count, values, squared)
    return [int.from_bytes(data, "little", signed=True) << 32 * words for words, data in found]


class _Exact:
    """Means and deviations of one group of answers by name, and whether they are near ties."""

    def __init__(self, names: Sequence[str], cell: Cell, compensated: bool) -> None:
        self.answers = cell.answers
        self._sums = dict(zip(names, cell.sums, strict=False))
        self._squares = dict(zip(SQUARED, cell.sums[len(names) :], strict=True))
        # Compensated sums are as good as exact; a sum of two values is rounded once, like the exact one.
        roundings = 0 if compensated else max(cell.answers - 2, 0)
        self._error = (roundings + _OWN) * _ULP if cell.answers > 2 else 0.0

    def mean(self, name: str) -> float:
        """The mean, from the sum rounded once: as published where nothing is rounded on the way."""
        return self._sums[name] / _ONE / self.answers

    def variance(self, name: str) -> float:
        """The population variance."""
        total = self._sums[name]
        squares = max(self.answers * self._squares[name] * _ONE - total * total, 0)
        return squares / (self.answers * self.answers * _ONE * _ONE)

    def is_near_tie(self, name: str, digits: int) -> bool:
        """Whether additions that round may give the mean another last digit."""
        mean = abs(self.mean(name))
        return _is_near_tie(mean, digits, self._error * mean)

    def spread(self, name: str, label: str, digits: int, ties: list[str]) -> dict[str, float]:
        """Returns mean and deviation as published; `ties` gets the labels of near ties."""
        mean, variance = self.mean(name), self.variance(name)
        found = rounded_aggregate(label, mean, variance, digits)
        deviation = math.sqrt(variance)
        if name != "length" and self.is_near_tie(name, digits):  # sums of integers are exact anyway
            ties.append(label)
        if _is_near_tie(deviation, digits, self._error * (deviation + abs(mean))):
            ties.append(f"{label}_std")
        return found


def _is_near_tie(value: float, digits: int, error: float) -> bool:
    scaled = value * 10**digits
    return error > 0 and abs(scaled % 1 - 0.5) <= error * 10**digits


def summarise_exactly(
    benchmark: QuestionSet, cells: Mapping[int, Cell]
) -> tuple[Summaries, list[str]]:
    """Returns the figures of a run from exact sums, and the names of those that are near ties.

    `cells`: by number of the question. Each figure that follows from all answers is as published, but for
    near ties. `score` is the mean of the questions' means of all answers, which is the published one where
    all questions have equally many; `score_std` is NaN, since no trials are known.
    """
    names, compensated = summed_columns(benchmark.sources), benchmark.settings.compensated
    questions, ties = {}, []
    for number, cell in sorted(cells.items()):
        question = benchmark.in_order[number]
        found = _Exact(names, cell, compensated)
        questions[question.id], near = _exact_question(found, question.sources)
        ties += [f"{question.id} {name}" for name in near]
    whole = _Exact(names, _sum_of_cells(cells), compensated)
    score = _exact_score(cells, names.index("average"))
    spread = {"score": round(score, 4), "score_std": math.nan}
    spread |= whole.spread("length", "length", 1, ties)
    most = max(cell.answers for cell in cells.values()) + len(cells)
    if _is_near_tie(score, 4, (most + _OWN) * _ULP * score):
        ties.append("score")
    scores = run_scores([summary.scores for summary in questions.values()])
    num_trials = min(cell.answers for cell in cells.values())
    return Summaries(questions, num_trials, spread, scores), ties


def _exact_question(found: _Exact, sources: Sequence[str]) -> tuple[Summary, list[str]]:
    own = [*share_names(sources), "helpfulness", "average"]
    ties = [name for name in own if found.is_near_tie(name, 5)]
    scores = rounded_question_scores(sources, {name: found.mean(name) for name in own})
    spread = {
        **found.spread("average", "score", 4, ties),
        **found.spread("length", "length", 1, ties),
    }
    return Summary(found.answers, spread, scores, []), ties


def _sum_of_cells(cells: Mapping[int, Cell]) -> Cell:
    first, *others = cells.values()
    for cell in others:
        first = first.plus(cell)
    return first


def _exact_score(cells: Mapping[int, Cell], average: int) -> float:
    """Returns the mean of the means of the questions, rounded once."""
    common = math.lcm(*(cell.answers for cell in cells.values()))
    total = sum(cell.sums[average] * (common // cell.answers) for cell in cells.values())
    return total / (common * len(cells) * _ONE)
