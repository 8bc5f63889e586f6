"""`pfgen-rs score`: scores runs and prints them as a leaderboard."""

from __future__ import annotations

import glob
import re
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

import pfgen_rs
from pfgen_rs import io
from pfgen_rs.cli import options, output, score_ray, score_shard
from pfgen_rs.questions.locate import BUNDLED, bundled_path

__all__ = ["ScoreCommand", "score"]


class VariantName(StrEnum):
    """Variant of the metrics."""

    PUBLISHED = "pfgen-bench"
    PAPER = "paper"


class SummationName(StrEnum):
    """Summation of floating-point numbers."""

    PLAIN = "plain"
    COMPENSATED = "compensated"


def _ngram_range(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(
            f"invalid range {text!r}: expected MIN-MAX, such as 1-10", param_hint="'--ngrams'"
        )
    return int(match[1]), int(match[2])


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
                output.remark(line)
            raise typer.Exit(output.BAD_INPUT) from None


def _how_to_try_score() -> list[str]:
    runs = Path(glob.escape(str(bundled_path()))) / "runs" / "*"
    return [
        "error: no runs given: name files or folders of answers, or - for standard input",
        "Try it with the bundled sample runs:",
        f"  pfgen-rs score {shlex.quote(str(runs))} -b {BUNDLED}",
    ]


def score(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|GLOB",
            help="Runs: files (JSON lines, JSON arrays, CSV, TSV, plain or .gz/.xz/.zst; Parquet, Arrow), "
            "folders with trials.jsonl[.xz] or with runs in subfolders, quoted globs, or - for standard "
            "input. Files and globs may be URLs: s3://, gs://, az://, hf://; files https://, too.",
            show_default=False,
        ),
    ],
    benchmark: options.BenchmarkName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write DIR/result.json in the published format; with several runs, DIR/NAME/result.json. "
            "May be a URL of object storage.",
        ),
    ] = None,
    output_format: options.Rows = options.RowsFormat.TABLE,
    plain: options.Plain = False,
    per_response: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.table_path,
            help="Write the scores of every response of all runs to this file (.parquet, .jsonl, .csv "
            "or .arrow), or to such a URL of object storage.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue where the same command was interrupted, without scoring anything twice.",
        ),
    ] = False,
    skip_bad_lines: Annotated[
        bool,
        typer.Option(
            "--skip-bad-lines",
            help="Skip, count and report lines that cannot be scored, instead of stopping.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop with an error, instead of a warning, if a file may have been cut short: only its "
            "last record has no newline.",
        ),
    ] = False,
    allow_partial: options.AllowPartial = False,
    variant: Annotated[
        VariantName,
        typer.Option(help="Published scores, or the papers' equations followed literally."),
    ] = VariantName.PUBLISHED,
    ngrams: Annotated[
        str, typer.Option(metavar="MIN-MAX", help="Range of n-gram lengths for Fluency, in units.")
    ] = "1-10",
    unit: options.UnitOption = None,
    summation: Annotated[
        SummationName,
        typer.Option(
            help="Sum like Python before 3.12 (plain) or since (compensated); last digits may differ."
        ),
    ] = SummationName.PLAIN,
    question_field: Annotated[
        str, typer.Option(metavar="KEY", help="Key or column of the question (text or id).")
    ] = "question",
    answer_field: Annotated[
        str, typer.Option(metavar="KEY", help="Key or column of the answer.")
    ] = "answer",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="all|none|NAMES",
            help="Input columns to copy to --per-response, separated by commas (default: all for "
            "tables, none for JSON). Names that collide with score columns get the prefix input_.",
        ),
    ] = None,
    run_field: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Key or column that names the run of each response, such as model. Splits each file into "
            "runs; --out then writes DIR/RUN/result.json.",
        ),
    ] = None,
    clean: Annotated[
        bool,
        typer.Option(
            "--clean",
            help="Clean answers before scoring, as pfgen-bench does during generation: cut them at a "
            "following question (in mode completion, also at a blank line) and strip white space. The mode "
            "is that of config.json, or else completion. Recorded in the signature.",
        ),
    ] = False,
    clean_as: Annotated[
        Literal["completion", "chat", "qa"] | None,
        typer.Option(metavar="MODE", help="Like --clean, for mode completion, chat or qa."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            callback=score_shard.checked_shard,
            help="Score only the I-th of N parts of the files, counted from 1, into the folder --out, for "
            "`pfgen-rs merge`, which makes of all parts what this command would have made. For files only; "
            "--per-response, --allow-partial and --format are options of merge, and --resume is not needed: "
            "run the part again.",
        ),
    ] = None,
    rows: Annotated[
        bool,
        typer.Option(
            "--rows", help="With --shard: keep what --per-response of `pfgen-rs merge` needs."
        ),
    ] = False,
    engine: Annotated[
        Literal["ray"] | None,
        typer.Option(
            metavar="ray",
            help="Score Parquet files or JSON lines on a cluster, into the folder --out: Parquet files with "
            "the scores of all rows. Requires `pip install 'pfgen_rs[ray]'`.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine ray: the cluster; `auto` for that of this machine. Default: RAY_ADDRESS, or "
            "else Ray is started on this machine.",
        ),
    ] = None,
    order_field: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="With --engine ray: a column of integers that orders the rows, as published sums need. "
            "Without it sums are exact, and the signature says so.",
        ),
    ] = None,
    threads: options.Threads = None,
    storage_option: options.StorageOptions = None,
) -> None:
    """Score runs and print them as a leaderboard.

    Fluency is relative to the reference answers, whose mean is 1, so runs may exceed 1. Truthfulness
    and Helpfulness are between 0 and 1; the score is the mean of the three.

    Each file or folder is one run, and may be larger than memory: text is read piece by piece, Parquet by row
    group and Arrow by record batch, so the largest of these must fit into memory a few times. Output files
    are written when everything is scored; an invalid input stops the command with an error that names file
    and line.

    A run is a file of responses, each with a question (text or id) and an answer, such as
    `{"question": "Q02", "answer": "光合成は…"}` on each line; several answers to a question are trials.

    For example:

    - `pfgen-rs score answers.jsonl`

    - `pfgen-rs score 'result/**/trials.jsonl.xz' -b pfgen-bench`

    - `pfgen-rs score run/ --out scored/ --per-response scores.parquet`

    - `my-model | pfgen-rs score - --format json`
    """
    score_shard.refuse_with_shard(
        shard,
        {
            "--per-response": per_response is not None,
            "--resume": resume,
            "--allow-partial": allow_partial,
            "--format": output_format != options.RowsFormat.TABLE,
            "--plain": plain,
        },
        out=out,
        rows=rows,
    )
    score_ray.refuse_with_engine(
        engine,
        {
            "--per-response": per_response is not None,
            "--resume": resume,
            "--strict": strict,
            "--allow-partial": allow_partial,
            "--keep": keep is not None,
            "--shard": shard is not None,
            "--threads": threads is not None,
            "--storage-option": bool(storage_option),
        },
        {"--address": address is not None, "--order-field": order_field is not None},
        out=out,
    )
    from pfgen_rs.cli.score_job import loaded_for_job, score_and_show
    from pfgen_rs.io import patterns
    from pfgen_rs.io.remote.storage import Storage, parsed_options
    from pfgen_rs.runs.resumable import Job

    low, high = _ngram_range(ngrams)
    settings = pfgen_rs.Settings(
        variant=variant.value,
        min_n=low,
        max_n=high,
        unit=options.unit_of(unit, benchmark),
        summation=summation.value,
    )
    if engine is not None and out is not None:
        score_ray.score_on_cluster(
            files,
            out,
            benchmark,
            settings,
            output_format,
            plain,
            address=address,
            skip_bad_lines=skip_bad_lines,
            by=run_field,
            order=order_field,
            question_field=question_field,
            answer_field=answer_field,
            clean=clean_as or clean,
        )
        return
    loaded = loaded_for_job(benchmark, settings)
    storage = Storage(parsed_options(storage_option or ()))
    paths = patterns.expand_runs(files, storage)
    reading = io.Options(
        question_field,
        answer_field,
        skip_bad_lines,
        tokens=settings.unit == "token",
        clean=clean_as or clean,
        strict=strict,
    )
    if shard is not None and out is not None:
        score_shard.score_and_report(
            loaded,
            paths,
            reading,
            shard,
            out,
            rows=rows,
            keep=_names_kept_by_score(keep),
            run_field=run_field,
            threads=threads,
            storage=storage,
        )
        return
    job = Job(
        loaded,
        paths,
        reading,
        out=out,
        per_response=per_response,
        resume=resume,
        allow_partial=allow_partial,
        keep=_names_kept_by_score(keep),
        run_field=run_field,
        threads=threads,
        storage=storage,
    )
    score_and_show(job, output_format, plain)


def _names_kept_by_score(keep: str | None) -> Any:
    return keep if keep in (None, "all", "none") else keep.split(",")
