"""Kinds of figures of runs: each registers itself, and is drawn by name.

A kind is a function with the decorator `plot_kind` in any file of `report/plots`:

    @plot_kind("length", "score against mean length", page=always)
    def _length(request: PlotRequest) -> Plot:
        runs = request.inputs.runs
        return Plot(run_columns(runs, ["length"]), partial(score_length, runs))

Another package names its own as an entry point of the group `pfgen_rs.plots`, whose name is the kind's. The
choices and the help of `pfgen-rs plot`, the page of figures of a site and the shared tests come from here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pfgen_rs.drawing.style import NEEDED, available
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pfgen_rs.report.plots.inputs import PlotRequest

GROUP = "pfgen_rs.plots"
"""The group of entry points of other packages' kinds."""


@dataclass(frozen=True)
class Plot:
    """What a kind makes of a request: a table, and the figure of it.

    `table`: the numbers, of all runs that could be drawn. `draw`: takes `title`, `language` and `font`.
    `notes`: what is left out. `is_cut`: whether the figure shows the best runs of the table only.
    """

    table: pl.DataFrame
    draw: Callable[..., Figure]
    notes: Sequence[str] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class PlotKind:
    """A kind of figure.

    `options`: the options of `PlotRequest` that it alone reads. `page`: whether a site shows the figure of a
    table; `None` for figures of what a site does not have.
    """

    name: str
    summary: str
    make: Callable[[PlotRequest], Plot]
    options: Sequence[str] = ()
    page: Callable[[pl.DataFrame], bool] | None = None


def plot_kind(
    name: str,
    summary: str,
    *,
    options: Sequence[str] = (),
    page: Callable[[pl.DataFrame], bool] | None = None,
) -> Callable[[Callable[[PlotRequest], Plot]], PlotKind]:
    """Register a kind; the first two arguments are literals, which help reads without importing the file."""

    def register(make: Callable[[PlotRequest], Plot]) -> PlotKind:
        kind = _REGISTERED[name] = PlotKind(name, summary, make, options, page)
        return kind

    return register


_REGISTERED: dict[str, PlotKind] = {}


def always(_table: pl.DataFrame) -> bool:
    """For `page`: every site shows the figure."""
    return True


class _Declared(NamedTuple):
    """Where a kind is, before it is loaded."""

    summary: str
    load: Callable[[], object]


@cache
def _declared() -> dict[str, _Declared]:
    kinds = dict(_own_kinds())
    for entry in entry_points(group=GROUP):
        kinds.setdefault(entry.name, _Declared(f"from {entry.module}", entry.load))
    return kinds


def _own_kinds() -> Iterator[tuple[str, _Declared]]:
    """Yield the kinds of this package, whose files are parsed, but not run: they need numpy and polars."""
    for path in sorted(Path(__file__).with_name("plots").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == plot_kind.__name__:
                    name, summary = map(ast.literal_eval, call.args)
                    module = f"pfgen_rs.report.plots.{path.stem}"
                    yield name, _Declared(summary, partial(import_module, module))


def plot_summaries() -> dict[str, str]:
    """Returns what each kind of figure shows, by name; fast."""
    return {name: kind.summary for name, kind in _declared().items()}


def get_plot_kind(name: str) -> PlotKind:
    """Load a kind of figure; raises `PlotError` for an unknown one."""
    declared = _declared().get(name)
    if declared is None:
        raise PlotError(f"unknown figure {name!r}: expected one of {', '.join(_declared())}")
    loaded = declared.load()
    return loaded if isinstance(loaded, PlotKind) else _REGISTERED[name]


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


def draw(name: str, request: PlotRequest) -> Drawn:
    """Draw a kind of figure. Raises a `PfgenError` for what cannot be read, scored or drawn."""
    kind = get_plot_kind(name)
    if not available():  # before anything is scored
        raise OutputError(NEEDED)
    plot = kind.make(request)
    return Drawn(plot.draw(**request.look), list(plot.notes), plot.table)
