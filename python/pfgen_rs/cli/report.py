"""`pfgen-rs report`: updates a checkout of pfgen-bench."""

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, process
from pfgen_rs.io.text import counted, visible

if TYPE_CHECKING:
    from pfgen_rs.io.source import Source
    from pfgen_rs.report.update import Report
    from pfgen_rs.runs.streaming import ScoringProgress


def report(
    checkout: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKOUT",
            help="Folder of the checkout, with questions in data/ and runs in result/.",
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Rewrite everything, even if it is up to date.")
    ] = False,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Score a run again only if the hash of its answers or of the questions has changed, "
            "as pfgen-bench's own tool does; by default, also if its config.json has been edited.",
        ),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write a website with all runs and their answers to this folder.",
        ),
    ] = None,
    jobs: options.Jobs = None,
) -> None:
    """Update a checkout of pfgen-bench, like its own `make report`.

    Packs finished trials into trials.jsonl.xz, scores runs whose result.json is stale, and writes every run's
    README.md, the leaderboard in the main README.md, and leaderboard.parquet, .csv and .json beside it. Files
    are written atomically, and only if they change. Runs that are scored are named with the reason. Runs that
    cannot be used are reported at the end; the others are updated nevertheless (exit code 1).

    With --html, also writes a website, which needs neither server nor network: open its index.html. A
    models.toml in the checkout adds sizes and dates of release of models.

    For example:

    - `pfgen-rs report pfgen-bench`

    - `pfgen-rs report . --force --jobs 4`

    - `pfgen-rs report . --html site`
    """
    from pfgen_rs.report import update

    done = update.report(
        checkout,
        force=force,
        as_published=as_published,
        html=html,
        jobs=jobs,
        announce=_announce,
        watch=_watch,
        steps=_steps,
    )
    _print(done)


def _announce(stale: Mapping[str, tuple[str, ...]]) -> None:
    from pfgen_rs.checkout.checkout import reason_lines

    for line in reason_lines(stale):
        process.remark(f"scoring {line}")


def _watch(sources: "Sequence[Source]") -> "AbstractContextManager[ScoringProgress]":
    from pfgen_rs.cli import terminal  # here, since where nothing is stale nothing needs it

    gc.freeze()  # loaded data is needed until the end, so exclude it from garbage collection
    return terminal.scoring(sources)


def _steps(runs: int) -> AbstractContextManager[Callable[[str], None]]:
    from pfgen_rs.cli import terminal

    return terminal.steps("writing the site:", runs)


def _print(done: "Report") -> None:
    for path in done.unfinished:
        process.warn(f"{path}: skipped, because it is not finished (or not JSON lines)")
    for problem in done.problems:
        process.print_error(problem)
    failed = f", {len(done.failed)} failed" if done.failed else ""
    site = "" if done.site is None else f"; site: {visible(str(done.site))}"
    process.emit(
        f"{counted(len(done.checkout.runs), 'run')}: {len(done.scored)} scored{failed}; "
        f"{counted(len(done.written), 'file')} written in the checkout{site}\n"
    )
    if done.problems:
        process.fail(1)
