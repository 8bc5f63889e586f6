"""Builds a whole site in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from pfgen_rs.checkout.entries import Entry, run_labels
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report import PER_QUESTION
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.benchmark_page import (
    benchmark_page,
    references_payload,
    references_payload_name,
)
from pfgen_rs.report.site.compare_page import (
    COMPARISON,
    COMPARISON_PAGE,
    Compared,
    comparison_data,
    comparison_page,
)
from pfgen_rs.report.site.folder import SiteFolder, code_digest, digest_of
from pfgen_rs.report.site.leaderboard import leaderboard_page
from pfgen_rs.report.site.model_facts import ModelFacts
from pfgen_rs.report.site.plots_page import PLOTS_PAGE, are_plottable, plots_files, plots_key
from pfgen_rs.report.site.run_page import answers_file
from pfgen_rs.report.site.runs import (
    Failed,
    Nav,
    RunFiles,
    ScoredRuns,
    Steps,
    given_runs,
    run_page_folder,
    run_page_path,
    shared_names,
    write_runs,
    write_shared,
)
from pfgen_rs.runs.result import Result

File = tuple[str, bytes]
"""Path within the site, with slashes, and content."""

NAV = (("leaderboard", "index.html"), ("benchmark", "benchmark/index.html"))
COMPARE = ("compare", COMPARISON_PAGE)
PLOTS = ("plots", PLOTS_PAGE)


def build(
    folder: str | os.PathLike[str],
    benchmark: QuestionSet,
    entries: Sequence[Entry],
    results: Mapping[str, Result] | None = None,
    *,
    samples: Mapping[str, str] | None = None,
    references_per_source: int | None = None,
    answers_per_question: int = PER_QUESTION,
    facts: ModelFacts | None = None,
    plots: bool = False,
    jobs: int | None = None,
) -> None:
    """Write the site of a benchmark, with the leaderboard of `entries`, into `folder`.

    `results`: scored runs by their names in the entries; they get pages, with up to `answers_per_question`
    answers to each question, and can be compared. `samples`: example answers by text of the question.
    `references_per_source`: maximum number of reference answers (default: all). `facts`: sizes and dates of
    release of models (default: those of the package). `plots`: also a page with figures of all runs. `jobs`:
    number of threads (default: all processors). Files are written atomically, the leaderboard first, and only
    if their content changes; the same input gives the same bytes. Files of an earlier site that are not part
    of this one are removed. Raises `OutputError`, also if the folder contains other files (`SiteFolder`).
    """
    site = Site(
        SiteFolder(folder),
        benchmark,
        entries,
        samples or {},
        references_per_source,
        answers_per_question,
        facts,
        plots,
    )
    site.write(given_runs(results or {}), jobs=jobs)


@dataclass(frozen=True)
class Site:
    """What a site is made of besides its runs; values as for `build`."""

    folder: SiteFolder
    benchmark: QuestionSet
    entries: Sequence[Entry]
    samples: Mapping[str, str] = field(default_factory=dict)
    references_per_source: int | None = None
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
        with self.folder.writing():
            return self._write_alone(runs, jobs or os.cpu_count() or 1, steps, whole)

    def _write_alone(
        self, runs: ScoredRuns, jobs: int, steps: Steps | None, whole: str | None
    ) -> Failed:
        nav = self._nav(runs.keys)
        pages = {run: run_page_path(run) for run in runs.keys}
        needed = (*pages.values(), *(path for _, path in nav))
        is_complete = all(map(self.folder.has, needed))
        self._plan(pages, nav)
        self._write_front(pages, nav, is_complete=is_complete)
        # The signature has a part of the hash alone.
        questions = (self.benchmark.metadata_hash, self.benchmark.signature)
        key = digest_of(code_digest(), *questions, self.answers_per_question, nav)
        self._write_benchmark(key, nav)
        script = write_shared(self.folder, self.benchmark, key, jobs) if runs.keys else ""
        files = RunFiles(self.folder, self.benchmark, self.answers_per_question, nav, key, script)
        found, failed = write_runs(files, runs, jobs, steps)
        # Even if runs failed: pages lead to it, and it says that there are too few.
        if COMPARE in nav:
            self._write_comparison(found, nav)
        if PLOTS in nav:
            self._write_plots(key, nav)
        if failed or not is_complete:
            left = {run: pages[run] for run in found}
            self._write_front(left, nav, is_complete=True)
        self.folder.finish(None if failed else whole)
        return failed

    def _plan(self, pages: Mapping[str, str], nav: Nav) -> None:
        """Tell the folder which files there will be, but for those of plots."""
        paths = {path for key, path in nav if key != PLOTS[0]}
        data = {f"{answers_file(run_page_folder(run))}.js" for run in pages}
        comparison = {f"{COMPARISON}.js"} if COMPARE in nav else set()
        shared = shared_names(self.benchmark) if pages else set()
        references = {f"{references_payload_name(question)}.js" for question in self.benchmark}
        self.folder.plan({*paths, *pages.values(), *data, *comparison, *shared, *references})

    def _nav(self, runs: Mapping[str, Any]) -> Nav:
        """Returns the pages of the site with these runs."""
        pages = (*NAV, COMPARE) if self._are_comparable(runs) else NAV
        return (*pages, PLOTS) if self.plots and are_plottable(self.entries) else pages

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
        self.folder.write("index.html", page)
        self.folder.remember("front", "", ["index.html"])

    def _write_comparison(self, found: Mapping[str, Any], nav: Nav) -> None:
        labels = run_labels(self.entries)
        runs = (
            (
                Compared(
                    labels.get(run, run), run_page_folder(run), run_page_path(run), value["system"]
                ),
                value["figures"],
            )
            for run, value in found.items()
        )
        data = comparison_data(self.benchmark, runs)
        self.folder.write(f"{COMPARISON}.js", payload.payload_file(COMPARISON, data))
        self.folder.write(COMPARISON_PAGE, comparison_page(self.benchmark, root="../", nav=nav))
        self.folder.remember("comparison", "", [f"{COMPARISON}.js", COMPARISON_PAGE])

    def _write_benchmark(self, key: str, nav: Nav) -> None:
        key = digest_of(key, self.samples, self.references_per_source)
        if self.folder.kept("benchmark", key) is not None:
            return
        page = benchmark_page(
            self.benchmark, nav=nav, samples=self.samples, shown=self.references_per_source
        )
        self.folder.write("benchmark/index.html", page)
        files = dict(map(self._references, self.benchmark))  # one index at a time is in memory
        for name, content in files.items():
            self.folder.write(name, content)
        self.folder.remember("benchmark", key, ["benchmark/index.html", *files])

    def _write_plots(self, key: str, nav: Nav) -> None:
        key = digest_of(key, plots_key(self.entries))
        if self.folder.kept("plots", key) is not None:
            return
        files = dict(plots_files(self.entries, self.benchmark, nav=nav))
        self.folder.plan(files)
        for name, content in files.items():
            self.folder.write(name, content)
        self.folder.remember("plots", key, files)

    def _references(self, question: Question) -> File:
        name = references_payload_name(question)
        # A copy has an index of its own, which is not kept.
        value = references_payload(copy(question), self.references_per_source)
        return f"{name}.js", payload.payload_file(name, value)
