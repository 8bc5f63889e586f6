"""`pfgen-rs explain`: where one answer's score comes from."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pfgen_rs.cli import options, output, process
from pfgen_rs.errors import InputError

__all__ = ["explain"]


def explain(
    question: options.QuestionName,
    answer: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER",
            help="The answer's text (with --unit token, its ids with spaces between them); - reads it from "
            "standard input, less one final line end.",
        ),
    ],
    benchmark: options.BenchmarkName = None,
    unit: options.UnitOption = None,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Show where an answer's score comes from, character by character.

    Characters are coloured by how many reference answers share the text around them. Below stand
    each source's values with the best cut (what follows it is not counted), the keyword rules met
    and missed, and the scores before and after rounding.

    For example:

    - `pfgen-rs explain Q01 'あなたの答え'`

    - `pfgen-rs explain Q01 - -b pfgen-bench --format json < answer.txt`
    """
    from pfgen_rs.cli import explain_view

    loaded = options.load(benchmark, unit)
    text = _standard_input() if answer == "-" else answer
    found = loaded.explain(question, loaded.coder.parse(text))
    if output_format is options.JsonFormat.JSON:
        output.emit_json(explain_view.as_object(loaded, found))
    else:
        output.show(*explain_view.render(loaded, found))


def _standard_input() -> str:
    process.interrupt_reads()
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}", path="-") from None
    return text.removesuffix("\n").removesuffix("\r")
