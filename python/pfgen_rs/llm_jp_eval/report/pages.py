"""A report as a web page, and as figures (which require the extra `plots`)."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pfgen_rs.drawing import radar as radar_lines
from pfgen_rs.drawing.figures import finish
from pfgen_rs.drawing.style import COLOURS, GREY, GRID, INK, Language, Look, drawing
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, pl
from pfgen_rs.llm_jp_eval.diagnosis import FORMS, PARTS, mean_shares
from pfgen_rs.llm_jp_eval.measures import CORRELATIONS, parse_float
from pfgen_rs.llm_jp_eval.report.comparing import LEVEL, Column, ColumnEstimate
from pfgen_rs.llm_jp_eval.report.report import Report
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.report.site import pages
from pfgen_rs.report.site.own_page import OwnPage
from pfgen_rs.report.site.pages import ALONE, Frame
from pfgen_rs.stats.permutation import shown_p


def write_report_page(
    report: Report, runs: Sequence[ReportRun], path: str | os.PathLike[str]
) -> int:
    """Write the page of a report: to one file if `path` ends in `.html`, else to a folder.

    `runs`: those of the report, in any order. A folder gets `index.html` and files with texts, which the page
    loads on demand; a single file contains everything. Returns the number of samples. Raises `OutputError`.
    """
    page, samples = report_page(report, runs)
    page.write(path)
    return samples


def report_page(
    report: Report, runs: Sequence[ReportRun], place: Frame = ALONE
) -> tuple[OwnPage, int]:
    """Returns the page of a report, and the number of its samples; `runs` as for `write_report_page`."""
    by_name = {run.name: run for run in runs}
    ordered = [by_name[name] for name in report.runs]
    known = set(report.samples) | {column.parts[0].task for column in report.of_kind("task")}
    shown = [replace(r, frame=r.frame.filter(r.frame["task"].is_in(list(known)))) for r in ordered]
    table = sample_table(shown)
    starts = report_chunk_starts(table)
    chunks = report_chunks(table, len(ordered), starts)
    about = {
        "frame": place,
        "samples": len(table),
        "data": {
            "samples": {"index": place.name(INDEX), "chunks": [*map(place.name, chunks)]},
        },
    }
    payloads = {INDEX: report_index(table, ordered, starts), **chunks}
    named = [(place.name(name), value) for name, value in payloads.items()]
    return OwnPage(named, lambda inside: _page_of(report, about, inside), place), len(table)


def _page_of(report: Report, about: Mapping[str, Any], payloads: Mapping[str, Any]) -> bytes:
    every = [own for found in report.diagnoses.values() for own in found.values()]
    return pages.render(
        "llm_jp_eval",
        parts=("blocks", "listing", "llm_jp_eval"),
        **about,
        report=report,
        level=f"{LEVEL * 100:g}",
        pairs=report.pairs if len(report.runs) == 2 else report.shown_pairs(),
        value_text=value_text,
        bounds=_bracketed_bounds,
        rank_text=rank_text,
        p_text=shown_p,
        samples_text=lambda column: report.samples_text(column).replace(" to ", "–"),
        stack=PARTS,
        told=[name for name in mean_shares(every) if name not in FORMS],
        payloads=payloads,
    )


def _bracketed_bounds(low: float | None, high: float | None, form: str = ".3f") -> str:
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


# The data of a report's page: an index of all samples, and their texts in chunks, loaded on demand.


INDEX = "samples/index"
"""Name of the payload with what filters and orders need."""
_CHUNK = "samples/{:05d}"
"""Names of payloads with the texts of a chunk."""
_SAMPLES, _CHARACTERS = 64, 200_000  # of a chunk
_UNIT = 10**4  # values go to the page as whole numbers of it
_SCALE = 5.0  # of jsts


def sample_table(runs: Sequence[ReportRun]) -> pl.DataFrame:
    """Returns a row a sample that any run has, by task (as first run) and index.

    Columns: `task`, `index`, `gold`, `input`, and for each run i `pred{i}` and
    `value{i}`: for jsts, 1 minus the deviation from gold in parts of the scale, at least 0. Null where a run
    lacks the sample.
    """
    tasks_in_order = pl.Enum(list(dict.fromkeys(task for run in runs for task in run.tasks)))
    every = pl.concat(run.frame.select("task", "index", "gold", "input") for run in runs)
    table = every.unique(["task", "index"], keep="first", maintain_order=True)
    for i, run in enumerate(runs):
        pred, value = pl.col("pred").alias(f"pred{i}"), _closeness(run).alias(f"value{i}")
        own = run.frame.select("task", "index", pred, value)
        table = table.join(own, on=["task", "index"], how="left", maintain_order="left")
    return table.sort(pl.col("task").cast(tasks_in_order), "index", maintain_order=True)


def _closeness(run: ReportRun) -> pl.Series:
    """Returns the value of each sample, null where the task has correlations and texts are no numbers."""
    correlated = {task for task in run.tasks if run.main_metric(task) in CORRELATIONS}
    columns = run.frame.select("task", "value", "pred", "gold").iter_rows()
    values = [_close(*texts) if task in correlated else value for task, value, *texts in columns]
    return pl.Series(values, dtype=pl.Float64)


def _close(pred: str, gold: str) -> float | None:
    apart = abs(parse_float(pred) - float(gold))
    return None if math.isnan(apart) else round(1 - min(apart, _SCALE) / _SCALE, 6)


def report_chunk_starts(table: pl.DataFrame) -> list[int]:
    """Returns the row of the first sample of each chunk: at most 64 samples, and about 200,000 characters."""
    texts = table.drop("task").select(pl.col(pl.String).str.len_chars().fill_null(0))
    keys = texts.select(
        samples=pl.int_range(pl.len()) // _SAMPLES,
        characters=pl.sum_horizontal(pl.all()).cum_sum() // _CHARACTERS,
    ).rows()
    return [row for row, key in enumerate(keys) if row == 0 or key != keys[row - 1]]


def report_index(
    table: pl.DataFrame, runs: Sequence[ReportRun], starts: Sequence[int]
) -> dict[str, Any]:
    """Returns the index: a column for each property of samples, and the values of each run.

    Values are in units of 0.0001, null where a run lacks the sample or its value is not known. `metric`: of
    each task, empty if none is known.
    """
    order = table["task"].unique(maintain_order=True).to_list()
    main = {name: [run.main_metric(name) for run in runs] for name in order}
    values = [(table[f"value{i}"] * _UNIT).round().cast(pl.Int64) for i in range(len(runs))]
    return {
        "tasks": order,
        "metrics": [next(filter(None, found), "") for found in main.values()],
        "task": table["task"].cast(pl.Enum(order)).to_physical().to_list(),
        "number": table["index"].to_list(),
        "runs": [run.name for run in runs],
        "values": [own.to_list() for own in values],
        "starts": list(starts),
    }


def report_chunks(table: pl.DataFrame, runs: int, starts: Sequence[int]) -> dict[str, Any]:
    """Returns the payloads with texts by name.

    A value has the distinct `texts`, and `samples`: for each the places of input, gold and the predictions of
    the runs. -1: none.
    """
    columns = ["input", "gold", *(f"pred{i}" for i in range(runs))]
    found = {}
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], len(table)], strict=True)):
        known: dict[str | None, int] = {None: -1}
        rows = [
            [known.setdefault(text, len(known) - 1) for text in row]
            for row in table[start:stop].select(columns).iter_rows()
        ]
        found[_CHUNK.format(number)] = {"samples": rows, "texts": list(known)[1:]}
    return found


# Values of a report as text, the same in tables, Markdown and pages.


def value_text(estimate: ColumnEstimate, digits: int = 4) -> str:
    """Returns the value, `–` without one, with `*` where tasks or categories are missing."""
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.{digits}f}{'*' if estimate.partial else ''}"


def bounds_text(low: float | None, high: float | None, form: str = ".3f") -> str:
    """Returns the bounds of an interval, nothing without them."""
    return "" if low is None or high is None else f"{low:{form}} to {high:{form}}"


def rank_text(ranks: tuple[int, int] | None) -> str:
    """Returns a range of ranks."""
    if ranks is None:
        return "–"
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"


# Figures of runs (requires the extra `plots`): a radar chart, and bars with intervals.


_MOST_DRAWN = 16  # axes or panels


def _drawn_columns(report: Report, runs: Sequence[str], *kinds: str) -> list[Column]:
    """Returns the columns of these kinds that some run has a value for, without Spearman's correlation."""
    found = [
        column
        for column in report.columns
        if column.kind in kinds
        and column.metric != "spearman"
        and any(report.estimates[run][column.name].value is not None for run in runs)
    ]
    if len(found) > _MOST_DRAWN:  # figures of figures are left out
        found = [column for column in found if column.parts][:_MOST_DRAWN]
    return found


