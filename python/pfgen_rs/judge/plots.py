"""Figures about judges, as `pfgen_rs.report.plots` has them about runs (requires the extra `plots`).

Functions that take statistics (`pfgen_rs.judge.agreement`) or tables return a `matplotlib.figure.Figure`; all
take `title`, `language` (`en` or `ja`) and `font`. `figure_of_verdicts` and `figure_of_ratings` read folders.
"""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pfgen_rs import OutputError, PlotError, Result
from pfgen_rs.drawing import figures
from pfgen_rs.drawing.figures import finish, fixed, png, save, svg
from pfgen_rs.drawing.style import COLOURS, GREY, INK, NEEDED, Language, Look, available, drawing
from pfgen_rs.judge import decisions as columns, grading, read_humans
from pfgen_rs.judge.agreement import bradley_terry, measures
from pfgen_rs.judge.verdict_folder import coverage_notes, default_rule, read_verdicts
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.report.plot_kinds import Drawn
from pfgen_rs.report.plots import inputs, points
from pfgen_rs.stats import resampling

__all__ = [
    "agreement_matrix",
    "figure_of_ratings",
    "figure_of_verdicts",
    "png",
    "position_bars",
    "ranks",
    "rating_scores",
    "reliability",
    "save",
    "svg",
]

Kind = Literal["agreement", "position", "ranks", "reliability"]
_LEVEL = 0.95  # of all intervals
_POINTS: dict[str, Any] = {
    "color": COLOURS[0],
    "markersize": 6,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
}


def figure_of_verdicts(
    kind: Kind,
    folders: Sequence[str | os.PathLike[str]],
    *,
    humans: str | os.PathLike[str] | None = None,
    rule: columns.Rule | None = None,
    **look: Any,
) -> Drawn:
    """Draw folders of verdicts on the same pairs, with notes about what is missing or out of date.

    `kind`: see the figures below. `humans`: a file with verdicts of people (`read_humans`). `rule`: how pairs
    are decided for `agreement` and `ranks` (default: `default_rule`). `look`: the arguments of every figure.
    Raises a `PfgenError` for what cannot be read or drawn.
    """
    if kind not in get_args(Kind):
        raise PlotError(f"unknown figure {kind!r}: expected one of {', '.join(get_args(Kind))}")
    _check_matplotlib()
    read = read_verdicts(folders)
    rule = rule or default_rule(read)
    columns.check_rule(rule)
    judges, notes = {each.name: each.decisions for each in read}, coverage_notes(read)
    known = {pair for table in judges.values() for pair in table["pair"]}
    people = None if humans is None else read_humans(humans, known)
    if kind == "agreement":
        return Drawn(agreement_matrix(_agreements(judges, people, rule), **look), notes)
    if kind == "position":
        shares = {
            name: measures.position_bias_of_codes(
                columns.column_codes(t["v1"]), columns.column_codes(t["v2"]), _LEVEL
            )
            for name, t in judges.items()
        }
        return Drawn(position_bars(shares, **look), notes)
    if kind == "ranks":
        if len(judges) > 1:
            raise PlotError(f"expected one folder of verdicts, found {len(judges)}")
        [decisions] = judges.values()
        ranking = bradley_terry.rank(decisions, rule=rule, level=_LEVEL)
        return Drawn(ranks(ranking.models, **look), [*notes, *ranking.notes])
    if people is None:
        raise PlotError("a reliability diagram needs verdicts of people: --humans FILE")
    found = dict[str, measures.Calibration]()
    for name, table in judges.items():
        tokens = columns.by_tokens(table)
        both = (
            {name: table}
            if tokens is None
            else {f"{name} · tokens": tokens, f"{name} · samples": table}
        )
        found |= {each: _calibration_of(one, people) for each, one in both.items()}
    return Drawn(reliability(found, **look), notes)


def figure_of_ratings(
    folder: str | os.PathLike[str],
    results: Mapping[str, Result],
    benchmark: str | None,
    **look: Any,
) -> Drawn:
    """Draw the ratings in a folder against the scores of the rated runs, by name (judging 6.5)."""
    _check_matplotlib()
    rated = grading.rated_runs(folder, results, benchmark)
    modes = {name: (result.config or {}).get("mode") for name, result in results.items()}
    known = [(name, mode if isinstance(mode, str) else None) for name, mode in modes.items()]
    schema = {"model": pl.String, "mode": pl.String}
    more = rated.means.select("model", "se").join(
        pl.DataFrame(known, schema=schema, orient="row"), on="model", how="left"
    )
    found = rated.correlation
    runs = found.runs.join(more, on="model", how="left", maintain_order="left")
    figure = rating_scores(runs, found.pearson, found.pearson_interval, **look)
    return Drawn(figure, rated.ratings.notes())


