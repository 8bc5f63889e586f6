"""`pfgen-rs score`: scores runs and prints them as a leaderboard."""

from __future__ import annotations

import gc
import glob
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from pfgen_rs.cli import options, process
from pfgen_rs.cli.options import ScoringOptions, scoring_options
from pfgen_rs.questions.locate import BUNDLED, bundled_path

_AGAIN = "run the same command again to continue"


class ScoreCommand(TyperCommand):
    """The command `score`, which shows how to try it if called without a run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without runs, on a terminal, suggest the bundled sample runs."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if getattr(error.param, "name", None) != "files" or not sys.stdin.isatty():
                raise
            for line in _how_to_try_score():
                process.remark(line)
            raise typer.Exit(process.BAD_INPUT) from None


def _how_to_try_score() -> list[str]:
    runs = Path(glob.escape(str(bundled_path()))) / "runs" / "*"
    return [
        "error: no runs given: name files or folders of answers, or - for standard input",
        "Try it with the bundled sample runs:",
        f"  pfgen-rs score {shlex.quote(str(runs))} -b {BUNDLED}",
    ]


@scoring_options
def score(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|GLOB",
            help="Runs: files (JSON lines, JSON arrays, CSV, TSV, plain or .gz/.xz/.zst; Parquet, Arrow), "
            "those of harnesses, chats and batches (see --as), folders with trials.jsonl[.xz] or with runs "
            "in subfolders, quoted globs, or - for standard input. Files and "
            "globs may be URLs: s3://, gs://, az://, hf://; files https://, too.",
            show_default=False,
        ),
    ],
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write DIR/result.json in the published format; with several runs, DIR/NAME/result.json "
            "(with --run-field, NAME is that of the run). May be a URL of object storage.",
        ),
    ] = None,
    output_format: options.Rows = "table",
    per_response: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.table_path,
            help="Write the scores of every response of all runs to this file (.parquet, .jsonl, .csv "
            "or .arrow), or to such a URL of object storage.",
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="With --per-response x.csv, keep texts that a spreadsheet would run, such as =1+1, as they "
            "are (default: with ' before them).",
        ),
    ] = False,
    allow_partial: options.AllowPartial = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model that wrote the answers (default: that of config.json).",
            show_default=False,
        ),
    ] = None,
    leave_out: Annotated[
        Literal["model", "family"] | None,
        typer.Option(
            help="Score each run without the reference answers of its own model, or of all models of its "
            "organisation, which would lift its score. Recorded in the signature.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="all|none|NAMES",
            help="Input columns to copy to --per-response, separated by commas (default: all for "
            "tables, none for JSON, of which all are the keys at the beginning of each file). Names that "
            "collide with score columns get the prefix input_.",
        ),
    ] = None,
    threads: options.Threads = None,
    storage_option: options.StorageOptions = None,
) -> None:
    """Score runs and print them as a leaderboard.

    Fluency is relative to the reference answers, whose mean is 1, so runs may exceed 1. Truthfulness
    and Helpfulness are between 0 and 1; the score is the mean of the three (without keyword rules, of the
    first two).

    Each file or folder is one run, and may be larger than memory: text is read piece by piece, Parquet by row
    group and Arrow by record batch, so the largest of these must fit into memory a few times. Output files
    are written when everything is scored; an invalid input stops the command with an error that names file
    and line. A command that was interrupted scores nothing twice when it runs again.

    A run is a file of responses, each with a question (text or id) and an answer, such as
    `{"question": "Q02", "answer": "光合成は…"}` on each line; several answers to a question are trials.

    For example:

    - `pfgen-rs score answers.jsonl`

    - `pfgen-rs score 'result/**/trials.jsonl.xz' -b pfgen-bench`

    - `pfgen-rs score run/ --out scored/ --per-response scores.parquet`

    - `my-model | pfgen-rs score - --format json`
    """
    process.restrain_libraries()  # whatever is read: files may be large
    from pfgen_rs.benchmark import load_for_scores
    from pfgen_rs.cli import score_table, terminal
    from pfgen_rs.io import run_files
    from pfgen_rs.io.remote.urls import parsed_options
    from pfgen_rs.io.source import storage_for
    from pfgen_rs.runs.resumable import Job

    loaded = load_for_scores(benchmark, scoring.settings())
    gc.freeze()  # excludes it from garbage collection, since it is in use until the process ends
    storage = storage_for([*files, out, per_response], parsed_options(storage_option or ()))
    read = scoring.options(tokens=loaded.settings.unit == "token")
    job = Job(
        loaded,
        run_files.expand_runs(files, storage),
        replace(read, model=model, leave_out=leave_out),
        out=out,
        per_response=per_response,
        raw=raw,
        allow_partial=allow_partial,
        keep=keep.split(",") if keep not in (None, "all", "none") else keep,
        run_field=scoring.run_field,
        threads=threads,
        storage=storage,
    )
    after_errors = f"fix the error, then {_AGAIN}"
    with process.resumable(lambda: job.left, "scored", _AGAIN, after_errors=after_errors), job:
        with terminal.scoring(job.sources) as progress:
            results = job.run(progress)
        for result in results:
            score_table.report_gaps(result)
        job.write()
    score_table.show_results(results, output_format)
