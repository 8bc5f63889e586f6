"""Builds a whole site in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pfgen_rs.checkout.entries import Entry
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.answers import PER_QUESTION
from pfgen_rs.report.site import names, payload
from pfgen_rs.report.site.benchmark_page import (
    benchmark_page,
    references_payload,
    references_payload_name,
)
from pfgen_rs.report.site.compare_page import COMPARISON_PAGE
from pfgen_rs.report.site.folder import SiteFolder
from pfgen_rs.report.site.leaderboard import leaderboard_page
from pfgen_rs.report.site.runs import (
    Nav,
    Runs,
    run_page_path,
    write_runs,
)
from pfgen_rs.runs.result import Result

__all__ = ["File", "build"]

File = tuple[str, bytes]
"""Path within the site, with slashes, and content."""

NAV = (("leaderboard", "index.html"), ("benchmark", "benchmark/index.html"))
COMPARE = ("compare", COMPARISON_PAGE)


def build(
    folder: str | os.PathLike[str],
    benchmark: QuestionSet,
    entries: Sequence[Entry],
    results: Mapping[str, Result] | None = None,
    *,
    samples: Mapping[str, str] | None = None,
    references_per_source: int | None = None,
    answers_per_question: int = PER_QUESTION,
    jobs: int | None = None,
) -> None:
    """Write the site of a benchmark, with the leaderboard of `entries`, into `folder`.

    `results`: scored runs by their names in the entries; they get pages, with up to `answers_per_question`
    answers to each question, and any of them can be compared. `samples`: example answers by text of the
    question. `references_per_source`: maximum number of reference answers (default: all).
    `jobs`: number of threads (default: all processors). Files are written atomically, and only if their
    content changes; the same input gives the same bytes. Files of an earlier site that are not part of this
    one are removed. Raises `OutputError`, also if the folder contains other files (`SiteFolder`).
    """
    place, jobs = SiteFolder(folder), jobs or os.cpu_count() or 1
    runs = Runs(benchmark, results or {}, answers_per_question, names.labels(entries))
    nav = (*NAV, COMPARE) if runs.are_comparable else NAV
    front = partial(
        leaderboard_page,
        entries,
        nav=nav,
        run_pages={run: run_page_path(run) for run in runs.results},
        comparison=COMPARISON_PAGE if runs.are_comparable else None,
        signature=benchmark.signature,
    )
    tasks = _benchmark_tasks_to_build(benchmark, samples, references_per_source, nav)
    write_runs(runs, place.write, nav=nav, jobs=jobs)
    _build_all(place, [*tasks, lambda: ("index.html", front())], jobs)
    place.finish()


def _benchmark_tasks_to_build(
    benchmark: QuestionSet, samples: Mapping[str, str] | None, shown: int | None, nav: Nav
) -> Iterator[Callable[[], File]]:
    yield lambda: (
        "benchmark/index.html",
        benchmark_page(benchmark, nav=nav, samples=samples, shown=shown),
    )
    for question in benchmark:
        name = references_payload_name(question)
        yield lambda question=question, name=name: (  # type: ignore[misc]
            f"{name}.js",
            payload.payload_file(name, references_payload(question, shown)),
        )


def _build_all(folder: SiteFolder, tasks: Iterable[Callable[[], File]], jobs: int) -> None:
    """Run all tasks and write their files, in threads: most of the work releases the GIL."""
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda task: folder.write(*task()), tasks):
            pass