def _check_matplotlib() -> None:
    if not available():
        raise OutputError(NEEDED)


# How judges and raters agree


_MATRIX = 40  # judges and raters


def agreement_matrix(
    table: pl.DataFrame,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw Cohen's κ of every two judges or raters, as a coloured matrix.

    `table`: columns `one`, `other` and `kappa`, as `measures.agreements` has it. Raises `PlotError` if there
    is nothing to draw, and for more than 40 names.
    """
    names = list(dict.fromkeys([*table["one"], *table["other"]]))
    if len(names) < 2:
        raise PlotError("nothing to draw: a matrix needs two judges or raters")
    if len(names) > _MATRIX:
        raise PlotError(
            f"too many judges and raters for one figure: {len(names)}, at most {_MATRIX}"
        )
    rows = table.select("one", "other", "kappa").drop_nulls("kappa").rows()
    if not rows:
        raise PlotError("nothing to draw: no two of them judged the same pairs")
    with drawing(language, font) as look:
        shown = {name: look.name(name, 40) for name in names}
        cell, room = 0.9 + 0.62 * len(names), figures.room_for_labels(list(shown.values()))
        size = (1.8 + cell + room, 1.2 + cell + 0.7 * room)
        figure = look.figure(title, "Agreement of judges and raters", *size)
        bar = look.say("Cohen's κ")
        said = figures.pair_map(figure.subplots(), rows, shown, bar=bar)
        return finish(figure, f"{bar}: {'; '.join(said)}")


def _agreements(
    judges: Mapping[str, pl.DataFrame], humans: pl.DataFrame | None, rule: columns.Rule
) -> pl.DataFrame:
    pairs = pl.concat(table.select("pair") for table in judges.values()).unique(maintain_order=True)

    def codes(table: pl.DataFrame, column: str) -> columns.Codes:
        chosen = table.select("pair", column)
        return columns.column_codes(
            pairs.join(chosen, on="pair", how="left", maintain_order="left")[column]
        )

    letters = {}
    for name, table in judges.items():
        own, seen = codes(table, rule), pairs["pair"].is_in(table["pair"].implode())
        undecided = (own == columns.NONE) & seen.to_numpy()
        letters[name] = np.where(undecided, measures.UNDECIDED, own).astype(np.int8)
    for part in [] if humans is None else humans.partition_by("rater", maintain_order=True):
        rater = part["rater"][0]
        name = rater if rater not in letters else f"{rater} (rater)"
        letters[name] = codes(part, "verdict")
    return measures.agreements(letters)


# Position bias


_BARS = 60  # judges that are shown


def position_bars(
    judges: Mapping[str, resampling.Share],
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw for each judge which answer wins in pairs that flip: the one shown first or the one shown second.

    `judges`: by name, the share of flipping pairs that the first answer wins in both orders
    (`pfgen_rs.judge.agreement.measures`), drawn with its exact interval. Without position bias it is 1/2.
    Raises `PlotError` if no pair flips.
    """
    from matplotlib.patches import Patch

    shown = dict(list(judges.items())[:_BARS])
    if not any(found.n for found in shown.values()):
        raise PlotError("nothing to draw: no pair flips between winners")
    with drawing(language, font) as look:
        figure = look.figure(title, "Position bias", 8.2, 2.0 + 0.5 * len(shown))
        axes = figure.subplots()
        for place, found in enumerate(shown.values()):
            if found.n:
                share, (low, high) = found.value, (found.interval.low, found.interval.high)
                axes.barh(place, share, 0.62, color=COLOURS[5])
                axes.barh(place, 1 - share, 0.62, left=share, color=COLOURS[4])
                error: Any = [[share - low], [high - share]]
                axes.errorbar([share], [place], xerr=error, color=INK, capsize=3, linewidth=1.4)
        axes.axvline(0.5, color=INK, linewidth=1, linestyle=":")
        names = [f"{look.name(name, 36)}\nn = {found.n:,}" for name, found in shown.items()]
        axes.set_yticks(range(len(shown)), names)
        axes.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -0.5))
        axes.set_xlabel(look.say("Share of pairs that flip between winners (95 % interval)"))
        axes.grid(visible=False, axis="y")
        handles = [Patch(color=colour) for colour in (COLOURS[5], COLOURS[4])]
        labels = [look.say(text) for text in ("first answer wins", "second answer wins")]
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        told = "; ".join(
            f"{look.name(name)}: {found.count} / {found.n}" for name, found in shown.items()
        )
        return finish(figure, told)


