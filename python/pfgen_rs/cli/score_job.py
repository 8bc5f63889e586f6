"""What `pfgen-rs score` does once its arguments are known, without what parses command lines."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pfgen_rs.benchmark import Benchmark, load_for_scores
from pfgen_rs.cli import process, streams
from pfgen_rs.cli.score_output import report_gaps, show_results
from pfgen_rs.metrics.settings import Chosen
from pfgen_rs.runs.resumable import Job

if TYPE_CHECKING:
    from pfgen_rs.io import Source

__all__ = ["loaded_for_job", "score_and_show"]

_AGAIN = "run the same command again to continue"


def loaded_for_job(
    benchmark: str | os.PathLike[str] | None,
    settings: Chosen = None,
) -> Benchmark:
    """Load a benchmark that is in use until the process ends."""
    loaded = load_for_scores(benchmark, settings)
    gc.freeze()  # excludes it from garbage collection
    return loaded


def score_and_show(job: Job, output_format: str, plain: bool) -> None:
    """Score all runs, write the job's files, and print a leaderboard."""
    kept = streams.resumable(
        lambda: job.left,
        "scored",
        _AGAIN,
        after_errors=f"fix the error, then {_AGAIN}",
    )
    with kept, job:
        with _scoring_shown(job.sources) as progress:
            results = job.run(progress)
        for result in results:
            report_gaps(result)
        job.write()
    show_results(results, output_format, plain)


@contextmanager
def _scoring_shown(
    sources: Sequence[Source],
) -> Iterator[Callable[[Source, int, int], None] | None]:
    """Show a progress bar; nothing is imported for one that would not be seen."""
    process.interrupt_reads()
    if not sys.stderr.isatty():
        yield None
        return
    from pfgen_rs.cli import output

    with output.scoring(sources) as progress:
        yield progress
