"""Builds a whole site in a folder; pages of runs are made a few at a time, and what has not changed stays."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pfgen_rs import InputError, PfgenError, Question, Result
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import reference_table, run_answers
from pfgen_rs.report.site import (
    benchmark_page,
    board as boards,
    compare_page,
    models_page,
    payload,
    plots_page,
    run_page,
)
from pfgen_rs.report.site.compare_page import COMPARISON, COMPARISON_PAGE
from pfgen_rs.report.site.folder import SiteFolder, code_digest, digest_of
from pfgen_rs.report.site.model_facts import ModelFacts, bundled_facts
from pfgen_rs.report.site.pages import Frame, Look, Nav, Text, vendored

FRONT = (("overview", models_page.OVERVIEW_PAGE), ("models", models_page.MODELS_PAGE))
BENCHMARK = ("benchmark", "benchmark/index.html")
COMPARE = ("compare", COMPARISON_PAGE)
PLOTS = ("plots", plots_page.PLOTS_PAGE)
SECTIONS = ("judges", "tasks", "training")
"""Kinds of pages that sources contribute."""

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


def build(
    folder: str | os.PathLike[str],
    benchmark: QuestionSet,
    entries: Sequence[Entry],
    results: Mapping[str, Result] | None = None,
    *,
    samples: Mapping[str, str] | None = None,
    answers_per_question: int = PER_QUESTION,
    facts: ModelFacts | None = None,
    plots: bool = False,
    jobs: int | None = None,
) -> None:
    """Write the site of a benchmark, with the runs of `entries`, into `folder`.

    `results`: scored runs by their names in the entries; they get pages, with up to `answers_per_question`
    answers to each question, and can be compared. `samples`: example answers by text of the question.
    `facts`: sizes and dates of release of models (default: those of the package). `plots`: also a page with
    figures of all runs. `jobs`: number of threads (default: all processors). Files are written atomically,
    the first page first, and only if their content changes; the same input gives the same bytes. Files of
    an earlier site that are not part of this one are removed. Raises `OutputError`, also if the folder
    contains other files (`SiteFolder`).
    """
    board = boards.board_of(entries, benchmark, bundled_facts() if facts is None else facts)
    site = Site(SiteFolder(folder), board, benchmark, samples or {}, answers_per_question, plots)
    site.write(given_runs(results or {}), jobs=jobs)


@dataclass(frozen=True)
class Site:
    """What a site is made of besides its runs; values as for `build`.

    `benchmark`: `None` for a site without runs. `lead`: what the site is, in its own words. `pages`: further
    pages, listed nowhere else. `files`: further files by path, such as a logo.
    """

    folder: SiteFolder
    board: boards.Board
    benchmark: QuestionSet | None
    samples: Mapping[str, str] = field(default_factory=dict)
    answers_per_question: int = PER_QUESTION
    plots: bool = False
    look: Look = Look()  # noqa: RUF009 - it cannot change
    lead: Text | None = None
    pages: Sequence[boards.Section] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)

    def write(
        self,
        runs: ScoredRuns,
        *,
        jobs: int | None = None,
        steps: Steps | None = None,
        whole: str | None = None,
    ) -> Failed:
        """Write the site as `build` does, except what has not changed, scoring runs when pages need them.

        The first page says so while pages that it leads to are missing. `steps` is told about the progress of
        runs. `whole`: what `SiteFolder.is_whole` takes later, unless a run fails. Returns failed runs with
        their errors; they have no pages. Memory: the answers of one run per thread. Raises `OutputError`,
        also while another process writes the site.
        """
        jobs = jobs or os.cpu_count() or 1
        with self.folder.writing():
            about = self.benchmark
            signature = "" if about is None else about.signature
            frame = Frame(nav=self._nav(runs.keys), look=self.look, signature=signature)
            paths = {run: run_page.page_path(run) for run in runs.keys}
            needed = (*paths.values(), *(path for _, path in frame.nav))
            is_complete = all(map(self.folder.has, needed))
            self._write_front(paths, frame, is_complete=is_complete)
            # The signature has a part of the hash alone.
            questions = None if about is None else about.metadata_hash
            key = digest_of(code_digest(), questions, self.answers_per_question, frame)
            found, failed = self._write_runs(runs, key, frame, jobs, steps)
            if failed or not is_complete:
                paths = {run: paths[run] for run in found}
                self._write_front(paths, frame, is_complete=True)
            self._write_part("files", "", self.files)
            self._write_models(key, paths, frame)
            self._write_sections(key, frame)
            self.folder.finish(None if failed else whole)
        return failed

    def _write_runs(
        self, runs: ScoredRuns, key: str, frame: Frame, jobs: int, steps: Steps | None
    ) -> tuple[dict[str, Any], Failed]:
        if (benchmark := self.benchmark) is None:
            return {}, []
        self._write_benchmark(benchmark, key, frame)
        script = self._write_shared(benchmark, key, jobs) if runs.keys else ""
        found, failed = RunPages(self, benchmark, frame, key, script).write(runs, jobs, steps)
        # Even if runs failed: pages lead to it, and it says that there are too few.
        if COMPARE in frame.nav:
            self._write_comparison(benchmark, found, frame)
        if PLOTS in frame.nav:
            self._write_plots(benchmark, key, frame)
        return found, failed

    def _nav(self, runs: Mapping[str, Any]) -> Nav:
        """Returns the pages of the site with these runs."""
        kinds = {section.nav for section in self.board.sections}
        there = {
            COMPARE: self._are_comparable(runs),
            BENCHMARK: self.benchmark is not None,
            **{(kind, f"{kind}/index.html"): kind in kinds for kind in SECTIONS},
            PLOTS: self.plots and plots_page.are_plottable(self.board.entries),
            **{(page.nav, page.path): True for page in self.pages},
        }
        return (*FRONT, *(page for page, is_there in there.items() if is_there))

    def _are_comparable(self, runs: Mapping[str, Any]) -> bool:
        """Whether there are runs to compare, and questions to compare them by."""
        return min(len(runs), len(self.benchmark or ())) > 1

    def _write_front(self, paths: Mapping[str, str], frame: Frame, *, is_complete: bool) -> None:
        comparison = COMPARISON_PAGE if self._are_comparable(paths) else None
        overview = models_page.overview_page(
            self.board,
            frame=frame.of(models_page.OVERVIEW_PAGE),
            is_complete=is_complete,
            lead=self.lead,
        )
        table = models_page.models_page(
            self.board,
            frame=frame.of(models_page.MODELS_PAGE),
            comparison=comparison,
            is_complete=is_complete,
        )
        found = {models_page.OVERVIEW_PAGE: overview, models_page.MODELS_PAGE: table}
        found |= [
            _script(models_page.BOARD, payload.packed(boards.payload(self.board, paths))),
            _script(models_page.MEANS, boards.means(self.board)),
            *vendored(),
        ]
        self._write_part("front", "", found)

    def _write_models(self, key: str, paths: Mapping[str, str], frame: Frame) -> None:
        """Write the pages of models whose own values have changed."""
        path, script = models_page.model_script()
        self._write_part("models", "", {path: script})
        self.folder.plan(model.page for model in self.board.models)
        for model in self.board.models:
            runs = [
                [run.run, run.signature, repr(self.board.run_values(run)), paths.get(run.run)]
                for run in model.runs
            ]
            pages = [
                section.path for section in self.board.sections if model.name in section.models
            ]
            columns = [column for column in self.board.columns if column.key in model.values]
            own = digest_of(key, model.name, runs, pages, repr((model.values, columns)))
            if self.folder.kept(f"model {model.slug}", own) is None:
                page = models_page.model_page(
                    model, self.board, frame=frame.of(model.page, "models"), pages=paths
                )
                self._write_part(f"model {model.slug}", own, {model.page: page})

    def _write_sections(self, key: str, frame: Frame) -> None:
        """Write pages of other kinds, and the lists of them."""
        for section in (*self.board.sections, *self.pages):
            own = digest_of(key, section.key)
            if self.folder.kept(f"section {section.path}", own) is None:
                files = dict(section.files(frame.of(section.path, section.nav)))
                self._write_part(f"section {section.path}", own, files)
        for kind in SECTIONS:
            if (kind, path := f"{kind}/index.html") in frame.nav:
                sections = [each for each in self.board.sections if each.nav == kind]
                page = models_page.section_page(kind, self.board, sections, frame=frame.of(path))
                self._write_part(f"list {kind}", "", {path: page})

    def _write_part(self, name: str, key: str, files: Mapping[str, bytes]) -> None:
        self.folder.plan(files)
        for path, content in files.items():
            self.folder.write(path, content)
        self.folder.remember(name, key, files)

    def _write_comparison(
        self, benchmark: QuestionSet, found: Mapping[str, Any], frame: Frame
    ) -> None:
        runs = (
            compare_page.listed_run(
                self.board.labels.get(run, run),
                run_page.page_folder(run),
                value["figures"],
                page=run_page.page_path(run),
                is_system=value["system"],
            )
            for run, value in found.items()
        )
        data = compare_page.comparison_data(benchmark, runs)
        page = compare_page.comparison_page(benchmark, frame=frame.of(COMPARISON_PAGE))
        script = payload.payload_file(COMPARISON, data)
        self._write_part("comparison", "", {f"{COMPARISON}.js": script, COMPARISON_PAGE: page})

    def _write_benchmark(self, benchmark: QuestionSet, key: str, frame: Frame) -> None:
        if self.folder.kept("references", key) is None:
            # A copy has an index of its own, which is not kept: one at a time is in memory.
            references = (
                _script(
                    benchmark_page.references_payload_name(question),
                    benchmark_page.references_payload(copy(question)),
                )
                for question in benchmark
            )
            self._write_part("references", key, dict(references))
        path, entries = BENCHMARK[1], self.board.entries
        scores = [[run.run, run.estimate.trial_se, run.questions] for run in entries]
        key = digest_of(key, self.samples, scores, benchmark_page.is_fitted())
        if self.folder.kept("benchmark", key) is None:
            page = benchmark_page.benchmark_page(
                benchmark, frame=frame.of(path), samples=self.samples, entries=entries
            )
            self._write_part("benchmark", key, {path: page})

    def _write_plots(self, benchmark: QuestionSet, key: str, frame: Frame) -> None:
        entries = self.board.entries
        known = {
            run.run: {**model.values, "cost": self.board.costs.get(run.run)}
            for model in self.board.models
            for run in model.runs
        }
        key = digest_of(key, plots_page.plots_key(entries, known))
        if self.folder.kept("plots", key) is not None:
            return
        found = plots_page.plots_files(entries, benchmark, known, frame=frame.of(PLOTS[1]))
        self._write_part("plots", key, dict(found))

    def _write_shared(self, benchmark: QuestionSet, key: str, jobs: int) -> str:
        """Write what the pages of all runs share: tables of windows, and their script. Returns its path."""
        path, script = run_page.run_script()
        if self.folder.kept("shared", key) is None:
            numbers = range(len(list(benchmark)))
            self.folder.plan([path, *(f"{run_page.windows_name(number)}.js" for number in numbers)])
            self.folder.write(path, script)
            names = [path]

            def windows(place: tuple[int, Question]) -> tuple[str, bytes]:
                table = reference_table(benchmark, place[1].id).payload()
                return _script(run_page.windows_name(place[0]), payload.packed(table))

            for name, content in worked_ahead(windows, enumerate(benchmark), jobs):
                self.folder.write(name, content)
                names.append(name)
            self.folder.remember("shared", key, names)
        return path


def _script(name: str, value: Any) -> tuple[str, bytes]:
    """Returns the path and content of a payload's file."""
    return f"{name}.js", payload.payload_file(name, value)


