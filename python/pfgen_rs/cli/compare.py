"""`pfgen-rs compare`: differences of runs, with tests and intervals, and answers side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.app import is_folder_there
from pfgen_rs.cli.options import ScoringOptions, scoring_options
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.settings import METRICS

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from pfgen_rs.comparisons import RunComparison
    from pfgen_rs.stats import Comparison, Estimate, Pair


class ComparedMetric(StrEnum):
    """The metric to compare, or all metrics."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"
    HELPFULNESS = "helpfulness"
    ALL = "all"


def _html_path(path: Path | None) -> Path | None:
    if path is not None and not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


@scoring_options
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR|GLOB",
            help="Two or more runs, as for `score`; with --run-field, a file may have them all.",
            show_default=False,
        ),
    ],
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = options.JsonFormat.TABLE,
    metric: Annotated[
        ComparedMetric | None,
        typer.Option(
            help="Metric to compare (default: all for two runs, the average for more).",
            show_default=False,
        ),
    ] = None,
    level: options.Level = 0.95,
    limit: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Number of questions for which to show the runs' answers."
        ),
    ] = 3,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            callback=_html_path,
            help="Also write a web page with all metrics and answers: a single file if PAGE ends in "
            ".html, otherwise a folder. Its intervals of differences are Student's t.",
            show_default=False,
        ),
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Compare runs, paired by question.

    The interval of a run's mean is over questions (Student's t), as in `score`; the interval of a difference
    is from a bootstrap over questions and trials. p-values are from permutation tests over questions,
    corrected for the number of pairs (Holm). Rank ranges are the ranks that these tests cannot rule out. The
    questions that differ most are shown last, each with a typical answer of every run.

    For example:

    - `pfgen-rs compare run-a/ run-b/`

    - `pfgen-rs compare 'result/*/*/*' -b pfgen-bench --metric fluency`

    - `pfgen-rs compare a.jsonl b.jsonl --format json`

    - `pfgen-rs compare run-a/ run-b/ --html page.html`

    - `pfgen-rs compare all.csv --run-field model --clean`
    """
    from pfgen_rs import comparisons

    paths = comparisons.distinct(files)
    results = scoring.score_with(paths, benchmark, threads=threads)
    if metric is None:
        metric = ComparedMetric.ALL if len(results) == 2 else ComparedMetric.AVERAGE
    metrics = METRICS if metric is ComparedMetric.ALL else (metric.value,)
    found = comparisons.compare_runs(results, metrics=metrics, level=level)
    for note in found.notes:
        streams.warn(note)
    if html is not None:
        from pfgen_rs.report.site import write_comparison

        with output.busy(f"writing {html}"):
            write_comparison(results, html, level=level)
    if output_format is options.JsonFormat.JSON:
        streams.emit_json(comparison_document(found, limit))
    else:
        output.show(*comparison_report(found, limit, output.width()))


_MEAN_WIDTH = 5  # width of a mean in characters
_INTERVALS = (
    "intervals: of means, over questions (Student's t); "
    "of differences, from a bootstrap over questions and trials"
)
_ALL_PAIRS = 6  # maximum number of runs for which all pairs are shown
_NEIGHBOURS = "only runs with adjacent means are compared: use --format json for all pairs"
_DETECTABLE = "detectable: the difference that the test of a pair detects with 80 % power"
_CATEGORIES = "means by category and run number"


def comparison_document(found: RunComparison, count: int) -> dict[str, Any]:
    """Returns everything as JSON values, with the answers to the `count` questions that differ most."""
    from pfgen_rs.cli.verdicts import verdict

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
class _Ordered:
    """A comparison with its runs numbered from 1 by descending mean of its first metric, in this order."""

    statistics: Comparison
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, statistics: Comparison) -> _Ordered:
        estimates = statistics.estimates[statistics.metrics[0]]
        means = {name: each.mean for name, each in zip(statistics.runs, estimates, strict=True)}
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
    from pfgen_rs.cli.verdicts import verdict

    ordered = _Ordered.of(found.statistics)
    shown = ordered.pairs()
    runs, no_run_columns = _runs_that_fit(ordered, room)
    pairs, no_pair_columns = _pairs_that_fit(ordered, shown)
    parts: list[RenderableType] = [runs, pairs]
    parts += map(output.cell, _captions(ordered, shown, pairs))
    if missing := no_run_columns + no_pair_columns:
        parts.append(output.cell(output.not_shown(missing)))
    if not ordered.several:
        parts += [output.cell(""), output.cell(verdict(shown[0], found.statistics))]
    for table in _category_tables(ordered, room):
        parts += [output.cell(""), table]
    parts += _answers(found, ordered, count)
    return [*parts, output.cell(""), output.cell(found.statistics.signature or "")]


def _captions(ordered: _Ordered, shown: Sequence[Pair], table: Table) -> Iterator[str]:
    from pfgen_rs.stats.permutation import resolution_text

    yield _INTERVALS
    if ordered.several:
        sizes = " or ".join(str(size) for size in sorted({pair.family for pair in shown}))
        yield "runs: by number, higher mean first; bold: significantly different"
        yield f"p: for each pair alone, uncorrected; p (Holm): corrected for {sizes} pairs"
    if ordered.statistics.smallest_p:
        yield resolution_text(ordered.statistics.smallest_p)
    if None in ordered.statistics.ranks[ordered.metric]:
        yield "–: a system run, not ranked"
    if "detectable" in {str(column.header) for column in table.columns}:
        yield _DETECTABLE
    if len(shown) < len(ordered.statistics.pairs):
        yield _NEIGHBOURS


def _runs_that_fit(ordered: _Ordered, room: int) -> tuple[Table, list[str]]:
    """Returns a table, with standard errors if names then need not be wrapped, and the omitted headings."""
    tables = [_run_table(ordered, count) for count in (4, 3, 2)]
    shown = next((table for table in tables if output.table_width(table) <= room), tables[-1])
    return shown, output.dropped(tables[0], shown)


def _run_table(ordered: _Ordered, count: int) -> Table:
    statistics, metric = ordered.statistics, ordered.metric
    title = f"{metric}, {counted(len(statistics.compared), 'question')}"
    table = output.new_table("no.", "ranks", "run", numbers=("no.", "ranks"), title=title)
    for heading in ("mean", ordered.interval, "SE\n(questions)", "SE\n(trials)")[:count]:
        table.add_column(heading, justify="right", no_wrap=True)
    rows = zip(statistics.runs, statistics.ranks[metric], statistics.estimates[metric], strict=True)
    for name, ranks, estimate in sorted(rows, key=lambda row: ordered.numbers[row[0]]):
        cells = ordered.numbers[name], _rank(ranks), name, *_estimate(estimate)[:count]
        table.add_row(*map(output.cell, cells))
    return table


def _rank(ranks: tuple[int, int] | None) -> str:
    return "–" if ranks is None else "–".join(dict.fromkeys(map(str, ranks)))


def _estimate(estimate: Estimate) -> tuple[str, ...]:
    return (
        f"{estimate.mean:.4f}",
        _interval(estimate.low, estimate.high, ".3f"),  # as in `score` and leaderboards
        *("" if se is None else f"{se:.4f}" for se in (estimate.question_se, estimate.trial_se)),
    )


def _pairs_that_fit(ordered: _Ordered, pairs: Sequence[Pair]) -> tuple[Table, list[str]]:
    """Returns a table with as many columns as fit, and the omitted headings.

    Omits the detectable difference first, then the uncorrected p.
    """
    everything = ["difference", ordered.interval, "p", "p (Holm)", "detectable"]
    if not ordered.several:
        everything.remove("p (Holm)")
    without = [*everything[:-1]], [*everything[:2], everything[-2]]
    tables = [_pair_table(ordered, pairs, headings) for headings in (everything, *without)]
    shown = output.first_that_fits(*tables)
    return shown, output.dropped(tables[0], shown)


def _pair_table(ordered: _Ordered, pairs: Sequence[Pair], headings: Sequence[str]) -> Table:
    metrics = len(ordered.statistics.metrics) > 1
    about = [*(["metric"] if metrics else []), *(["runs"] if ordered.several else [])]
    title = None if ordered.several else "1 minus 2"
    table = output.new_table(*about, *headings, numbers=["runs", *headings], title=title)
    for pair in pairs:
        cells = _pair_cells(ordered, pair)
        table.add_row(*(cells[heading] for heading in (*about, *headings)))
    return table


def _pair_cells(ordered: _Ordered, pair: Pair) -> dict[str, Text]:
    """Returns the cells of a pair by heading; a significant difference is bold."""
    from pfgen_rs.stats.permutation import shown_p

    smallest = ordered.statistics.smallest_p
    texts = {
        "metric": pair.metric,
        "runs": f"{ordered.numbers[pair.a]} – {ordered.numbers[pair.b]}",
        "difference": f"{pair.difference:+.4f}",
        ordered.interval: _interval(pair.low, pair.high, "+.4f"),
        "p": shown_p(pair.p, smallest),
        "p (Holm)": shown_p(pair.p_holm, smallest * pair.family),
        "detectable": f"{pair.minimum_detectable:.4f}",
    }
    cells = {heading: output.cell(text) for heading, text in texts.items()}
    if pair.p_holm <= 1 - ordered.statistics.level:
        cells["difference"].stylize("bold")
    return cells


def _category_tables(ordered: _Ordered, room: int) -> Iterator[Table]:
    """Yield, for two runs, a table with differences and intervals; for more, means in tables that fit."""
    categories = ordered.statistics.categories
    frame = categories.filter(categories["metric"] == ordered.metric)
    if frame.is_empty():
        return
    if not ordered.several:
        yield _category_differences(ordered, frame)
        return
    means = {(row["a"], row["category"]): row["mean_a"] for row in frame.iter_rows(named=True)}
    means |= {(row["b"], row["category"]): row["mean_b"] for row in frame.iter_rows(named=True)}
    sizes = frame.unique("category").sort("category").select("category", "questions").rows()
    names = list(ordered.numbers)
    left = room - output.table_width(_category_means(ordered, sizes, means, []))
    fitting = max(1, left // (_MEAN_WIDTH + output.GAP))
    for start in range(0, len(names), fitting):
        yield _category_means(ordered, sizes, means, names[start : start + fitting])


def _category_differences(ordered: _Ordered, frame: pl.DataFrame) -> Table:
    numbers = ["questions", "1", "2", "difference", ordered.interval]
    rows = []
    for row in frame.iter_rows(named=True):
        sides, difference = [row["mean_a"], row["mean_b"]], row["difference"]
        low, high = row["low"], row["high"]
        if ordered.numbers[row["a"]] == 2:
            sides, difference = sides[::-1], -difference
            low, high = (None, None) if low is None else (-high, -low)
        shown = (f"{difference:+.4f}", _interval(low, high, "+.4f"))
        rows.append([row["category"], row["questions"], *(f"{side:.4f}" for side in sides), *shown])
    everything = output.new_table(
        "category", *numbers, numbers=numbers, title=_CATEGORIES, rows=rows
    )
    less = [[category, *shown] for category, _, _, _, *shown in rows]
    fewer = output.new_table(
        "category", *numbers[3:], numbers=numbers[3:], title=_CATEGORIES, rows=less
    )
    return output.first_that_fits(everything, fewer)


def _category_means(
    ordered: _Ordered,
    sizes: Sequence[tuple[str, int]],
    means: Mapping[tuple[str, str], float],
    names: Sequence[str],
) -> Table:
    numbers = ["questions", *(str(ordered.numbers[name]) for name in names)]
    rows = [
        (category, questions, *(f"{means[name, category]:.3f}" for name in names))
        for category, questions in sizes
    ]
    return output.new_table("category", *numbers, numbers=numbers, title=_CATEGORIES, rows=rows)


def _answers(found: RunComparison, ordered: _Ordered, count: int) -> Iterator[RenderableType]:
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


def _interval(low: float | None, high: float | None, form: str) -> str:
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"
