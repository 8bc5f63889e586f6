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
from pfgen_rs.checkout.leaderboard import run_labels
from pfgen_rs.io.run_files import is_system
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.answers import reference_table, run_answers
from pfgen_rs.report.site import benchmark_page, compare_page, payload, plots_page, run_page
from pfgen_rs.report.site.compare_page import COMPARISON, COMPARISON_PAGE
from pfgen_rs.report.site.folder import SiteFolder, code_digest, digest_of
from pfgen_rs.report.site.leaderboard import leaderboard_page
from pfgen_rs.report.site.model_facts import ModelFacts

Nav = Sequence[tuple[str, str]]
"""Pages of a site: names (keys of strings) and paths."""

NAV = (("leaderboard", "index.html"), ("benchmark", "benchmark/index.html"))
COMPARE = ("compare", COMPARISON_PAGE)
PLOTS = ("plots", plots_page.PLOTS_PAGE)

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
    """Write the site of a benchmark, with the leaderboard of `entries`, into `folder`.

    `results`: scored runs by their names in the entries; they get pages, with up to `answers_per_question`
    answers to each question, and can be compared. `samples`: example answers by text of the question.
    `facts`: sizes and dates of release of models (default: those of the package). `plots`: also a page with
    figures of all runs. `jobs`: number of threads (default: all processors). Files are written atomically,
    the leaderboard first, and only if their content changes; the same input gives the same bytes. Files of
    an earlier site that are not part of this one are removed. Raises `OutputError`, also if the folder
    contains other files (`SiteFolder`).
    """
    place = SiteFolder(folder)
    site = Site(place, benchmark, entries, samples or {}, answers_per_question, facts, plots)
    site.write(given_runs(results or {}), jobs=jobs)


