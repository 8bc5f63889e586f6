"""`pfgen-rs compare`: differences of runs, with tests and intervals, and answers side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import app, options, process, terminal
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.settings import METRICS, Metric
from pfgen_rs.stats import permutation
from pfgen_rs.stats.sentences import verdict

if TYPE_CHECKING:
    from pfgen_rs.comparisons import RunComparison
    from pfgen_rs.stats import Comparison, Pair


@options.scoring_options
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|DIR|GLOB",
            help="Two or more runs, as for `score`; with --run-field, a file may have them all.",
            show_default=False,
        ),
    ],
    scoring: options.ScoringOptions,
    benchmark: options.BenchmarkName = None,
    output_format: options.Format = "table",
    metric: Annotated[
        Literal[Metric, "all"] | None,
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
            callback=app.checked_output,
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
    from pfgen_rs.stats import checks

    checks.check_level(level)
    paths = comparisons.distinct(files, 2 if scoring.run_field is None else 1)
    results = scoring.score_with(paths, benchmark, threads=threads)
    if metric is None:
        metric = "all" if len(results) == 2 else "average"
    metrics = METRICS if metric == "all" else (metric,)
    found = comparisons.compare_runs(results, metrics=metrics, level=level)
    for note in found.statistics.notes:
        process.warn(note)
    if html is not None:
        from pfgen_rs.report.site import write_comparison

        with terminal.busy(f"writing {html}"):
            write_comparison(results, html, level=level)
    if output_format == "json":
        process.emit_json(comparison_document(found, limit))
    else:
        terminal.show(*comparison_report(found, limit, terminal.width()))


_MEAN_WIDTH = 5  # width of a mean in characters
_INTERVALS = (
    "intervals: of means, over questions (Student's t); "
    "of differences, from a bootstrap over questions and trials"
)
_ALL_PAIRS = 6  # maximum number of runs for which all pairs are shown
_NEIGHBOURS = "only runs with adjacent means are compared: use --format json for all pairs"
_DETECTABLE = "detectable: the difference that the test of a pair detects with 80 % power"
_CATEGORIES = "means by category and run number"


def comparison_document(found: "RunComparison", count: int) -> dict[str, Any]:
    """Returns everything as JSON values, with the answers to the `count` questions that differ most."""
    statistics = found.statistics
    chosen = found.most_different(statistics.metrics[0], count)
    answers = found.side_by_side(chosen, statistics.metrics[0])
    by_name = list(zip(statistics.runs, found.results, strict=True))
    return {
        **statistics.to_dict(),
        "files": {name: result.path for name, result in by_name},
        "generation": {name: result.generation for name, result in by_name},
        "verdicts": [verdict(pair, statistics) for pair in statistics.pairs],
        "most_different": [
            {"question_id": question, "answers": [asdict(each) for each in answers[question]]}
            for question in chosen
        ],
    }


def comparison_report(found: "RunComparison", count: int, room: int) -> list[RenderableType]:
    """Returns tables of runs, pairs and categories for a window of `room` columns, and example answers.

    Runs are numbered by descending mean, and tables refer to them by number; two runs are also compared in a
    sentence.
    """
    shown = _Shown(found.statistics, room)
    runs, no_run_columns = shown.runs()
    pairs, no_pair_columns = shown.pairs()
    parts: list[RenderableType] = [runs, pairs]
    parts += map(terminal.cell, shown.captions(pairs))
    if missing := no_run_columns + no_pair_columns:
        parts.append(terminal.cell(terminal.not_shown(missing)))
    if not shown.several:
        parts += [terminal.cell(""), terminal.cell(verdict(shown.listed[0], found.statistics))]
    for table in shown.categories():
        parts += [terminal.cell(""), table]
    parts += _answers(found, shown, count)
    return [*parts, terminal.cell(""), terminal.cell(found.statistics.signature or "")]


class _Shown:
    """A comparison in a window: runs are numbered from 1 by descending mean of its first metric.

    `listed`: all pairs or, for many runs, adjacent ones, ordered by metric and number, the lower-numbered run
    first.
    """

    def __init__(self, statistics: "Comparison", room: int) -> None:
        self.statistics, self.room = statistics, room
        self.metric = statistics.metrics[0]
        means = [estimate.mean for estimate in statistics.estimates[self.metric]]
        order = sorted(range(len(means)), key=lambda place: -means[place])
        self.numbers = {statistics.runs[place]: n for n, place in enumerate(order, 1)}
        self.several = len(self.numbers) > 2
        self.interval = f"{statistics.level * 100:g} % interval"
        numbers, metrics = self.numbers, statistics.metrics
        pairs = [p if numbers[p.a] < numbers[p.b] else p.turned() for p in statistics.pairs]
        if len(numbers) > _ALL_PAIRS:
            pairs = [p for p in pairs if numbers[p.b] - numbers[p.a] == 1]
        self.listed = sorted(
            pairs, key=lambda p: (metrics.index(p.metric), numbers[p.a], numbers[p.b])
        )

    def captions(self, pairs: Table) -> Iterator[str]:
        yield _INTERVALS
        if self.several:
            sizes = " or ".join(str(size) for size in sorted({pair.family for pair in self.listed}))
            yield "runs: by number, higher mean first; bold: significantly different"
            yield f"p: for each pair alone, uncorrected; p (Holm): corrected for {sizes} pairs"
        if self.statistics.smallest_p:
            yield permutation.resolution_text(self.statistics.smallest_p)
        if None in self.statistics.ranks[self.metric]:
            yield "–: a system run, not ranked"
        if "detectable" in {str(column.header) for column in pairs.columns}:
            yield _DETECTABLE
        if len(self.listed) < len(self.statistics.pairs):
            yield _NEIGHBOURS

    def runs(self) -> tuple[Table, list[str]]:
        """Returns a table with as many columns as fit, standard errors last, and the omitted headings."""
        tables = [self._runs(count) for count in (4, 3, 2)]
        shown = terminal.first_that_fits(*tables)
        return shown, terminal.dropped(tables[0], shown)

    def _runs(self, count: int) -> Table:
        found = self.statistics
        title = f"{self.metric}, {counted(len(found.compared), 'question')}"
        table = terminal.new_table(
            "no.", "ranks", "run", numbers=("no.", "ranks"), names=["run"], title=title
        )
        for heading in ("mean", self.interval, "SE\n(questions)", "SE\n(trials)")[:count]:
            table.add_column(heading, justify="right", no_wrap=True)
        rows = zip(found.runs, found.ranks[self.metric], found.estimates[self.metric], strict=True)
        for name, ranks, estimate in sorted(rows, key=lambda row: self.numbers[row[0]]):
            rank = "–" if ranks is None else "–".join(dict.fromkeys(map(str, ranks)))
            errors = (estimate.question_se, estimate.trial_se)
            numbers = (
                f"{estimate.mean:.4f}",
                _interval(estimate.low, estimate.high, ".3f"),  # as in `score` and leaderboards
                *("" if se is None else f"{se:.4f}" for se in errors),
            )
            table.add_row(*map(terminal.cell, (self.numbers[name], rank, name, *numbers[:count])))
        return table

    def pairs(self) -> tuple[Table, list[str]]:
        """Returns a table with as many columns as fit, and the omitted headings.

        Omits the detectable difference first, then the uncorrected p.
        """
        holm = ["p (Holm)"] if self.several else []
        whole = ["difference", self.interval, "p", *holm, "detectable"]
        fewer = whole[:-1], [*whole[:2], whole[-2]]
        tables = [self._pairs(headings) for headings in (whole, *fewer)]
        shown = terminal.first_that_fits(*tables)
        return shown, terminal.dropped(tables[0], shown)

    def _pairs(self, headings: Sequence[str]) -> Table:
        metrics = len(self.statistics.metrics) > 1
        about = [*(["metric"] if metrics else []), *(["runs"] if self.several else [])]
        title = None if self.several else "1 minus 2"
        table = terminal.new_table(*about, *headings, numbers=["runs", *headings], title=title)
        for pair in self.listed:
            cells = self._cells(pair)
            table.add_row(*(cells[heading] for heading in (*about, *headings)))
        return table

    def _cells(self, pair: "Pair") -> Mapping[str, RenderableType]:
        """Returns the cells of a pair by heading; a significant difference is bold."""
        smallest = self.statistics.smallest_p
        texts = {
            "metric": pair.metric,
            "runs": f"{self.numbers[pair.a]} – {self.numbers[pair.b]}",
            "difference": f"{pair.difference:+.4f}",
            self.interval: _interval(pair.low, pair.high, "+.4f"),
            "p": permutation.shown_p(pair.p, smallest),
            "p (Holm)": permutation.shown_p(pair.p_holm, smallest * pair.family),
            "detectable": f"{pair.minimum_detectable:.4f}",
        }
        cells = {heading: terminal.cell(text) for heading, text in texts.items()}
        if pair.p_holm <= 1 - self.statistics.level:
            cells["difference"].stylize("bold")
        return cells

    def categories(self) -> Iterator[Table]:
        """Yield, for two runs, a table with differences and intervals; for more, means in tables that fit."""
        categories = self.statistics.categories
        rows = categories.filter(categories["metric"] == self.metric).to_dicts()
        if not rows:
            return
        if not self.several:
            yield self._differences(rows)
            return
        means = {(row["a"], row["category"]): row["mean_a"] for row in rows}
        means |= {(row["b"], row["category"]): row["mean_b"] for row in rows}
        sizes = sorted({row["category"]: row["questions"] for row in rows}.items())
        names = list(self.numbers)
        left = self.room - terminal.table_width(self._means(sizes, means, []))
        fitting = max(1, left // (_MEAN_WIDTH + terminal.GAP))
        for start in range(0, len(names), fitting):
            yield self._means(sizes, means, names[start : start + fitting])

    def _differences(self, categories: Sequence[Mapping[str, Any]]) -> Table:
        numbers = ["questions", "1", "2", "difference", self.interval]
        rows = []
        for row in categories:
            sides, difference = [row["mean_a"], row["mean_b"]], row["difference"]
            low, high = row["low"], row["high"]
            if self.numbers[row["a"]] == 2:
                sides, difference = sides[::-1], -difference
                low, high = (None, None) if low is None else (-high, -low)
            shown = (f"{difference:+.4f}", _interval(low, high, "+.4f"))
            means = (f"{side:.4f}" for side in sides)
            rows.append([row["category"], row["questions"], *means, *shown])
        less = [[category, *shown] for category, _, _, _, *shown in rows]
        tables = (
            terminal.new_table("category", *n, numbers=n, title=_CATEGORIES, rows=r)
            for n, r in ((numbers, rows), (numbers[3:], less))
        )
        return terminal.first_that_fits(*tables)

    def _means(
        self,
        sizes: Sequence[tuple[str, int]],
        means: Mapping[tuple[str, str], float],
        names: Sequence[str],
    ) -> Table:
        numbers = ["questions", *(str(self.numbers[name]) for name in names)]
        rows = [
            (category, questions, *(f"{means[name, category]:.3f}" for name in names))
            for category, questions in sizes
        ]
        return terminal.new_table(
            "category", *numbers, numbers=numbers, title=_CATEGORIES, rows=rows
        )


def _answers(found: "RunComparison", shown: _Shown, count: int) -> Iterator[RenderableType]:
    chosen = found.most_different(shown.metric, count)
    answers = found.side_by_side(chosen, shown.metric)
    benchmark = found.results[0].benchmark
    for question in chosen:
        yield terminal.cell("")
        yield terminal.cell(f"{question} {benchmark[question].text}", "bold")
        for each in sorted(answers[question], key=lambda each: shown.numbers[each.run]):
            number = shown.numbers[each.run]
            yield terminal.cell(
                f"{number}: {each.run}, mean {each.mean:.4f}, line {each.line} ({each.score:.4f}):"
            )
            yield terminal.cell(f"  {each.answer}")


def _interval(low: float | None, high: float | None, form: str) -> str:
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"