# Ranks


_RANKED = 100  # models that are shown


def ranks(
    models: pl.DataFrame,
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the Bradley–Terry strength of each model with its interval, and the ranks that are left open.

    `models`: columns `model`, `strength`, `strength_low`, `strength_high`, `best_rank` and `worst_rank`, as
    `bradley_terry.rank` has them. The 100 best models are shown. Raises `PlotError` if there is none.
    """
    found = inputs.drawable(models, ["model"], ["strength"])
    shown = found.sort("strength", descending=True, maintain_order=True).head(_RANKED)
    with drawing(language, font) as look:
        figure = look.figure(title, "Models ranked by the judge", 8.2, 1.6 + 0.28 * len(shown))
        axes = figure.subplots()
        axes.axvline(0, color=GREY, linewidth=1, linestyle=":")
        _rank_rows(axes, shown)
        axes.set_yticks(range(len(shown)), [look.name(name) for name in shown["model"]])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        heading = look.say("Bradley–Terry strength (log-odds)")
        axes.set_xlabel(f"{heading}{look.say(' (95 % interval)')}")
        axes.grid(visible=False, axis="y")
        _rank_ranges(axes, shown, look)
        told = ", ".join(
            f"{look.name(name)} {number:.3f}"
            for name, number in shown.select("model", "strength").rows()
        )
        return finish(figure, f"{heading}: {told}")


def _rank_rows(axes: Axes, shown: pl.DataFrame) -> None:
    for place, row in enumerate(shown.to_dicts()):
        low, high = row["strength_low"], row["strength_high"]
        if low is not None and high is not None:
            axes.hlines(place, low, high, color=COLOURS[0], linewidth=1.6)
    axes.plot(shown["strength"].to_numpy(), range(len(shown)), "o", **_POINTS)


def _rank_ranges(axes: Axes, shown: pl.DataFrame, look: Look) -> None:
    """Write the rank range of each model in a column on the right."""
    heading = look.say("rank range")
    axes.text(1.1, 1.0, heading, transform=axes.transAxes, ha="right", va="bottom", fontsize=8.5)
    at = axes.get_yaxis_transform()
    for place, (best, worst) in enumerate(shown.select("best_rank", "worst_rank").rows()):
        said = f"{best}" if best == worst else f"{best}–{worst}"
        axes.text(1.1, place, said, transform=at, ha="right", va="center_baseline", fontsize=8.5)


# Reliability diagrams: are decisions as often right as their probabilities say


_PANELS = 9  # of a figure
_HEIGHTS = (3.0, 1.0)  # of the diagram and of its counts


def reliability(
    judges: Mapping[str, measures.Calibration],
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw for each judge how often its decisions are the raters' majority, in ten bins of probability.

    `judges`: by name (see `pfgen_rs.judge.agreement.measures`). A point is the mean probability of a bin
    and the share of its pairs for which the decision is the majority, with the exact interval; bars below are
    the numbers of pairs. Raises `PlotError` if no pair has a probability and a majority.
    """
    if not judges:
        raise PlotError("nothing to draw: no judge")
    if len(judges) > _PANELS:
        raise PlotError(f"too many judges for one figure: {len(judges)}, at most {_PANELS}")
    if not any(found.pairs for found in judges.values()):
        raise PlotError("nothing to draw: no pair has a probability and a majority of raters")
    with drawing(language, font) as look:
        across = 2 if len(judges) == 4 else min(len(judges), 3)
        down = math.ceil(len(judges) / across)
        size = 0.5 + 3.9 * across, 0.8 + 4.3 * down
        figure = look.figure(title, "Reliability of decisions by probability", *size)
        outer = figure.add_gridspec(down, across)
        said = []
        for place, (name, found) in enumerate(judges.items()):
            part = outer[divmod(place, across)].subgridspec(2, 1, height_ratios=_HEIGHTS)
            above = figure.add_subplot(part[0])
            below = figure.add_subplot(part[1], sharex=above)
            _reliability_points(above, found)
            _reliability_counts(below, found)
            _label_reliability(above, below, look, first=place % across == 0)
            note = f"ECE = {found.error:.3f} (n = {found.pairs:,})"
            above.set_title(f"{look.name(name)}\n{note}", loc="left", fontsize=9)
            said.append(f"{look.name(name)}: {note}")
        return finish(figure, "; ".join(said))


def _reliability_points(axes: Axes, found: measures.Calibration) -> None:
    axes.plot([0, 1], [0, 1], ":", color=GREY, linewidth=1, zorder=1)
    rows = [row for row in found.table.to_dicts() if row["pairs"]]
    x, y, low, high = (
        [row[name] for row in rows] for name in ("probability", "share", "low", "high")
    )
    axes.vlines(x, low, high, color=COLOURS[0], linewidth=1.6, alpha=0.6)
    axes.plot(x, y, "-o", **_POINTS, linewidth=1, clip_on=False, zorder=3)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.tick_params(labelbottom=False)


def _reliability_counts(axes: Axes, found: measures.Calibration) -> None:
    from matplotlib.ticker import MaxNLocator

    table = found.table
    left, width = table["from"].to_numpy(), (table["to"] - table["from"]).to_numpy()
    bars: Any = axes.bar(
        left, table["pairs"].to_numpy(), width * 0.94, align="edge", color=COLOURS[4]
    )
    labels = [f"{count:,}" if count else "" for count in table["pairs"]]
    axes.bar_label(bars, labels, fontsize=7, padding=1, color=INK)
    axes.margins(y=0.25)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))


