"""`pfgen-rs study sources`: scores by single sources of reference answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pfgen_rs.cli import options, output, study_options
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options
from pfgen_rs.cli.study_options import StudyFormat

__all__ = ["QuestionsName", "SourceMetricName", "sources"]


class SourceMetricName(StrEnum):
    """A metric that depends on the sources."""

    AVERAGE = "average"
    FLUENCY = "fluency"
    TRUTHFULNESS = "truthfulness"


class QuestionsName(StrEnum):
    """The questions that scores are means over."""

    COMMON = "common"
    ALL = "all"


@scoring_options()
def sources(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKOUT|RUN…",
            help="A checkout of pfgen-bench, all of whose runs are scored, or runs as for `score`.",
            show_default=False,
        ),
    ],
    scoring: ScoringOptions,
    benchmark: options.BenchmarkName = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Source to compare; repeatable (default: those that share a question with another).",
            show_default=False,
        ),
    ] = None,
    combinations: Annotated[
        bool, typer.Option("--combinations", help="Score with all combinations of sources, too.")
    ] = False,
    metric: Annotated[
        SourceMetricName, typer.Option(help="Metric of the table and the figure.")
    ] = SourceMetricName.AVERAGE,
    level: options.Level = 0.95,
    plot: study_options.PlotFile = None,
    questions: Annotated[
        QuestionsName, typer.Option(help="Questions of the figure: those with all sources, or all.")
    ] = QuestionsName.COMMON,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
    output_format: study_options.Format = StudyFormat.TABLE,
) -> None:
    """Correlate scores with the reference answers of one source and of another.

    All runs are scored again with the reference answers of each source alone, and of all of them. Scores are
    means over the questions that have all sources, and over all questions, of which those without a source
    keep their own. Intervals are Fisher's, over runs. The figure is a map of the correlations.

    The default benchmark of a checkout is its own questions.

    For example:

    - `pfgen-rs study sources pfgen-bench`

    - `pfgen-rs study sources 'runs/*' -b pfgen-bench --metric fluency --combinations --plot sources.svg`
    """
    from pfgen_rs.report.plots.inputs import question_folder
    from pfgen_rs.studies.sources import study_sources

    found = study_sources(
        runs,
        scoring.load(question_folder(runs, benchmark)),
        sources=chosen,
        combinations=combinations,
        level=level,
        options=scoring.reading(),
        run_field=scoring.run_field,
        track=lambda names: output.track(names, "scoring with"),
    )
    if plot is not None:
        from pfgen_rs.studies.plots import correlation_map

        drawn = found.matrix(metric.value, questions.value)
        study_options.write_plot(
            lambda: correlation_map(
                drawn,
                usual="Scores by source of reference answers",
                title=title,
                language=language.value,
                font=font,
            ),
            plot,
        )
    if output_format is StudyFormat.JSON:
        output.emit_json(found.to_dict())
    elif output_format is StudyFormat.MARKDOWN:
        output.emit(found.to_markdown(metric.value))
    else:
        if output_format is StudyFormat.CSV:
            output.emit_csv(found.frame().to_dicts())
        else:
            from pfgen_rs.cli.study_view import source_parts

            output.show(*source_parts(found, metric.value))
        for note in found.notes:
            output.warn(note)
