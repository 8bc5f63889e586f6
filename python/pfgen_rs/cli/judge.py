"""`pfgen-rs judge`: judging answers with a language model; its subcommands."""

from __future__ import annotations

import typer

from pfgen_rs.cli.loading import Deferred, deferring

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "pairs": Deferred("judge_pairs", "pairs", "Make pairs out of the answers of two or more runs."),
    "criteria": Deferred(
        "judge_criteria", "criteria", "Let a judge write evaluation criteria for each question."
    ),
    "compare": Deferred(
        "judge_compare", "compare", "Let a judge say which answer of each pair is better."
    ),
    "decide": Deferred("judge_decide", "decide", "Decide pairs from the verdicts of both orders."),
    "agree": Deferred(
        "judge_agree", "agree", "Compare a judge with people, and its two orders with each other."
    ),
    "rank": Deferred(
        "judge_rank", "rank", "Rank models by the decisions about their pairs, with intervals."
    ),
    "grade": Deferred(
        "judge_grade",
        "grade",
        "Let a judge rate the answers of runs, and correlate with their scores.",
    ),
    "against-scores": Deferred(
        "judge_against",
        "against_scores",
        "Hold a judge and people against the scores of pfgen-bench.",
    ),
    "plot": Deferred("judge_plot", "plot", "Plot agreement and biases of judges."),
    "page": Deferred("judge_page", "page", "Write a page of verdicts to look through."),
    "import": Deferred(
        "judge_convert", "import_verdicts", "Import judgments in the format of another tool."
    ),
    "export": Deferred(
        "judge_convert", "export_verdicts", "Export a folder of verdicts for another tool."
    ),
    "dialogues": Deferred(
        "judge_dialogues",
        "app",
        "Count, select, tabulate, answer and grade dialogues of two turns.",
    ),
    "demo": Deferred(
        "judge_demo", "demo", "Show these commands on the bundled sample, without a judge."
    ),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Judge answers with a language model, and see how far to trust it.",
)
