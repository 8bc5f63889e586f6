"""`pfgen-rs judge plot`: figures about judges as SVG or PNG."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.judge_decide import RuleName
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title, plot_file_path
from pfgen_rs.cli.scoring_options import ScoringOptions, scoring_options

__all__ = ["JudgeKind", "plot"]


class JudgeKind(StrEnum):
    """The type of figure."""

    RELIABILITY = "reliability"
    AGREEMENT = "agreement"
    POSITION = "position"
    RANKS = "ranks"
    SCORES = "scores"


@scoring_options()
def plot(
    kind: Annotated[JudgeKind, typer.Argument(metavar="KIND", help="One of the figures below.")],
    verdicts: Annotated[
        list[Path],
        typer.Argument(
            metavar="VERDICTS",
            help="Folders of verdicts; for `scores`, a folder of ratings.",
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
            show_default=False,
        ),
    ],
    scoring: ScoringOptions,
    humans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Verdicts of people (JSON lines or CSV: id, rater, verdict)."
        ),
    ] = None,
    by: Annotated[
        RuleName, typer.Option(help="How pairs are decided; see `judge decide`.")
    ] = RuleName.PROBABILITY,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="`agreement`: kappa or share. `ranks`: strength (Bradley–Terry), "
            "win-rate or soft-win-rate. The first is the default.",
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="Rated runs, for `scores`; repeatable."),
    ] = None,
    benchmark: options.BenchmarkName = None,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
) -> None:
    """Plot what judges did. Requires matplotlib and scipy (`pip install 'pfgen_rs[plots,judge]'`).

    The figures, by KIND:

    - `reliability`: how often decisions by probability are the raters' majority, in ten bins of probability

    - `agreement`: a matrix of judges and raters, with Cohen's κ or the share of equal verdicts

    - `position`: which answer wins in pairs that flip with the order

    - `ranks`: models with intervals and the ranks that are left open

    - `scores`: mean ratings of runs against their scores, with Pearson's r (Imajo 2025, figure 4)

    For example:

    - `pfgen-rs judge plot reliability verdicts --humans humans.jsonl --out reliability.svg`

    - `pfgen-rs judge plot scores ratings --run runs/a --run runs/b -b pfgen-bench --out scores.svg`
    """
    from pfgen_rs.judge import plots
    from pfgen_rs.judge.plots.kinds import JudgeWish, draw

    wish = JudgeWish(
        verdicts,
        humans,
        by.value,
        value,
        runs or (),
        benchmark,
        title,
        language.value,
        font,
        scoring.score_with,
    )
    drawn = draw(kind.value, wish)
    plots.save(drawn.figure, out)
    for note in drawn.notes:
        output.warn(note)
