"""Runs in a site: their answers, their folders, and what comparisons need of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import QuestionAnswers, reference_table, run_answers
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.compare_page import (
    Compared,
    ComparisonSettings,
    compared_run,
    comparison_data,
)
from pfgen_rs.report.site.folder import SiteFolder, slug
from pfgen_rs.report.site.run_page import (
    RunView,
    answers_file,
    estimates,
    run_page,
    run_script,
    run_view,
    windows_name,
)
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

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
    return f"runs/{slug(run)}"


def run_page_path(run: str) -> str:
    """Returns the path of a run's page within a site."""
    return f"{run_page_folder(run)}/index.html"


# The files of runs in a site: a page and its answers for each, made of a few runs at a time.


Failed = list[tuple[str, PfgenError]]
Step = Callable[[str], None]
# Takes the number of steps; returns what is called after each with its name.
Steps = Callable[[int], AbstractContextManager[Step]]


@dataclass(frozen=True)
class ScoredRuns:
    """The runs of a site, scored when they are needed.

    `keys`: for each run, in the order of its pages, a digest of what they are made of besides the questions
    (`None`: unknown, so that they are made again). `scored`: takes names; yields each with its result or, if
    it cannot be scored, the error.
    """

    keys: Mapping[str, str | None]
    scored: Callable[[Sequence[str]], Iterable[tuple[str, Result | PfgenError]]]


def given_runs(results: Mapping[str, Result]) -> ScoredRuns:
    """Returns runs that have been scored."""
    return ScoredRuns(dict.fromkeys(results), lambda runs: ((run, results[run]) for run in runs))


@dataclass(frozen=True)
class RunFiles:
    """Where and how the files of runs are written; `key`: digest of this, for `SiteFolder.kept`."""

    folder: SiteFolder
    benchmark: QuestionSet
    limit: int
    nav: Nav
    key: str
    script: str

    def kept(self, run: str, key: str | None) -> Any:
        """Returns what is remembered of a run whose files can stay; otherwise `None`."""
        part = None if key is None else self.folder.kept(f"run {run}", f"{self.key} {key}")
        return None if part is None else part.value

    def made(self, run: str, key: str | None, result: Result) -> Any:
        """Write the files of a run. Returns what is to be remembered of it: what comparisons need."""
        sample = sample_of(result)
        answers, page = f"{answers_file(run_page_folder(run))}.js", run_page_path(run)
        self.folder.write(answers, self._answers(run, result))
        view = run_view(result, estimates(sample), run=run)
        self.folder.write(page, self._page(run, view))
        value = {
            "figures": compared_run(self.benchmark, sample),
            "system": is_system(result.config or {}),
        }
        if key is not None:
            self.folder.remember(f"run {run}", f"{self.key} {key}", [answers, page], value)
        return value

    def _answers(self, run: str, result: Result) -> bytes:
        parts = [""] * len(self.benchmark)
        for number, found in Runs(self.benchmark, {run: result}, self.limit).answers(run):
            parts[number] = payload.payload_part(payload.packed(found.payload()))
        return payload.parts_file(answers_file(run_page_folder(run)), parts)

    def _page(self, run: str, view: RunView) -> bytes:
        return run_page(
            view,
            self.benchmark.settings,
            folder=run_page_folder(run),
            sources={source for question in self.benchmark for source in question.sources},
            root="../../",
            nav=self.nav,
            script=self.script,
        )


def write_runs(
    files: RunFiles, runs: ScoredRuns, jobs: int, steps: Steps | None = None
) -> tuple[dict[str, Any], Failed]:
    """Write the files of all runs that cannot stay as they are.

    Returns what is remembered of each, and failed runs. Memory: the answers of one run per thread.
    """
    known = {run: files.kept(run, key) for run, key in runs.keys.items()}
    stale = [run for run, value in known.items() if value is None]
    failed: Failed = []

    def make(item: tuple[str, Result | PfgenError]) -> tuple[str, Any]:
        run, result = item
        try:
            return run, result if isinstance(result, PfgenError) else files.made(
                run, runs.keys[run], result
            )
        except InputError as error:  # its file has changed meanwhile
            return run, error

    with steps(len(stale)) if steps and stale else nullcontext() as step:
        # One thread less, for the next runs are scored meanwhile.
        for run, made in worked_ahead(make, runs.scored(stale), max(jobs - 1, 1)):
            if isinstance(made, PfgenError):
                failed.append((run, made))
            else:
                known[run] = made
            if step is not None:
                step(run)
    return {run: value for run, value in known.items() if value is not None}, failed


def shared_names(benchmark: QuestionSet) -> set[str]:
    """Returns the paths of what `write_shared` writes."""
    return {run_script()[0], *(f"{windows_name(number)}.js" for number in range(len(benchmark)))}


def write_shared(folder: SiteFolder, benchmark: QuestionSet, key: str, jobs: int) -> str:
    """Write what the pages of all runs share: tables of windows, and their script. Returns its path."""
    path, script = run_script()
    if folder.kept("shared", key) is None:
        folder.write(path, script)
        found = worked_ahead(
            lambda place: _windows_file(benchmark, *place), enumerate(benchmark), jobs
        )
        folder.remember("shared", key, [path, *(_written(folder, *file) for file in found)])
    return path


def _windows_file(benchmark: QuestionSet, number: int, question: Question) -> tuple[str, bytes]:
    name = windows_name(number)
    table = payload.packed(reference_table(benchmark, question.id).payload())
    return f"{name}.js", payload.payload_file(name, table)


def _written(folder: SiteFolder, name: str, content: bytes) -> str:
    folder.write(name, content)
    return name


# Work on some items side by side, of which only a few are in memory.


_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def worked_ahead(
    work: Callable[[_Item], _Found], items: Iterable[_Item], jobs: int
) -> Iterator[_Found]:
    """Yield what `work` returns for each item, in order, working on up to `jobs` at a time.

    An item is taken only when fewer than `jobs` wait or are worked on, and is dropped once it is done.
    """
    waiting: deque[Future[_Found]] = deque()
    pool = ThreadPoolExecutor(jobs)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            del item
            if len(waiting) >= jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
