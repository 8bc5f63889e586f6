"""`pfgen-rs judge plot` and `page`: figures, and a page of verdicts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pfgen_rs.cli import options, output, streams
from pfgen_rs.cli.judge_options import By, Humans, RatedRuns, out_option, warn_all
from pfgen_rs.cli.options import ReadingOptions, reading_options
from pfgen_rs.cli.plot import Font, Language, LanguageName, Title, plot_file_path
from pfgen_rs.io.text import counted, visible
from pfgen_rs.judge.plots.kinds import JudgePlotRequest, draw, plot_kinds


@reading_options
def plot(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            autocompletion=lambda: list(plot_kinds()),
            help="One of the figures below.",
        ),
    ],
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
    reading: ReadingOptions,
    humans: Humans = None,
    by: By = "probability",
    value: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="`agreement`: kappa or share. `ranks`: strength (Bradley–Terry), "
            "win-rate or soft-win-rate. The first is the default.",
        ),
    ] = None,
    runs: RatedRuns = None,
    benchmark: options.BenchmarkName = None,
    title: Title = None,
    language: Language = LanguageName.ENGLISH,
    font: Font = None,
) -> None:
    """Plot what judges did. Requires matplotlib and scipy (`pip install 'pfgen_rs[plots,judge]'`).

    The figures, by KIND:

    KINDS

    For example:

    - `pfgen-rs judge plot reliability verdicts --humans humans.jsonl --out reliability.svg`

    - `pfgen-rs judge plot scores ratings --run runs/a --run runs/b -b pfgen-bench --out scores.svg`
    """
    from pfgen_rs.judge import plots

    look: dict[str, Any] = {"title": title, "language": language.value, "font": font}
    what = (verdicts, humans, by, value, runs or (), benchmark)
    request = JudgePlotRequest(*what, score=reading.score_with, **look)
    drawn = draw(kind, request)
    plots.save(drawn.figure, out)
    warn_all(drawn.notes)


plot.__doc__ = (plot.__doc__ or "").replace(
    "KINDS", "\n\n    ".join(f"- `{name}`: {kind.summary}" for name, kind in plot_kinds().items())
)


def page(
    verdicts: Annotated[
        list[Path],
        typer.Argument(
            metavar="VERDICTS",
            help="Folders of verdicts of one or more judges on the same pairs.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        out_option(
            "DIR|FILE.html",
            "Folder or file to write. A folder suits many pairs: texts are loaded on demand.",
        ),
    ],
    humans: Humans = None,
    limit: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="List at most N pairs, drawn at random; figures are about all."
        ),
    ] = 20_000,
) -> None:
    """Write a page with all pairs, verdicts, reasons and decisions, to look through in a browser.

    Pairs can be filtered by what the judge did (orders disagree, no decision, against the raters' majority),
    by task, models and text, and ordered by margin. The page needs neither server nor network.

    Example: `pfgen-rs judge page verdicts --humans humans.jsonl --out verdicts.html`
    """
    from pfgen_rs.judge.pages import write_verdict_page

    with output.busy("writing the page"):
        view = write_verdict_page(verdicts, out, humans=humans, sample=limit)
    listed = len(view.pairs)
    said = f", {listed:,} of them listed, drawn at random" if listed < view.total else ""
    streams.emit(f"{visible(str(out))}: {counted(view.total, 'pair')}{said}\n")
    for judge in view.judges:
        place = f"{judge.name}: " if len(view.judges) > 1 else ""
        warn_all(f"{place}{note}" for note in judge.coverage.notes())
