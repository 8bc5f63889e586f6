"""Runs in a site: their pages, their answers, and the page that compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.answers import PER_QUESTION, QuestionAnswers, run_answers
from pfgen_rs.report.run_view import estimates, run_view
from pfgen_rs.report.site import names, payload
from pfgen_rs.report.site.compare_page import COMPARISON, COMPARISON_PAGE, comparison_page
from pfgen_rs.report.site.comparison_data import (
    Compared,
    ComparisonSettings,
    compared_run,
    comparison_data,
)
from pfgen_rs.report.site.run_page import answers_file, run_page, windows_name
from pfgen_rs.report.windows import reference_table
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

__all__ = [
    "Runs",
    "run_page_folder",
    "run_page_path",
    "write_runs",
]

Write = Callable[[str, bytes], None]
Nav = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Runs:
    """Runs of a site by name, in its order, all scored with the same benchmark.

    `names`: what comparisons call them, if not what they are called here.
    """

    benchmark: QuestionSet
    results: Mapping[str, Result]
    limit: int = PER_QUESTION
    names: Mapping[str, str] = field(default_factory=dict)

    def answers(self, run: str) -> Iterator[tuple[int, QuestionAnswers]]:
        """Yields the answers of a run that are shown, with the numbers of their questions."""
        numbers = {question.id: number for number, question in enumerate(self.benchmark)}
        for found in run_answers(self.results[run], limit=self.limit):
            yield numbers[found.question.id], found

    @property
    def sources(self) -> set[str]:
        """The sources of all reference answers."""
        return {source for question in self.benchmark for source in question.sources}

    @property
    def are_comparable(self) -> bool:
        """Whether there are runs to compare, and questions to compare them by."""
        return min(len(self.results), len(self.benchmark)) > 1

    def comparison(
        self, settings: ComparisonSettings | None = None, *, linked: bool = True
    ) -> dict[str, Any]:
        """Returns the data of the page that compares these runs; it links to their pages if `linked`."""
        parts = (
            (self._compared(run, linked=linked), compared_run(self.benchmark, sample_of(result)))
            for run, result in self.results.items()
        )
        return comparison_data(self.benchmark, parts, settings)

    def _compared(self, run: str, *, linked: bool) -> Compared:
        return Compared(
            name=self.names.get(run, run),
            folder=run_page_folder(run),
            page=run_page_path(run) if linked else None,
            is_system=is_system(self.results[run].config or {}),
        )


def run_page_folder(run: str) -> str:
    """Returns the folder of a run's page within a site."""
    return f"runs/{names.slug(run)}"


def run_page_path(run: str) -> str:
    """Returns the path of a run's page within a site."""
    return f"{run_page_folder(run)}/index.html"


def write_runs(runs: Runs, write: Write, *, nav: Nav = (), jobs: int = 1) -> None:
    """Write the pages of all runs with their payloads, and the comparison page, if there are runs to compare.

    `write` takes a path within the site and content, and is called from `jobs` threads. Memory: the shown
    answers of one run per thread.
    """
    with ThreadPoolExecutor(jobs) as pool:
        comparing = pool.submit(_write_site_comparison, runs, write, nav)
        list(pool.map(lambda run: _write_site_answers(runs, run, write), runs.results))
        places = enumerate(runs.benchmark) if runs.results else ()
        list(pool.map(lambda place: _write_site_windows(runs, write, *place), places))
        comparing.result()
        list(pool.map(lambda run: _write_site_run_page(runs, run, write, nav), runs.results))


def _write_site_answers(runs: Runs, run: str, write: Write) -> None:
    parts: list[Any] = [None] * len(runs.benchmark)
    for number, found in runs.answers(run):
        parts[number] = payload.packed(found.payload())
    name = answers_file(run_page_folder(run))
    write(f"{name}.js", payload.parts_file(name, parts))


def _write_site_windows(runs: Runs, write: Write, number: int, question: Question) -> None:
    table = reference_table(runs.benchmark, question.id)
    _write_site_payload(write, windows_name(number), payload.packed(table.payload()))


def _write_site_run_page(runs: Runs, run: str, write: Write, nav: Nav) -> None:
    result = runs.results[run]
    view = run_view(result, estimates(sample_of(result)), run=run)
    settings, folder = runs.benchmark.settings, run_page_folder(run)
    page = run_page(view, settings, folder=folder, sources=runs.sources, root="../../", nav=nav)
    write(run_page_path(run), page)


def _write_site_comparison(runs: Runs, write: Write, nav: Nav) -> None:
    if runs.are_comparable:
        write(COMPARISON_PAGE, comparison_page(runs.benchmark, root="../", nav=nav))
        _write_site_payload(write, COMPARISON, runs.comparison())


def _write_site_payload(write: Write, name: str, value: Any) -> None:
    write(f"{name}.js", payload.payload_file(name, value))
