"""The results of a check as files: tables as CSV, a Markdown page, and plots as SVG (extra `plots`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from pfgen_rs.drawing.figures import finish, fixed, svg
from pfgen_rs.drawing.style import COLOURS, DASHES, Look, available, drawing
from pfgen_rs.equality import EqualByFields
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.table_writer import csv_text
from pfgen_rs.metrics.settings import BY_SOURCE, COLUMNS
from pfgen_rs.report.markup import inert

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Tables = Mapping[str, pl.DataFrame]

TITLES = {
    "lengths": "Lengths of the reference answers",
    "self_scores": "Reference answers scored against the others of their question",
    "coverage": "Share of the example answers' n-grams found in the set",
    "sources": "Sources scored against each other",
    "shrinking": "Runs scored with smaller sets",
}
_POINTS = 500


def _draw(tables: Tables) -> dict[str, bytes]:
    """Draw the plots in `TITLES` for which there are rows; equal tables give equal bytes.

    Raises `OutputError` if matplotlib is missing.
    """
    with drawing() as look:
        return {name: _drawn(look, name, tables) for name in TITLES if _has_rows(tables, name)}


def _drawn(look: Look, name: str, tables: Tables) -> bytes:
    figure = look.figure(None, TITLES[name], _plot_width(name, tables), 3.6)
    _DRAWINGS[name](look, figure.subplots(), tables)
    return svg(finish(figure, TITLES[name]))


def _has_rows(tables: Tables, name: str) -> bool:
    return name in tables and not tables[name].is_empty()


def _plot_width(name: str, tables: Tables) -> float:
    """Returns the width in inches; the plot of sources grows with their number."""
    return 2.4 + 0.8 * max(len(_names(tables)), 4) if name == "sources" else 6.4


def _draw_lines(look: Look, axes: Axes, lines: Mapping[str, tuple[list[Any], list[Any]]]) -> None:
    """Draw lines that differ in colour and style, with a legend."""
    looks = zip(cycle(COLOURS), cycle(DASHES), strict=False)
    for (name, (x, y)), (colour, style) in zip(lines.items(), looks, strict=False):
        axes.plot(x, y, style, color=colour, label=look.name(name))
    axes.legend()


def _lengths(look: Look, axes: Axes, tables: Tables) -> None:
    counts = tables["length_histogram"].group_by("source", "length").agg(pl.col("answers").sum())
    lines = {}
    for source in dict.fromkeys(tables["length_histogram"]["source"]):
        part = counts.filter(pl.col("source") == source).sort("length")
        lines[source] = (part["length"].to_list(), part["answers"].to_list())
    _draw_lines(look, axes, lines)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("characters")
    axes.set_ylabel("answers")
    axes.set_ylim(bottom=0)


def _self_scores(look: Look, axes: Axes, tables: Tables) -> None:
    lines = {}
    for metric in COLUMNS:
        values = tables["self_scores"][metric].drop_nulls().sort().to_list()
        # The cumulative distribution, which does not depend on bin widths.
        places = sorted({round(i * (len(values) - 1) / _POINTS) for i in range(_POINTS + 1)})
        if values:
            shares = [(place + 1) / len(values) for place in places]
            lines[metric] = ([values[place] for place in places], shares)
    _draw_lines(look, axes, lines)
    axes.set_xlabel("score against the other answers")
    axes.set_ylabel("share of answers up to this score")


def _coverage(look: Look, axes: Axes, tables: Tables) -> None:
    table = tables["coverage"]
    columns = [name for name in table.columns if name.startswith("known_")]
    lines = {}
    for source in dict.fromkeys(table["source"]):
        part = table.filter(pl.col("source") == source)
        means = [part[name].mean() for name in columns]
        lines[source] = ([int(name.removeprefix("known_")) for name in columns], means)
    _draw_lines(look, axes, lines)
    axes.set_xlabel("n")
    axes.set_ylabel("share found, mean over questions")
    axes.set_ylim(0, 1.02)


def _sources(look: Look, axes: Axes, tables: Tables) -> None:
    table = tables["sources_overall"]
    names = _names(tables)
    both = {(row["source"], row["against"]): row["both"] for row in table.to_dicts()}
    values = [[both.get((one, other)) for other in names] for one in names]
    shown = [[float("nan") if value is None else value for value in row] for row in values]
    axes.grid(visible=False)
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value is not None:
                colour = "white" if value < 0.5 else "black"
                axes.text(column, row, fixed(value, 2), ha="center", va="center", color=colour)
    labels = [look.name(name) for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlabel("scored against")
    axes.set_ylabel("answers of")


def _names(tables: Tables) -> list[str]:
    table = tables["sources_overall"]
    return list(dict.fromkeys([*table["source"], *table["against"]]))


def _shrinking(look: Look, axes: Axes, tables: Tables) -> None:
    lines = {}
    for metric in BY_SOURCE:
        part = tables["shrinking"].filter(pl.col("metric") == metric)
        means = part.group_by("size", maintain_order=True).agg(pl.col("mean_difference").mean())
        lines[metric] = (means["size"].to_list(), means["mean_difference"].to_list())
    _draw_lines(look, axes, lines)
    axes.set_xscale("log")
    axes.set_xticks(sizes := lines["fluency"][0], [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("answers per source")
    axes.set_ylabel("mean difference of the runs' scores")
    axes.set_ylim(bottom=0)


_DRAWINGS: dict[str, Callable[[Look, Axes, Tables], None]] = {
    "lengths": _lengths,
    "self_scores": _self_scores,
    "coverage": _coverage,
    "sources": _sources,
    "shrinking": _shrinking,
}


# The results and their files.


PAGE = "check.md"
# Tables short enough for the page, and their headings.
_SHOWN = {
    "sources_overall": "Sources compared: mean scores of one source against another",
    "runs": "Runs",
    "source_runs": "Runs scored with a single source: correlations",
    "shrinking": "Runs scored with smaller sets",
    "near_duplicate_pairs": "Near-duplicates",
    "contamination_examples": "Answers of runs found in the set",
}


@dataclass(frozen=True, eq=False)
class Check(EqualByFields):
    """The results of checking a set.

    `tables` by name, as documented by the functions that create them: `self_scores`, `near_duplicates`,
    `near_duplicate_pairs`, `lengths`, `length_histogram`, `coverage`, `rules`, `sources`, `sources_overall`
    and, if there are runs, `runs`, `left_out` (answers to questions that the set does not have, by run),
    `source_runs`, `shrinking`, `shrinking_runs`, `contamination`, `contamination_examples`. `summary` has one
    row per question; `findings` are sentences about the whole set.
    """

    signature: str
    tables: dict[str, pl.DataFrame]
    summary: pl.DataFrame
    findings: list[str]

    def to_dir(self, folder: str | os.PathLike[str], *, plots: bool | None = None) -> list[Path]:
        """Write every table as CSV, `check.md`, and plots as SVG; returns the paths.

        `plots`: whether to draw plots (default: if matplotlib is installed). Each file is written
        atomically. Raises `OutputError`, also if `plots` is true and matplotlib is missing.
        """
        return _write(self, Path(folder), plots=plots)


def _write(check: Check, folder: Path, *, plots: bool | None) -> list[Path]:
    """Write a check to a folder, the page last because it links to the rest; returns the paths."""
    drawings = {}
    if plots or (plots is None and available()):
        drawings = _draw(check.tables)
    contents = {
        **{f"{name}.csv": csv_text(table).encode() for name, table in check.tables.items()},
        "summary.csv": csv_text(check.summary).encode(),
        **{f"{name}.svg": content for name, content in drawings.items()},
        PAGE: report_markdown(check, list(drawings)).encode(),
    }
    for name, content in contents.items():
        write_atomic(folder / name, content)
    return [folder / name for name in contents]


def report_markdown(check: Check, drawings: Sequence[str] = ()) -> str:
    """Format the page: findings, summary, short tables and plots, with text of the set and runs escaped."""
    return "\n".join(_lines(check, drawings)) + "\n"


def _lines(check: Check, drawings: Sequence[str]) -> Iterator[str]:
    yield from ("# Check of a reference set", "", inert(check.signature), "")
    yield from (f"- {inert(finding)}" for finding in check.findings)
    yield from ("", "## Questions", "", *_table(check.summary), "")
    for name in drawings:
        yield from (
            f"## {TITLES[name]}",
            "",
            f"![{TITLES[name]}]({name}.svg)",
            "",
        )
    for name, title in _SHOWN.items():
        if name in check.tables and not check.tables[name].is_empty():
            yield from (f"## {title}", "", *_table(check.tables[name]), "")
    names = ", ".join(f"[{name}]({name}.csv)" for name in ["summary", *check.tables])
    yield f"All tables: {names}"


def _table(table: pl.DataFrame) -> Iterator[str]:
    numbers = [kind.is_numeric() for kind in table.dtypes]
    yield f"| {' | '.join(map(inert, table.columns))} |"
    yield f"| {' | '.join('---:' if number else '---' for number in numbers)} |"
    for row in table.iter_rows():
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    return inert(str(value))