@dataclass(frozen=True)
class Site:
    """What a site is made of besides its runs; values as for `build`."""

    folder: SiteFolder
    benchmark: QuestionSet
    entries: Sequence[Entry]
    samples: Mapping[str, str] = field(default_factory=dict)
    answers_per_question: int = PER_QUESTION
    facts: ModelFacts | None = None
    plots: bool = False

    def write(
        self,
        runs: ScoredRuns,
        *,
        jobs: int | None = None,
        steps: Steps | None = None,
        whole: str | None = None,
    ) -> Failed:
        """Write the site as `build` does, except what has not changed, scoring runs when pages need them.

        The leaderboard comes first, and says so while pages that it leads to are missing. `steps` is told
        about the progress of runs. `whole`: what `SiteFolder.is_whole` takes later, unless a run fails.
        Returns failed runs with their errors; they have no pages. Memory: the answers of one run per thread.
        Raises `OutputError`, also while another process writes the site.
        """
        jobs = jobs or os.cpu_count() or 1
        with self.folder.writing():
            nav = self._nav(runs.keys)
            paths = {run: run_page.page_path(run) for run in runs.keys}
            needed = (*paths.values(), *(path for _, path in nav))
            is_complete = all(map(self.folder.has, needed))
            self._plan(paths, nav)
            self._write_front(paths, nav, is_complete=is_complete)
            # The signature has a part of the hash alone.
            questions = (self.benchmark.metadata_hash, self.benchmark.signature)
            key = digest_of(code_digest(), *questions, self.answers_per_question, nav)
            self._write_benchmark(key, nav)
            script = self._write_shared(key, jobs) if runs.keys else ""
            found, failed = RunPages(self, nav, key, script).write(runs, jobs, steps)
            # Even if runs failed: pages lead to it, and it says that there are too few.
            if COMPARE in nav:
                self._write_comparison(found, nav)
            if PLOTS in nav:
                self._write_plots(key, nav)
            if failed or not is_complete:
                self._write_front({run: paths[run] for run in found}, nav, is_complete=True)
            self.folder.finish(None if failed else whole)
        return failed

    def _plan(self, pages: Mapping[str, str], nav: Nav) -> None:
        """Tell the folder which files there will be, but for those of plots."""
        data = {f"{run_page.answers_file(run_page.page_folder(run))}.js" for run in pages}
        windows = {f"{run_page.windows_name(i)}.js" for i in range(len(self.benchmark))}
        names = {benchmark_page.references_payload_name(question) for question in self.benchmark}
        self.folder.plan(
            {
                *(path for key, path in nav if key != PLOTS[0]),
                *pages.values(),
                *data,
                *({f"{COMPARISON}.js"} if COMPARE in nav else ()),
                *({run_page.run_script()[0], *windows} if pages else ()),
                *(f"{name}.js" for name in names),
            }
        )

    def _nav(self, runs: Mapping[str, Any]) -> Nav:
        """Returns the pages of the site with these runs."""
        pages = (*NAV, COMPARE) if self._are_comparable(runs) else NAV
        return (*pages, PLOTS) if self.plots and plots_page.are_plottable(self.entries) else pages

    def _are_comparable(self, runs: Mapping[str, Any]) -> bool:
        """Whether there are runs to compare, and questions to compare them by."""
        return min(len(runs), len(self.benchmark)) > 1

    def _write_front(self, pages: Mapping[str, str], nav: Nav, *, is_complete: bool) -> None:
        page = leaderboard_page(
            self.entries,
            nav=nav,
            run_pages=pages,
            comparison=COMPARISON_PAGE if self._are_comparable(pages) else None,
            signature=self.benchmark.signature,
            is_complete=is_complete,
            facts=self.facts,
        )
        self._write_part("front", "", {"index.html": page})

    def _write_part(self, name: str, key: str, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            self.folder.write(path, content)
        self.folder.remember(name, key, files)

    def _write_comparison(self, found: Mapping[str, Any], nav: Nav) -> None:
        labels = run_labels(self.entries)
        runs = (
            compare_page.listed_run(
                labels.get(run, run),
                run_page.page_folder(run),
                value["figures"],
                page=run_page.page_path(run),
                is_system=value["system"],
            )
            for run, value in found.items()
        )
        data = compare_page.comparison_data(self.benchmark, runs)
        page = compare_page.comparison_page(self.benchmark, root="../", nav=nav)
        script = payload.payload_file(COMPARISON, data)
        self._write_part("comparison", "", {f"{COMPARISON}.js": script, COMPARISON_PAGE: page})

    def _write_benchmark(self, key: str, nav: Nav) -> None:
        key = digest_of(key, self.samples)
        if self.folder.kept("benchmark", key) is not None:
            return
        page = benchmark_page.benchmark_page(self.benchmark, nav=nav, samples=self.samples)
        # A copy has an index of its own, which is not kept: one at a time is in memory.
        references = (
            _script(
                benchmark_page.references_payload_name(question),
                benchmark_page.references_payload(copy(question)),
            )
            for question in self.benchmark
        )
        self._write_part("benchmark", key, {"benchmark/index.html": page, **dict(references)})

    def _write_plots(self, key: str, nav: Nav) -> None:
        key = digest_of(key, plots_page.plots_key(self.entries))
        if self.folder.kept("plots", key) is not None:
            return
        files = dict(plots_page.plots_files(self.entries, self.benchmark, nav=nav))
        self.folder.plan(files)
        self._write_part("plots", key, files)

    def _write_shared(self, key: str, jobs: int) -> str:
        """Write what the pages of all runs share: tables of windows, and their script. Returns its path."""
        path, script = run_page.run_script()
        if self.folder.kept("shared", key) is None:
            self.folder.write(path, script)
            names = [path]
            for name, content in worked_ahead(self._windows, enumerate(self.benchmark), jobs):
                self.folder.write(name, content)
                names.append(name)
            self.folder.remember("shared", key, names)
        return path

    def _windows(self, place: tuple[int, Question]) -> tuple[str, bytes]:
        number, question = place
        table = reference_table(self.benchmark, question.id).payload()
        return _script(run_page.windows_name(number), payload.packed(table))


def _script(name: str, value: Any) -> tuple[str, bytes]:
    """Returns the path and content of a payload's file."""
    return f"{name}.js", payload.payload_file(name, value)


@dataclass(frozen=True)
class RunPages:
    """The pages of a site's runs; `key`: digest of what all are made of, `script`: what they share."""

    site: Site
    nav: Nav
    key: str
    script: str

    def write(
        self, runs: ScoredRuns, jobs: int, steps: Steps | None = None
    ) -> tuple[dict[str, Any], Failed]:
        """Write the files of all runs that cannot stay as they are.

        Returns what is remembered of each, and failed runs. Memory: the answers of one run per thread.
        """
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

    def _kept(self, run: str, key: str | None) -> Any:
        """Returns what is remembered of a run whose files can stay; otherwise `None`."""
        kept = self.site.folder.kept
        part = None if key is None else kept(f"run {run}", f"{self.key} {key}")
        return None if part is None else part.value

    def made(self, run: str, key: str | None, result: Result) -> Any:
        """Write the files of a run. Returns what is to be remembered of it: what comparisons need."""
        site, sample, folder = self.site, result.sample(), run_page.page_folder(run)
        answers, path = f"{run_page.answers_file(folder)}.js", run_page.page_path(run)
        site.folder.write(answers, self._answers(folder, result))
        page = run_page.run_page(
            run_page.run_view(result, run_page.estimates(sample), run=run),
            folder=folder,
            root="../../",
            nav=self.nav,
            script=self.script,
        )
        site.folder.write(path, page)
        figures = compare_page.compared_run(site.benchmark, sample)
        value = {"figures": figures, "system": is_system(result.config or {})}
        if key is not None:
            site.folder.remember(f"run {run}", f"{self.key} {key}", [answers, path], value)
        return value

    def _answers(self, folder: str, result: Result) -> bytes:
        numbers = {question.id: number for number, question in enumerate(self.site.benchmark)}
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
