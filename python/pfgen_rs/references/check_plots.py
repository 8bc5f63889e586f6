"""Plots of a check as SVG, with matplotlib (the extra `plots`): for the colour-blind, too."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import cycle
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TITLES", "available", "draw"]

Tables = Mapping[str, pl.DataFrame]

TITLES = {
    "lengths": "Lengths of the reference answers",
    "self_scores": "Reference answers scored against the others of their question",
    "coverage": "Share of the sample answers' n-grams that the set knows",
    "sources": "Sources scored against each other",
    "shrinking": "Runs scored with smaller sets",
}
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # of Okabe and Ito
_STYLES = ("-", "--", ":", "-.")
_POINTS = 500
_NEEDED = "plots need matplotlib: pip install 'pfgen_rs[plots]'"
_JAPANESE = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "Hiragino Sans",
    "Yu Gothic",
    "MS Gothic",
    "TakaoGothic",
)


def available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(tables: Tables) -> dict[str, bytes]:
    """The plots that the tables give, by the names in `TITLES`; the same tables give the same bytes.

    Raises `OutputError` where matplotlib is missing.
    """
    if not available():
        raise OutputError(_NEEDED)
    import matplotlib as mpl

    style: dict[Any, Any] = {
        "svg.hashsalt": "pfgen_rs",  # else names within the file would be random
        "font.family": ["DejaVu Sans", *_japanese()],
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with mpl.rc_context(style):
        drawn = {name: _DRAWINGS[name](tables) for name in TITLES if _has_rows(tables, name)}
        return {name: _saved(figure, TITLES[name]) for name, figure in drawn.items()}


def _has_rows(tables: Tables, name: str) -> bool:
    return name in tables and not tables[name].is_empty()


def _japanese() -> list[str]:
    """The first Japanese font that is installed, if any."""
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return [name for name in _JAPANESE if name in installed][:1]


def _label(text: str) -> str:
    """A source's name as it can be drawn: no formula, and nothing that no font has."""
    drawable = text if _japanese() else text.encode("ascii", "backslashreplace").decode()
    printable = "".join(c if c.isprintable() else "?" for c in drawable)
    return printable.replace("$", r"\$")


def _axes(width: float = 6.4) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 3.6), layout="constrained")
    return figure, figure.subplots()


def _saved(figure: Figure, title: str) -> bytes:
    buffer = io.BytesIO()
    figure.suptitle(title)
    figure.savefig(buffer, format="svg", facecolor="white", metadata={"Date": None})
    return buffer.getvalue()


def _lines(axes: Axes, lines: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
    """Lines with a legend; what they are is told by colour and by style."""
    looks = zip(cycle(_COLOURS), cycle(_STYLES), strict=False)
    for (name, (x, y)), (colour, style) in zip(lines.items(), looks, strict=False):
        axes.plot(x, y, style, color=colour, label=_label(name))
    axes.legend(frameon=False)


def _lengths(tables: Tables) -> Figure:
    figure, axes = _axes()
    counts = tables["length_histogram"].group_by("source", "length").agg(pl.col("answers").sum())
    lines = {}
    for source in dict.fromkeys(tables["length_histogram"]["source"]):
        part = counts.filter(pl.col("source") == source).sort("length")
        lines[source] = (part["length"].to_list(), part["answers"].to_list())
    _lines(axes, lines)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("characters")
    axes.set_ylabel("answers")
    axes.set_ylim(bottom=0)
    return figure


def _self_scores(tables: Tables) -> Figure:
    figure, axes = _axes()
    lines = {}
    for metric in ("fluency", "truthfulness", "helpfulness", "average"):
        values = tables["self_scores"][metric].drop_nulls().sort().to_list()
        # How many score at most so much: nothing depends on the width of bins.
        places = sorted({round(i * (len(values) - 1) / _POINTS) for i in range(_POINTS + 1)})
        if values:
            shares = [(place + 1) / len(values) for place in places]
            lines[metric] = ([values[place] for place in places], shares)
    _lines(axes, lines)
    axes.set_xlabel("score without itself")
    axes.set_ylabel("share of answers with at most this")
    return figure


def _coverage(tables: Tables) -> Figure:
    figure, axes = _axes()
    table = tables["coverage"]
    columns = [name for name in table.columns if name.startswith("known_")]
    lines = {}
    for source in dict.fromkeys(table["source"]):
        part = table.filter(pl.col("source") == source)
        means = [part[name].mean() for name in columns]
        lines[source] = ([int(name.removeprefix("known_")) for name in columns], means)
    _lines(axes, lines)
    axes.set_xlabel("n")
    axes.set_ylabel("share of n-grams known, mean over questions")
    axes.set_ylim(0, 1.02)
    return figure


def _sources(tables: Tables) -> Figure:
    table = tables["sources_overall"]
    names = list(dict.fromkeys([*table["source"], *table["against"]]))
    found = {(row["source"], row["against"]): row["both"] for row in table.to_dicts()}
    values = [[found.get((one, other)) for other in names] for one in names]
    figure, axes = _axes(width=2.4 + 0.8 * max(len(names), 4))
    shown = [[float("nan") if value is None else value for value in row] for row in values]
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value is not None:
                colour = "white" if value < 0.5 else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
    labels = [_label(name) for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlabel("scored against")
    axes.set_ylabel("answers of")
    return figure


def _shrinking(tables: Tables) -> Figure:
    figure, axes = _axes()
    lines = {}
    for metric in ("fluency", "truthfulness"):
        part = tables["shrinking"].filter(pl.col("metric") == metric)
        means = part.group_by("size", maintain_order=True).agg(pl.col("mean_difference").mean())
        lines[metric] = (means["size"].to_list(), means["mean_difference"].to_list())
    _lines(axes, lines)
    axes.set_xscale("log")
    axes.set_xticks(sizes := lines["fluency"][0], [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("answers a source")
    axes.set_ylabel("mean difference of the runs' scores")
    axes.set_ylim(bottom=0)
    return figure


_DRAWINGS: dict[str, Callable[[Tables], Figure]] = {
    "lengths": _lengths,
    "self_scores": _self_scores,
    "coverage": _coverage,
    "sources": _sources,
    "shrinking": _shrinking,
}
