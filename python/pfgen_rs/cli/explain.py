"""`pfgen-rs explain`: shows where an answer's score comes from."""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.cli import options, output, process, streams
from pfgen_rs.errors import InputError
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.metrics.units import Unit
from pfgen_rs.scoring.explain import COMMON, RARE, Explanation, RuleReport


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
    loaded = options.load(benchmark, unit)
    text = _read_answer() if answer == "-" else answer
    found = loaded.explain(question, loaded.coder.parse(text))
    if output_format is options.JsonFormat.JSON:
        streams.emit_json(explanation_object(loaded, found))
    else:
        output.show(*rendered_explanation(loaded, found))


def _read_answer() -> str:
    process.interrupt_reads()
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}", path="-") from None
    return text.removesuffix("\n").removesuffix("\r")


# Shows an explanation as rich text and tables, or as one JSON object.


# Font weight and lines distinguish the levels without colour.
_STYLES = {
    "common": "bold green",
    "known": "",
    "rare": "underline red",
    "skipped": "dim",
    "unread": "dim strike",
}
_LEGEND = {
    "common": f"in more than {COMMON:.0%} of a source's answers",
    "known": "in fewer",
    "rare": f"in less than {RARE:.1%}",
    "skipped": "skipped by Truthfulness",
    "unread": "beyond the maximum length",
}


def explanation_object(benchmark: Benchmark, found: Explanation) -> dict[str, Any]:
    """Returns the whole explanation as one JSON object."""
    details = found.score.details
    return {
        "question_id": found.question_id,
        "question": found.question,
        "answer": found.answer,
        "length": len(found.pieces),
        "scores": found.score.to_dict(),
        "details": {
            "fluency": _values(benchmark, details.fluency, details.fluency_cut),
            "truthfulness": _values(benchmark, details.truthfulness, details.truthfulness_cut),
            "helpfulness": _value(benchmark, details.helpfulness, details.helpfulness_cut),
        },
        "rules": [{**rule._asdict(), "factor": _factor(rule)} for rule in found.rules],
        "characters": found.characters.to_dicts(),
        "signature": found.score.signature,
    }


def _values(benchmark: Benchmark, values: dict[str, float], cuts: dict[str, int]) -> dict[str, Any]:
    return {source: _value(benchmark, value, cuts[source]) for source, value in values.items()}


def _value(benchmark: Benchmark, value: float, cut: int) -> dict[str, Any]:
    return {"value": value, "cut": cut, "discount": benchmark.settings.discount(cut)}


def _factor(rule: RuleReport) -> float:
    """What Helpfulness is multiplied with because of the rule."""
    return 1.0 if rule.met else 1 - rule.importance


def rendered_explanation(benchmark: Benchmark, found: Explanation) -> Iterator[RenderableType]:
    """The explanation from top to bottom."""
    yield output.cell(f"{found.question_id}  {found.question}", "bold")
    yield Text("")
    levels = found.levels
    yield _answer(found.pieces, levels)
    yield Text("")
    if levels:
        yield _legend(levels, benchmark.settings.unit)
    yield _metrics(benchmark, found)
    yield _rules(found)
    yield output.cell(found.score.signature)


def _answer(pieces: Sequence[str], levels: Sequence[str]) -> Text:
    text = Text()
    for piece, level in zip(pieces, levels, strict=True):
        text.append_text(output.cell(piece, _STYLES[level]))
    return text if pieces else output.cell("(an empty answer)", "dim")


def _legend(levels: Sequence[str], unit: Unit) -> Text:
    parts = (
        Text(f"{levels.count(level)} {_LEGEND[level]}", style=style)
        for level, style in _STYLES.items()
        if level in levels
    )
    return Text.assemble(f"{unit.capitalize()}s: ", Text(" · ").join(parts))


def _metrics(benchmark: Benchmark, found: Explanation) -> Table:
    columns = ("before rounding", "best cut", "length discount", "rounded")
    table = output.new_table("metric", "source", *columns, numbers=columns)
    score, details = found.score, found.score.details
    metrics = {
        "fluency": (details.fluency, details.fluency_cut, score.fluency),
        "truthfulness": (details.truthfulness, details.truthfulness_cut, score.truthfulness),
    }
    totals = []
    for name, (values, cuts, shares) in metrics.items():
        for source, value in values.items():
            cut = cuts[source]
            share = value / len(values)
            _add_metric(table, name, source, share, cut, benchmark, shares[source])
        totals.append(left_sum(values.values()) / len(values))
        _add_metric(table, name, "all", totals[-1], None, benchmark, left_sum(shares.values()))
    value, cut = details.helpfulness, details.helpfulness_cut
    _add_metric(table, "helpfulness", "", value, cut, benchmark, score.helpfulness)
    average = benchmark.settings.average(totals[0], totals[1], value)
    table.add_section()
    _add_metric(table, "average", "", average, None, benchmark, score.average)
    return table


def _add_metric(
    table: Table,
    metric: str,
    source: str,
    value: float,
    cut: int | None,
    benchmark: Benchmark,
    score: float,
) -> None:
    discount = "" if cut is None else f"{benchmark.settings.discount(cut):.2f}"
    table.add_row(
        *map(output.cell, (metric, source, f"{value:.9f}", "" if cut is None else cut, discount)),
        output.cell(f"{score:.6f}".rstrip("0").ljust(3, "0")),
    )


def _rules(found: Explanation) -> Table:
    numbers = ("found at", "importance", "factor")
    table = output.new_table("rule", "verdict", *numbers, numbers=numbers)
    for rule in found.rules:
        table.add_row(
            output.cell(rule.label),
            output.cell("met", "green") if rule.met else output.cell("missed", "bold red"),
            output.cell("nowhere" if rule.position is None else rule.position),
            output.cell(f"{rule.importance:g}"),
            output.cell(f"× {_factor(rule):g}"),
        )
    return table
