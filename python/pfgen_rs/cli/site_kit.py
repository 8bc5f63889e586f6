"""`pfgen-rs site init` and `site check`: a folder to publish a site from, and checks of submitted runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pfgen_rs.cli import options, process, progress, terminal
from pfgen_rs.io.text import visible


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder, new or empty.")],
) -> None:
    """Write a folder to publish a site from: site.toml, folders for results, workflows for GitHub, READMEs.

    No file is overwritten. Then edit site.toml, and put results into the folders.
    """
    from pfgen_rs.site.starting import start

    for path in start(folder):
        process.emit(f"{visible(str(path))}\n")
    place = visible(str(folder))
    process.remark(
        f"next: edit {place}/site.toml, add runs below {place}/runs, "
        f"then: pfgen-rs site {place} --out public"
    )


def check(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…", help="Submitted runs: folders with answers and result.json."
        ),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="A folder with runs of other models; repeatable."),
    ] = None,
    benchmark: options.BenchmarkName = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, help="Facts about models, or a site.toml that names them."
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "markdown"], typer.Option("--format", "-f", help="What to print.")
    ] = "text",
    threads: options.Threads = None,
) -> None:
    """Check submitted runs before they are published.

    A run fails if its result.json or signature is not what its answers give; if questions have no answers or
    not the same number; if config.json names no model; if more than a fifth of its answers are nearly those
    of another model; if more are nearly reference answers than these are like each other, and a fifth of the
    rest; if more than half of its answers repeat others to the same question, or have the same length; or if
    1 % are longer than max_tokens allows. Nearly: 60 % of the n-grams of 8 letters. Empty answers, unknown
    facts and answers like those of an earlier run of the same model are notes, which fail nothing.

    A failure is a reason to look, no proof. `--format markdown` is for a pull request.

    Exit codes: 0 all runs pass, 1 a check failed or a run cannot be read, 2 bad usage or input.

    For example:

    - `pfgen-rs site check runs/ACME/new-model --against runs -b pfgen-bench`

    - `pfgen-rs site check runs/new --against runs -b pfgen-bench -f markdown >> "$GITHUB_STEP_SUMMARY"`
    """
    from pfgen_rs.site.config import facts_in
    from pfgen_rs.site.submission import check_runs, share_text

    known = None if facts is None else facts_in(facts)
    with progress.logged("pfgen_rs.site", process.warn):
        found = list(check_runs(runs, against or (), benchmark, facts=known, threads=threads))
    if output_format == "json":
        process.emit_json([each.to_dict() for each in found])
    elif output_format == "markdown":
        process.emit("".join(each.to_markdown() for each in found))
    else:
        for each in found:
            rows = [
                (f.check, f.verdict, share_text(f.share), share_text(f.limit), visible(f.sentence))
                for f in each.findings
            ]
            table = terminal.new_table("check", "", "share", "limit", "found", rows=rows)
            verdict = "passes" if each.passed else "FAILS"
            terminal.show(terminal.cell(f"{each.run}: {verdict}"), table)
    process.fail(0 if all(each.passed for each in found) else 1)
