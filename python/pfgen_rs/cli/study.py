"""`pfgen-rs study`: the studies of the papers; its subcommands."""

from __future__ import annotations

import typer

from pfgen_rs.cli.loading import Deferred, deferring

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "sources": Deferred(
        "study_sources",
        "sources",
        "Correlate scores with the reference answers of one source and of another.",
    ),
    "metrics": Deferred(
        "study_metrics",
        "metrics",
        "Correlate Fluency, Truthfulness, Helpfulness and the score.",
    ),
    "against": Deferred(
        "study_against", "against", "Correlate the leaderboard with another benchmark."
    ),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Repeat the papers' studies: correlations of metrics, sources and other benchmarks.",
)
