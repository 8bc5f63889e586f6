"""Runs as points with numbers, and the list that explains the numbers."""

import itertools
import math
from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Any

from pfgen_rs.drawing import figures, style
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, NDArray, np, pl

RUNS = "{shown} of {count} runs shown, best first"
NUMBERED = "The best {shown} of {count} runs are numbered"
NAMED = 60  # maximum number of runs that are all numbered
BEST = 12  # that are, where there are more
_MODES = ("completion", "chat", "qa", "system")


def cut_note(said: str, shown: int, count: int) -> list[str]:
    """Returns a remark such as `RUNS` with its numbers; none if everything is shown."""
    return [] if shown >= count else [said.format(shown=f"{shown:,}", count=f"{count:,}")]


def cut_in_figure(look: style.Look, said: str, shown: int, count: int) -> str:
    """Returns the same in the language of a figure; empty if everything is shown."""
    return "".join(cut_note(look.say(said), shown, count))


def numbered_note(runs: int) -> list[str]:
    """Returns what is said of a figure of so many points, if not all of them are numbered."""
    return cut_note(NUMBERED, BEST, runs) if runs > NAMED else []


def bounds_of(runs: "pl.DataFrame", names: Sequence[str]) -> "list[NDArray[np.float64]]":
    """Returns columns as arrays, with NaN, which is not drawn, for missing values and columns."""
    return [
        runs[name].cast(pl.Float64).fill_null(math.nan).to_numpy()
        if name in runs.columns
        else np.full(len(runs), math.nan)
        for name in names
    ]


def check_top(top: int) -> int:
    """Returns the number of runs to show; raises `PlotError` if it is not positive."""
    if top < 1:
        raise PlotError(f"invalid number of runs {top}: expected 1 or more")
    return top


def numbered_points(runs: "pl.DataFrame", by: str = "score") -> "pl.DataFrame":
    """Sort runs by a descending column, and add what points need.

    `mark`: 1, 2, …; a, b, … for systems. `kind`: the mode. `named`: whether the mark is shown, which is so
    for the 12 best of more than 60 runs. `name` defaults to the model.
    """
    if "name" not in runs.columns:
        runs = runs.with_columns(pl.col("model").alias("name"))
    ordered = with_kinds(runs).sort(by, descending=True, maintain_order=True)
    numbers = map(str, itertools.count(1))
    letters = (
        "".join(word)
        for length in itertools.count(1)
        for word in itertools.product(ascii_lowercase, repeat=length)
    )
    marks = [next(letters if kind == "system" else numbers) for kind in ordered["kind"]]
    named = BEST if len(ordered) > NAMED else NAMED
    return ordered.with_columns(
        pl.Series("mark", marks, dtype=pl.String), named=pl.int_range(pl.len()) < named
    )


def kinds(runs: "pl.DataFrame") -> dict[str, dict[str, Any]]:
    """Returns colour and shape for each kind of run."""
    looks: dict[str, dict[str, Any]] = {
        kind: {"color": style.COLOURS[i], "marker": style.MARKERS[i]}
        for i, kind in enumerate((*_MODES, "other"))
    }
    looks["system"]["color"] = style.INK
    return {kind: look for kind, look in looks.items() if kind in set(runs["kind"])}


def with_kinds(runs: "pl.DataFrame") -> "pl.DataFrame":
    """Add `kind`: the mode, or `other`."""
    mode = pl.col("mode").fill_null("other")
    return runs.with_columns(kind=pl.when(mode.is_in(_MODES)).then(mode).otherwise(pl.lit("other")))


def scatter(
    axes: Axes,
    runs: "pl.DataFrame",
    x: str,
    y: str,
    *,
    size: float | None = None,
    say: Callable[[str], str] = str,
) -> None:
    """Draw one point per run, by kind and in the order of the runs; small ones if there are many.

    `say`: makes the label of a kind in the legend.
    """
    size = size or (6 if len(runs) <= NAMED else 4)
    for kind, look in kinds(runs).items():
        part = runs.filter(pl.col("kind") == kind)
        axes.plot(
            part[x].to_numpy(),
            part[y].to_numpy(),
            linestyle="none",
            markersize=size,
            markeredgecolor="white",
            markeredgewidth=0.1 * size,
            label=say(kind),
            zorder=3,
            clip_on=False,
            **look,
        )


def number_points(figure: Figure, panels: "Sequence[tuple[Axes, str, str, pl.DataFrame]]") -> None:
    """Write the runs' marks next to their points. Must come last: it fixes the layout.

    `panels`: each with the columns that are its axes, and the runs on it.
    """
    figures.fix_layout(figure)
    scale = 72 / figure.dpi
    for axes, x, y, runs in panels:
        axes.apply_aspect()
        ordered = runs.sort("named", descending=True, maintain_order=True)
        places = axes.transData.transform(ordered.select(x, y).to_numpy()) * scale
        frame = np.asarray(axes.get_window_extent().extents) * scale
        named = ordered.filter("named")
        offsets = offsets_of(places, named["mark"].to_list(), frame)
        rows = named.select("mark", x, y).rows()
        for (mark, across, up), place, offset in zip(rows, places, offsets, strict=False):
            axes.annotate(
                mark,
                (across, up),
                xytext=(offset[0], offset[1]),
                textcoords="offset points",
                ha="center",
                va="center_baseline",
                fontsize=SIZE,
                arrowprops=_LINE if _is_doubtful(places, place, offset) else None,
                annotation_clip=False,
                zorder=4,
            ).set_in_layout(False)


