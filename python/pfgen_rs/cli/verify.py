"""`pfgen-rs verify`: checks published results by scoring their answers again."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import options, process, progress, terminal
from pfgen_rs.cli.progress import shortened
from pfgen_rs.errors import PfgenError
from pfgen_rs.io import run_files
from pfgen_rs.io.text import counted, plural, visible

if TYPE_CHECKING:
    from pfgen_rs.verify import Difference, Verification

_CHECK_FAILED = 1
_VALUE_WIDTH = 40
_NUMBERS = ("numbers", "agree", "failures")
_COLUMNS = ("run", *_NUMBERS, "largest difference", "sums", "file", "check")
_OMITTED = ((), ("sums", "file"), ("agree", "sums", "file"))  # the wider the window, the fewer
_LISTED = 5  # differences of a run
_SHORTEST_RUN = 30


@options.with_options(options.ScoringOptions, "scoring", without=("run_field",))
def verify(
    run_dirs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN_DIR",
            help="Folders with trials.jsonl[.xz] and result.json; quoted globs are expanded.",
            show_default=False,
        ),
    ],
    scoring: options.ScoringOptions,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = "table",
    threads: options.Threads = None,
) -> None:
    """Score runs again and compare every number with their result.json.

    Files written by Python 3.12 or later use compensated sums, others plain sums, so some last digits differ:
    both are tried, and the column "sums" shows the one that matches (plain if both do).

    A number may differ by one unit in its last published digit. Larger differences, different texts, and
    missing or additional keys fail the check.

    Exit codes: 0 all runs pass, 1 a check failed, 2 a run cannot be read (the others are checked
    nevertheless).

    For example:

    - `pfgen-rs verify result/some-model/1a2b3c4 -b pfgen-bench`

    - `pfgen-rs verify 'result/*/*/*' -b pfgen-bench --format json`
    """
    from pfgen_rs import verify

    loaded = scoring.load(benchmark)
    checked: list[verify.Verification | PfgenError] = []
    paths = run_files.expand(run_dirs)
    for run in terminal.track(paths, "verifying"):
        try:
            with progress.logged("pfgen_rs", process.warn):
                checked.append(verify.verify(run, loaded, threads=threads, **scoring.arguments()))
        except PfgenError as error:
            process.print_error(error)
            checked.append(error)
    done = [found for found in checked if isinstance(found, verify.Verification)]
    if output_format == "json":
        process.emit_json([_entry(run, c) for run, c in zip(paths, checked, strict=True)])
    elif done:
        terminal.show(*_report(done, terminal.width()))
    if len(done) < len(checked):
        process.fail(process.BAD_INPUT)
    if not all(found.passed for found in done):
        process.fail(_CHECK_FAILED)


def _entry(run: str, checked: "Verification | PfgenError") -> dict[str, Any]:
    if isinstance(checked, PfgenError):
        return {"run": run, "error": str(checked)}
    largest = checked.largest
    return {
        "run": run,
        "passed": checked.passed,
        "numbers": checked.numbers,
        "agreeing": checked.agreeing,
        "identical": checked.identical,
        "summation": checked.summation,
        "largest_difference": None if largest is None else _difference_entry(largest),
        "failures": len(checked.failures),
        "listed_failures": [_difference_entry(found) for found in checked.failures[:_LISTED]],
        "signature": checked.signature,
    }


def _difference_entry(found: "Difference") -> dict[str, Any]:
    # JSON has no infinity, so the size is null then. Files may nevertheless contain Python's NaN.
    size = found.size if math.isfinite(found.size) else None
    theirs = json.loads(json.dumps(found.theirs), parse_constant=str)
    return {
        "place": found.place,
        "theirs": theirs,
        "ours": found.ours,
        "difference": size,
        "unit": found.unit,
        "note": found.note,
    }


def _report(checked: "Sequence[Verification]", room: int) -> list[RenderableType]:
    """Returns a table that fits a window of `room` columns, differences, and a summary.

    Paths that are too long are shortened at the beginning, because their ends distinguish runs, down to 30
    columns; then the last columns of numbers are left out.
    """
    full = table = _rows(checked, _COLUMNS)
    lines = [line for found in checked for line in _failure_lines(found)]
    if terminal.table_width(full) > room:
        for omitted in _OMITTED:
            columns = [name for name in _COLUMNS if name not in omitted]
            width = room - terminal.table_width(_rows(checked, columns, run_width=0)) + len("run")
            if width >= _SHORTEST_RUN:
                break
        table = _rows(checked, columns, run_width=max(width, _SHORTEST_RUN))
        if omitted:
            lines = [terminal.not_shown(terminal.dropped(full, table)), *lines]
    signatures = dict.fromkeys(found.signature for found in checked)
    return [table, *map(terminal.cell, [*lines, _summary(checked), *signatures])]


def _rows(
    checked: "Sequence[Verification]", columns: Sequence[str], run_width: int | None = None
) -> Table:
    """Returns a table; `run_width`: that of paths, beside largest differences without their places."""
    table = terminal.new_table(*columns, numbers=_NUMBERS)
    for found in checked:
        run = visible(found.run)
        cells = {
            "run": run if run_width is None else shortened(run, run_width) if run_width else "",
            "numbers": found.numbers,
            "agree": found.agreeing,
            "failures": len(found.failures),
            "largest difference": _largest(found.largest, brief=run_width is not None),
            "sums": found.summation,
            "file": "same bytes" if found.identical else "other bytes",
        }
        verdict = (
            terminal.cell("ok", "green") if found.passed else terminal.cell("FAILED", "bold red")
        )
        table.add_row(*(terminal.cell(cells[name]) for name in columns if name in cells), verdict)
    return table


def _largest(found: "Difference | None", *, brief: bool) -> str:
    if found is None:
        return "none"
    return f"{found.size:.3g}" + ("" if brief else f" ({found.place})")


def _failure_lines(found: "Verification") -> list[str]:
    lines = [
        f"{found.run}: {d.place}: theirs {_value(d.theirs)}, ours {_value(d.ours)}"
        + (f" ({d.note})" if d.note else "")
        for d in found.failures[:_LISTED]
    ]
    hidden = len(found.failures) - len(lines)
    return [*lines, f"{found.run}: … and {hidden} more"] if hidden else lines


def _value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_WIDTH else text[:_VALUE_WIDTH] + "…"


def _summary(checked: "Sequence[Verification]") -> str:
    numbers, agreeing = sum(c.numbers for c in checked), sum(c.agreeing for c in checked)
    passed, identical = sum(c.passed for c in checked), sum(c.identical for c in checked)
    return (
        f"{passed} of {counted(len(checked), 'run')} {plural(passed, 'passes', 'pass')}; "
        f"{agreeing:,} of {counted(numbers, 'number')} {plural(agreeing, 'agrees', 'agree')} exactly; "
        f"{counted(identical, 'file')} {plural(identical, 'has', 'have')} the same bytes"
    )
