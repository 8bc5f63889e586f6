"""`pfgen-rs plot`: figures of runs as SVG or PNG."""

from __future__ import annotations

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, output

__all__ = ["Kind", "plot"]

_SUFFIXES = (".svg", ".png")


class Kind(StrEnum):
    """What is drawn."""

    METRICS = "metrics"
    LENGTH = "length"
    INTERVALS = "intervals"
    SOURCES = "sources"
    CATEGORIES = "categories"
    CONVERGENCE = "convergence"
    STEPS = "steps"
    SPREAD = "spread"


class LanguageName(StrEnum):
    """The language of titles and axes."""

    ENGLISH = "en"
    JAPANESE = "ja"


class PlottedMetric(StrEnum):
    """What sources and convergence are shown of."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"
    HELPFULNESS = "helpfulness"


def _picture(path: Path) -> Path:
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(
            f"unknown format: expected a name ending in one of {', '.join(_SUFFIXES)}"
        )
    if not path.parent.is_dir():
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def plot(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="One of the figures below.")],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A checkout of pfgen-bench, a leaderboard.json or .parquet, or runs as `score` takes them; "
            "quoted globs work.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", callback=_picture, help="File to write: .svg or .png."
        ),
    ],
    benchmark: options.BenchmarkName = None,
    metric: Annotated[
        PlottedMetric, typer.Option(help="Metric for `sources` and `convergence`.")
    ] = PlottedMetric.AVERAGE,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Source for `sources`; repeatable."),
    ] = None,
    step_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Regular expression with a group around the step in a run's name (default: step_1000, "
            "iter-2000, checkpoint-500 and the like).",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title (default: one for the figure).")
    ] = None,
    language: Annotated[
        LanguageName, typer.Option(help="Language of titles and axes.")
    ] = LanguageName.ENGLISH,
    font: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            envvar="PFGEN_RS_FONT",
            help="Font for Japanese text (default: an installed one).",
        ),
    ] = None,
) -> None:
    """Draw runs: needs matplotlib (`pip install 'pfgen_rs[plots]'`).

    The figures, by KIND:

    - `metrics`: each metric against each other one, a point a run

    - `length`: score against mean length

    - `intervals`: scores with their intervals, by rank

    - `sources`: scores with one source of reference answers against another

    - `categories`: runs against categories, a heat map

    - `convergence`: the score as trials add up (from responses)

    - `steps`: score against training step

    - `spread`: a run's scores and lengths (from responses)

    Runs are drawn by their result.json; those without one are scored first, with the benchmark named or the
    checkout's questions.

    For example:

    - `pfgen-rs plot metrics pfgen-bench --out metrics.svg`

    - `pfgen-rs plot steps 'runs/*' -b pfgen-bench --out steps.png --language ja`
    """
    from pfgen_rs.report import plots
    from pfgen_rs.report.plots.kinds import Wish, draw
    from pfgen_rs.report.plots.steps import STEP

    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", plots.FontWarning)
        wish = Wish(
            inputs,
            benchmark,
            metric.value,
            source,
            STEP if step_pattern is None else step_pattern,
            title,
            language.value,
            font,
        )
        drawn = draw(kind.value, wish)
        plots.save(drawn.figure, out)
    for note in (*(str(remark.message) for remark in remarks), *drawn.notes):
        output.warn(note)
