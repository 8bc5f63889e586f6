"""`pfgen-rs study`: the studies of the papers; its subcommands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from rich.console import RenderableType
from rich.table import Table

import pfgen_rs
from pfgen_rs.cli import options, process, terminal
from pfgen_rs.cli.app import group
from pfgen_rs.cli.plot import Language, plot_file_path
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import Figure, pl
from pfgen_rs.metrics.settings import Metric

app = group("Repeat the papers' studies, and analyse questions.")

LEADERBOARD = (
    "A checkout of pfgen-bench, a leaderboard.json or .parquet, "
    "or a .csv with the columns model and score."
)


def _plot_path(path: Path | None) -> Path | None:
    from pfgen_rs.drawing.style import NEEDED, available

    if path is None:
        return None
    if not available():  # before anything is scored
        raise pfgen_rs.OutputError(NEEDED)
    return plot_file_path(path)


PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        callback=_plot_path,
        help="Also draw a figure: .svg or .png. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).",
    ),
]


def _write_plot(path: Path | None, draw: Callable[[Any], Figure]) -> None:
    """Draw a figure with `studies.plots` and write it, if a path is given."""
    if path is not None:
        from pfgen_rs.studies import plots

        plots.save(draw(plots), path)


@app.command()
@options.reading_options
def sources(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKOUT|RUN…",
            help="A checkout of pfgen-bench, all of whose runs are scored, or runs as for `score`.",
        ),
    ],
    reading: options.ReadingOptions,
    benchmark: options.BenchmarkName = None,
    metric: Annotated[
        Metric,
        typer.Option(help="Metric of the table and the figure, one that depends on sources."),
    ] = "average",
    plot: PlotFile = None,
    language: Language = "en",
    output_format: options.Rows = "table",
) -> None:
    """Correlate scores with the reference answers of one source and of another.

    All runs are scored again with the reference answers of each source alone, and of all of them. Scores are
    means over the questions that have all sources, and over all questions; questions without the source
    are scored with the sources they have. Intervals are Fisher's, over runs. The figure is a map of the
    correlations over the former.

    The default benchmark of a checkout is its own questions.

    For example:

    - `pfgen-rs study sources pfgen-bench`

    - `pfgen-rs study sources 'runs/*' -b pfgen-bench --metric fluency --plot sources.svg`
    """
    if metric == "helpfulness":
        raise typer.BadParameter("helpfulness does not depend on sources", param_hint="--metric")
    from pfgen_rs.report.plots.inputs import question_folder

    found = pfgen_rs.studies.study_sources(
        runs,
        reading.load(question_folder(runs, benchmark)),
        options=reading.options(),
        run_field=reading.run_field,
        track=lambda names: terminal.track(names, "scoring with"),
    )
    look = {"usual": "Scores by source of reference answers", "language": language}
    _write_plot(plot, lambda plots: plots.correlation_map(found.matrix(metric), **look))
    _print(output_format, found, lambda: _source_parts(found, metric))


@app.command()
def metrics(
    leaderboard: Annotated[
        Path,
        typer.Argument(metavar="CHECKOUT|FILE", help=LEADERBOARD),
    ],
    plot: PlotFile = None,
    language: Language = "en",
    output_format: options.Rows = "table",
) -> None:
    """Correlate Fluency, Truthfulness, Helpfulness and the score.

    Uses published figures: nothing is scored that has a result. Intervals are Fisher's, over runs. The figure
    is a map of the correlations; `pfgen-rs plot metrics` draws the runs.

    For example:

    - `pfgen-rs study metrics pfgen-bench --plot metrics.svg`
    """
    with terminal.busy("reading results"):
        found = pfgen_rs.studies.study_metrics(leaderboard)
    look = {"usual": "Metrics against each other", "language": language}
    _write_plot(plot, lambda plots: plots.correlation_map(found.matrix, **look))
    _print(output_format, found, lambda: _metric_parts(found))


@app.command()
def against(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="The other benchmark's table: .csv or .json.",
        ),
    ],
    leaderboard: Annotated[
        Path,
        typer.Option("--leaderboard", metavar="CHECKOUT|FILE", help=LEADERBOARD),
    ],
    columns: Annotated[
        list[str],
        typer.Option(
            "--column",
            metavar="NAME",
            help="Column to correlate with; repeatable. A quoted `*` stands for any text; of a nested "
            "column, you may leave out what is before a dot.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of the models' names (default: the names of a mapping)."
        ),
    ] = None,
    metric: Annotated[
        Metric, typer.Option(help="Metric of the leaderboard; average is the score.")
    ] = "average",
    aliases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='A TOML file with names that mean a model: "ours" = ["theirs"].'
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Leave out a model, such as an outlier; repeatable."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Which models count: `size < 15`.")
    ] = None,
    correct: Annotated[bool, typer.Option("--correct", help="Also corrected p-values.")] = False,
    compare: Annotated[
        Literal["williams", "steiger"] | None, typer.Option(help="Also compare columns.")
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Also partial correlations; repeatable."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also intervals over groups of models.")
    ] = None,
    reliability: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SHARE", help="Also correlations without noise; repeatable."),
    ] = None,
    plot: PlotFile = None,
    language: Language = "en",
    output_format: options.Rows = "table",
) -> None:
    """Correlate the leaderboard with another benchmark.

    Models are the same if their names are, but for upper case, what is before a slash, and characters that
    are neither letters nor digits. Intervals are Fisher's, over models. Outliers are the models furthest
    from the regression line of the other benchmark on the leaderboard, in units of the residual standard
    deviation. What is known of models can be named in options: score, mode, organisation, length, columns
    of the table, and facts: size (billions of parameters), released (2024-05-13), family, kind, licence,
    weights.

    - `--where` takes a condition in SQL, texts in single quotes; where something is unknown, a model does not
    count.

    - `--correct` adds p-values, corrected for the number of columns (Holm; false discovery rate).

    - `--compare` tests of every two columns which agrees more: by Williams' t, right for few models, or
    Steiger's z.

    - `--control` adds correlations among models that are equal in what is named; of sizes, the logarithm.

    - `--cluster` adds intervals by a bootstrap over organisations, or a column such as a family.

    - `--reliability` divides the noise of our trials out (`--reliability trials=1`), and that of columns
    (`avg=0.9`).

    JSON and CSV have more than tables, such as ranks. The figure is a scatter plot, or of several columns a
    map of all correlations.

    For example:

    - `pfgen-rs study against other.csv --leaderboard pfgen-bench --name model --column 'JA-MT (All)'`

    - `pfgen-rs study against swallow.json --leaderboard pfgen-bench --name id --column 'ja_pre.*'`

    - `pfgen-rs study against swallow.json --leaderboard pfgen-bench --name id --column 'ja_pre.*'
    --where "size < 15" --control size --cluster organisation --compare williams`
    """
    with terminal.busy("correlating"):
        found = pfgen_rs.studies.study_against(
            table,
            leaderboard,
            columns,
            name=name,
            metric=metric,
            aliases=None if aliases is None else pfgen_rs.studies.read_aliases(aliases),
            exclude=exclude or (),
            where=where,
        )
        found = pfgen_rs.studies.examine(
            found,
            correct=correct,
            controls=control or (),
            cluster=cluster,
            reliability=_shares(reliability),
            compare=compare,
        )
    _write_plot(plot, lambda plots: plots.against_figure(found, language=language))
    _print(output_format, found, lambda: _against_parts(found))


@app.command()
def questions(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKOUT|RUN…",
            help="A checkout of pfgen-bench, or runs as for `score`, of at least 10 models.",
        ),
    ],
    benchmark: options.BenchmarkName = None,
    agreement: Annotated[
        float,
        typer.Option(metavar="TAU", help="Kendall's τ from which a subset ranks like the whole."),
    ] = 0.9,
    splits: Annotated[
        int, typer.Option(metavar="N", help="How often models are split to find and test a subset.")
    ] = 200,
    level: options.Level = 0.95,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of halves and splits.")] = 0,
    output_format: options.Rows = "table",
) -> None:
    """Analyse questions: how hard they are, how well they tell models apart, and which few would do.

    The best run of each model counts, so that several runs of one are not taken for evidence. Uses the
    result.json of each run; runs without one are scored first, with the given benchmark or the checkout's
    questions.

    Difficulty is the mean score, high for an easy question; r correlates the question with the sum of the
    others over models; slope and loading are those of a model with two parameters a question (score =
    difficulty + slope · ability + error), fitted by maximum likelihood. Subsets are found with some families
    of models and tested with the others. Requires `pip install 'pfgen_rs[study]'`.

    For example:

    - `pfgen-rs study questions pfgen-bench`

    - `pfgen-rs study questions 'runs/*' -b pfgen-bench --agreement 0.95 --format csv`
    """
    chosen = {"agreement": agreement, "splits": splits, "level": level, "seed": seed}
    score = options.ReadingOptions().score_with
    found = pfgen_rs.studies.study_questions(runs, benchmark, score=score, **chosen)
    _print(output_format, found, lambda: _question_parts(found))


def _print(
    output_format: str,
    study: pfgen_rs.studies.AgainstStudy
    | pfgen_rs.studies.MetricStudy
    | pfgen_rs.studies.QuestionStudy
    | pfgen_rs.studies.SourceStudy,
    parts: Callable[[], list[RenderableType]],
) -> None:
    """Print a study; JSON has its notes itself."""
    if output_format == "json":
        process.emit_json(study.to_dict())
        return
    if output_format == "csv":
        process.emit_csv([_row(row) for row in study.frame().to_dicts()])
    else:
        terminal.show(*parts())
    for note in study.notes:
        process.warn(note)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with lists, which are those of outliers, in one cell."""
    return {key: " ".join(v) if isinstance(v, list) else v for key, v in row.items()}