def _is_doubtful(places: Any, place: Any, offset: Any) -> bool:
    """Whether a mark is far from its point, or another point is about as close to it."""
    distance = np.hypot(*offset)
    near = np.hypot(*(places - place - offset).T) < 1.4 * distance
    return bool(distance > LEADER or near.sum() > 1)


def list_runs(axes: Axes, runs: "pl.DataFrame", look: style.Look, columns: int) -> None:
    """List what the marks stand for, in columns, below the kinds; and says how many there are of how many."""
    named = runs.filter("named")
    axes.set_axis_off()
    axes.set(xticks=[], yticks=[], xlim=(0, columns), ylim=(list_height(len(runs), columns), 0))
    looks = kinds(runs)
    for place, (kind, drawn) in enumerate(looks.items()):
        x = place * columns / max(len(looks), 5)
        axes.plot([x + 0.02], [0.4], clip_on=False, markersize=6, **drawn)
        axes.text(x + 0.05, 0.4, look.say(kind), va="center_baseline", fontsize=9)
    rows = math.ceil(len(named) / columns)
    note = cut_in_figure(look, NUMBERED, len(named), len(runs))
    axes.text(0.02, 1.7, note, va="center_baseline", fontsize=8, color=style.FAINT)
    names = look.names(named["name"])
    for place, (mark, kind) in enumerate(named.select("mark", "kind").rows()):
        column, row = divmod(place, rows)
        y = row + (3.0 if note else 2.0)
        axes.plot([column + 0.02], [y], clip_on=False, markersize=4.5, **looks[kind])
        axes.text(column + 0.09, y, mark, ha="right", va="center_baseline", fontsize=8)
        axes.text(column + 0.11, y, names[place], va="center_baseline", fontsize=8)


def list_height(runs: int, columns: int) -> float:
    """Returns the number of lines of `list_runs`."""
    listed = math.ceil((runs if runs <= NAMED else BEST) / columns)
    return 1.5 + listed + 0.5 + (runs > NAMED)


# Places marks next to points without overlaps.


SIZE = 7.5  # points, of a mark's letters
LEADER = 10.0  # from so far away on, a line leads to the mark
_LINE = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
_MARKER = 4.0  # points, half of its size
_MIDDLE = 1.5  # the same, of the middle of a line
_NEAR = 14.0  # within this, points are a crowd
_RADII = (6.5, 11.0, 16.0, 22.0, 29.0)
_ANGLES = 16


def offsets_of(places: Any, marks: Sequence[str], frame: Any) -> "list[NDArray[np.float64]]":
    """Returns the offset of each mark from its point in points (1/72 inch), in the order of the marks.

    `places`: positions of the points, shape (points, 2); the first ones have the marks. `frame`: left,
    bottom, right and top that marks should not cross. Each mark in turn gets the place of least cost, which
    grows with the distance, the crowd of points there, and overlaps with points, marks and their lines. Time
    O(marks · points), with 80 places tried for each.
    """
    taken = _boxes(places, _MARKER)
    radii = np.repeat(_RADII, _ANGLES)
    turns = np.tile(np.arange(_ANGLES), len(_RADII))
    angles = math.pi * (0.25 + 2 * turns / _ANGLES)  # beginning at the upper right
    found = []
    for place, mark in zip(places, marks, strict=False):
        half = np.array([0.33 * SIZE * len(mark) + 0.5, 0.5 * SIZE])
        offsets = np.stack([(radii + half[0] - 2) * np.cos(angles), radii * np.sin(angles)], axis=1)
        tried, middles = _boxes(place + offsets, half), _boxes(place + 0.6 * offsets, _MIDDLE)
        costs = radii / 4 + turns / 100 + _shared(tried, taken)
        costs += (radii > LEADER) * _shared(middles, taken)
        distances = np.hypot(*(place + offsets - places[:, None]).T)
        costs += 1.5 * np.exp(-((distances / _NEAR) ** 2)).sum(axis=1)
        costs += 1000 * ((tried[:, :2] < frame[:2]) | (tried[:, 2:] > frame[2:])).any(axis=1)
        best = int(costs.argmin())
        found.append(offsets[best])
        taken = np.vstack([taken, tried[best], middles[best]])
    return found


def _boxes(places: Any, half: Any) -> Any:
    """Returns left, bottom, right and top of boxes around places, given half their size."""
    return np.hstack([places - half, places + half])


def _shared(boxes: Any, others: Any) -> Any:
    """Returns the area that each box shares with others."""
    low = np.maximum(boxes[:, None, :2], others[:, :2])
    high = np.minimum(boxes[:, None, 2:], others[:, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)
