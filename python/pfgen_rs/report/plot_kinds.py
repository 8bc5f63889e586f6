"""Kinds of figures of runs, by name: a table of what each shows, and where it is made.

The function of a kind `length` is `plot_length` in a file of `report/plots`. It makes a table and its figure:

    def plot_length(request: PlotRequest) -> Plot:
        runs = request.inputs.runs
        return Plot(run_columns(runs, ["length"]), partial(score_length, runs))

The choices and the help of `pfgen-rs plot`, a site's page of figures and the shared tests come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.lazy import Figure, pl

if TYPE_CHECKING:
    from pfgen_rs.report.plots.inputs import PlotRequest


@dataclass(frozen=True)
class Plot:
    """What a kind makes of a request: a table, and the figure of it.

    `table`: the numbers, of all runs that could be drawn. `draw`: takes `title`, `language` and `font`.
    `notes`: what is left out. `is_cut`: whether the figure shows the best runs of the table only.
    `suits_site`: whether the page of a site shows it.
    """

    table: pl.DataFrame
    draw: Callable[..., Figure]
    notes: Sequence[str] = ()
    is_cut: bool = False
    suits_site: bool = True


class PlotKind(NamedTuple):
    """A kind of figure.

    `file`: that of its function in `report/plots`. `options`: those of `PlotRequest` that it alone reads.
    `of_sites`: whether a site has what it shows.
    """

    file: str
    summary: str
    options: Sequence[str] = ()
    of_sites: bool = False


KINDS = {
    "metrics": PlotKind("metrics", "each pair of metrics, one point per run", of_sites=True),
    "length": PlotKind("metrics", "score against mean length", of_sites=True),
    "sources": PlotKind(
        "metrics", "scores with one source of reference answers against another", ["metric"]
    ),
    "intervals": PlotKind("scores", "scores with their intervals, by rank", ["top"], of_sites=True),
    "categories": PlotKind("scores", "a heat map of runs and categories", ["top"], of_sites=True),
    "convergence": PlotKind(
        "spread", "score against number of trials (from responses)", ["metric"]
    ),
    "spread": PlotKind("spread", "distribution of one run's scores and lengths (from responses)"),
    "learning": PlotKind(
        "training", "score and metrics during training, from a curve.parquet", ["x"]
    ),
    "steps": PlotKind("training", "score against training step", of_sites=True),
}


def make_plot(kind: str, request: PlotRequest) -> Plot:
    """Read what a kind of figure shows; raises `PlotError` for an unknown one."""
    if kind not in KINDS:
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(KINDS)}")
    module = import_module(f"pfgen_rs.report.plots.{KINDS[kind].file}")
    plot: Plot = getattr(module, f"plot_{kind}")(request)
    return plot


@dataclass
class Drawn:
    """A figure, remarks about it, and the table that it shows."""

    figure: Figure
    notes: list[str] = field(default_factory=list)
    table: pl.DataFrame | None = None

    def csv(self) -> bytes:
        """Returns the table as CSV; see `csv_of`."""
        return b"" if self.table is None else csv_of(self.table)


def csv_of(table: pl.DataFrame) -> bytes:
    """Returns a table as CSV, without columns of lists, in full precision."""
    from pfgen_rs.io.table_writer import csv_text

    plain = [name for name, kind in table.schema.items() if not kind.is_nested()]
    return csv_text(table.select(plain)).encode()


def draw(kind: str, request: PlotRequest) -> Drawn:
    """Draw a kind of figure. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    plot = make_plot(kind, request)
    return Drawn(plot.draw(**request.look), list(plot.notes), plot.table)
