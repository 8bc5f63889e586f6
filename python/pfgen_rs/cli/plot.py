"""`pfgen-rs plot`: plots runs as SVG or PNG."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.loading import is_folder_there
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options

__all__ = [
    "AxisName",
    "Font",
    "Kind",
    "Language",
    "LanguageName",
    "Title",
    "csv_file_path",
    "plot",
    "plot_file_path",
]

_SUFFIXES = (".svg", ".png")


class Kind(StrEnum):
    """The type of figure."""

    METRICS = "metrics"
    LENGTH = "length"
    INTERVALS = "intervals"
    SOURCES = "sources"
    CATEGORIES = "categories"
    CONVERGENCE = "convergence"
    STEPS = "steps"
    SPREAD = "spread"
    LEARNING = "learning"


class AxisName(StrEnum):
    """What a learning curve is drawn against."""

    STEP = "step"
    TOKENS = "tokens"


class LanguageName(StrEnum):
    """The language of titles and axes."""

    ENGLISH = "en"
    JAPANESE = "ja"


Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Title (default: depends on the figure).")
]
Language = Annotated[LanguageName, typer.Option(help="Language of titles and axes.")]
Font = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        envvar="PFGEN_RS_FONT",
        help="Font for Japanese text (default: an installed font).",
    ),
]


def plot_file_path(path: Path) -> Path:
    """Returns a path for a figure; raises `typer.BadParameter` for other formats and missing folders."""
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(
            f"unknown format: expected a name ending in one of {', '.join(_SUFFIXES)}"
        )
    if not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def csv_file_path(path: Path | None) -> Path | None:
    """Returns a path for a table; raises `typer.BadParameter` for other formats and missing folders."""
    if path is not None and path.suffix.lower() != ".csv":
        raise typer.BadParameter("unknown format: expected a name ending in .csv")
    if path is not None and not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def _check_kind_uses(kind: Kind, top: int | None, x: AxisName | None) -> None:
    """Raise `typer.BadParameter` for options of other figures."""
    if top is not None and kind not in (Kind.INTERVALS, Kind.CATEGORIES):
        raise typer.BadParameter(
            "--top requires the figure intervals or categories", param_hint="--top"
        )
    if x is not None and kind is not Kind.LEARNING:
        raise typer.BadParameter("--x requires the figure learning", param_hint="--x")


@scoring_options()
def plot(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="One of the figures below.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A checkout of pfgen-bench, a leaderboard.json or .parquet, or runs as for `score`; "
            "for `learning`, a curve.parquet. Quoted globs are expanded.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            callback=plot_file_path,
            help="File to write: .svg or .png.",
        ),
    ],
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    metric: Annotated[
        options.MetricName, typer.Option(help="Metric for `sources` and `convergence`.")
    ] = options.MetricName.AVERAGE,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Source for `sources`; repeatable."),
    ] = None,
    step_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Regular expression with one group that matches the step in a run's name (default: matches "
            "step_1000, iter-2000, checkpoint-500, etc.).",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show the best N runs: `intervals` (default: 100), `categories` (80).",
        ),
    ] = None,
    x: Annotated[
        AxisName | None,
        typer.Option("--x", help="What `learning` is drawn against (default: step)."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            callback=csv_file_path,
            help="Also write the plotted numbers as CSV, of all runs.",
        ),
    ] = None,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
) -> None:
    """Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).

    The figures, by KIND:

    - `metrics`: each pair of metrics, one point per run

    - `length`: score against mean length

    - `intervals`: scores with their intervals, by rank

    - `sources`: scores with one source of reference answers against another

    - `categories`: a heat map of runs and categories

    - `convergence`: score against number of trials (from responses)

    - `steps`: score against training step

    - `spread`: distribution of one run's scores and lengths (from responses)

    - `learning`: score and metrics during training, from a curve.parquet

    Uses the result.json of each run; runs without one are scored first, with the given benchmark or the
    checkout's questions. With an option that says how to read or score responses, all runs are scored.

    For example:

    - `pfgen-rs plot metrics pfgen-bench --out metrics.svg`

    - `pfgen-rs plot intervals pfgen-bench --top 30 --out best.svg --csv best.csv`

    - `pfgen-rs plot steps 'runs/*' -b pfgen-bench --out steps.png --language ja`
    """
    _check_kind_uses(kind, top, x)
    from pfgen_rs.io import write_atomic
    from pfgen_rs.report import plots
    from pfgen_rs.report.plots.kinds import Wish, draw
    from pfgen_rs.report.plots.steps import STEP

    wish = Wish(
        inputs,
        benchmark,
        metric.value,
        source,
        STEP if step_pattern is None else step_pattern,
        top,
        (x or AxisName.STEP).value,
        title,
        language.value,
        font,
        scoring.score_with,
        again=scoring != ScoringOptions(),
    )
    drawn = draw(kind.value, wish)
    plots.save(drawn.figure, out)
    if csv is not None:
        write_atomic(csv, drawn.csv())
    for note in drawn.notes:
        output.warn(note)
