"""The command line `pfgen-rs`: one file per command, which parses arguments and prints results."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pfgen_rs.cli.process import leave

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 fine, 1 a check failed, 2 bad usage or input.

    Exits with 130 after Ctrl-C, 129 when the terminal was closed, 143 after a termination signal, and 141
    if the reader of standard output has closed it. Unfinished files are removed.
    """
    try:
        from pfgen_rs.cli import process, streams

        process.end_tidily()
        with streams.errors_reported():
            if not _is_done_briefly(sys.argv[1:]):
                from pfgen_rs.cli import app

                app.app(prog_name="pfgen-rs")
    except KeyboardInterrupt:
        leave(130)
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            leave(ended.code)
        raise


def _is_done_briefly(arguments: Sequence[str]) -> bool:
    """Do what needs no parser; returns whether there was anything."""
    if arguments[:1] != ["score"]:
        return False
    from pfgen_rs.cli import process, streams
    from pfgen_rs.cli.score_arguments import plain_score

    process.restrain_libraries()  # whatever scores in the end: files may be large
    asked = plain_score(arguments[1:])
    if asked is None:
        return False
    with streams.failing_without_typer():
        from pfgen_rs.cli.score_briefly import is_scored_briefly, known_to_score
        from pfgen_rs.questions.early_scorers import EarlyScorers

        questions = known_to_score(asked.benchmark)
        if questions is not None and is_scored_briefly(asked, questions):
            return True
        early = None if questions is None else EarlyScorers(questions, asked.runs[0])
        from pfgen_rs.cli.score_job import is_scored_plainly  # which takes a while

        return is_scored_plainly(asked, early)
