"""`pfgen-rs plot`: plots runs as SVG or PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pfgen_rs.cli import app, options, process
from pfgen_rs.errors import PlotError
from pfgen_rs.metrics.settings import Metric

if TYPE_CHECKING:
    from pfgen_rs.report.plot_kinds import PlotKind

Title = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Title (default: depends on the figure).")
]
Language = Annotated[Literal["en", "ja"], typer.Option(help="Language of titles and axes.")]
Font = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        envvar="PFGEN_RS_FONT",
        help="Font for Japanese text (default: IPAexGothic).",
    ),
]


def plot_file_path(path: Path) -> Path:
    """Returns a path for a figure; raises `typer.BadParameter` for other formats and missing folders."""
    return checked_path(path, (".svg", ".png"))


def _csv_path(path: Path | None) -> Path | None:
    return None if path is None else checked_path(path, (".csv",))


def checked_path(path: Path, suffixes: Sequence[str]) -> Path:
    """Returns a path; raises `typer.BadParameter` for other suffixes and missing folders."""
    if path.suffix.lower() not in suffixes:
        raise typer.BadParameter(
            f"unknown format: expected a name ending in {' or '.join(suffixes)}"
        )
    if not app.is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


PlotOut = Annotated[
    Path, options.out_option("FILE", "File to write: .svg or .png.", callback=plot_file_path)
]


class PlotCommand(typer.core.TyperCommand):
    """The command `plot`, whose figures are those that are registered."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        listed = "\n\n".join(f"- `{name}`: {kind.summary}" for name, kind in _kinds().items())
        self.help = (self.help or "").replace("{kinds}", listed)


def _kinds() -> "Mapping[str, PlotKind]":
    from pfgen_rs.report.plot_kinds import plot_kinds  # others take names from this file

    return plot_kinds()


def _known_kind(kind: str) -> str:
    from pfgen_rs.report.plot_kinds import get_plot_kind

    try:
        get_plot_kind(kind)
    except PlotError as error:
        raise typer.BadParameter(str(error)) from None
    return kind


def plot(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="One of the figures above.",
            callback=_known_kind,
            autocompletion=lambda: list(_kinds()),
        ),
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="A checkout of pfgen-bench, a leaderboard.json or .parquet, or runs as for `score`; "
            "for `learning`, files such as curve.parquet. Quoted globs are expanded.",
        ),
    ],
    out: PlotOut,
    benchmark: options.BenchmarkName = None,
    metric: Annotated[
        Metric, typer.Option(help="Metric for `sources` and `convergence`.")
    ] = "average",
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show the best N runs: `intervals` (default: 100), `categories` (80), `questions` (60), "
            "`panels` (12).",
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            "--x",
            metavar="COLUMN",
            help="What is drawn against: of `scatter`, a column (default: parameters); of `learning`, step "
            "(default) or tokens.",
        ),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            metavar="COLUMN",
            help="What is drawn (default: score), such as fluency, length, released, category:math.",
        ),
    ] = None,
    log: Annotated[
        Literal["x", "y", "xy", "none"] | None,
        typer.Option(help="Logarithmic axes (default: those of parameters and price)."),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Join points with the same value, such as organisation (default: family, if known).",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            callback=_csv_path,
            help="Also write the plotted numbers as CSV, of all runs.",
        ),
    ] = None,
    language: Language = "en",
    font: Font = None,
) -> None:
    """Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).

    The figures, by KIND:

    {kinds}

    Uses the result.json of each run; runs without one are scored first, with the given benchmark or the
    checkout's questions. To plot scores with other settings, have `score --out` write the results first.

    For example:

    - `pfgen-rs plot metrics pfgen-bench --out metrics.svg`

    - `pfgen-rs plot intervals pfgen-bench --top 30 --out best.svg --csv best.csv`

    - `pfgen-rs plot scatter pfgen-bench --x released --y category:math --join organisation --out math.svg`

    - `pfgen-rs plot steps 'runs/*' -b pfgen-bench --out steps.png --language ja`
    """
    from pfgen_rs.io.atomic import write_atomic
    from pfgen_rs.report.plot_kinds import draw
    from pfgen_rs.report.plots import save
    from pfgen_rs.report.plots.inputs import PlotRequest

    chosen: dict[str, Any] = {"top": top, "x": x, "y": y, "log": log, "join": join}
    _check_options(kind, chosen)
    look = {"language": language, "font": font}
    score = options.ReadingOptions().score_with
    request = PlotRequest(inputs, benchmark, metric, look=look, score=score, **chosen)
    drawn = draw(kind, request)
    save(drawn.figure, out)
    if csv is not None:
        write_atomic(csv, drawn.csv())
    for note in drawn.notes:
        process.warn(note)


def _check_options(kind: str, options: Mapping[str, object]) -> None:
    """Raise `typer.BadParameter` for options of other figures."""
    for option, value in options.items():
        if value is not None and option not in _kinds()[kind].options:
            kinds = [name for name, each in _kinds().items() if option in each.options]
            raise typer.BadParameter(
                f"--{option} requires the figure {' or '.join(kinds)}", param_hint=f"--{option}"
            )
