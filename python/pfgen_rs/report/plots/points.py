"""Runs as points with numbers, and the list that explains the numbers."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pfgen_rs.drawing import figures, style
from pfgen_rs.errors import PlotError
from pfgen_rs.lazy import Axes, Figure, NDArray, np, pl
from pfgen_rs.report.plots.inputs import BOUNDS

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


def bounds_of(runs: "pl.DataFrame", names: Sequence[str] = BOUNDS) -> "list[NDArray[np.float64]]":
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
    marks, ranked, systems = [], 0, 0
    for system in (ordered["kind"] == "system").to_list():
        ranked, systems = ranked + (not system), systems + system
        marks.append(_letters(systems) if system else str(ranked))
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
        marks = ordered.filter("named")["mark"].to_list()
        offsets = offsets_of(places, marks, frame)
        for place, offset, mark in zip(places, offsets, marks, strict=False):
            at = axes.transData.inverted().transform(place / scale)
            _write_mark(axes, mark, at, offset, led=_is_doubtful(places, place, offset))


def _is_doubtful(places: Any, place: Any, offset: tuple[float, float]) -> bool:
    """Whether another point is about as close to a mark as its own."""
    distances = np.sort(np.hypot(*(places - place - offset).T))
    return bool(math.hypot(*offset) > LEADER or (distances < 1.4 * math.hypot(*offset)).sum() > 1)


def _write_mark(axes: Axes, mark: str, at: Any, offset: tuple[float, float], *, led: bool) -> None:
    axes.annotate(
        mark,
        at,
        xytext=offset,
        textcoords="offset points",
        ha="center",
        va="center_baseline",
        fontsize=SIZE,
        arrowprops=(
            {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
            if led
            else None
        ),
        annotation_clip=False,
        zorder=4,
    ).set_in_layout(False)


def list_runs(axes: Axes, runs: "pl.DataFrame", look: style.Look, columns: int) -> None:
    """List what the marks stand for, in columns, below the kinds; and says how many there are of how many."""
    named = runs.filter("named")
    axes.set_axis_off()
    axes.set(xticks=[], yticks=[])
    axes.set(xlim=(0, columns), ylim=(list_height(len(runs), columns), 0))
    looks = kinds(runs)
    for place, (kind, drawn) in enumerate(looks.items()):
        x = place * columns / max(len(looks), 5)
        axes.plot([x + 0.02], [0.4], clip_on=False, markersize=6, **drawn)
        axes.text(x + 0.05, 0.4, look.say(kind), va="center_baseline", fontsize=9)
    rows = math.ceil(len(named) / columns)
    note = cut_in_figure(look, NUMBERED, len(named), len(runs))
    if note:
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


def _letters(number: int) -> str:
    """Returns the name of a number from 1: a, b, …, z, aa, ab, and so on."""
    letters = ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return letters


# Places marks next to points without overlaps.


SIZE = 7.5  # points, of a mark's letters
LEADER = 10.0  # from so far away on, a line leads to the mark
HALF_MARKER = 4.0  # points
_NEAR = 14.0  # within this, points are a crowd
_RADII = (6.5, 11.0, 16.0, 22.0, 29.0)
_ANGLES = 16

Box = tuple[float, float, float, float]


def offsets_of(places: Any, marks: Sequence[str], frame: Any) -> list[tuple[float, float]]:
    """Returns the offset of each mark from its point in points (1/72 inch), in the order of the marks.

    `places`: positions of the points, shape (points, 2); the first ones have the marks. `frame`: left,
    bottom, right and top that marks should not cross. Each mark in turn gets the place of least cost, which
    grows with the distance and with overlaps with points, marks and leader lines. Time O(marks · points),
    with up to 80 places tried for each.
    """
    taken: list[Box] = [box(x, y, HALF_MARKER, HALF_MARKER) for x, y in places]
    found = []
    for (x, y), mark in zip(places, marks, strict=False):
        width, height = 0.33 * SIZE * len(mark) + 0.5, 0.5 * SIZE
        dx, dy = _cheapest(places, np.array(taken), frame, (x, y, width, height))
        taken += [box(x + dx, y + dy, width, height), *_leader(x, y, dx, dy)]
        found.append((dx, dy))
    return found


def _cheapest(places: Any, taken: Any, frame: Any, mark: Box) -> tuple[float, float]:
    """Returns the offset of a mark from its point, given half its size."""
    x, y, width, height = mark
    best, least = (0.0, 0.0), math.inf
    for step, dx, dy in _candidates(width):
        if least <= step:  # what comes is further still
            break
        place = box(x + dx, y + dy, width, height)
        cost = shared_area(place, taken) + sum(
            shared_area(part, taken) for part in _leader(x, y, dx, dy)
        )
        cost += step + _crowdedness(places, x + dx, y + dy) + 1000 * is_outside(place, frame)
        if cost < least:
            best, least = (dx, dy), cost
    return best


def _leader(x: float, y: float, dx: float, dy: float) -> list[Box]:
    """Returns points of the leader line of a mark, if it is long enough to be in the way."""
    if math.hypot(dx, dy) <= LEADER:
        return []
    return [box(x + share * dx, y + share * dy, 1.2, 1.2) for share in (0.45, 0.6, 0.75)]


def _candidates(width: float) -> Iterable[tuple[float, float, float]]:
    """Yields costs of the distance, and offsets, starting at the upper right."""
    for radius in _RADII:
        for i in range(_ANGLES):
            angle = math.pi * (0.25 + 2 * i / _ANGLES)
            dx = (radius + width - 2) * math.cos(angle)
            yield radius / 4 + i / 100, round(dx, 3), round(radius * math.sin(angle), 3)


def shared_area(place: Box, others: Any) -> float:
    """Returns the area that a box shares with others."""
    across = np.minimum(place[2], others[:, 2]) - np.maximum(place[0], others[:, 0])
    along = np.minimum(place[3], others[:, 3]) - np.maximum(place[1], others[:, 1])
    return float((np.clip(across, 0, None) * np.clip(along, 0, None)).sum())


def is_outside(place: Box, frame: Any) -> bool:
    """Whether a box is partly outside a frame."""
    left, bottom, right, top = place
    return bool(left < frame[0] or bottom < frame[1] or right > frame[2] or top > frame[3])


def _crowdedness(places: Any, x: float, y: float) -> float:
    """Returns how crowded with points a place is."""
    distances = np.hypot(*(places - (x, y)).T)
    near: float = np.exp(-((distances / _NEAR) ** 2)).sum()
    return 1.5 * near


def box(x: float, y: float, width: float, height: float) -> Box:
    """Returns a box around a place, given half its size."""
    return (x - width, y - height, x + width, y + height)
