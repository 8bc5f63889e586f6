"""`pfgen-rs site build`: writes one site of everything that a lab measures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, process, progress, terminal
from pfgen_rs.io.text import counted, visible

if TYPE_CHECKING:
    from pfgen_rs.site.build import Built


def build(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDERS…",
            help="Folders and files with results: checkouts of pfgen-bench, runs, verdicts, ratings, results "
            "of llm-jp-eval, training curves, tables of others (FILE:COLUMN, that of their names). "
            "Or one folder with a site.toml, which names them.",
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Folder of the site, new or a site's."),
    ],
    benchmark: options.BenchmarkName = None,
    aliases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, help="TOML file with names that mean the same model."
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, help="TOML file with facts about models (models.toml)."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write everything again, even if it is up to date.")
    ] = False,
    jobs: options.Jobs = None,
) -> None:
    """Write one site of everything that a lab measures, with one navigation and one look.

    Folders are searched for results of every kind. Names of models are matched by rules and a file of
    aliases; what did not match is told, and listed on the page about the site. Runs of pfgen-bench whose
    result.json is missing or stale are scored; nothing is written beside them. What has not changed stays as
    it is. Open the site's index.html, from disk or from any server of files.

    A folder with a site.toml (`site init` writes one) is a site by itself: it says what the site is made of
    and what it says of itself. Options come before what it says.

    For example:

    - `pfgen-rs site pfgen-bench verdicts --out site`

    - `pfgen-rs site pfgen-bench results curves swallow.csv:model --aliases aliases.toml --out site`

    - `pfgen-rs site lab --out public`
    """
    from pfgen_rs.site.build import build_site
    from pfgen_rs.site.config import plan_of

    plan = plan_of(places, benchmark, aliases, facts)
    steps = lambda runs: terminal.steps("writing the site:", runs)  # noqa: E731
    with progress.logged("pfgen_rs.site", process.warn):
        built = build_site(plan, out, force=force, jobs=jobs, steps=steps)
    print_built(built)


def print_built(built: "Built") -> None:
    """Print what became of a site; exits with 1 if runs failed."""
    for note in built.notes:
        process.remark(note)
    for note in built.left_out:
        process.warn(visible(note))
    for run, problem in built.failed:
        process.warn(visible(run))
        process.print_error(problem)
    about = (
        f"{counted(built.models, 'model')}, {counted(built.runs, 'run')}"
        if built.is_new
        else "up to date"
    )
    process.emit(f"{visible(str(built.page))}: {about}\n")
    if built.failed:
        process.fail(1)
