"""The commands put together."""

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
        "Generate a model's answers, into a folder as pfgen-bench keeps it.",
    ),
    "score": Deferred(
        "score", "score", "Score runs and print them as a leaderboard.", "ScoreCommand"
    ),
    "compare": Deferred("compare", "compare", "Compare runs, paired by question."),
    "plan-trials": Deferred(
        "plan_trials",
        "plan_trials",
        "Plan how many trials are needed for a precision, or to detect a difference.",
    ),
    "explain": Deferred(
        "explain", "explain", "Show where an answer's score comes from, character by character."
    ),
    "watch": Deferred(
        "watch", "watch", "Evaluate every new checkpoint of a folder, and draw the learning curve."
    ),
    "verify": Deferred(
        "verify", "verify", "Score runs again and compare every number with their result.json."
    ),
    "report": Deferred(
        "report",
        "report",
        "Bring a checkout of pfgen-bench up to date, as `make report` does there.",
    ),
    "leaderboard": Deferred(
        "leaderboard",
        "leaderboard",
        "Print the leaderboard of a checkout, with intervals and rank ranges.",
    ),
    "plot": Deferred(
        "plot", "plot", "Draw runs: needs matplotlib (`pip install 'pfgen_rs[plots]'`)."
    ),
    "harness-path": Deferred(
        "harness_path",
        "harness_path",
        "Print the folder or file to point an evaluation harness at, and nothing else.",
    ),
    "index": Deferred(
        "index",
        "app",
        "Look up n-grams of any length in a question's reference answers; manage the cached index.",
    ),
    "build": Deferred(
        "build", "app", "Build sets of reference answers from candidates, and look into sets."
    ),
    "data": Deferred("data", "app", "List, install and find benchmarks."),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,  # drawing help with rich takes longer than everything else in it
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from pfgen_rs.metrics.signature import fixed_part

        streams.emit(f"{fixed_part()}\n")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_version,
            is_eager=True,
            help="Print the version as it stands in every signature, and exit.",
        ),
    ] = False,
) -> None:
    """Score Japanese text generation with pfgen-bench, number for number, at native speed.

    A benchmark is a set of questions with reference answers; a run is a file of a model's answers,
    one JSON object a line with `question` and `answer`. Fluency, Truthfulness and Helpfulness come
    from comparing n-grams and keywords; no model is asked.

    Try it with the bundled benchmark:

    - `pfgen-rs explain Q01 'あなたの答え'` – where an answer's score comes from

    - `pfgen-rs score my-answers.jsonl` – score a run

    - `pfgen-rs data install pfgen-bench` – get the published questions

    - `pfgen-rs score my-answers.jsonl -b pfgen-bench` – score a run with these

    Exit codes: 0 fine, 1 a check failed, 2 bad usage or input.
    """
