"""`pfgen-rs build check`: diagnoses of a reference set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output, process, progress_log
from pfgen_rs.cli.scoring_options import ReadingOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pfgen_rs.references.check import Check
    from pfgen_rs.references.check.answers import CheckProgress

__all__ = ["check"]

# Columns of the summary for which a terminal has room, and their headings.
_HEADINGS = {
    "question_id": "question",
    "answers": "answers",
    "near_pairs": "near pairs",
    "length": "length",
    "self_fluency": "fluency",
    "self_truthfulness": "truthfulness",
    "self_helpfulness": "helpfulness",
    "agreement": "agreement",
    "note_average": "example",
    "warnings": "warnings",
}


@options.with_options(ReadingOptions, "reading", without=("run_field", "skip_bad_lines"))
def check(
    benchmark: Annotated[
        str,
        typer.Argument(metavar="SET", help="A folder of question files, or a benchmark's name."),
    ],
    reading: ReadingOptions,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="FILE|DIR",
            help="Run to score with the set and with subsets of it (repeatable; a quoted glob is "
            "expanded). Correlations need three runs.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for all tables (CSV), a report (check.md) and plots (SVG)."
        ),
    ] = None,
    unit: options.UnitOption = None,
    output_format: options.Format = options.JsonFormat.TABLE,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random subsets.")] = 0,
    threads: options.Threads = None,
) -> None:
    """Diagnose a set of reference answers.

    For each question, the table shows its answers' scores against the other answers (fluency, truthfulness,
    helpfulness), how well its sources agree (agreement), the score of its example answer, and warnings.
    Warnings do not change the exit code.

    For example:

    - `pfgen-rs build check my-set`

    - `pfgen-rs build check my-set --run 'runs/*' --out checked`
    """
    from pfgen_rs.drawing.style import available
    from pfgen_rs.references.check import check as check_set

    loaded = options.load(benchmark, unit)
    with _check_progress() as progress, progress_log.logged("pfgen_rs", output.warn):
        found = check_set(
            loaded,
            run or (),
            seed=seed,
            threads=threads,
            progress=progress,
            **reading.arguments(),
        )
    if out is not None:
        found.to_dir(out)
        if not available():
            output.warn(
                "no plots were written, because matplotlib is missing: pip install 'pfgen_rs[plots]'"
            )
    if output_format is options.JsonFormat.JSON:
        output.emit_json(
            {
                "signature": found.signature,
                "findings": found.findings,
                "questions": found.summary.to_dicts(),
            }
        )
    else:
        output.show(*_check_report(found))


@contextmanager
def _check_progress() -> Iterator[CheckProgress]:
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn

    name = TextColumn("{task.description}", markup=False)
    process.interrupt_reads()
    with output.progress(SpinnerColumn(), name, BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("preparing", total=None)

        def told(doing: str, done: int, total: int) -> None:
            bar.update(task, description=doing, completed=done, total=total)

        yield told


def _check_report(found: Check) -> list[RenderableType]:
    summary = found.summary.select([*_HEADINGS, "length_std"])
    numbers = [_HEADINGS[name] for name in _HEADINGS if summary.schema[name].is_numeric()]
    table = output.new_table(*_HEADINGS.values(), numbers=numbers)
    for row in summary.iter_rows(named=True):
        spread = row.pop("length_std")
        shown = {name: _shown_check_value(name, value) for name, value in row.items()}
        shown["length"] += f" ±{spread:.1f}"
        table.add_row(*map(output.cell, shown.values()))
    lines = [output.cell(f"- {finding}") for finding in found.findings]
    return [table, *lines, output.cell(found.signature)]


def _shown_check_value(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}" if name == "length" else f"{value:.3f}"
    return str(value)