def _against_parts(found: pfgen_rs.studies.AgainstStudy) -> list[RenderableType]:
    """Returns the table of columns, and lines about outliers and about models without counterpart."""
    title = f"{found.ours} and {counted(len(found.columns), 'column')}"
    rows = [((one.column,), one.correlation) for one in found.columns]
    ours, theirs = found.unmatched_ours, found.unmatched_theirs
    advice = " (--format json lists them)" if ours or theirs else ""
    lines = [
        "furthest from the line, in residual standard deviations:",
        *(f"  {one.column}: {one.told_outliers()}" for one in found.columns),
        f"unmatched: {counted(len(ours), 'model')} of the leaderboard, {len(theirs):,} of the table{advice}",
        *(["similar names; --aliases says which are the same model:"] if found.near else []),
        *(f"  {theirs[key]} ~ {ours[other]}" for key, other in found.near.items()),
    ]
    tests = [_test_table(name, table) for name, table in found.tests.items()]
    return [_fitting_table(("column",), rows, title), *map(terminal.cell, lines), *tests]


def _test_table(name: str, table: pl.DataFrame) -> RenderableType:
    """Returns a table of `examine`, each value with its bounds, without ranks."""
    left_out = re.compile("rho|_(low|high)$")
    shown = [each for each in table.columns if not left_out.search(each)]
    rows = [[_figure(each, row) for each in shown] for row in table.iter_rows(named=True)]
    return terminal.new_table(*shown, numbers=shown[1:], rows=rows, title=name)


