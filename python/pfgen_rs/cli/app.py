"""The top-level command and its list of subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from pfgen_rs.cli import streams
from pfgen_rs.cli.loading import Deferred, deferring

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "generate": Deferred(
        "generate",
        "generate_answers",
        "Generate a model's answers into a run folder of pfgen-bench.",
    ),
    "score": Deferred(
        "score", "score", "Score runs and print them as a leaderboard.", "ScoreCommand", urls=True
    ),
    "compare": Deferred("compare", "compare", "Compare runs, paired by question."),
    "plan-trials": Deferred(
        "compare",
        "plan_trials",
        "Plan how many trials are needed for a precision, or to detect a difference.",
    ),
    "explain": Deferred(
        "explain", "explain", "Show where an answer's score comes from, character by character."
    ),
    "watch": Deferred(
        "watch", "watch", "Evaluate every new checkpoint in a folder, and draw the learning curve."
    ),
    "verify": Deferred(
        "verify", "verify", "Score runs again and compare every number with their result.json."
    ),
    "report": Deferred(
        "report",
        "report",
        "Update a checkout of pfgen-bench, like its own `make report`.",
    ),
    "leaderboard": Deferred(
        "leaderboard",
        "leaderboard",
        "Print the leaderboard of a checkout, with intervals and rank ranges.",
    ),
    "plot": Deferred(
        "plot",
        "plot",
        "Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).",
        "PlotCommand",
    ),
    "study": Deferred(
        "study",
        "app",
        "Repeat the papers' studies: correlations of metrics, sources and other benchmarks.",
    ),
    "harness-path": Deferred(
        "harness_path",
        "harness_path",
        "Print only the path of the task files for an evaluation harness.",
    ),
    "index": Deferred(
        "index",
        "app",
        "Look up n-grams of any length in a question's reference answers; manage the cached index.",
    ),
    "build": Deferred(
        "build", "app", "Build sets of reference answers from candidates, and check sets."
    ),
    "judge": Deferred(
        "judge", "app", "Judge answers with a language model, and see how far to trust it."
    ),
    "llm-jp-eval": Deferred(
        "llm_jp_eval",
        "app",
        "Evaluate on the tasks of llm-jp-eval, with the published files and figures.",
    ),
    "data": Deferred("data", "app", "List, install and find benchmarks."),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,  # formatting help with rich would take most of the time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pfgen_rs.metrics.signature import fixed_part

        streams.emit(f"{fixed_part()}\n")
        raise typer.Exit


@app.callback()
def _root_command(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version as in every signature, and exit.",
        ),
    ] = False,
) -> None:
    """Score Japanese text generation with pfgen-bench: exactly the published scores, at native speed.

    A benchmark is a set of questions with reference answers; a run is a file of a model's answers,
    one JSON object per line with `question` and `answer`. Fluency, Truthfulness and Helpfulness are
    computed by comparing n-grams and keywords, without a judge model.

    Try it with the bundled benchmark:

    - `pfgen-rs explain Q01 'あなたの答え'` – see where an answer's score comes from

    - `pfgen-rs score my-answers.jsonl` – score a run

    - `pfgen-rs data install pfgen-bench` – install the published questions

    - `pfgen-rs score my-answers.jsonl -b pfgen-bench` – score a run with them

    Exit codes: 0 success, 1 a check failed, 2 bad usage or input.
    """