def _starred(report: Report, columns: Sequence[Column], look: Look) -> tuple[list[str], str]:
    """Returns names of columns, with a star if a run's value lacks some of the tasks, and what stars say."""
    every = report.estimates.values()
    stars = ["*" * any(found[column.name].partial for found in every) for column in columns]
    names = [f"{look.name(c.name)}{star}" for c, star in zip(columns, stars, strict=True)]
    return names, look.say("* some tasks were not run") if any(stars) else ""


# The average and the categories of runs, as bars with intervals.


MOST_BARS = 40
"""Runs that are shown."""
_ACROSS = 3


def bars(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw a panel for the average and one for each category, with a bar and an interval for each run.

    The 40 best runs are shown; panels that no run has a value for are left out. STS is Pearson's
    correlation, and its panel begins at -1 if one is negative. Raises `PlotError` without any value.
    """
    runs = report.runs[:MOST_BARS]
    columns = _drawn_columns(report, runs, "average", "category")
    if not columns:
        raise PlotError("nothing to draw: no run has a category")
    across = min(_ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    height = 1.3 + down * (0.75 + 0.27 * len(runs))
    with drawing(language, font) as look:
        figure = look.figure(title, "Scores by category", 3.2 + 2.35 * across, height)
        panels = _bar_panels(figure, down, across, [look.name(run, 34) for run in runs])
        names, stars = _starred(report, columns, look)
        for column, name, axes in zip(columns, names, panels, strict=False):
            axes.set_title(name, loc="left", fontweight="bold")
            _draw_bars(axes, [report.estimates[run][column.name] for run in runs], column.kind)
        for axes in panels[len(columns) :]:
            axes.set_visible(False)
        told = look.say("Score (95 % interval)"), stars
        figure.supxlabel("    ".join(filter(None, told)), fontsize=10)
        return finish(figure, _description(report, runs, columns, look, bounds=True))


def _draw_bars(axes: Axes, found: Sequence[ColumnEstimate], kind: str) -> None:
    for place, each in enumerate(found):
        if each.value is None:
            continue
        colour = COLOURS[1] if kind == "average" else COLOURS[0]
        axes.barh(place, each.value, 0.66, color=colour, alpha=0.55)
        if each.low is not None and each.high is not None:
            reach: Any = [[max(each.value - each.low, 0.0)], [max(each.high - each.value, 0.0)]]
            axes.errorbar([each.value], [place], xerr=reach, color=INK, capsize=2, linewidth=1.2)
    if any(bound < 0 for each in found for bound in (each.value, each.low) if bound is not None):
        axes.set_xlim(-1, 1)


def _description(
    report: Report, runs: Sequence[str], columns: Sequence[Column], look: Look, *, bounds: bool
) -> str:
    """Returns the values in words, for those who do not see the figure."""
    told = []
    for run in runs:
        values = []
        for column in columns:
            found = report.estimates[run][column.name]
            interval = _bracketed_bounds(found.low, found.high) if bounds else ""
            if found.value is not None:
                values.append(f"{look.name(column.name)} {found.value:.3f} {interval}".rstrip())
        told.append(f"{look.name(run)}: {', '.join(values)}")
    return "; ".join(told)


# Categories of runs on a radar chart.


_MOST = 14  # runs whose lines can be followed
_FEWEST_AXES = 3
_FILLED = 3  # runs up to which areas are filled


def radar(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw the categories of runs as axes around a centre, from 0 to 1; STS is Pearson's correlation.

    Categories that no run has are left out; a line is open where its run lacks one. Correlations below 0 are
    drawn at 0. Raises `PlotError` for more than 14 runs and for fewer than three categories.
    """
    columns = _drawn_columns(report, report.runs, "category")
    if len(report.runs) > _MOST:
        raise PlotError(f"too many runs for a radar chart: {len(report.runs)}, at most {_MOST}")
    if len(columns) < _FEWEST_AXES:
        raise PlotError(
            f"too few categories for a radar chart: {len(columns)}, at least {_FEWEST_AXES}"
        )
    with drawing(language, font) as look:
        figure = look.figure(title, "Scores by category", 7.4, 6.4 + 0.24 * len(report.runs))
        axes: Any = figure.add_subplot(projection="polar")
        names, stars = _starred(report, columns, look)
        radar_lines.set_axes(axes, names, fontsize=11)
        axes.set_ylim(0, 1)
        axes.set_yticks([0.2, 0.4, 0.6, 0.8, 1.0], ["0.2", "0.4", "0.6", "0.8", "1.0"], color=GREY)
        axes.set_rlabel_position(180 / len(columns))
        for place, run in enumerate(report.runs):
            known = [report.estimates[run][column.name].value for column in columns]
            values = [math.nan if value is None else max(value, 0.0) for value in known]
            name, filled = look.name(run, 60), len(report.runs) <= _FILLED
            radar_lines.add_line(axes, place, values, name, filled=filled)
        across = 1 if max(map(len, report.runs)) > 28 else 2
        legend = figure.legend(loc="outside lower center", ncols=min(across, len(report.runs)))
        legend.set_title(stars)
        legend.get_title().set_fontsize(9)
        return finish(figure, _description(report, report.runs, columns, look, bounds=False))


# What answers lost to form, as stacked bars.


_MOST_PANELS = 6  # runs, a panel each
_SAID = {"first_line": "cut at the first line", "all": "read in several ways"}
_FILLS = dict(zip(PARTS, (*COLOURS[:1], *COLOURS[1:7], GREY, "#7F5539", GRID), strict=True))


def diagnosis(
    report: Report, *, title: str | None = None, language: Language = "en", font: str | None = None
) -> Figure:
    """Draw a panel for each run with a bar for each task: right answers, those lost to form, wrong ones.

    An answer is counted by the first form that makes it right. Raises `PlotError` for more than six runs.
    """
    runs = report.runs
    if len(runs) > _MOST_PANELS:
        raise PlotError(f"too many runs for one figure: {len(runs)}, at most {_MOST_PANELS}")
    tasks = list(dict.fromkeys(task for run in runs for task in report.diagnoses[run]))
    with drawing(language, font) as look:
        size = 3.2 + 3.4 * len(runs), 1.7 + 0.3 * len(tasks)
        figure = look.figure(title, "Answers lost to form", *size)
        panels = _bar_panels(figure, 1, len(runs), [look.name(task) for task in tasks])
        handles: dict[str, Any] = {}
        for run, axes in zip(runs, panels, strict=True):
            axes.set_title(look.name(run, 34), loc="left", fontweight="bold")
            axes.set_xlabel(look.say("Share of answers"))
            shares = [
                report.diagnoses[run][t].shown() if t in report.diagnoses[run] else {}
                for t in tasks
            ]
            left = [0.0] * len(tasks)
            for part in PARTS:
                widths = [own.get(part, 0.0) for own in shares]
                bars = axes.barh(range(len(tasks)), widths, 0.72, left, color=_FILLS[part])
                left = [x + width for x, width in zip(left, widths, strict=True)]
                if any(widths):
                    handles[part] = bars
        order = [part for part in PARTS if part in handles]
        figure.legend(
            [handles[part] for part in order],
            [_told(part, look) for part in order],
            loc="outside lower center",
            ncols=min(4, 1 + len(runs)),
        )
        return finish(figure, _in_words(report, look))


def _bar_panels(figure: Figure, down: int, across: int, names: Sequence[str]) -> list[Axes]:
    """Returns panels for shares, with a place for a bar for each name, the first at the top."""
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    panels[0, 0].set_yticks(range(len(names)), names)
    panels[0, 0].set_ylim(len(names) - 0.4, -0.6)
    for axes in panels.flat:
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
    return list(panels.flat)


def _told(part: str, look: Look) -> str:
    form = _SAID.get(part, part.replace("_", " "))
    return look.say(f"right if {form}" if part in FORMS else part)


def _in_words(report: Report, look: Look) -> str:
    """Returns the shares in words, for those who do not see the figure."""
    told = []
    for run in report.runs:
        for task, own in report.diagnoses[run].items():
            shares = own.shown()
            parts = [f"{_told(part, look)} {shares[part]:.3f}" for part in PARTS if shares[part]]
            told.append(f"{look.name(run)}, {look.name(task)}: {', '.join(parts)}")
    return "; ".join(told)


PLOTS: Mapping[str, Callable[..., Figure]] = MappingProxyType(
    {"radar": radar, "bars": bars, "diagnosis": diagnosis}
)
"""Figures by name."""
