"""A comparison as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output
from pfgen_rs.comparisons import RunComparison
from pfgen_rs.stats import Comparison, Estimate, Pair

__all__ = ["document", "report", "verdict"]

_SURE = "bold"
_ALL_PAIRS = 6  # runs of which all pairs are shown
_NEIGHBOURS = "Shown are runs that follow each other by their means; --format json has all pairs."


def document(found: RunComparison, count: int) -> dict[str, Any]:
    """Everything for programs, with the answers to the `count` questions that differ most."""
    statistics = found.statistics
    chosen = found.most_different(statistics.metrics[0], count)
    answers = found.side_by_side(chosen, statistics.metrics[0])
    return {
        **statistics.to_dict(),
        "notes": list(found.notes),
        "files": {
            name: result.path for name, result in zip(statistics.runs, found.results, strict=True)
        },
        "verdicts": [verdict(pair, statistics) for pair in statistics.pairs],
        "most_different": [
            {"question_id": question, "answers": [asdict(each) for each in answers[question]]}
            for question in chosen
        ],
    }


def report(found: RunComparison, count: int) -> list[RenderableType]:
    """Tables of runs, pairs and categories, a verdict for each pair, and answers side by side."""
    statistics = found.statistics
    metric = statistics.metrics[0]
    shown = _shown_pairs(statistics)
    parts: list[RenderableType] = [
        _runs(statistics, metric),
        _pairs(statistics, shown),
        *(output.cell(verdict(pair, statistics)) for pair in shown if pair.metric == metric),
    ]
    if len(shown) < len(statistics.pairs):
        parts.append(output.cell(_NEIGHBOURS))
    if not statistics.categories.is_empty():
        parts.append(_categories(statistics, metric))
    parts += _side_by_side(found, metric, count)
    return [*parts, output.cell(""), output.cell(statistics.signature or "")]


def _shown_pairs(statistics: Comparison) -> list[Pair]:
    """All pairs or, of many runs, those that follow each other by their means."""
    pairs = statistics.pairs
    if len(statistics.runs) <= _ALL_PAIRS:
        return pairs
    shown = []
    for metric, estimates in statistics.estimates.items():
        means = dict(zip(statistics.runs, (each.mean for each in estimates), strict=True))
        order = sorted(statistics.runs, key=lambda name: -means[name])
        place = {name: at for at, name in enumerate(order)}
        mine = [p for p in pairs if p.metric == metric and abs(place[p.a] - place[p.b]) == 1]
        shown += sorted(mine, key=lambda p: min(place[p.a], place[p.b]))
    return shown


def verdict(pair: Pair, statistics: Comparison) -> str:
    """What the test of a pair says, in a sentence."""
    what = "" if pair.metric == "average" else f" in {pair.metric}"
    interval = f"{statistics.level * 100:g} % interval"
    alone = len(statistics.runs) == 2
    p = _p(pair.p) if alone else f"{_p(pair.p_holm)} after correction"
    if pair.p_holm <= 1 - statistics.level:
        more, less = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
        sign = 1 if pair.difference > 0 else -1
        low, high = sorted((sign * pair.low, sign * pair.high))
        return (
            f"{more} scores {abs(pair.difference):.4f} more than {less}{what} "
            f"({interval} {low:.4f} to {high:.4f}, {p})"
        )
    return (
        f"{pair.a} and {pair.b} cannot be told apart{what} (difference {pair.difference:+.4f}, {interval} "
        f"{pair.low:+.4f} to {pair.high:+.4f}, {p}; four times in five one of "
        f"{pair.minimum_detectable:.4f} would be found)"
    )


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _runs(statistics: Comparison, metric: str) -> Table:
    title = f"{metric}, {len(statistics.compared)} questions"
    table = output.new_table("rank", "run", numbers=("rank",), title=title)
    for heading in ("mean", f"{statistics.level * 100:g} % interval", "± questions", "± trials"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = zip(statistics.runs, statistics.ranks[metric], statistics.estimates[metric], strict=True)
    for name, (best, worst), estimate in sorted(rows, key=lambda row: -row[2].mean):
        table.add_row(
            output.cell(best if best == worst else f"{best}–{worst}"),
            output.cell(name),
            *map(output.cell, _estimate(estimate)),
        )
    return table


def _estimate(estimate: Estimate) -> tuple[str, ...]:
    return (
        f"{estimate.mean:.4f}",
        _interval(estimate.low, estimate.high, ".4f"),
        _number(estimate.question_se, ".4f"),
        _number(estimate.trial_se, ".4f"),
    )


def _pairs(statistics: Comparison, pairs: Sequence[Pair]) -> Table:
    several = len(statistics.metrics) > 1
    numbers = ["difference", f"{statistics.level * 100:g} % interval", "p", "detectable"]
    if len(statistics.runs) > 2:
        numbers.insert(3, "p (Holm)")
    table = output.new_table(
        *(["metric"] if several else []), "run", "against", *numbers, numbers=numbers
    )
    for pair in pairs:
        sure = _SURE if pair.p_holm <= 1 - statistics.level else ""
        p = [pair.p, pair.p_holm][: len(numbers) - 3]
        table.add_row(
            *([output.cell(pair.metric)] if several else []),
            output.cell(pair.a),
            output.cell(pair.b),
            output.cell(f"{pair.difference:+.4f}", sure),
            output.cell(_interval(pair.low, pair.high, "+.4f")),
            *(output.cell(f"{value:.4f}") for value in p),
            output.cell(f"{pair.minimum_detectable:.4f}"),
        )
    return table


def _categories(statistics: Comparison, metric: str) -> Table:
    """Of two runs with the difference and its interval, of more runs their means."""
    frame = statistics.categories.filter(pl.col("metric") == metric)
    if len(statistics.runs) > 2:
        return _category_means(statistics, frame)
    interval = f"{statistics.level * 100:g} % interval"
    numbers = ["questions", *statistics.runs, "difference", interval]
    table = output.new_table("category", *numbers, numbers=numbers)
    for row in frame.iter_rows(named=True):
        table.add_row(
            output.cell(row["category"]),
            output.cell(row["questions"]),
            *(output.cell(f"{row[key]:.4f}") for key in ("mean_a", "mean_b")),
            output.cell(f"{row['difference']:+.4f}"),
            output.cell(_interval(row["low"], row["high"], "+.4f")),
        )
    return table


def _category_means(statistics: Comparison, frame: pl.DataFrame) -> Table:
    names = frame.get_column("category").unique().sort().to_list()
    table = output.new_table("run", *names, numbers=names)
    means = {(row["a"], row["category"]): row["mean_a"] for row in frame.iter_rows(named=True)}
    means |= {(row["b"], row["category"]): row["mean_b"] for row in frame.iter_rows(named=True)}
    for run in statistics.runs:
        table.add_row(output.cell(run), *(output.cell(f"{means[run, name]:.4f}") for name in names))
    return table


def _side_by_side(found: RunComparison, metric: str, count: int) -> Iterator[RenderableType]:
    chosen = found.most_different(metric, count)
    answers = found.side_by_side(chosen, metric)
    benchmark = found.results[0].benchmark
    for question in chosen:
        yield output.cell("")
        yield output.cell(f"{question} {benchmark[question].text}", "bold")
        for each in answers[question]:
            yield output.cell(
                f"{each.run}, mean {each.mean:.4f}, line {each.line} ({each.score:.4f}):"
            )
            yield output.cell(f"  {each.answer}")


def _interval(low: float | None, high: float | None, form: str) -> str:
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"
