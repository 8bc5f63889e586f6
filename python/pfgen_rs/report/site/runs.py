"""Runs in a site: their pages, their answers, and the page that compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs import stats
from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.answers import PER_QUESTION, QuestionAnswers, run_answers
from pfgen_rs.report.run_view import estimates, run_view
from pfgen_rs.report.site import names, payload
from pfgen_rs.report.site.compare_page import (
    COMPARISON,
    Compared,
    comparison_page,
    comparison_payload,
)
from pfgen_rs.report.site.run_page import answers_file, run_page, windows_name
from pfgen_rs.report.windows import reference_table
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

__all__ = [
    "Runs",
    "most_compared",
    "run_page_folder",
    "run_page_path",
    "write_runs",
]

_MOST = 30  # runs that are compared in a site, since every two are tested
Metrics = Mapping[str, stats.Estimate]
Write = Callable[[str, bytes], None]
Nav = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Runs:
    """Runs of a site by name, in its order, all scored with the same benchmark.

    `ranks`: the rank range of each on the leaderboard.
    """

    benchmark: QuestionSet
    results: Mapping[str, Result]
    limit: int = PER_QUESTION
    ranks: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)

    def answers(self, run: str) -> Iterator[tuple[int, QuestionAnswers]]:
        """Yields the answers of a run that are shown, with the numbers of their questions."""
        numbers = {question.id: number for number, question in enumerate(self.benchmark)}
        for found in run_answers(self.results[run], limit=self.limit):
            yield numbers[found.question.id], found

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
    with ThreadPoolExecutor(jobs) as pool:
        comparing = pool.submit(_write_site_comparison, runs, compared, write, nav)
        list(pool.map(lambda run: _write_site_answers(runs, run, write), runs.results))
        places = enumerate(runs.benchmark) if runs.results else ()
        list(pool.map(lambda place: _write_site_windows(runs, write, *place), places))
        known = comparing.result()
        list(
            pool.map(
                lambda run: _write_site_run_page(runs, run, known.get(run), write, nav),
                runs.results,
            )
        )


def _write_site_answers(runs: Runs, run: str, write: Write) -> None:
    parts: list[Any] = [None] * len(runs.benchmark)
    for number, found in runs.answers(run):
        parts[number] = payload.packed(found.payload())
    name = answers_file(run_page_folder(run))
    write(f"{name}.js", payload.parts_file(name, parts))


def _write_site_windows(runs: Runs, write: Write, number: int, question: Question) -> None:
    table = reference_table(runs.benchmark, question.id)
    _write_site_payload(write, windows_name(number), payload.packed(table.payload()))


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
