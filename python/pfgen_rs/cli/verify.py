"""`pfgen-rs verify`: published results, checked by scoring their answers again."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

import pfgen_rs
from pfgen_rs.cli import options, output
from pfgen_rs.errors import PfgenError
from pfgen_rs.io import patterns

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pfgen_rs.verify import Difference, Verification

__all__ = ["verify"]

_CHECK_FAILED = 1
_VALUE_WIDTH = 40
_NUMBERS = ("numbers", "agree", "failures")


def verify(
    run_dirs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN_DIR",
            help="Folders with trials.jsonl[.xz] and result.json; quoted globs work.",
            show_default=False,
        ),
    ],
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = options.JsonFormat.TABLE,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="Maximum number of differences to list per run.")
    ] = 5,
    threads: options.Threads = None,
) -> None:
    """Score runs again and compare every number with their result.json.

    Files written by Python 3.12 or later have compensated sums, others plain ones, which changes a last digit
    here and there: both are tried, and the column "sums" names the one that fits (plain if both do).

    A number may differ by one unit of its last published digit; anything more, a different text, and a
    missing or added key fail the check.

    Exit codes: 0 all runs pass, 1 a number differs by more than a unit, 2 a run cannot be read
    (the others are checked all the same).

    For example:

    - `pfgen-rs verify result/some-model/1a2b3c4 -b pfgen-bench`

    - `pfgen-rs verify 'result/*/*/*' -b pfgen-bench --format json`
    """
    from pfgen_rs.verify import Verification
    from pfgen_rs.verify import verify as verify_run

    loaded = pfgen_rs.load_benchmark(benchmark)
    checked: list[Verification | PfgenError] = []
    paths = patterns.expand(run_dirs)
    for run in output.track(paths, "verifying"):
        try:
            checked.append(verify_run(run, loaded, threads=threads))
        except PfgenError as error:
            output.report_error(error)
            checked.append(error)
    done = [found for found in checked if isinstance(found, Verification)]
    if output_format is options.JsonFormat.JSON:
        output.emit_json([_entry(run, c, limit) for run, c in zip(paths, checked, strict=True)])
    elif done:
        output.show(*_report(done, limit))
    if len(done) < len(checked):
        output.fail(output.BAD_INPUT)
    if not all(found.passed for found in done):
        output.fail(_CHECK_FAILED)


def _entry(run: str, checked: Verification | PfgenError, limit: int) -> dict[str, Any]:
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
        "largest_difference": None if largest is None else _difference(largest),
        "failures": len(checked.failures),
        "listed_failures": [_difference(found) for found in checked.failures[:limit]],
        "signature": checked.signature,
    }


def _difference(found: Difference) -> dict[str, Any]:
    # JSON has no infinity: what is no number has no size. Files may hold Python's NaN all the same.
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


def _report(checked: Sequence[Verification], limit: int) -> list[RenderableType]:
    table = output.new_table(
        "run", *_NUMBERS, "largest difference", "sums", "file", "check", numbers=_NUMBERS
    )
    for found in checked:
        table.add_row(
            output.cell(found.run),
            output.cell(found.numbers),
            output.cell(found.agreeing),
            output.cell(len(found.failures)),
            output.cell(_largest(found.largest)),
            output.cell(found.summation),
            output.cell("same bytes" if found.identical else "other bytes"),
            output.cell("ok", "green") if found.passed else output.cell("FAILED", "bold red"),
        )
    lines = [output.cell(line) for found in checked for line in _failures(found, limit)]
    signatures = dict.fromkeys(found.signature for found in checked)
    return [table, *lines, output.cell(_summary(checked)), *map(output.cell, signatures)]


def _largest(found: Difference | None) -> str:
    return "none" if found is None else f"{found.size:.3g} ({found.place})"


def _failures(found: Verification, limit: int) -> list[str]:
    lines = [
        f"{found.run}: {d.place}: theirs {_short(d.theirs)}, ours {_short(d.ours)}"
        + (f" ({d.note})" if d.note else "")
        for d in found.failures[:limit]
    ]
    hidden = len(found.failures) - len(lines)
    return [*lines, f"{found.run}: … and {hidden} more"] if hidden else lines


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_WIDTH else text[:_VALUE_WIDTH] + "…"


def _summary(checked: Sequence[Verification]) -> str:
    numbers, agreeing = sum(c.numbers for c in checked), sum(c.agreeing for c in checked)
    passed, identical = sum(c.passed for c in checked), sum(c.identical for c in checked)
    return (
        f"{passed} of {len(checked)} runs pass; {agreeing} of {numbers} numbers agree exactly; "
        f"{identical} files have the same bytes"
    )
