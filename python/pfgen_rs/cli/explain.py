"""`pfgen-rs explain`: shows where an answer's score comes from."""

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
            help="The answer's text (with --unit token, its ids separated by spaces), or - to read it from "
            "standard input, without a final newline.",
        ),
    ],
    benchmark: options.BenchmarkName = None,
    unit: options.UnitOption = None,
    output_format: options.Format = options.JsonFormat.TABLE,
) -> None:
    """Show where an answer's score comes from, character by character.

    Characters are coloured by the number of reference answers that contain the text around them. The tables
    show each source's values with the best cut (text after it is not counted), the scores before and after
    rounding, and the keyword rules met and missed.

    For example:

    - `pfgen-rs explain Q01 'あなたの答え'`

    - `pfgen-rs explain Q01 - -b pfgen-bench --format json < answer.txt`
    """
    from pfgen_rs.cli import explain_view

    loaded = options.load(benchmark, unit)
    text = _read_answer_to_explain() if answer == "-" else answer
    found = loaded.explain(question, loaded.coder.parse(text))
    if output_format is options.JsonFormat.JSON:
        output.emit_json(explain_view.explanation_object(loaded, found))
    else:
        output.show(*explain_view.rendered_explanation(loaded, found))


def _read_answer_to_explain() -> str:
    process.interrupt_reads()
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}", path="-") from None
    return text.removesuffix("\n").removesuffix("\r")
