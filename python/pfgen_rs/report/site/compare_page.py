"""The page that compares two of several runs, question by question, with answers side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.sources import explained
from pfgen_rs.report.site.charts import Axis
from pfgen_rs.report.site.pages import render
from pfgen_rs.report.site.run_page import answers_name, reading, windows_name
from pfgen_rs.stats import Comparison, Estimate

__all__ = [
    "COMPARISON",
    "COMPARISON_PAGE",
    "MOST_COMPARED",
    "Compared",
    "comparison_page",
    "comparison_payload",
]

COMPARISON_PAGE = "compare/index.html"
"""Path of the page within a site."""

MOST_COMPARED = 10
"""Maximum number of runs that are compared at a time."""

COMPARISON = "compare/data"
"""Name of the payload with the comparison."""

_UNIT = 10**5  # differences go to the page as whole numbers of it
_PAIR = ("difference", "low", "high", "p", "minimum_detectable", "p_holm", "family")


@dataclass(frozen=True)
class Compared:
    """A run of a comparison: its name, the folder of its answers, and its page, if any.

    System runs have no rank, and their pairs are corrected among themselves.
    """

    name: str
    folder: str
    page: str | None = None
    is_system: bool = False

    @property
    def slug(self) -> str:
        """The run's name in the page's address."""
        return self.folder.rpartition("/")[2]


def comparison_page(
    benchmark: QuestionSet,
    comparison: Comparison,
    runs: Sequence[Compared],
    *,
    ranks: Sequence[tuple[int, int] | None] | None = None,
    root: str = "",
    nav: Sequence[tuple[str, str]] = (),
    payloads: Mapping[str, Any] | None = None,
) -> bytes:
    """Returns the page of a comparison of `runs`, in its order; the page lets its reader choose two.

    `ranks`: the rank range of each run on the leaderboard next to this page (default: from the tests of the
    pairs). `root`, `nav` and `payloads` as for `run_page`.
    """
    estimates = comparison.estimates["average"]
    order = sorted(range(len(runs)), key=lambda i: -estimates[i].mean)
    competing = [found for found, run in zip(estimates, runs, strict=True) if not run.is_system]
    return render(
        "compare",
        parts=("charts", "windows", "inspector", "answers", "diff", "compare"),
        root=root,
        nav=nav,
        here="compare",
        signature=benchmark.signature,
        comparison=comparison,
        runs=runs,
        order=order,
        ranks=comparison.ranks["average"] if ranks is None else ranks,
        explained=explained(source for question in benchmark for source in question.sources),
        family=_page_pairs_count(comparison),
        axis=Axis.of_most([_page_interval(found) for found in competing or estimates]),
        data={"reading": reading(benchmark.settings), "comparison": COMPARISON},
        payloads=payloads or {},
    )


def comparison_payload(
    benchmark: QuestionSet, comparison: Comparison, runs: Sequence[Compared]
) -> dict[str, Any]:
    """Returns the data for the page's script.

    By metric: `means` (by run and question), `pairs` (every two runs in the order of the runs, with
    difference, bounds, p-value, minimum detectable difference, corrected p-value, and the number of pairs
    that it is corrected for), and for each pair the bounds of the differences by question and by category.
    Means and bounds are in units of 0.00001, `null` if unknown.
    """
    numbers = {question.id: number for number, question in enumerate(benchmark)}
    places = [(numbers[name], benchmark[name]) for name in comparison.compared]
    categories = comparison.categories.get_column("category").unique(maintain_order=True)
    return {
        "runs": [
            {"name": run.name, "slug": run.slug, "page": run.page, "system": run.is_system}
            for run in runs
        ],
        "metrics": list(comparison.metrics),
        "level": comparison.level,
        "smallest_p": comparison.smallest_p,
        "questions": [
            {
                "name": question.id,
                "text": question.text,
                "category": question.category,
                "windows": windows_name(number),
                "answers": [answers_name(run.folder, number) for run in runs],
            }
            for number, question in places
        ],
        "categories": categories.to_list(),
        "means": {
            metric: _page_question_means(comparison, metric) for metric in comparison.metrics
        },
        "estimates": {
            metric: [found.mean for found in each] for metric, each in comparison.estimates.items()
        },
        "pairs": _page_pairs(comparison),
        "by_question": _page_bounds(comparison, comparison.questions),
        "by_category": _page_bounds(comparison, comparison.categories),
    }


def _page_interval(found: Estimate) -> tuple[float, float]:
    low, high = found.low, found.high
    return (found.mean, found.mean) if low is None or high is None else (low, high)


def _page_pairs_count(comparison: Comparison) -> int:
    """Returns the number of pairs of models."""
    return math.comb(sum(rank is not None for rank in comparison.ranks["average"]), 2)


def _page_pairs(comparison: Comparison) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {metric: [] for metric in comparison.metrics}
    for pair in comparison.pairs:
        found[pair.metric].append([getattr(pair, name) for name in _PAIR])
    return found


def _page_question_means(comparison: Comparison, metric: str) -> list[list[int]]:
    """Returns the question means of each run, from its pair with the last run (whose come from the first)."""
    first, *_, last = comparison.runs
    rows = comparison.questions.filter(pl.col("metric") == metric)
    found = [
        _page_columns(rows.filter(pl.col("a") == run, pl.col("b") == last), "mean_a")
        for run in comparison.runs[:-1]
    ]
    found.append(_page_columns(rows.filter(pl.col("a") == first, pl.col("b") == last), "mean_b"))
    return found


def _page_bounds(comparison: Comparison, table: pl.DataFrame) -> dict[str, list[list[list[int]]]]:
    """Returns by metric the columns difference, low and high of each pair."""
    parts = table.partition_by("metric", "a", "b", as_dict=True)
    found: dict[str, list[list[list[int]]]] = {metric: [] for metric in comparison.metrics}
    for pair in comparison.pairs:
        part = parts.get((pair.metric, pair.a, pair.b), table.clear())
        found[pair.metric].append(
            [_page_columns(part, name) for name in ("difference", "low", "high")]
        )
    return found


def _page_columns(rows: pl.DataFrame, name: str) -> list[int]:
    return (rows.get_column(name) * _UNIT).round().cast(pl.Int64).to_list()
