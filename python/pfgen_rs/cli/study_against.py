"""`pfgen-rs study against`: the leaderboard beside another benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import options, output, study_options
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title, csv_file_path
from pfgen_rs.cli.study_options import ModesName, StudyFormat

if TYPE_CHECKING:
    from pfgen_rs.studies.against_result import AgainstStudy

__all__ = ["against"]


def against(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="The other benchmark's table: .csv, .json, .yml or .parquet.",
            show_default=False,
        ),
    ],
    leaderboard: Annotated[
        Path,
        typer.Option(
            "--leaderboard",
            metavar="CHECKOUT|FILE",
            help=study_options.LEADERBOARD,
            show_default=False,
        ),
    ],
    columns: Annotated[
        list[str],
        typer.Option(
            "--column",
            metavar="NAME",
            help="Column to correlate with; repeatable. A quoted `*` stands for any text; of a nested column "
            "what is before a dot may be left out.",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of the models' names (default: the names of a mapping)."
        ),
    ] = None,
    metric: Annotated[
        options.MetricName, typer.Option(help="Metric of the leaderboard; average is the score.")
    ] = options.MetricName.AVERAGE,
    modes: Annotated[
        ModesName, typer.Option(help="The best run of each model, as in the papers, or all runs.")
    ] = ModesName.BEST,
    aliases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='A TOML file with other names of models: "theirs" = "ours".'
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help="Leave out a model, such as an outlier; repeatable."),
    ] = None,
    level: options.Level = 0.95,
    outliers: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of outliers to name.")
    ] = 3,
    unmatched: Annotated[
        bool, typer.Option("--unmatched", help="List the models that only one of the two has.")
    ] = False,
    points: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=csv_file_path,
            help="Also write a row for each model and column, as CSV.",
            show_default=False,
        ),
    ] = None,
    plot: study_options.PlotFile = None,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
    output_format: study_options.Format = StudyFormat.TABLE,
) -> None:
    """Correlate the leaderboard with another benchmark.

    Models are the same if their names are, but for upper case, what is before a slash, and characters that
    are neither letters nor digits. Intervals are Fisher's, over models. Outliers are the models furthest
    from the regression line of the other benchmark on the leaderboard, in units of the residual standard
    deviation. The figure is a scatter plot, or of several columns a map of all correlations;
    those of two columns of the table are over the models that the leaderboard has, whatever `--modes` says.

    For example:

    - `pfgen-rs study against other.csv --leaderboard pfgen-bench --name model --column 'JA-MT (All)'`

    - `pfgen-rs study against swallow.yml --leaderboard pfgen-bench --name id --column 'ja_pre.*'`
    """
    from pfgen_rs.studies.against import study_against
    from pfgen_rs.studies.model_names import read_aliases

    with output.busy("correlating"):
        found = study_against(
            table,
            leaderboard,
            columns,
            name=name,
            metric=metric.value,
            modes=modes.value,
            aliases=None if aliases is None else read_aliases(aliases),
            exclude=exclude or (),
            level=level,
        )
    if points is not None:
        from pfgen_rs.io import write_atomic
        from pfgen_rs.io.table_writer import csv_text

        write_atomic(points, csv_text(found.points()).encode())
    if plot is not None:
        from pfgen_rs.studies.plots import against_figure

        look = {"title": title, "language": language.value, "font": font}
        study_options.write_plot(lambda: against_figure(found, outliers=outliers, **look), plot)
    _print_study(found, output_format, outliers, unmatched=unmatched)


def _print_study(
    found: AgainstStudy, output_format: StudyFormat, outliers: int, *, unmatched: bool
) -> None:
    from pfgen_rs.cli.study_view import against_csv, against_parts, against_unmatched

    if output_format is StudyFormat.JSON:
        output.emit_json(found.to_dict(outliers))
        return
    if output_format is StudyFormat.MARKDOWN:
        output.emit(found.to_markdown(outliers))
        return
    if output_format is StudyFormat.CSV:
        output.emit_csv(against_csv(found, outliers))
    else:
        output.show(*against_parts(found, outliers))
        output.show(*against_unmatched(found, listed=unmatched))
    for note in found.notes:
        output.warn(note)
