"""Options and arguments that the subcommands of `pfgen-rs study` share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli.plot import plot_file_path
from pfgen_rs.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LEADERBOARD", "Format", "ModesName", "PlotFile", "StudyFormat", "write_plot"]

LEADERBOARD = (
    "A checkout of pfgen-bench, a leaderboard.json or .parquet, "
    "or a .csv with the columns model and score."
)


class ModesName(StrEnum):
    """Which runs of a model count."""

    BEST = "best"
    ALL = "all"


class StudyFormat(StrEnum):
    """Output for people, for programs, for spreadsheets, or for READMEs."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


Format = Annotated[StudyFormat, typer.Option("--format", "-f", help="Output format.")]


def _plot_path(path: Path | None) -> Path | None:
    from pfgen_rs.drawing.style import NEEDED, available

    if path is None:
        return None
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    return plot_file_path(path)


PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        callback=_plot_path,
        help="Also draw a figure: .svg or .png. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).",
        show_default=False,
    ),
]


def write_plot(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a figure and write it."""
    from pfgen_rs.drawing.saving import save

    save(draw(), path)
