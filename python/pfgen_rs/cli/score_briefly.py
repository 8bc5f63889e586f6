"""`pfgen-rs score RUN` in its plainest forms, without what parses command lines and reads any file.

Importing that takes several times as long as scoring. Whatever is not usual is left to the command itself,
which does all of it again; the output is the same.
"""

from __future__ import annotations

from threading import Thread

from pfgen_rs.cli.score_arguments import PlainScore
from pfgen_rs.cli.score_output import report_gaps, show_results
from pfgen_rs.errors import PfgenError
from pfgen_rs.questions.known_questions import KnownQuestions, KnownSet
from pfgen_rs.questions.locate import benchmark_path
from pfgen_rs.runs.brief import BriefRun, scored_briefly

__all__ = ["is_scored_briefly", "known_to_score"]


def is_scored_briefly(asked: PlainScore, questions: KnownSet) -> bool:
    """Score and show the run that the command `score` is asked for; returns whether that was possible."""
    if len(asked.runs) > 1 or asked.out is not None or asked.per_response is not None:
        return False
    [run] = asked.runs
    found: list[BriefRun | None] = []
    thread = Thread(target=lambda: found.append(scored_briefly(run, questions)), daemon=True)
    thread.start()
    if asked.output_format == "table":
        from pfgen_rs.cli import score_view  # noqa: F401 - native code scores meanwhile
    thread.join()
    if not found or found[0] is None:
        return False
    report_gaps(found[0])
    show_results([found[0]], asked.output_format, asked.plain)
    return True


def known_to_score(benchmark: str | None) -> KnownSet | None:
    """Returns the questions of a benchmark, if they are known and scored in characters."""
    try:
        return KnownQuestions(benchmark_path(benchmark)).found(None)
    except PfgenError:
        return None
