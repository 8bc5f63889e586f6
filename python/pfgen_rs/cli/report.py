"""`pfgen-rs report`: updates a checkout of pfgen-bench."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import output
from pfgen_rs.io.counted import counted
from pfgen_rs.io.safe_text import visible

if TYPE_CHECKING:
    from pfgen_rs.report.update import Report

__all__ = ["report"]


def report(
    checkout: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKOUT",
            help="Folder of the checkout, with questions in data/ and runs in result/.",
            show_default=False,
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Rewrite everything, even if it is up to date.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write a website with all runs and their answers to this folder.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, metavar="N", help="Number of threads (default: all cores)."
        ),
    ] = None,
) -> None:
    """Update a checkout of pfgen-bench, like its own `make report`.

    Packs finished trials into trials.jsonl.xz, scores runs whose result.json is stale, and writes every run's
    README.md, the leaderboard in the main README.md, and leaderboard.parquet, .csv and .json beside it. Files
    are written atomically, and only if they change. Runs that cannot be used are reported at the end; the
    others are updated nevertheless (exit code 1).

    With --html, also writes a website, which needs neither server nor network: open its index.html.

    For example:

    - `pfgen-rs report pfgen-bench`

    - `pfgen-rs report . --force --jobs 4`

    - `pfgen-rs report . --html site`
    """
    from pfgen_rs.report import update

    done = update.report(
        checkout, force=force, html=html, jobs=jobs, watch=output.scoring, busy=output.busy
    )
    _print_report(done)


def _print_report(done: Report) -> None:
    for path in done.unfinished:
        output.warn(f"{path}: skipped, because it is not finished (or not JSON lines)")
    for problem in done.problems:
        output.print_error(problem)
    failed = f", {len(done.failed)} failed" if done.failed else ""
    site = "" if done.site is None else f"; site: {visible(str(done.site))}"
    output.emit(
        f"{counted(len(done.checkout.runs), 'run')}: {len(done.scored)} scored{failed}; "
        f"{counted(len(done.written), 'file')} written in the checkout{site}\n"
    )
    if done.problems:
        output.fail(1)
