"""The page of a site with figures of all its runs, each as SVG and with its numbers as CSV."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, get_args

from pfgen_rs import PlotError, Question
from pfgen_rs.checkout.entries import Entry, entries_frame
from pfgen_rs.drawing.figures import SVG_DPI, themed_svg
from pfgen_rs.drawing.style import Language, available, drawn_with
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.report.plot_kinds import Plot, PlotKind, csv_of, plot_kinds
from pfgen_rs.report.plots.inputs import Inputs, PlotRequest, named_runs
from pfgen_rs.report.site.pages import ALONE, Frame, render

PLOTS_PAGE = "plots/index.html"
"""Path of the page within a site."""

_TABLE = "plots/leaderboard.csv"
_TOP = 40  # runs in figures with a row for each

File = tuple[str, bytes]
Known = Mapping[str, Mapping[str, Any]]
"""What is known of the model of each run, by run and column of the board."""


@dataclass(frozen=True, kw_only=True)
class _SiteRequest(PlotRequest):
    """What a site has of its runs."""

    inputs: Inputs
    questions: tuple[Sequence[Question], str]
    known: Known


def are_plottable(entries: Sequence[Entry]) -> bool:
    """Whether a site has the page: not for a single run."""
    return len(entries) > 1


def plots_key(entries: Sequence[Entry], known: Known = MappingProxyType({})) -> list[Any]:
    """Returns what the page depends on besides the questions and this package, as JSON types; cheap."""
    rows = [[repr(e), dict(e.questions), repr(known.get(e.run))] for e in entries]
    return [drawn_with(), list(plot_kinds()), rows]


def plots_files(
    entries: Sequence[Entry],
    benchmark: QuestionSet,
    known: Known = MappingProxyType({}),
    *,
    frame: Frame = ALONE,
) -> Iterator[File]:
    """Yields the page and its files, as paths within the site with their contents.

    A kind of figure `of_sites` has a CSV and, if matplotlib is installed, an SVG in each language, which
    is light or, at the fragment `#dark`, dark. Figures that cannot be drawn, such as steps of no checkpoints,
    are left out. In figures with a row for each run, there are the 40 best or fewer. `known`: for figures of
    facts about models. Time: about 0.5 to 1 s a figure.
    """
    table = entries_frame(entries)
    yield _TABLE, csv_of(table)
    inputs = Inputs(named_runs(table), entries=entries)
    questions = list(benchmark), benchmark.metadata_hash
    request = _SiteRequest((), inputs=inputs, questions=questions, known=known)
    shown = []
    for kind in plot_kinds().values():
        plot = _plot_of_page(kind, request)
        if plot is not None:
            images, files = _images(kind.name, plot)
            yield from files
            yield f"plots/{kind.name}.csv", csv_of(plot.table)
            runs = plot.table["name"].n_unique()
            shown.append({**_about(kind), "images": images, "runs": runs})
    page = render(
        "plots",
        images=True,
        frame=frame,
        here="plots",
        signature=benchmark.signature,
        plots=shown,
        runs=len(entries),
        others=[_about(kind) for kind in plot_kinds().values() if not kind.of_sites],
        is_drawn=available(),
    )
    yield PLOTS_PAGE, page


def _plot_of_page(kind: PlotKind, request: PlotRequest) -> Plot | None:
    if not kind.of_sites:
        return None
    try:
        plot = kind.make(replace(request, top=_top(kind)))
    except PlotError:
        return None
    return plot if plot.suits_site else None


def _top(kind: PlotKind) -> int | None:
    return kind.top and min(kind.top, _TOP)


def _about(kind: PlotKind) -> dict[str, str]:
    """Returns what a kind is, for pages without texts of their own for it, and the command that draws it."""
    top = f" --top {_top(kind)}" if kind.top else ""
    files = f"--out {kind.name}.svg --csv {kind.name}.csv"
    command = f"pfgen-rs plot {kind.name} CHECKOUT{top} {files}"
    return {"kind": kind.name, "summary": kind.summary, "command": command}


def _images(kind: str, plot: Plot) -> tuple[dict[str, Any], list[File]]:
    """Returns by language the address, size in pixels and description of the image; and the files."""
    images, files = {}, []
    for language in get_args(Language) if available() else ():
        figure = plot.draw(language=language)
        width, height = (round(SVG_DPI * inches / 0.75) for inches in figure.get_size_inches())
        images[language] = {
            "src": f"{kind}.{language}.svg",
            "width": width,
            "height": height,
            "alt": f"{figure.get_suptitle()}: {figure.get_label()}",
        }
        files.append((f"plots/{kind}.{language}.svg", themed_svg(figure)))
    return images, files
