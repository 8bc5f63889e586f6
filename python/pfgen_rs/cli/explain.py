"""`pfgen-rs explain`: shows where an answer's score comes from."""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pfgen_rs import Benchmark, InputError
from pfgen_rs.cli import options, process, terminal
from pfgen_rs.metrics import sums, units
from pfgen_rs.runs.outputs import answer_of
from pfgen_rs.scoring.explain import COMMON, RARE, Explanation, RuleReport


@options.with_options(options.ReadingOptions, "reading", without=("run_field",))
def explain(
    question: options.QuestionName,
    reading: options.ReadingOptions,
    answer: Annotated[
        str | None,
        typer.Argument(
            metavar="ANSWER",
            help="The answer's text (with --unit token, its ids separated by spaces), or - to read it from "
            "standard input, without a final newline.",
            show_default=False,
        ),
    ] = None,
    benchmark: options.BenchmarkName = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Explain an answer of this file or folder.", show_default=False
        ),
    ] = None,
    trial: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --file, the N-th answer to the question.")
    ] = 1,
    unit: options.UnitOption = None,
    output_format: options.Format = "table",
) -> None:
    """Show where an answer's score comes from, character by character.

    Characters are coloured by the number of reference answers that contain the text around them. The tables
    show each source's values with the best cut (text after it is not counted), the scores before and after
    rounding, and the keyword rules met and missed.

    For example:

    - `pfgen-rs explain Q01 'あなたの答え'`

    - `pfgen-rs explain Q01 - -b pfgen-bench --format json < answer.txt`

    - `pfgen-rs explain Q01 --file answers.jsonl --trial 3`
    """
    if (answer is None) == (file is None):
        raise typer.BadParameter("expected either ANSWER or --file", param_hint="'ANSWER'")
    loaded = options.load(benchmark, unit)
    if file is None:
        text = loaded.coder.parse(_read_answer() if answer == "-" else str(answer))
    else:
        text = answer_of(reading.score([file], loaded), loaded.find(question), trial)
    found = loaded.explain(question, text)
    if output_format == "json":
        process.emit_json(explanation_object(loaded, found))
    else:
        terminal.show(*rendered_explanation(loaded, found))


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

    def by_source(values: dict[str, float], cuts: dict[str, int]) -> dict[str, Any]:
        return {name: _value(benchmark, value, cuts[name]) for name, value in values.items()}

    return {
        "question_id": found.question_id,
        "question": found.question,
        "answer": found.answer,
        "length": len(found.pieces),
        "scores": found.score.to_dict(),
        "details": {
            "fluency": by_source(details.fluency, details.fluency_cut),
            "truthfulness": by_source(details.truthfulness, details.truthfulness_cut),
            "helpfulness": _value(benchmark, details.helpfulness, details.helpfulness_cut),
        },
        "rules": [{**rule._asdict(), "factor": _factor(rule)} for rule in found.rules],
        "characters": found.characters.to_dicts(),
        "signature": found.score.signature,
    }


def _value(benchmark: Benchmark, value: float, cut: int) -> dict[str, Any]:
    return {"value": value, "cut": cut, "discount": benchmark.settings.discount(cut)}


def _factor(rule: RuleReport) -> float:
    """What Helpfulness is multiplied with because of the rule."""
    return 1.0 if rule.met else 1 - rule.importance


def rendered_explanation(benchmark: Benchmark, found: Explanation) -> Iterator[RenderableType]:
    """The explanation from top to bottom."""
    yield terminal.cell(f"{found.question_id}  {found.question}", "bold")
    yield Text("")
    levels = found.levels
    yield _answer(found.pieces, levels)
    yield Text("")
    if levels:
        yield _legend(levels, benchmark.settings.unit)
    yield _metrics(benchmark, found)
    yield _rules(found)
    yield terminal.cell(found.score.signature)


def _answer(pieces: Sequence[str], levels: Sequence[str]) -> Text:
    text = Text()
    for piece, level in zip(pieces, levels, strict=True):
        text.append_text(terminal.cell(piece, _STYLES[level]))
    return text if pieces else terminal.cell("(an empty answer)", "dim")


def _legend(levels: Sequence[str], unit: units.Unit) -> Text:
    parts = (
        Text(f"{levels.count(level)} {_LEGEND[level]}", style=style)
        for level, style in _STYLES.items()
        if level in levels
    )
    return Text.assemble(f"{unit.capitalize()}s: ", Text(" · ").join(parts))


def _metrics(benchmark: Benchmark, found: Explanation) -> Table:
    columns = ("before rounding", "best cut", "length discount", "rounded")
    score, details, settings = found.score, found.score.details, benchmark.settings

    def row(metric: str, source: str, value: float, cut: int | None, rounded: float) -> list[Any]:
        shown = ["", ""] if cut is None else [cut, f"{settings.discount(cut):.2f}"]
        return [metric, source, f"{value:.9f}", *shown, f"{rounded:.6f}".rstrip("0").ljust(3, "0")]

    rows, totals = [], []
    for name, values, cuts, shares in (
        ("fluency", details.fluency, details.fluency_cut, score.fluency),
        ("truthfulness", details.truthfulness, details.truthfulness_cut, score.truthfulness),
    ):
        for source, value in values.items():
            rows.append(row(name, source, value / len(values), cuts[source], shares[source]))
        totals.append(sums.left_sum(values.values()) / len(values))
        rows.append(row(name, "all", totals[-1], None, sums.left_sum(shares.values())))
    helpfulness = details.helpfulness
    rows.append(row("helpfulness", "", helpfulness, details.helpfulness_cut, score.helpfulness))
    table = terminal.new_table("metric", "source", *columns, numbers=columns, rows=rows)
    table.add_section()
    average = settings.average(totals[0], totals[1], helpfulness)
    table.add_row(*map(terminal.cell, row("average", "", average, None, score.average)))
    return table


def _rules(found: Explanation) -> Table:
    numbers = ("found at", "importance", "factor")
    table = terminal.new_table("rule", "verdict", *numbers, numbers=numbers)
    for rule in found.rules:
        table.add_row(
            terminal.cell(rule.label),
            terminal.cell("met", "green") if rule.met else terminal.cell("missed", "bold red"),
            terminal.cell("nowhere" if rule.position is None else rule.position),
            terminal.cell(f"{rule.importance:g}"),
            terminal.cell(f"× {_factor(rule):g}"),
        )
    return table
