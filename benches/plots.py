"""Plots of how cost grows, as SVG: for the colour-blind, too, and with a background for dark pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Content = dict[str, Any]

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"  # of Okabe and Ito
MARKERS = {BLUE: "o", ORANGE: "s", GREEN: "^"}
TITLES = {
    "responses": "Time and peak memory against responses",
    "references": "Cost against reference answers",
    "threads": "Responses a second against threads",
}

mpl.rcParams.update(
    {
        "svg.hashsalt": "pfgen_rs",  # the same numbers give the same file
        "font.family": "sans-serif",
        "axes.grid": True,
        "grid.color": "#d8d8d8",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def responses(content: Content, path: Path) -> None:
    """Seconds and peak memory of `pfgen-rs score` against the responses in a file."""
    points = content["responses"]
    counts = [point["responses"] for point in points]
    figure, (time, memory) = panels(2)
    line(time, counts, [point["seconds"] for point in points], BLUE)
    logarithmic(time, "responses in one file", "seconds, start to exit")
    line(memory, counts, [point["peak"] / 1e6 for point in points], ORANGE)
    logarithmic(memory, "responses in one file", "peak memory (MB)")
    save(figure, TITLES["responses"], path)


def references(content: Content, path: Path) -> None:
    """Building time, memory and scoring time against the reference answers of a question."""
    points = content["references"]
    counts = [point["references"] for point in points]
    figure, (build, memory, scoring) = panels(3)
    line(build, counts, [point["build_s"] * 1e3 for point in points], BLUE)
    logarithmic(build, "reference answers", "build, one core (ms)")
    line(memory, counts, [point["tables"] / 1e6 for point in points], ORANGE, "tables")
    line(memory, counts, [point["peak"] / 1e6 for point in points], GREEN, "peak of the process")
    logarithmic(memory, "reference answers", "memory (MB)")
    memory.legend(frameon=False)
    line(scoring, counts, [point["seconds_a_response"] * 1e6 for point in points], BLUE)
    logarithmic(scoring, "reference answers", "one response, one thread (µs)")
    save(figure, TITLES["references"], path)


def threads(content: Content, path: Path) -> None:
    """Responses a second against threads, beside as many times one thread's as there are cores."""
    points = content["threads"]
    numbers = [point["threads"] for point in points]
    rates = [point["per_second"] / 1e6 for point in points]
    cores = content["machine"]["cores"]
    figure, (axes,) = panels(1)
    ideal = [rates[0] * min(number, cores) for number in numbers]
    line(axes, numbers, ideal, ORANGE, f"{cores} cores used in full", style="--")
    line(axes, numbers, rates, BLUE, "measured")
    axes.set_xlabel("threads")
    axes.set_ylabel("million responses a second")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower right")
    save(figure, f"{TITLES['threads']} ({cores} cores)", path)


DRAWINGS: dict[str, Callable[[Content, Path], None]] = {
    "responses": responses,
    "references": references,
    "threads": threads,
}


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """A figure with plots side by side."""
    figure = Figure(figsize=(1 + 3.6 * max(count, 1.5), 3.4), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)
    return figure, list(axes[0])


def line(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    colour: str,
    label: str | None = None,
    style: str = "-",
) -> None:
    """One line with a marker a point; markers tell lines apart without colour."""
    axes.plot(x, y, style, color=colour, marker=MARKERS[colour], label=label)


def logarithmic(axes: Axes, x: str, y: str) -> None:
    """Both axes logarithmic and named."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def save(figure: Figure, title: str, path: Path) -> None:
    """Write it; without a date, so that the same numbers give the same file."""
    figure.suptitle(title)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
