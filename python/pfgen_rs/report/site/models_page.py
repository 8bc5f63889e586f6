"""Pages about models: the overview, the table of all, a page for each, and lists of pages of other kinds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from typing import Any

from pfgen_rs.checkout.entries import Entry
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.report.site import charts
from pfgen_rs.report.site.board import Board, Cell, Column, Model, Section, Value
from pfgen_rs.report.site.compare_page import MOST_COMPARED
from pfgen_rs.report.site.pages import Frame, render, shared_script

OVERVIEW_PAGE, MODELS_PAGE = "index.html", "models/index.html"
BOARD, MEANS = "board", "means"
"""Names of the payloads with what `board.payload` and `board.means` give."""
LEADERS = 15

_DRAWING = (
    *("statistics", "flips", "ranking", "board", "table_export"),
    *("drawings", "drawings_marks", "drawings_scatter", "drawings_kinds", "drawings_curves"),
)
_TABLE = ("charts", "cells", "table_columns", "filters", "virtual", "weights", "tray", "models")
MODELS_PARTS = (*_DRAWING, *_TABLE)
"""What the table of models is made of."""
_MODEL = (*_DRAWING, "section", "model")
_FEW_ORGANISATIONS = 4


def overview_page(
    board: Board, *, frame: Frame, is_complete: bool, lead: tuple[str, str] | None
) -> bytes:
    """Returns the first page: the leading models, drawings, and what the other pages are about.

    `is_complete`: whether the pages that it leads to are there already. `lead`: what the site is, in its own
    words.
    """
    return render(
        "overview",
        parts=(*_DRAWING, "section", "overview"),
        frame=frame,
        board=board,
        leaders=leaders(board),
        is_complete=is_complete,
        lead=lead,
    )


def models_page(board: Board, *, frame: Frame, comparison: str | None, is_complete: bool) -> bytes:
    """Returns the page with the table of models, which its script makes of the board.

    `comparison`: path of the page that compares runs, if there is one. Without scripts it has the best run of
    each model that has runs.
    """
    return render(
        "models",
        parts=MODELS_PARTS,
        frame=frame,
        rows=list(_table_rows(board)),
        is_complete=is_complete,
        data={"comparison": {"page": comparison, "most": MOST_COMPARED}},
    )


def _table_rows(board: Board) -> Iterator[dict[str, Any]]:
    """Yields what the table has of the best run of each model; ranks are those of models."""
    ranks = count(1)
    for model in board.models:
        if model.runs:
            run = model.runs[0]
            yield {
                **{key: getattr(run, key) for key in ("score", *PARTS, "length")},
                "rank": None if model.is_system else next(ranks),
                "name": model.name,
                "page": model.page,
                "low": run.estimate.low,
                "high": run.estimate.high,
            }


def model_script() -> tuple[str, bytes]:
    """Returns path and content of the script that the pages of all models of a site share."""
    return shared_script("model", _MODEL)


def model_page(model: Model, board: Board, *, frame: Frame, pages: Mapping[str, str]) -> bytes:
    """Returns all that is known of a model: values by group of columns, its runs, pages that tell of it."""
    values = {**model.values, **(board.run_values(model.runs[0]) if model.runs else {})}
    known = [column for column in board.columns if values.get(column.key) is not None]
    groups = [
        (label, [(column, values[column.key]) for column in known if column.group == key])
        for key, label in board.groups.items()
    ]
    return render(
        "model",
        parts=_MODEL,
        script=model_script()[0],
        frame=frame,
        model=model,
        board=board,
        groups=[(label, own) for label, own in groups if own],
        shown_value=shown_value,
        pages=pages,
        sections=[s for s in board.sections if model.name in s.models],
        data={"page": {"model": model.slug}},
    )


def section_page(kind: str, board: Board, sections: Sequence[Section], *, frame: Frame) -> bytes:
    """Returns the list of the site's pages of a kind (`judges`, …), with the columns that belong to it."""
    groups = {"judges": ("judges",), "tasks": ("jpeval",), "training": ("training",)}.get(kind, ())
    columns = [column for column in board.columns if column.group in groups]
    rows = [m for m in board.models if any(m.values.get(c.key) is not None for c in columns)]
    return render(
        "section",
        parts=("section",),
        frame=frame,
        kind=kind,
        columns=columns,
        rows=rows,
        shown_value=shown_value,
        sections=sections,
    )


@dataclass(frozen=True)
class Leaders:
    """The leading models: the best of each organisation or, where there are few of these, the best of all."""

    models: Sequence[Model]
    by_organisation: bool
    axis: charts.Axis


def leaders(board: Board) -> Leaders | None:
    """Returns the best models with runs; `None` if there are none."""
    best = [model for model in board.models if model.runs and not model.is_system]
    if not best:
        return None
    first: dict[str, Model] = {}
    for model in best:
        first.setdefault((model.organisation or model.name).casefold(), model)
    by_organisation = len(first) >= _FEW_ORGANISATIONS
    shown = list(first.values() if by_organisation else best)[:LEADERS]
    axis = charts.Axis.of_most([_interval(model.runs[0]) for model in shown])
    return Leaders(shown, by_organisation, axis)


def _interval(entry: Entry) -> tuple[float, float]:
    low, high = entry.estimate.low, entry.estimate.high
    return (entry.score, entry.score) if low is None or high is None else (low, high)


def shown_value(column: Column, cell: Cell) -> dict[str, Any] | None:
    """Returns a value as text, with the bounds of its interval if it has one; `None` if it is not known."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return {"flag": cell}
    if isinstance(cell, str | date):
        return {"text": str(cell), "bounds": None}
    value, low, high = cell if isinstance(cell, Value) else Value(float(cell))
    bounds = None if low is None or high is None else f"{low:.3f}–{high:.3f}"
    return {"text": f"{value:,.{column.digits}f}", "bounds": bounds}