def _label_reliability(above: Axes, below: Axes, look: Look, *, first: bool) -> None:
    below.set_xlabel(look.say("Probability of the decision"))
    if first:
        above.set_ylabel(look.say("Share equal to the raters' majority"))
        below.set_ylabel(look.say("Pairs"))


def _calibration_of(decisions: pl.DataFrame, humans: pl.DataFrame) -> measures.Calibration:
    own = humans.join(decisions.select("pair"), on="pair", how="semi", maintain_order="left")
    data = columns.judged(decisions, own)
    probabilities = columns.winner_probabilities(decisions)
    return measures.calibration(data.decided["probability"], probabilities, data.verdicts, _LEVEL)


# Ratings against scores: figure 4 of the Japanese paper


_PANEL, _LINE, _COLUMNS = 5.0, 0.165, 2
Bounds = tuple[float | None, float | None]


def rating_scores(
    runs: pl.DataFrame,
    correlation: float | None,
    interval: Bounds = (None, None),
    *,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw the mean rating of each run against its pfgen score, with Pearson's r (judging 6.5).

    `runs`: columns `model`, `score`, `rating`, and optionally `mode` and `se` (the standard error of the
    rating, drawn as ± 1.96 se). `correlation`, `interval`: Pearson's r over the runs, and its bounds. Raises
    `PlotError` if there is nothing to draw.
    """
    if "mode" not in runs.columns:
        runs = runs.with_columns(mode=pl.lit(None, pl.String))
    found = points.numbered_points(inputs.drawable(runs, ["model", "mode"], ["score", "rating"]))
    with drawing(language, font) as look:
        listed = _LINE * points.list_height(len(found), _COLUMNS)
        figure = look.figure(title, "Ratings by the judge and scores", 7.6, _PANEL + 0.4 + listed)
        grid = figure.add_gridspec(2, 1, height_ratios=(_PANEL, listed))
        points.list_runs(figure.add_subplot(grid[1]), found, look, _COLUMNS)
        axes = figure.add_subplot(grid[0])
        _rating_errors(axes, found)
        points.scatter(axes, found, "score", "rating")
        said = _told_correlation(correlation, interval, len(found))
        axes.set_title(said, loc="right", fontsize=9)
        axes.set(xlabel=look.say("Score"), ylabel=look.say("Mean rating"))
        axes.margins(0.08)
        points.number_points(figure, [(axes, "score", "rating", found)])
        return finish(figure, f"{look.say('Runs')}: {len(found)}; {said}")


def _rating_errors(axes: Axes, runs: pl.DataFrame) -> None:
    if "se" in runs.columns:
        known = runs.filter(pl.col("se").is_finite())
        x, y, se = (known[name].to_numpy() for name in ("score", "rating", "se"))
        axes.errorbar(x, y, yerr=1.96 * se, fmt="none", ecolor=GREY, linewidth=1, zorder=2)


def _told_correlation(r: float | None, interval: Bounds, runs: int) -> str:
    if r is None:
        return f"r = – (n = {runs})"
    low, high = interval
    bounds = "" if low is None or high is None else f" [{fixed(low, 4)}, {fixed(high, 4)}]"
    return f"r = {fixed(r, 4)}{bounds} (n = {runs})"