def _figure(name: str, row: dict[str, Any]) -> str:
    from pfgen_rs.studies.metrics import correlation_text, interval_text

    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    if name.partition("_")[0] == "p":
        return f"{value:.2g}"
    return correlation_text(value) + (f" ({interval_text(low, high)})" if low is not None else "")


def _shares(pairs: Sequence[str] | None) -> dict[str, float] | None:
    try:
        named = [pair.rpartition("=") for pair in pairs or ()]
        return {name: float(share) for name, _, share in named} if named else None
    except ValueError:
        wanted = "expected NAME=SHARE, such as avg=0.9"
        raise typer.BadParameter(wanted, param_hint="--reliability") from None


def _metric_parts(found: pfgen_rs.studies.MetricStudy) -> list[RenderableType]:
    """Returns the table of pairs, and how far the values of each metric reach."""
    columns = ("least", "median", "largest")
    spread = terminal.new_table("metric", *columns, numbers=columns, title="values")
    for name, *values in found.spread().iter_rows():
        spread.add_row(terminal.cell(name), *(terminal.cell(f"{value:.4f}") for value in values))
    title = f"metrics over {counted(len(found.runs), 'run')}"
    return [_correlation_table(found.matrix, title), spread]


def _question_parts(found: pfgen_rs.studies.QuestionStudy) -> list[RenderableType]:
    """Returns the table of questions, as many columns as fit, what is told of the whole, and its tables."""
    models = counted(len(found.found["models"]), "model")
    title, frame = f"{counted(len(found.texts), 'question')}, {models}", found.frame()
    short = ("id", "difficulty", "discrimination", "loading", "misjudged", "z")
    more = "slope", "tau_without", "change"
    columns = (*short[:2], "spread", *short[2:4], *more, *short[4:])
    questions = [_frame_table(frame.select(names), title) for names in (columns, short)]
    tables = [_frame_table(table, title) for title, table in found.tables().items() if len(table)]
    order = f"as all models choose them: {', '.join(found.found['subset']['order'])}"
    return [terminal.first_that_fits(*questions), *tables, terminal.cell(order)]


