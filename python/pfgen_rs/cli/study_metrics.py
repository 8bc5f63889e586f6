"""`pfgen-rs study metrics`: the metrics against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, output, study_options
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title
from pfgen_rs.cli.study_options import ModesName, StudyFormat

__all__ = ["metrics"]


def metrics(
    leaderboard: Annotated[
        Path,
        typer.Argument(metavar="CHECKOUT|FILE", help=study_options.LEADERBOARD, show_default=False),
    ],
    modes: Annotated[
        ModesName, typer.Option(help="All runs, or the one with the highest score of each model.")
    ] = ModesName.ALL,
    level: options.Level = 0.95,
    plot: study_options.PlotFile = None,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
    output_format: study_options.Format = StudyFormat.TABLE,
) -> None:
    """Correlate Fluency, Truthfulness, Helpfulness and the score.

    Uses published figures: nothing is scored that has a result. Intervals are Fisher's, over runs. The figure
    has each metric against each other, one point a run.

    For example:

    - `pfgen-rs study metrics pfgen-bench --plot metrics.svg`
    """
    from pfgen_rs.studies.metrics import study_metrics

    with output.busy("reading results"):
        found = study_metrics(leaderboard, modes=modes.value, level=level)
    if plot is not None:
        from pfgen_rs.studies.plots import metric_matrix

        study_options.write_plot(
            lambda: metric_matrix(found, title=title, language=language.value, font=font), plot
        )
    if output_format is StudyFormat.JSON:
        output.emit_json(found.to_dict())
    elif output_format is StudyFormat.MARKDOWN:
        output.emit(found.to_markdown())
    else:
        if output_format is StudyFormat.CSV:
            output.emit_csv(found.frame().to_dicts())
        else:
            from pfgen_rs.cli.study_view import metric_parts

            output.show(*metric_parts(found))
        for note in found.notes:
            output.warn(note)
