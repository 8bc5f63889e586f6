"""The commands put together."""

from __future__ import annotations

from typing import Annotated

import typer

from pfgen_rs.cli import (
    build,
    compare,
    data,
    explain,
    generate,
    harness_path,
    index,
    index_files,
    leaderboard,
    output,
    plan_trials,
    plot,
    report,
    score,
    verify,
    watch,
)
from pfgen_rs.metrics.signature import fixed_part

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        output.emit(fixed_part() + "\n")
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

    - `pfgen-rs data install pfgen-bench` – get the published questions, then add
      `--benchmark pfgen-bench`

    Exit codes: 0 fine, 1 a check failed, 2 bad usage or input.
    """


app.command("generate")(generate.generate_answers)
app.command("score", cls=score.ScoreCommand)(score.score)
app.command("compare")(compare.compare)
app.command("plan-trials")(plan_trials.plan_trials)
app.command("explain")(explain.explain)
index_files.add_to(index.app)
app.add_typer(index.app, name="index")
app.command("watch")(watch.watch)
app.command("verify")(verify.verify)
app.command("report")(report.report)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("plot")(plot.plot)
app.command("harness-path")(harness_path.harness_path)
app.add_typer(build.app, name="build")
app.add_typer(data.app, name="data")
