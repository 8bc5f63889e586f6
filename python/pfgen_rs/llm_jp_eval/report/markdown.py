"""A report as Markdown, for READMEs and issues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pfgen_rs.llm_jp_eval.report.columns import Column
from pfgen_rs.llm_jp_eval.report.estimates import ColumnEstimate
from pfgen_rs.llm_jp_eval.report.pairs import ColumnPair
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.llm_jp_eval.report.shown import bounds_text, rank_text, value_text
from pfgen_rs.report.markup import code_span, inert
from pfgen_rs.stats.permutation import shown_p

__all__ = ["report_markdown"]


def report_markdown(report: Report, *, by_task: bool = False) -> str:
    """Returns the table of runs, the comparisons in the average, notes and signatures."""
    columns = report.of_kind("task" if by_task else "category")
    parts = ["".join(_markdown_of_runs(report, columns))]
    pairs = report.pairs_in(report.average)
    if pairs:
        rows = [_markdown_pair(pair) for pair in pairs]
        headings = ["run", "minus", f"difference in {report.average}", "interval", "p", "p (Holm)"]
        parts.append("".join(_markdown_rows(headings, rows, text=2)))
    parts += [f"{inert(note)}\n" for note in report.notes]
    signatures = dict.fromkeys(filter(None, report.signatures.values()))
    parts += [f"{code_span(signature)}\n" for signature in signatures]
    return "\n".join(parts)


def _markdown_of_runs(report: Report, columns: Sequence[Column]) -> Iterator[str]:
    level = f"{report.level * 100:g} % interval"
    ranked = any(report.ranks.values())
    headings = [*(["ranks"] if ranked else []), "run", report.average, level]
    rows = []
    for run in report.runs:
        found = report.estimates[run]
        mean = found[report.average]
        rows.append(
            [
                *([rank_text(report.ranks[run])] if ranked else []),
                inert(run),
                value_text(mean),
                bounds_text(mean.low, mean.high),
                *(_starred(found[column.name]) for column in columns),
            ]
        )
    names = [inert(column.name) for column in columns]
    yield from _markdown_rows([*headings, *names], rows, text=len(headings) - 2)


def _markdown_pair(pair: ColumnPair) -> list[str]:
    bounds = bounds_text(pair.low, pair.high, "+.4f")
    smallest = pair.smallest_p
    p = shown_p(pair.p, smallest), shown_p(pair.p_holm, smallest * pair.family)
    numbers = f"{pair.difference:+.4f}", bounds, *p
    return [inert(pair.a), inert(pair.b), *map(inert, numbers)]


def _starred(estimate: ColumnEstimate) -> str:
    return value_text(estimate).replace("*", "\\*")


def _markdown_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], text: int
) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |\n"
    aligned = [":--" if place < text else "--:" for place in range(len(headings))]
    yield f"| {' | '.join(aligned)} |\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"
