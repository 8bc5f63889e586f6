"""The most important findings about a whole set, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import polars as pl

from pfgen_rs.metrics.names import PARTS
from pfgen_rs.metrics.units import Unit
from pfgen_rs.references.check.summary import Tables
from pfgen_rs.references.lengths import OFFICIAL_STD

__all__ = ["findings"]


def findings(tables: Tables, summary: pl.DataFrame, unit: Unit) -> list[str]:
    """Returns the findings, one sentence each, general ones first; those about runs if there are any.

    `unit`: that of the lengths.
    """
    parts = [
        _set_findings(summary),
        _length_findings(tables, unit),
        _score_findings(summary),
        _copy_findings(summary),
        _rule_findings(tables),
        _note_findings(summary),
    ]
    parts.append(_source_findings(tables))
    if "runs" in tables:
        parts += [
            _left_out_findings(tables),
            _source_run_findings(tables),
            _shrinking_findings(tables),
            _contamination_findings(tables),
        ]
    return [*chain.from_iterable(parts), *_warning_findings(summary)]


def _set_findings(summary: pl.DataFrame) -> Iterator[str]:
    answers, count = _finding_total(summary["answers"]), len(summary)
    lengths = _finding_mean(summary["length"])
    questions = _finding_plural("question", count)
    yield f"{answers:,} answers to {count} {questions}, with a mean length of {lengths:.1f}"


def _length_findings(tables: Tables, unit: Unit) -> Iterator[str]:
    spreads = tables["lengths"]
    widest = _finding_most(spreads, "std")
    least, usual, most = OFFICIAL_STD
    official = f"; those of the published sets by ±{usual} (±{least} to ±{most})"
    yield (
        f"the lengths of a source's answers to a question vary by ±{_finding_mean(spreads['std']):.1f} on "
        f"average, most in {widest['question_id']} (±{widest['std']:.1f})"
        f"{official * (unit == 'character')}"
    )


def _score_findings(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("self_average").is_not_null())
    if known.is_empty():
        yield "no source has more than one answer, so answers cannot be scored against each other"
        return
    fluency, truth, helpfulness = (_finding_mean(known[f"self_{name}"]) for name in PARTS)
    lowest = _finding_least(known, "self_average")
    yield (
        f"scored against each other, the answers reach Fluency {fluency:.3f}, Truthfulness {truth:.3f} and "
        f"Helpfulness {helpfulness:.3f}; the lowest average is that of {lowest['question_id']} "
        f"({lowest['self_average']:.3f})"
    )


def _copy_findings(summary: pl.DataFrame) -> Iterator[str]:
    repeated = _finding_total(summary["answers"]) - _finding_total(summary["distinct"])
    pairs = _finding_total(summary["near_pairs"])
    most = _finding_most(summary, "near_pairs")
    where = f", {most['near_pairs']} of them in {most['question_id']}" if pairs else ""
    yield (
        f"{repeated} exact {_finding_plural('duplicate', repeated)}, "
        f"{pairs} {_finding_plural('pair', pairs)} of near-duplicates{where}"
    )


def _rule_findings(tables: Tables) -> Iterator[str]:
    single = tables["rules"].filter(pl.col("source").is_null() & pl.col("rule").is_not_null())
    rare = single.filter(pl.col("remark") == "hardly any")
    everywhere = len(single.filter(pl.col("remark") == "all"))
    worst = _finding_least(single, "share") if len(rare) else None
    which = (
        ""
        if worst is None
        else f" (fewest: {worst['label']!r} of {worst['question_id']}, {worst['share']:.0%})"
    )
    yield (
        f"of {len(single)} keyword rules, {len(rare)} are satisfied by fewer than half of the answers"
        f"{which} and {everywhere} by all answers"
    )


def _note_findings(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("note_average").is_not_null())
    if known.is_empty():
        yield "no question has an example answer"
        return
    lowest = _finding_least(known, "note_average")
    yield (
        f"the example answers score {_finding_mean(known['note_average']):.3f} on average; the lowest is "
        f"that of {lowest['question_id']} ({lowest['note_average']:.3f})"
    )


def _source_findings(tables: Tables) -> Iterator[str]:
    overall = tables["sources_overall"]
    others = overall.filter((pl.col("source") != pl.col("against")) & pl.col("both").is_not_null())
    if others.is_empty():
        return
    lowest = _finding_least(others, "both")
    yield (
        f"sources scored against each other reach {_finding_mean(others['both']):.3f} on average (mean of "
        f"Fluency and Truthfulness); the lowest is {lowest['source']!r} against {lowest['against']!r} "
        f"({lowest['both']:.3f})"
    )


def _left_out_findings(tables: Tables) -> Iterator[str]:
    found = tables["left_out"]
    if found.is_empty():
        return
    questions = found["question"].n_unique()
    yield (
        f"{_finding_total(found['answers']):,} answers of runs were left out, because the set does not have "
        f"their {questions} {_finding_plural('question', questions)}"
    )


def _source_run_findings(tables: Tables) -> Iterator[str]:
    known = tables["source_runs"].drop_nulls(["other", "pearson"])
    if known.is_empty():
        return
    lowest = _finding_least(known, "pearson")
    yield (
        f"over {lowest['runs']} runs, the scores of any two sources correlate with at least "
        f"{_finding_correlation(lowest['pearson']):.5f} ({lowest['source']!r} and {lowest['other']!r})"
    )


def _shrinking_findings(tables: Tables) -> Iterator[str]:
    both = tables["shrinking"].filter(pl.col("metric") == "both")
    for (size,), draws in both.group_by(["size"], maintain_order=True):
        correlations = [value for value in draws["pearson"] if value is not None]
        least = _finding_correlation(min(correlations, default=0.0))
        correlation = f"correlate with at least {least:.5f} and " if correlations else ""
        difference = _finding_mean(draws["mean_difference"])
        yield (
            f"with {size} answers per source, the runs' means of Fluency and Truthfulness {correlation}"
            f"differ by {difference:.4f} on average from those with the whole set"
        )


def _contamination_findings(tables: Tables) -> Iterator[str]:
    by_run = (
        tables["contamination"]
        .group_by("run", maintain_order=True)
        .agg(pl.col("answers", "verbatim", "stretch").sum())
    )
    answers, verbatim, stretch = (_finding_total(by_run[name]) for name in by_run.columns[1:])
    share = (pl.col("stretch") / pl.col("answers")).alias("share")
    most = _finding_most(by_run.with_columns(share), "share")
    where = f", most in {most['run']!r} ({most['share']:.1%})" if stretch else ""
    yield (
        f"of {answers:,} answers of runs, {verbatim} {'occurs' if verbatim == 1 else 'occur'} verbatim in "
        f"the set; {stretch / answers:.1%} contain a long passage of a reference answer{where}"
    )


def _warning_findings(summary: pl.DataFrame) -> Iterator[str]:
    count, warned = len(summary), _finding_total(summary["warnings"] != "")
    have = "has" if warned == 1 else "have"
    yield f"{warned} of {count} {_finding_plural('question', count)} {have} warnings"


def _finding_total(values: pl.Series) -> int:
    return sum(values)


def _finding_mean(values: pl.Series) -> float:
    return math.fsum(values) / len(values)


def _finding_correlation(correlation: float) -> float:
    """Round a correlation down to five decimals, for use as a lower bound."""
    return math.floor(correlation * 1e5) / 1e5


def _finding_least(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    """Returns the first of the rows with the smallest value."""
    return rows.row(rows[name].arg_min() or 0, named=True)


def _finding_most(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    return rows.row(rows[name].arg_max() or 0, named=True)


def _finding_plural(thing: str, count: int) -> str:
    return thing if count == 1 else f"{thing}s"
