"""Runs in a site: their answers, their folders, and what comparisons need of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.answers import QuestionAnswers, run_answers
from pfgen_rs.report.shown_answers import PER_QUESTION
from pfgen_rs.report.site import names
from pfgen_rs.report.site.comparison_data import (
    Compared,
    ComparisonSettings,
    compared_run,
    comparison_data,
)
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

__all__ = ["Runs", "run_page_folder", "run_page_path"]

Nav = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Runs:
    """Runs by name, all scored with the same benchmark, for pages of their own.

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
