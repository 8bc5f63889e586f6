"""The most important findings about a whole set, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import polars as pl

from pfgen_rs.metrics.names import PARTS
from pfgen_rs.references.check.summary import Tables

__all__ = ["findings"]


def findings(tables: Tables, summary: pl.DataFrame) -> list[str]:
    """Returns the findings, one sentence each, general ones first; those about runs if there are any."""
    parts = [_set(summary), _scores(summary), _copies(summary), _rules(tables), _notes(summary)]
    parts.append(_sources(tables))
    if "runs" in tables:
        parts += [_source_runs(tables), _shrinking(tables), _contamination(tables)]
    return [*chain.from_iterable(parts), *_warnings(summary)]


def _set(summary: pl.DataFrame) -> Iterator[str]:
    answers, count = _total(summary["answers"]), len(summary)
    lengths = _mean(summary["length"])
    yield f"{answers:,} answers to {count} {_s('question', count)}, with a mean length of {lengths:.1f}"


def _scores(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("self_average").is_not_null())
    if known.is_empty():
        yield "no source has more than one answer, so answers cannot be scored against each other"
        return
    fluency, truth, helpfulness = (_mean(known[f"self_{name}"]) for name in PARTS)
    lowest = _least(known, "self_average")
    yield (
        f"scored against each other, the answers reach Fluency {fluency:.3f}, Truthfulness {truth:.3f} and "
        f"Helpfulness {helpfulness:.3f}; the lowest average is that of {lowest['question_id']} "
        f"({lowest['self_average']:.3f})"
    )


def _copies(summary: pl.DataFrame) -> Iterator[str]:
    repeated = _total(summary["answers"]) - _total(summary["distinct"])
    pairs = _total(summary["near_pairs"])
    most = _most(summary, "near_pairs")
    where = f", {most['near_pairs']} of them in {most['question_id']}" if pairs else ""
    yield (
        f"{repeated} exact {_s('duplicate', repeated)}, {pairs} {_s('pair', pairs)} of near-duplicates"
        f"{where}"
    )


def _rules(tables: Tables) -> Iterator[str]:
    single = tables["rules"].filter(pl.col("source").is_null() & pl.col("rule").is_not_null())
    rare = single.filter(pl.col("remark") == "hardly any")
    everywhere = len(single.filter(pl.col("remark") == "all"))
    worst = _least(single, "share") if len(rare) else None
    which = (
        ""
        if worst is None
        else f" (fewest: {worst['label']!r} of {worst['question_id']}, {worst['share']:.0%})"
    )
    yield (
        f"of {len(single)} keyword rules, {len(rare)} are satisfied by fewer than half of the answers"
        f"{which} and {everywhere} by all answers"
    )


def _notes(summary: pl.DataFrame) -> Iterator[str]:
    known = summary.filter(pl.col("note_average").is_not_null())
    if known.is_empty():
        yield "no question has an example answer"
        return
    lowest = _least(known, "note_average")
    yield (
        f"the example answers score {_mean(known['note_average']):.3f} on average; the lowest is that of "
        f"{lowest['question_id']} ({lowest['note_average']:.3f})"
    )


def _sources(tables: Tables) -> Iterator[str]:
    overall = tables["sources_overall"]
    others = overall.filter((pl.col("source") != pl.col("against")) & pl.col("both").is_not_null())
    if others.is_empty():
        return
    lowest = _least(others, "both")
    yield (
        f"sources scored against each other reach {_mean(others['both']):.3f} on average (mean of Fluency "
        f"and Truthfulness); the lowest is {lowest['source']!r} against {lowest['against']!r} "
        f"({lowest['both']:.3f})"
    )


def _source_runs(tables: Tables) -> Iterator[str]:
    known = tables["source_runs"].drop_nulls(["other", "pearson"])
    if known.is_empty():
        return
    lowest = _least(known, "pearson")
    yield (
        f"over {lowest['runs']} runs, the scores of any two sources correlate with at least "
        f"{_floor(lowest['pearson']):.5f} ({lowest['source']!r} and {lowest['other']!r})"
    )


def _shrinking(tables: Tables) -> Iterator[str]:
    both = tables["shrinking"].filter(pl.col("metric") == "both")
    for (size,), draws in both.group_by(["size"], maintain_order=True):
        correlations = [value for value in draws["pearson"] if value is not None]
        least = _floor(min(correlations, default=0.0))
        correlation = f"correlate with at least {least:.5f} and " if correlations else ""
        yield (
            f"with {size} answers per source, the runs' means of Fluency and Truthfulness {correlation}"
            f"differ by {_mean(draws['mean_difference']):.4f} on average from those with the whole set"
        )


def _contamination(tables: Tables) -> Iterator[str]:
    by_run = (
        tables["contamination"]
        .group_by("run", maintain_order=True)
        .agg(pl.col("answers", "verbatim", "stretch").sum())
    )
    answers, verbatim, stretch = (_total(by_run[name]) for name in by_run.columns[1:])
    share = (pl.col("stretch") / pl.col("answers")).alias("share")
    most = _most(by_run.with_columns(share), "share")
    where = f", most in {most['run']!r} ({most['share']:.1%})" if stretch else ""
    yield (
        f"of {answers:,} answers of runs, {verbatim} {'occurs' if verbatim == 1 else 'occur'} verbatim in "
        f"the set; {stretch / answers:.1%} contain a long passage of a reference answer{where}"
    )


def _warnings(summary: pl.DataFrame) -> Iterator[str]:
    count, warned = len(summary), _total(summary["warnings"] != "")
    have = "has" if warned == 1 else "have"
    yield f"{warned} of {count} {_s('question', count)} {have} warnings"


def _total(values: pl.Series) -> int:
    return sum(values)


def _mean(values: pl.Series) -> float:
    return math.fsum(values) / len(values)


def _floor(correlation: float) -> float:
    """Round a correlation down to five decimals, for use as a lower bound."""
    return math.floor(correlation * 1e5) / 1e5


def _least(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    """Returns the first of the rows with the smallest value."""
    return rows.row(rows[name].arg_min() or 0, named=True)


def _most(rows: pl.DataFrame, name: str) -> dict[str, Any]:
    return rows.row(rows[name].arg_max() or 0, named=True)


def _s(thing: str, count: int) -> str:
    return thing if count == 1 else f"{thing}s"
