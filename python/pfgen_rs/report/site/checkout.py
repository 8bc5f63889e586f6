"""The HTML site of a checkout: its leaderboard, and a page for every run with answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from pfgen_rs.benchmark import load_benchmark
from pfgen_rs.checkout.checkout import Checkout
from pfgen_rs.checkout.entries import entries
from pfgen_rs.checkout.published import Published
from pfgen_rs.checkout.rescoring import Watch, scored_again
from pfgen_rs.errors import BenchmarkError, PfgenError
from pfgen_rs.io.run_files import EXAMPLES
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.examples import read_examples
from pfgen_rs.report import site
from pfgen_rs.report.site.folder import SiteFolder

__all__ = ["Busy", "write_site"]

# Takes a description of what is being done, and shows it meanwhile.
Busy = Callable[[str], AbstractContextManager[None]]


def write_site(
    checkout: Checkout,
    runs: Sequence[Published],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    watch: Watch | None = None,
    busy: Busy | None = None,
) -> list[tuple[str, PfgenError]]:
    """Write the site of these runs of a checkout into `folder`. Returns failed runs with their errors.

    All answers are scored again; runs without usable answers have no page. `busy` surrounds the writing of
    pages. Raises `OutputError`.
    """
    SiteFolder(folder)  # refuses a folder with other files before anything is scored
    benchmark = load_benchmark(checkout.data, settings=Settings())
    usable = {run.run for run in runs if run.result["metadata_hash"] == checkout.metadata_hash}
    answered = [run for run in checkout.runs if run.name in usable and run.responses is not None]
    results, problems = scored_again(benchmark, answered, jobs, watch)
    samples = _example_answers_of_checkout(checkout.data / EXAMPLES)
    with busy("writing the site") if busy else nullcontext():
        site.build(folder, benchmark, entries(runs), results, samples=samples, jobs=jobs)
    return problems


def _example_answers_of_checkout(path: Path) -> dict[str, str]:
    """Returns example answers by question, if the checkout has any."""
    try:
        return dict(read_examples(path))
    except BenchmarkError:
        return {}  # optional
