"""`pfgen-rs merge`: puts scored shards together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options

__all__ = ["merge"]


def merge(
    shards: Annotated[
        list[str],
        typer.Argument(
            metavar="SHARD",
            help="The folders of all shards, in any order: --out of `pfgen-rs score --shard`; or a folder "
            "with all of them.",
            show_default=False,
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="NAME|DIR",
            help="The benchmark that they were scored with, if it is not where it was.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write DIR/result.json in the published format; with several runs, DIR/NAME/result.json.",
        ),
    ] = None,
    output_format: options.Rows = options.RowsFormat.TABLE,
    plain: options.Plain = False,
    per_response: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.table_path,
            help="Write the scores of every response of all runs to this file (.parquet, .jsonl, .csv or "
            ".arrow). For shards that were scored with --rows.",
        ),
    ] = None,
    allow_partial: options.AllowPartial = False,
    storage_option: options.StorageOptions = None,
) -> None:
    """Merge scored shards, as if one machine had scored all of their files.

    Prints and writes what `pfgen-rs score` of all files would have, byte for byte, in the order of the files.
    Shards that are missing, damaged, given twice, or scored from other files or with other options are
    refused before anything is written. Of the files themselves, only Parquet files that were divided are
    needed, for the samples in `result.json`.

    For example:

    - `pfgen-rs merge shards/*/`

    - `pfgen-rs merge shards/*/ --out scored/ --per-response scores.parquet`
    """
    from pfgen_rs.benchmark import load_for_scores
    from pfgen_rs.cli.score_output import report_gaps, show_results
    from pfgen_rs.io import patterns
    from pfgen_rs.io.remote.storage import Storage, parsed_options
    from pfgen_rs.runs.merging import MergeJob
    from pfgen_rs.shards import loader_of_shards

    load = loader_of_shards(benchmark, load_for_scores)
    job = MergeJob(
        patterns.expand(shards),
        load,
        out=out,
        per_response=per_response,
        allow_partial=allow_partial,
        storage=Storage(parsed_options(storage_option or ())),
    )
    with job:
        results = job.run()
        for result in results:
            report_gaps(result)
        job.write()
    show_results(results, output_format, plain)