@dataclass(frozen=True)
class RunPages:
    """The pages of a site's runs; `key`: digest of what all are made of, `script`: what they share."""

    site: Site
    benchmark: QuestionSet
    frame: Frame
    key: str
    script: str

    def write(
        self, runs: ScoredRuns, jobs: int, steps: Steps | None = None
    ) -> tuple[dict[str, Any], Failed]:
        """Write the files of all runs that cannot stay as they are.

        Returns what is remembered of each, and failed runs. Memory: the answers of one run per thread.
        """
        self.site.folder.plan(file for run in runs.keys for file in self._files(run))
        known = {run: self._kept(run, key) for run, key in runs.keys.items()}
        stale = [run for run, value in known.items() if value is None]
        failed: Failed = []

        def make(item: tuple[str, Result | PfgenError]) -> tuple[str, Any]:
            run, result = item
            if isinstance(result, PfgenError):
                return run, result
            try:
                return run, self.made(run, runs.keys[run], result)
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

    def _files(self, run: str) -> tuple[str, str]:
        """Returns the paths of a run's answers and of its page."""
        return f"{run_page.answers_file(run_page.page_folder(run))}.js", run_page.page_path(run)

    def _kept(self, run: str, key: str | None) -> Any:
        """Returns what is remembered of a run whose files can stay; otherwise `None`."""
        kept = self.site.folder.kept
        part = None if key is None else kept(f"run {run}", f"{self.key} {key}")
        return None if part is None else part.value

    def made(self, run: str, key: str | None, result: Result) -> Any:
        """Write the files of a run. Returns what is to be remembered of it: what comparisons need."""
        site, sample, folder = self.site, result.sample(), run_page.page_folder(run)
        answers, path = self._files(run)
        site.folder.write(answers, self._answers(folder, result))
        page = run_page.run_page(
            run_page.run_view(result, sample, run=run),
            folder=folder,
            frame=self.frame.of(path, "models"),
            script=self.script,
        )
        site.folder.write(path, page)
        figures = compare_page.compared_run(self.benchmark, sample)
        value = {"figures": figures, "system": is_system(result.config or {})}
        if key is not None:
            site.folder.remember(f"run {run}", f"{self.key} {key}", [answers, path], value)
        return value

    def _answers(self, folder: str, result: Result) -> bytes:
        numbers = {question.id: number for number, question in enumerate(self.benchmark)}
        parts = [""] * len(numbers)
        for found in run_answers(result, limit=self.site.answers_per_question):
            parts[numbers[found.question.id]] = payload.payload_part(
                payload.packed(found.payload())
            )
        return payload.parts_file(run_page.answers_file(folder), parts)


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
