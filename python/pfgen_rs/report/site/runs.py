"""Runs in a site: their pages, their answers, and the page that compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from pfgen_rs import stats
from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.answers import PER_QUESTION, run_answers
from pfgen_rs.report.run_view import estimates, run_view
from pfgen_rs.report.site import names, payload
from pfgen_rs.report.site.compare_page import (
    COMPARISON,
    Compared,
    comparison_page,
    comparison_payload,
)
from pfgen_rs.report.site.run_page import answers_name, run_page, windows_name
from pfgen_rs.report.windows import Windows, distinct_windows, window_table
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

__all__ = [
    "Runs",
    "Tables",
    "most_compared",
    "run_page_folder",
    "run_page_path",
    "write_runs",
]

_MOST = 30  # runs that are compared in a site, since every two are tested
_MERGED = 1 << 19  # windows of a question that are kept with duplicates
Payload = tuple[str, Any]
Metrics = Mapping[str, stats.Estimate]
Write = Callable[[str, bytes], None]
Nav = Sequence[tuple[str, str]]


@dataclass
class Tables:
    """The windows of all shown answers by question, which runs add to (from any thread)."""

    benchmark: QuestionSet
    found: dict[str, list[Windows]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def add(self, question_id: str, answers: Sequence[str]) -> None:
        """Add the windows of some answers."""
        windows = distinct_windows(answers)
        with self.lock:
            pieces = self.found.setdefault(question_id, [])
            pieces.append(windows)
            if sum(map(len, pieces)) > max(_MERGED, 2 * len(pieces[0])):
                pieces[:] = [np.unique(np.concatenate(pieces))]

    def payload(self, number: int, question_id: str) -> Payload:
        """Returns the name of a question's payload, and its table."""
        windows = np.unique(np.concatenate(self.found[question_id]))
        table = window_table(self.benchmark, question_id, windows)
        return windows_name(number), table.payload()

    @property
    def places(self) -> list[tuple[int, str]]:
        """Numbers and ids of the questions with answers."""
        numbered = enumerate(self.benchmark)
        return [(number, question.id) for number, question in numbered if question.id in self.found]


@dataclass(frozen=True)
class Runs:
    """Runs of a site by name, in its order, all scored with the same benchmark.

    `ranks`: the rank range of each on the leaderboard.
    """

    benchmark: QuestionSet
    results: Mapping[str, Result]
    limit: int = PER_QUESTION
    ranks: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)

    def answers(self, run: str, tables: Tables) -> Iterator[Payload]:
        """Yields the payloads of a run's answers, and adds their windows to `tables`."""
        numbers = {question.id: number for number, question in enumerate(self.benchmark)}
        for found in run_answers(self.results[run], limit=self.limit):
            tables.add(found.question.id, found.texts)
            yield answers_name(run_page_folder(run), numbers[found.question.id]), found.payload()

    @property
    def sources(self) -> set[str]:
        """The sources of all reference answers."""
        return {source for question in self.benchmark for source in question.sources}

    def compare(self, chosen: Sequence[str], **settings: Any) -> stats.Comparison:
        """Compare some of the runs; `settings` as for `stats.compare`."""
        return stats.compare([sample_of(self.results[run], run) for run in chosen], **settings)

    def labels(self, chosen: Sequence[str], *, linked: bool) -> list[Compared]:
        """Returns labels of some of the runs; if they have pages (`linked`), with the names used there."""
        shown = [self.results[run].name if linked else run for run in chosen]
        return [
            Compared(
                name=name if shown.count(name) == 1 else f"{name} ({run})",
                folder=run_page_folder(run),
                page=run_page_path(run) if linked else None,
                is_system=is_system(self.results[run].config or {}),
            )
            for run, name in zip(chosen, shown, strict=True)
        ]


def most_compared(runs: Runs) -> list[str]:
    """Returns the best runs that answer all questions, up to 30; none if fewer than two."""
    if len(runs.benchmark) < 2:
        return []
    complete = [run for run, result in runs.results.items() if not result.missing]
    best = sorted(complete, key=lambda run: -runs.results[run].score)[:_MOST]
    return [run for run in complete if run in best] if len(best) > 1 else []


def run_page_folder(run: str) -> str:
    """Returns the folder of a run's page within a site."""
    return f"runs/{names.slug(run)}"


def run_page_path(run: str) -> str:
    """Returns the path of a run's page within a site."""
    return f"{run_page_folder(run)}/index.html"


def write_runs(
    runs: Runs, compared: Sequence[str], write: Write, *, nav: Nav = (), jobs: int = 1
) -> None:
    """Write the pages of all runs with their payloads, and the comparison page, if any runs are compared.

    `write` takes a path within the site and content, and is called from `jobs` threads. Memory: the shown
    answers of one run per thread.
    """
    tables = Tables(runs.benchmark)
    with ThreadPoolExecutor(jobs) as pool:
        comparing = pool.submit(_write_site_comparison, runs, compared, write, nav)
        list(pool.map(lambda run: _write_site_answers(runs, run, tables, write), runs.results))
        list(
            pool.map(
                lambda place: _write_site_payload(write, *tables.payload(*place)), tables.places
            )
        )
        known = comparing.result()
        list(
            pool.map(
                lambda run: _write_site_run_page(runs, run, known.get(run), write, nav),
                runs.results,
            )
        )


def _write_site_answers(runs: Runs, run: str, tables: Tables, write: Write) -> None:
    for name, value in runs.answers(run, tables):
        _write_site_payload(write, name, value)


def _write_site_run_page(
    runs: Runs, run: str, metrics: Metrics | None, write: Write, nav: Nav
) -> None:
    result = runs.results[run]
    view = run_view(result, metrics or estimates(sample_of(result)), run=run)
    settings, folder = runs.benchmark.settings, run_page_folder(run)
    page = run_page(view, settings, folder=folder, sources=runs.sources, root="../../", nav=nav)
    write(run_page_path(run), page)


def _write_site_comparison(
    runs: Runs, compared: Sequence[str], write: Write, nav: Nav
) -> dict[str, Metrics]:
    """Write the comparison. Returns the estimates of its runs, all of which answer all questions."""
    if not compared:
        return {}
    comparison, labels = runs.compare(compared), runs.labels(compared, linked=True)
    ranks = [runs.ranks.get(run) for run in compared]
    page = comparison_page(runs.benchmark, comparison, labels, ranks=ranks, root="../", nav=nav)
    write("compare/index.html", page)
    _write_site_payload(write, COMPARISON, comparison_payload(runs.benchmark, comparison, labels))
    return {
        run: {metric: found[i] for metric, found in comparison.estimates.items()}
        for i, run in enumerate(comparison.runs)
    }


def _write_site_payload(write: Write, name: str, value: Any) -> None:
    write(f"{name}.js", payload.payload_file(name, value))