def _frame_table(frame: pl.DataFrame, title: str) -> Table:
    from pfgen_rs.studies.metrics import correlation_text

    shown = [name.replace("_", " ") for name in frame.columns]
    names = [name for name in frame.columns if frame[name].dtype == pl.String]
    rows = [
        [each if isinstance(each, int | str) else correlation_text(each) for each in row]
        for row in frame.rows()
    ]
    numbers = set(shown) - set(names)
    return terminal.new_table(*shown, numbers=numbers, names=names, title=title, rows=rows)


def _source_parts(found: pfgen_rs.studies.SourceStudy, metric: str) -> list[RenderableType]:
    """Returns a table of pairs for the questions with all sources, one for all questions, and a remark."""
    from pfgen_rs.studies.sources import Questions

    tables: list[RenderableType] = [
        _correlation_table(
            found.matrix(metric, questions), f"{metric} over {found.told(questions)}"
        )
        for questions in get_args(Questions)
    ]
    return [*tables, terminal.cell("questions without a source keep their own reference answers")]


def _correlation_table(matrix: pfgen_rs.studies.CorrelationMatrix, title: str) -> RenderableType:
    rows = [((pair.one, pair.other), pair) for pair in matrix.pairs]
    return _fitting_table(("", "and"), rows, title)


def _fitting_table(
    names: Sequence[str],
    rows: Sequence[tuple[Sequence[str], pfgen_rs.studies.Correlation]],
    title: str,
) -> RenderableType:
    """Returns a table with the interval of Spearman's ρ, or without it where the window is narrow."""
    headings = ("n", "r", "r, 95 %", "ρ", "ρ, 95 %")
    tables = []
    for count in (len(headings), len(headings) - 1):
        table = terminal.new_table(*names, *headings[:count], numbers=headings, title=title)
        for named, found in rows:
            table.add_row(*map(terminal.cell, (*named, *found.cells()[:count])))
        for column in table.columns[: len(names)]:
            column.no_wrap = True  # or every table would fit
        tables.append(table)
    return terminal.first_that_fits(*tables)
