"""Prints scored runs, and what is to be said about them, with only what the format needs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.benchmark import Benchmark, load_for_scores
from pfgen_rs.cli import process, streams
from pfgen_rs.io.run_files import ANSWERS, CONFIG
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.settings import Chosen
from pfgen_rs.runs.outputs import (
    ranked_results,
    rules_note,
    summary_row,
    unclean_note,
    worthless_note,
)
from pfgen_rs.runs.result import RunValues
from pfgen_rs.runs.resumable import Job

if TYPE_CHECKING:
    from pfgen_rs.io import Source


_SHOWN_PROBLEMS = 5
_SHOWN_QUESTIONS = 5


def report_gaps(result: RunValues) -> None:
    """Warn about skipped lines, answers missing, unclean, cut or worthless, and files cut short."""
    tell_cut(result.path)
    note = unclean_note(result, "--clean")
    if note is not None:
        (streams.warn if result.clean is None else streams.remark)(note)
    cut = None if result.cut_short is None else f"{result.cut_short} (an error with --strict)"
    for warning in filter(None, (worthless_note(result), cut)):
        streams.warn(warning)
    for problem in result.problems[:_SHOWN_PROBLEMS]:
        streams.warn(f"skipped: {problem}")
    if result.problems:
        streams.warn(f"{result.path}: skipped {counted(len(result.problems), 'line')} in total")
    if result.planned is not None:
        streams.warn(
            f"{result.place}: {result.missing_note}; the score is the mean over questions of all their "
            "answers, and is not comparable with those of complete runs"
        )
        return
    if result.missing:
        named = ", ".join(result.missing[:_SHOWN_QUESTIONS])
        more = ", …" if len(result.missing) > _SHOWN_QUESTIONS else ""
        streams.warn(
            f"{result.place}: {result.missing_note} ({named}{more}); the scores exclude them and are not "
            "comparable with those of complete runs"
        )
    answers = result.moments.counts
    if min(answers) != max(answers):
        streams.warn(
            f"{result.place}: questions have {min(answers)} to {max(answers)} answers; the score "
            f"uses the first {min(answers)} of each, like published scores"
        )


def tell_cut(path: str | Path | None) -> None:
    """Warn about answers of a run that the token limit ended, where its folder has a record of them."""
    if path is None:
        return
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    if (folder / ANSWERS).exists() and (folder / CONFIG).exists():
        from pfgen_rs.generate.run_folder import cut_note

        if note := cut_note(folder):
            streams.warn(f"{folder}: {note}")


def show_results(results: Sequence[RunValues], output_format: str, plain: bool) -> None:
    """Print runs as a leaderboard, by descending score: as a table, as `json`, or as `csv`."""
    rows = [summary_row(result) for result in ranked_results(results)]
    if output_format == "json":
        streams.emit_json(rows)
    elif output_format == "csv":
        flat = [{**row, "missing_questions": " ".join(row["missing_questions"])} for row in rows]
        streams.emit_csv(flat)
    else:
        _print_score_table(rows, plain)
    if results and (note := rules_note(results[0])):
        streams.remark(note)


def _print_score_table(rows: Sequence[Mapping[str, Any]], plain: bool) -> None:
    from pfgen_rs.cli import output, score_table

    if plain:
        streams.emit(score_table.score_view_lines(rows))
    else:
        output.show(*score_table.score_leaderboard(rows, output.width()))


# What `pfgen-rs score` does once its arguments are known, without what parses command lines.


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
