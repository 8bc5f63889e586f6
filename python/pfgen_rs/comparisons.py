"""Compares scored runs: statistics, and answers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs import stats
from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import expand, expand_runs
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.scored_run import compared, comparison_samples, summed_alike

__all__ = ["RunComparison", "TypicalAnswer", "compare_runs", "comparison_samples", "distinct"]


@dataclass(frozen=True)
class TypicalAnswer:
    """A run's answer to a question whose score is nearest to the mean of all its answers to it."""

    run: str
    question_id: str
    mean: float
    line: int
    score: float
    answer: Answer = field(repr=False)


@dataclass(frozen=True)
class RunComparison:
    """Scored runs with the statistics of their comparison."""

    results: Sequence[Result] = field(repr=False)
    statistics: stats.Comparison

    def __repr__(self) -> str:
        """Show the statistics in short."""
        return f"{type(self).__name__}({self.statistics!r})"

    def most_different(self, metric: str = "average", count: int = 3) -> list[str]:
        """Returns the ids of the questions in which the runs' means differ most, largest difference first."""
        frame = self.statistics.questions.filter(pl.col("metric") == metric)
        widest = frame.group_by("question_id").agg(pl.col("difference").abs().max())
        order = widest.sort("difference", "question_id", descending=[True, False])
        return order.get_column("question_id").head(count).to_list()

    def side_by_side(
        self, questions: Sequence[str], metric: str = "average"
    ) -> dict[str, list[TypicalAnswer]]:
        """Returns for each of these questions a typical answer of every run.

        Texts that are not in memory are read again. Raises `InputError` if their file has changed.
        """
        by_run = [
            _typical_answers(result, name, questions, metric)
            for result, name in zip(self.results, self.statistics.runs, strict=True)
        ]
        return {question: [found[question] for found in by_run] for question in questions}


def distinct(patterns: Sequence[str], least: int = 1) -> list[str]:
    """Expand patterns to paths. Raises `InputError` if a run is named twice, or there are too few.

    A path that several globs match, or a glob and a path, counts once.
    """
    expanded = [found for pattern in patterns if (found := expand([pattern])) == [pattern]]
    named = [path for [path] in expanded]
    found = expand_runs(patterns)
    files = [Path(Source(path).path).resolve() for path in found]
    twice = [path for path in named if named.count(path) > 1]
    twice += [path for path, file in zip(found, files, strict=True) if files.count(file) > 1]
    if twice:
        raise InputError("given twice: name another run", path=twice[-1])
    if len(found) < least:
        raise InputError(f"expected {least} runs to compare: name another one", path=found[-1])
    return found


def compare_runs(results: Sequence[Result], **settings: Any) -> RunComparison:
    """Compare scored runs; `settings` and errors as for `pfgen_rs.stats.compare`.

    Runs scored with different `summation` are compared in that of the first.
    """
    results = summed_alike(results)
    return RunComparison(results, compared(results, **settings))


def _typical_answers(
    result: Result, name: str, questions: Sequence[str], metric: str
) -> dict[str, TypicalAnswer]:
    """Returns for each question the (first) answer whose value is nearest to the mean of all."""
    found: dict[str, tuple[float, int, float]] = {}
    places = {}
    for question in questions:
        columns = result.response_scores.of_question(question, [metric, "line", "start"])
        values, mean = columns[metric], float(columns[metric].mean())
        row = int(np.argmin(np.abs(values - mean)))
        line = int(columns["line"][row])
        found[question] = mean, line, float(values[row])
        places[line, int(columns["start"][row])] = question
    order = sorted(places)
    records = result.responses.records(order) if order else ()
    answers = {places[at]: answer for at, (answer, _) in zip(order, records, strict=True)}
    return {
        question: TypicalAnswer(name, question, *found[question], answers[question])
        for question in questions
    }
