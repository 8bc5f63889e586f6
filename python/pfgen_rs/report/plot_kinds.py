"""Kinds of figures of runs: each registers itself, and is drawn by name.

A kind is a function with the decorator `plot_kind` in any file of `report/plots`. It makes a table, and its
figure:

    @plot_kind("length", "score against mean length", of_sites=True)
    def _length(request: PlotRequest) -> Plot:
        runs = request.inputs.runs
        return Plot(run_columns(runs, ["length"]), partial(score_length, runs))

Another package names its own as an entry point of the group `pfgen_rs.plots`, whose name is the kind's. The
choices and the help of `pfgen-rs plot`, the page of figures of a site and the shared tests come from here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pfgen_rs import OutputError, PlotError, registry
from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.lazy import Figure, pl

if TYPE_CHECKING:
    from pfgen_rs.report.plots.inputs import PlotRequest


@dataclass(frozen=True)
class Plot:
    """What a kind makes of a request: a table, and the figure of it.

    `table`: the numbers, of all runs that could be drawn. `draw`: takes `title`, `language` and `font`.
    `notes`: what is left out. `suits_site`: whether the page of a site shows it.
    """

    table: "pl.DataFrame"
    draw: Callable[..., Figure]
    notes: Sequence[str] = ()
    suits_site: bool = True


@dataclass(frozen=True)
class PlotKind:
    """A kind of figure.

    `options`: those of `PlotRequest` that it alone reads. `of_sites`: whether a site has what it shows.
    `top`: how many runs it shows at most, unless asked for others.
    """

    name: str
    summary: str
    make: "Callable[[PlotRequest], Plot]"
    options: Sequence[str] = ()
    of_sites: bool = False
    top: int | None = None


_registry: registry.Registry[PlotKind] = registry.Registry(
    "figure", "pfgen_rs.report.plots", "pfgen_rs.plots", PlotError
)


def plot_kind(
    name: str, summary: str, *, options: Sequence[str] = (), top: int | None = None, **fields: Any
) -> "Callable[[Callable[[PlotRequest], Plot]], PlotKind]":
    """Register the decorated function as a kind of figure; the arguments are fields of `PlotKind`."""

    def register(make: "Callable[[PlotRequest], Plot]") -> PlotKind:
        every = [*options, "top"] if top else options
        kind = PlotKind(name, summary, make, every, top=top, **fields)
        _registry.add(name, kind)
        return kind

    return register


def plot_kinds() -> dict[str, PlotKind]:
    """Returns all kinds of figures by name, without those of other packages that cannot be loaded."""
    return _registry.usable()


def get_plot_kind(name: str) -> PlotKind:
    """Returns a kind of figure; raises `PlotError` for an unknown one and one that cannot be loaded."""
    return _registry.get(name)


@dataclass
class Drawn:
    """A figure, remarks about it, and the table that it shows."""

    figure: Figure
    notes: list[str] = field(default_factory=list)
    table: "pl.DataFrame | None" = None

    def csv(self) -> bytes:
        """Returns the table as CSV; see `csv_of`."""
        return b"" if self.table is None else csv_of(self.table)


def csv_of(table: "pl.DataFrame") -> bytes:
    """Returns a table as CSV, without columns of lists, in full precision."""
    from pfgen_rs.io.table_writer import csv_text

    plain = [name for name, kind in table.schema.items() if not kind.is_nested()]
    return csv_text(table.select(plain)).encode()


def draw(kind: str, request: "PlotRequest") -> Drawn:
    """Draw a kind of figure. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    made = get_plot_kind(kind)
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    plot = made.make(request)
    return Drawn(plot.draw(**request.look), list(plot.notes), plot.table)
