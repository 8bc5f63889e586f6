"""The page of a site with figures of all its runs, each as SVG and with its numbers as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pfgen_rs.checkout.entries import Entry, entries_frame
from pfgen_rs.drawing.saving import SVG_DPI
from pfgen_rs.drawing.style import available, drawn_with
from pfgen_rs.drawing.themes import themed_svg
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.plots.categories import category_means
from pfgen_rs.report.plots.drawn import (
    BOUNDS,
    OF_RUNS,
    RUN,
    Drawn,
    csv_of,
    draw_categories,
    draw_runs,
    run_columns,
)
from pfgen_rs.report.plots.inputs import named_runs
from pfgen_rs.report.plots.steps import MOST as MOST_SERIES
from pfgen_rs.report.plots.steps import score_steps, series
from pfgen_rs.report.site.pages import render

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PLOTS_PAGE", "are_plottable", "plots_files", "plots_key"]

PLOTS_PAGE = "plots/index.html"
"""Path of the page within a site."""

_TABLE = "plots/leaderboard.csv"
_TOP = 40  # runs in figures with a row for each
_OTHERS = ("sources", "convergence", "spread", "learning")
"""Figures that need more than a leaderboard, or are of single runs."""

File = tuple[str, bytes]


@dataclass(frozen=True)
class _PagePlot:
    """A figure: the columns of its numbers, and how it is drawn."""

    kind: str
    table: pl.DataFrame
    draw: Callable[..., Drawn]
    is_cut: bool = False

    @property
    def command(self) -> str:
        """The command that draws it."""
        top = f" --top {_TOP}" if self.is_cut else ""
        return (
            f"pfgen-rs plot {self.kind} CHECKOUT{top} --out {self.kind}.svg --csv {self.kind}.csv"
        )


def are_plottable(entries: Sequence[Entry]) -> bool:
    """Whether a site has the page: not for a single run."""
    return len(entries) > 1


def plots_key(entries: Sequence[Entry]) -> list[Any]:
    """Returns what the page depends on besides the questions and this package, as JSON types; cheap."""
    rows = [[repr(entry), dict(entry.questions)] for entry in entries]
    return [drawn_with(), rows]


def plots_files(
    entries: Sequence[Entry], benchmark: QuestionSet, *, nav: Sequence[tuple[str, str]] = ()
) -> Iterator[File]:
    """Yields the page and its files, as paths within the site with their contents.

    Of each figure: a CSV and, if matplotlib is installed, an SVG in each language, which is light or, at the
    fragment `#dark`, dark. Figures that cannot be drawn, such as steps of no checkpoints, are left out. In
    figures with a row for each run, there are the 40 best. Time: about 0.5 to 1 s a figure.
    """
    table = entries_frame(entries)
    yield _TABLE, csv_of(table)
    shown = []
    for plot in _plots_of_page(named_runs(table), entries, benchmark):
        images = {}
        for language in get_args(Language) if available() else ():
            name = f"{plot.kind}.{language}.svg"
            drawn = plot.draw(language=language)
            yield f"plots/{name}", themed_svg(drawn.figure)
            images[language] = {"src": name, **_image_of_figure(drawn)}
        yield f"plots/{plot.kind}.csv", csv_of(plot.table)
        rows = plot.table["name"].n_unique()
        shown.append({"kind": plot.kind, "command": plot.command, "images": images, "runs": rows})
    yield (
        PLOTS_PAGE,
        render(
            "plots",
            root="../",
            images=True,
            nav=nav,
            here="plots",
            signature=benchmark.signature,
            plots=shown,
            runs=len(entries),
            others=_OTHERS,
            is_drawn=available(),
        ),
    )


def _plots_of_page(
    runs: pl.DataFrame, entries: Sequence[Entry], benchmark: QuestionSet
) -> Iterator[_PagePlot]:
    for kind, made in OF_RUNS.items():
        is_cut = made.is_cut and len(runs) > _TOP
        yield _PagePlot(
            kind,
            run_columns(runs, made.columns),
            lambda kind=kind, **look: draw_runs(kind, runs, top=_TOP, **look),
            is_cut,
        )
    yield from _category_plot_of_page(runs, entries, benchmark)
    yield from _step_plot_of_page(runs)


def _step_plot_of_page(runs: pl.DataFrame) -> Iterator[_PagePlot]:
    """Yield the figure of checkpoints, if there are some, and not too many."""
    try:
        steps = series(runs)
    except PlotError:
        return
    if steps["series"].n_unique() < min(len(steps), MOST_SERIES + 1):
        table = steps.select("series", "step", *RUN, *BOUNDS)
        yield _PagePlot("steps", table, lambda **look: Drawn(score_steps(runs, **look)))


def _category_plot_of_page(
    runs: pl.DataFrame, entries: Sequence[Entry], benchmark: QuestionSet
) -> Iterator[_PagePlot]:
    import polars as pl

    names = dict(runs.select("run", "name").iter_rows())
    same = [e for e in entries if e.metadata_hash == benchmark.metadata_hash]
    rows = [(names[e.run], key, mean) for e in same for key, mean in e.questions.items()]
    if not rows:
        return
    scores = pl.DataFrame(rows, schema=["name", "question_id", "score"], orient="row")
    categories = {question.id: question.category or None for question in benchmark}
    overall = {names[e.run]: e.score for e in same}
    yield _PagePlot(
        "categories",
        category_means(scores, categories, overall),
        lambda **look: draw_categories(scores, categories, overall, top=_TOP, **look),
        len(same) > _TOP,
    )


def _image_of_figure(drawn: Drawn) -> dict[str, Any]:
    """Returns the size in pixels, and what readers learn who cannot see the figure."""
    figure = drawn.figure
    width, height = (round(SVG_DPI * inches / 0.75) for inches in figure.get_size_inches())
    alt = f"{figure.get_suptitle()}: {figure.get_label()}"
    return {"width": width, "height": height, "alt": alt}
