"""`pfgen-rs score --engine ray`: scores files on a cluster, into a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

import pfgen_rs
from pfgen_rs.cli import streams
from pfgen_rs.io.remote.urls import url_text

__all__ = ["refuse_with_engine", "score_on_cluster"]


def refuse_with_engine(
    engine: str | None,
    only_here: Mapping[str, bool],
    only_with: Mapping[str, bool],
    *,
    out: Path | None,
) -> None:
    """Raise for options that make no sense with, or without, an engine; values: whether they are given."""
    wrong = only_with if engine is None else only_here
    for name in (name for name, given in wrong.items() if given):
        problem = (
            "requires --engine ray" if engine is None else f"cannot be used with --engine {engine}"
        )
        raise typer.BadParameter(problem, param_hint=f"'{name}'")
    if engine is not None and out is None:
        raise typer.BadParameter(
            "requires --out DIR, the folder (or a URL of object storage) for the scores of all rows",
            param_hint="'--engine'",
        )


def score_on_cluster(
    files: Sequence[str],
    out: Path,
    benchmark: str | None,
    settings: Mapping[str, Any],
    output_format: str,
    plain: bool,
    *,
    address: str | None,
    skip_bad_lines: bool,
    **how: Any,
) -> None:
    """Score files into a folder, and print the runs."""
    from pfgen_rs.cli.score_output import show_results
    from pfgen_rs.integrations import ray

    loaded = pfgen_rs.load_benchmark(benchmark, settings=settings)
    ray.connect(address)
    found = ray.score_file(
        files,
        url_text(out),
        loaded,
        on_problem="report" if skip_bad_lines else "raise",
        **how,
    )
    for run in found.values():
        if run.missing:
            streams.warn(f"{run.place}: {run.missing_note}")
    counts = [run.moments.counts for run in found.values()]
    if not how["order"] and any(min(answers) != max(answers) for answers in counts):
        streams.remark(
            "the score is the mean over questions of all their answers; with --order-field it uses the same "
            "number of each, like published scores"
        )
    show_results(list(found.values()), output_format, plain)
