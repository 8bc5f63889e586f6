"""Kinds of figures about judges: each is a file of this folder, which registers itself.

    @judge_plot("position", "which answer wins in pairs that flip with the order")
    def draw_position(request: JudgePlotRequest) -> Drawn: ...

Other packages add theirs by an entry point of the group `pfgen_rs.judge_plots`, whose object is the decorated
function. The choices and the help of `pfgen-rs judge plot` and the shared tests follow from these.
"""

import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pfgen_rs.benchmark import score_runs
from pfgen_rs.drawing.style import COLOURS, NEEDED, available
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import OutputError, PlotError
from pfgen_rs.judge.decisions import Rule, check_rule
from pfgen_rs.judge.pairs import read_humans
from pfgen_rs.judge.verdict_folder import VerdictFolder, check_same_pairs, distinct_judge_names
from pfgen_rs.report.plot_kinds import Drawn
from pfgen_rs.report.plots.inputs import Score

GROUP = "pfgen_rs.judge_plots"
LEVEL = 0.95
"""The level of all intervals."""
POINTS: dict[str, Any] = {
    "color": COLOURS[0],
    "markersize": 6,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
}
"""How points are drawn."""


@dataclass(frozen=True)
class JudgePlotRequest:
    """What to draw: folders of verdicts (`scores`: one of ratings) and options.

    A figure ignores options that it does not need.
    """

    folders: Sequence[str | os.PathLike[str]]
    humans: str | os.PathLike[str] | None = None
    rule: Rule = "probability"
    value: str | None = None
    runs: Sequence[str] = ()
    benchmark: str | None = None
    title: str | None = None
    language: Language = "en"
    font: str | None = None
    score: Score = score_runs

    @property
    def look(self) -> dict[str, Any]:
        """The arguments of every figure."""
        return {"title": self.title, "language": self.language, "font": self.font}

    @property
    def choice(self) -> dict[str, Any]:
        """The value to draw, if one is chosen."""
        return {} if self.value is None else {"value": self.value.replace("-", "_")}

    def only_folder(self, what: str) -> str | os.PathLike[str]:
        """Returns the only folder. Raises `PlotError` if there are more or none."""
        if len(self.folders) != 1:
            raise PlotError(f"expected one folder of {what}, found {len(self.folders)}")
        return self.folders[0]

    def decisions(self) -> tuple[dict[str, pl.DataFrame], list[str]]:
        """Returns the decisions of each judge, and notes on what is missing or out of date."""
        if not self.folders:
            raise PlotError("no folder of verdicts")
        folders = [VerdictFolder(path) for path in self.folders]
        check_same_pairs(folders)
        judges, notes = dict[str, pl.DataFrame](), list[str]()
        for name, folder in zip(distinct_judge_names(folders), folders, strict=True):
            judges[name], coverage = folder.read()
            notes += (f"{name}: {note}" for note in coverage.notes())
        return judges, notes

    def verdicts_of_people(self, judges: Mapping[str, pl.DataFrame]) -> pl.DataFrame | None:
        """Returns the verdicts of people on the judges' pairs, if there is a file of them."""
        known = {pair for table in judges.values() for pair in table["pair"]}
        return None if self.humans is None else read_humans(self.humans, known)


Draw = Callable[[JudgePlotRequest], Drawn]


class JudgePlot(NamedTuple):
    """A kind of figure: what it shows, and how it is drawn."""

    summary: str
    draw: Draw


_kinds: dict[str, JudgePlot] = {}


def judge_plot(name: str, summary: str) -> Callable[[Draw], Draw]:
    """Register the decorated function as the kind `name`."""

    def register(function: Draw) -> Draw:
        _kinds[name] = JudgePlot(summary, function)
        return function

    return register


@cache
def plot_kinds() -> Mapping[str, JudgePlot]:
    """Returns all kinds by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f"{__package__}.{module.name}")
    for point in entry_points(group=GROUP):
        point.load()
    return dict(sorted(_kinds.items()))


def draw(kind: str, request: JudgePlotRequest) -> Drawn:
    """Draw a kind of figure, with notes about what it rests on.

    Raises a `PfgenError` for what cannot be read or drawn.
    """
    if kind not in plot_kinds():
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(plot_kinds())}")
    if not available():
        raise OutputError(NEEDED)
    check_rule(request.rule)
    return plot_kinds()[kind].draw(request)
