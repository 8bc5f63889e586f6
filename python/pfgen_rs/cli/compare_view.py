"""Shows a comparison as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import output, table_fit
from pfgen_rs.cli.verdicts import verdict
from pfgen_rs.comparisons import RunComparison
from pfgen_rs.io.counted import counted
from pfgen_rs.stats import Comparison, Estimate, Pair
from pfgen_rs.stats.permutation import resolution_text, shown_p

__all__ = ["comparison_document", "comparison_report"]

_SURE = "bold"
_MEAN_WIDTH = 5  # width of a mean in characters
_INTERVALS = (
    "intervals: of means, over questions (Student's t); "
    "of differences, from a bootstrap over questions and trials"
)
_ALL_PAIRS = 6  # maximum number of runs for which all pairs are shown
_NEIGHBOURS = "only runs with adjacent means are compared: use --format json for all pairs"
_DETECTABLE = "detectable: the difference that the test of a pair detects with 80 % power"
_UNRANKED = "–: a system run, not ranked"
_CATEGORIES = "means by category and run number"


def comparison_document(found: RunComparison, count: int) -> dict[str, Any]:
    """Returns everything as JSON values, with the answers to the `count` questions that differ most."""
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


@dataclass(frozen=True)
class _ComparisonView:
    """A comparison with its runs numbered from 1 by descending mean of its first metric."""

    statistics: Comparison
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, statistics: Comparison) -> _ComparisonView:
        means = {
            name: found.mean
            for name, found in zip(
                statistics.runs, statistics.estimates[statistics.metrics[0]], strict=True
            )
        }
        order = sorted(statistics.runs, key=lambda name: -means[name])
        return cls(statistics, {name: number for number, name in enumerate(order, 1)})

    @property
    def metric(self) -> str:
        return self.statistics.metrics[0]

    @property
    def several(self) -> bool:
        return len(self.numbers) > 2

    @property
    def interval(self) -> str:
        return f"{self.statistics.level * 100:g} % interval"

    def pair(self, pair: Pair) -> Pair:
        """Returns the pair with the lower-numbered run first."""
        return pair if self.numbers[pair.a] < self.numbers[pair.b] else pair.turned()

    def pairs(self) -> list[Pair]:
        """Returns all pairs or, for many runs, adjacent ones, ordered by metric and number."""
        pairs = [self.pair(pair) for pair in self.statistics.pairs]
        if len(self.numbers) > _ALL_PAIRS:
            pairs = [p for p in pairs if self.numbers[p.b] - self.numbers[p.a] == 1]
        metrics = self.statistics.metrics
        return sorted(
            pairs, key=lambda p: (metrics.index(p.metric), self.numbers[p.a], self.numbers[p.b])
        )


def comparison_report(found: RunComparison, count: int, room: int) -> list[RenderableType]:
    """Returns tables of runs, pairs and categories for a window of `room` columns, and example answers.

    Runs are numbered by descending mean, and tables refer to them by number; two runs are also compared in a
    sentence.
    """
    ordered = _ComparisonView.of(found.statistics)
    shown = ordered.pairs()
    runs, no_run_columns = _compared_runs_that_fit(ordered, room)
    pairs, no_pair_columns = _compared_pairs_that_fit(ordered, shown)
    parts: list[RenderableType] = [runs, pairs]
    parts += map(output.cell, _comparison_captions(ordered, shown, pairs))
    if missing := no_run_columns + no_pair_columns:
        parts.append(output.cell(table_fit.not_shown(missing)))
    if not ordered.several:
        parts += [output.cell(""), output.cell(verdict(shown[0], found.statistics))]
    for table in _compared_category_tables(ordered, room):
        parts += [output.cell(""), table]
    parts += _compared_answers(found, ordered, count)
    return [*parts, output.cell(""), output.cell(found.statistics.signature or "")]


def _comparison_captions(
    ordered: _ComparisonView, shown: Sequence[Pair], table: Table
) -> Iterator[str]:
    yield _INTERVALS
    if ordered.several:
        sizes = " or ".join(str(size) for size in sorted({pair.family for pair in shown}))
        yield "runs: by number, higher mean first; bold: significantly different"
        yield f"p: for each pair alone, uncorrected; p (Holm): corrected for {sizes} pairs"
    if ordered.statistics.smallest_p:
        yield resolution_text(ordered.statistics.smallest_p)
    if None in ordered.statistics.ranks[ordered.metric]:
        yield _UNRANKED
    if "detectable" in {str(column.header) for column in table.columns}:
        yield _DETECTABLE
    if len(shown) < len(ordered.statistics.pairs):
        yield _NEIGHBOURS


def _compared_runs_that_fit(ordered: _ComparisonView, room: int) -> tuple[Table, list[str]]:
    """Returns a table, with standard errors if names then need not be wrapped, and the omitted headings."""
    tables = [_compared_run_table(ordered, count) for count in (4, 3, 2)]
    shown = next((table for table in tables if table_fit.width(table) <= room), tables[-1])
    return shown, table_fit.dropped(tables[0], shown)


def _compared_run_table(ordered: _ComparisonView, count: int) -> Table:
    statistics, metric = ordered.statistics, ordered.metric
    title = f"{metric}, {counted(len(statistics.compared), 'question')}"
    table = output.new_table("no.", "ranks", "run", numbers=("no.", "ranks"), title=title)
    headings = ("mean", ordered.interval, "SE\n(questions)", "SE\n(trials)")
    for heading in headings[:count]:
        table.add_column(heading, justify="right", no_wrap=True)
    rows = zip(statistics.runs, statistics.ranks[metric], statistics.estimates[metric], strict=True)
    for name, ranks, estimate in sorted(rows, key=lambda row: ordered.numbers[row[0]]):
        table.add_row(
            output.cell(ordered.numbers[name]),
            output.cell(_compared_rank(ranks)),
            output.cell(name),
            *map(output.cell, _compared_estimate(estimate)[:count]),
        )
    return table


def _compared_rank(ranks: tuple[int, int] | None) -> str:
    if ranks is None:
        return "–"
    best, worst = ranks
    return str(best) if best == worst else f"{best}–{worst}"


def _compared_estimate(estimate: Estimate) -> tuple[str, ...]:
    return (
        f"{estimate.mean:.4f}",
        _compared_interval(estimate.low, estimate.high, ".3f"),  # as in `score` and leaderboards
        _compared_number(estimate.question_se, ".4f"),
        _compared_number(estimate.trial_se, ".4f"),
    )


def _compared_pairs_that_fit(
    ordered: _ComparisonView, pairs: Sequence[Pair]
) -> tuple[Table, list[str]]:
    """Returns a table with as many columns as fit, and the omitted headings.

    Omits the detectable difference first, then the uncorrected p.
    """
    everything = ["difference", ordered.interval, "p", "p (Holm)", "detectable"]
    if not ordered.several:
        everything.remove("p (Holm)")
    without = [*everything[:-1]], [*everything[:2], everything[-2]]
    tables = [_compared_pair_table(ordered, pairs, headings) for headings in (everything, *without)]
    shown = output.first_that_fits(*tables)
    return shown, table_fit.dropped(tables[0], shown)


def _compared_pair_table(
    ordered: _ComparisonView, pairs: Sequence[Pair], headings: Sequence[str]
) -> Table:
    metrics = len(ordered.statistics.metrics) > 1
    about = [*(["metric"] if metrics else []), *(["runs"] if ordered.several else [])]
    title = None if ordered.several else "1 minus 2"
    table = output.new_table(*about, *headings, numbers=["runs", *headings], title=title)
    for pair in pairs:
        sure = _SURE if pair.p_holm <= 1 - ordered.statistics.level else ""
        runs = f"{ordered.numbers[pair.a]} – {ordered.numbers[pair.b]}"
        cells = {"metric": pair.metric, "runs": runs, **_compared_pair_cells(ordered, pair)}
        table.add_row(
            *(
                output.cell(cells[heading], sure if heading == "difference" else "")
                for heading in (*about, *headings)
            )
        )
    return table


def _compared_pair_cells(ordered: _ComparisonView, pair: Pair) -> dict[str, str]:
    """Returns the cells of a pair by heading."""
    smallest = ordered.statistics.smallest_p
    return {
        "difference": f"{pair.difference:+.4f}",
        ordered.interval: _compared_interval(pair.low, pair.high, "+.4f"),
        "p": shown_p(pair.p, smallest),
        "p (Holm)": shown_p(pair.p_holm, smallest * pair.family),
        "detectable": f"{pair.minimum_detectable:.4f}",
    }


def _compared_category_tables(ordered: _ComparisonView, room: int) -> Iterator[Table]:
    """Yield, for two runs, a table with differences and intervals; for more, means in tables that fit."""
    frame = ordered.statistics.categories.filter(pl.col("metric") == ordered.metric)
    if frame.is_empty():
        return
    if not ordered.several:
        yield _compared_category_differences(ordered, frame)
        return
    means = {(row["a"], row["category"]): row["mean_a"] for row in frame.iter_rows(named=True)}
    means |= {(row["b"], row["category"]): row["mean_b"] for row in frame.iter_rows(named=True)}
    sizes = frame.unique("category").sort("category").select("category", "questions").rows()
    names = sorted(ordered.numbers, key=lambda name: ordered.numbers[name])
    left = room - table_fit.width(_compared_category_means(ordered, sizes, means, []))
    fitting = max(1, left // (_MEAN_WIDTH + table_fit.GAP))
    for start in range(0, len(names), fitting):
        yield _compared_category_means(ordered, sizes, means, names[start : start + fitting])


def _compared_category_differences(ordered: _ComparisonView, frame: pl.DataFrame) -> Table:
    numbers = ["questions", "1", "2", "difference", ordered.interval]
    everything = output.new_table("category", *numbers, numbers=numbers, title=_CATEGORIES)
    less = output.new_table("category", *numbers[3:], numbers=numbers[3:], title=_CATEGORIES)
    for row in frame.iter_rows(named=True):
        turned = ordered.numbers[row["a"]] == 2
        sides = ("mean_b", "mean_a") if turned else ("mean_a", "mean_b")
        difference, low, high = row["difference"], row["low"], row["high"]
        if turned:
            difference = -difference
            low, high = (None, None) if low is None else (-high, -low)
        cells = [
            str(row["questions"]),
            *(f"{row[side]:.4f}" for side in sides),
            f"{difference:+.4f}",
            _compared_interval(low, high, "+.4f"),
        ]
        everything.add_row(output.cell(row["category"]), *map(output.cell, cells))
        less.add_row(output.cell(row["category"]), *map(output.cell, cells[3:]))
    return output.first_that_fits(everything, less)


def _compared_category_means(
    ordered: _ComparisonView,
    sizes: Sequence[tuple[str, int]],
    means: Mapping[tuple[str, str], float],
    names: Sequence[str],
) -> Table:
    numbers = ["questions", *(str(ordered.numbers[name]) for name in names)]
    table = output.new_table("category", *numbers, numbers=numbers, title=_CATEGORIES)
    for category, questions in sizes:
        table.add_row(
            output.cell(category),
            output.cell(questions),
            *(output.cell(f"{means[name, category]:.3f}") for name in names),
        )
    return table


def _compared_answers(
    found: RunComparison, ordered: _ComparisonView, count: int
) -> Iterator[RenderableType]:
    chosen = found.most_different(ordered.metric, count)
    answers = found.side_by_side(chosen, ordered.metric)
    benchmark = found.results[0].benchmark
    for question in chosen:
        yield output.cell("")
        yield output.cell(f"{question} {benchmark[question].text}", "bold")
        for each in sorted(answers[question], key=lambda each: ordered.numbers[each.run]):
            number = ordered.numbers[each.run]
            yield output.cell(
                f"{number}: {each.run}, mean {each.mean:.4f}, line {each.line} ({each.score:.4f}):"
            )
            yield output.cell(f"  {each.answer}")


def _compared_interval(low: float | None, high: float | None, form: str) -> str:
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def _compared_number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"
