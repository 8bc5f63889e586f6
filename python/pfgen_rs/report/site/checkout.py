"""The HTML site of a checkout: its leaderboard, and a page for every run with answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pfgen_rs.checkout.checkout import Checkout
from pfgen_rs.checkout.leaderboard import ranked
from pfgen_rs.checkout.published import Published, RememberedQuestions
from pfgen_rs.drawing import style
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.run_files import CONFIG, EXAMPLES
from pfgen_rs.report import most_shown
from pfgen_rs.report.site.folder import SiteFolder, code_digest, digest_of, files_digest
from pfgen_rs.report.site.model_facts import FILE, read_facts

if TYPE_CHECKING:
    from pfgen_rs.report.site.builder import Failed, Steps


def write_site(
    checkout: Checkout,
    runs: Sequence[Published],
    folder: str | os.PathLike[str],
    *,
    unusable: Sequence[str] = (),
    force: bool = False,
    jobs: int | None = None,
    steps: Steps | None = None,
) -> Failed:
    """Write the site of these runs of a checkout into `folder`. Returns failed runs with their errors.

    Runs without usable answers have no page; those that have changed since the folder was written are scored
    again. `unusable`: names of runs whose answers are known to be wrong. `force`: make everything again.
    `steps` is told about the progress of runs. Raises `OutputError` and `InputError` for a wrong
    `models.toml`.
    """
    # Refuses a folder with other files before anything is scored.
    place = SiteFolder(folder, anew=force)
    answered = _answered_runs(checkout, [run for run in runs if run.run not in unusable])
    shown = most_shown(len(answered))
    whole = digest_of(
        code_digest(),
        checkout.metadata_hash,
        files_digest([checkout.data / EXAMPLES, checkout.folder / FILE]),
        [shown, *style.drawn_with()],
        [(run.run, run.digest) for run in runs],
        answered,
    )
    if place.is_whole(whole):
        return []
    # Slow to import, and not needed for a site that is up to date.
    from pfgen_rs.benchmark import load_benchmark
    from pfgen_rs.checkout.entries import entries
    from pfgen_rs.checkout.rescoring import scored_again
    from pfgen_rs.report.site.builder import ScoredRuns, Site

    facts = read_facts(checkout.folder)
    benchmark = load_benchmark(checkout.data)
    samples = _example_answers(checkout.data / EXAMPLES)
    board = entries(runs)
    for run in runs:
        if isinstance(questions := run.result["questions"], RememberedQuestions):
            questions.forget()
    folders = {run.name: run for run in checkout.runs}
    scored = ScoredRuns(
        answered, lambda names: scored_again(benchmark, [folders[name] for name in names], jobs)
    )
    site = Site(place, benchmark, board, samples, shown, facts, plots=True)
    return site.write(scored, jobs=jobs, steps=steps, whole=whole)


def _answered_runs(checkout: Checkout, runs: Iterable[Published]) -> dict[str, str]:
    """Returns a digest of what its pages are made of for each run that has some, the best first."""
    folders = {run.name: run for run in checkout.runs if run.responses is not None}
    usable = [
        run
        for run in runs
        if run.run in folders and run.result["metadata_hash"] == checkout.metadata_hash
    ]
    return {
        run.run: digest_of(run.digest, files_digest([folders[run.run].folder / CONFIG]))
        for run in ranked(usable)
    }


def _example_answers(path: Path) -> dict[str, str]:
    """Returns example answers by question, if the checkout has any."""
    from pfgen_rs.questions.examples import read_examples

    try:
        return dict(read_examples(path))
    except BenchmarkError:
        return {}  # optional
