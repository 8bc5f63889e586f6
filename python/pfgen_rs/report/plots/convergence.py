"""Convergence of the score with the number of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pfgen_rs.drawing.panels import not_below_zero
from pfgen_rs.drawing.saving import finish
from pfgen_rs.drawing.style import COLOURS, GREY, Look, drawing
from pfgen_rs.drawing.words import Language
from pfgen_rs.errors import PlotError
from pfgen_rs.metrics.names import check_metric
from pfgen_rs.stats import Sample
from pfgen_rs.stats.student import check_level, two_sided_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["convergence", "running"]

_MOST = 12  # runs in one figure
_NORMAL = 200  # degrees of freedom from which Student's t is close to normal


def running(sample: Sample, metric: str = "average", *, level: float = 0.95) -> pl.DataFrame:
    """Returns the mean over the first 1, 2, … trials: by time if known, otherwise in a fixed random order.

    The order of the file is not used, since published files are sorted by line.

    One row per trial: `trials`, `mean`, `low`, `high`. The interval is for trial noise alone, with the same
    questions: mean ± t·√(Σ s_q²/n)/Q with the variances s_q² of the first n answers to
    each of Q questions, and Q·(n - 1) degrees of freedom; null for one trial. Time O(responses).
    """
    check_metric(metric)
    check_level(level)
    values = _converging_values_by_trial(sample, metric)
    numbers = np.arange(1, values.shape[1] + 1)
    means = np.cumsum(values, axis=1) / numbers
    centred = values - values.mean(axis=1, keepdims=True)  # otherwise squares would lose digits
    shifts = np.cumsum(centred, axis=1) / numbers
    squares = np.clip(np.cumsum(centred**2, axis=1) - numbers * shifts**2, 0, None)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt((squares / (numbers - 1) / numbers).sum(axis=0)) / len(values)
    reach = [_convergence_quantile(level, len(values) * (n - 1)) for n in numbers.tolist()] * errors
    mean = means.mean(axis=0)
    table = pl.DataFrame(
        {"trials": numbers, "mean": mean, "low": mean - reach, "high": mean + reach}
    )
    return table.with_columns(pl.col("low", "high").fill_nan(None))


def convergence(
    samples: Sequence[Sample],
    *,
    metric: str = "average",
    level: float = 0.95,
    title: str | None = None,
    language: Language = "en",
    font: str | None = None,
) -> Figure:
    """Draw how the score converges with the number of trials (`running`), one panel per run.

    Raises `PlotError` for no runs, or more than 12.
    """
    if not 1 <= len(samples) <= _MOST:
        raise PlotError(f"convergence shows 1 to {_MOST} runs, got {len(samples)}")
    with drawing(language, font) as look:
        columns = 2 if len(samples) == 4 else min(len(samples), 3)
        rows = math.ceil(len(samples) / columns)
        width = 1 + (5.4 if columns == 1 else 3.7 * columns)
        usual = "Convergence over trials"
        figure = look.figure(title, usual, width, 0.9 + 2.7 * rows)
        panels = figure.subplots(rows, columns, squeeze=False).flatten()
        for axes, sample in zip(panels, samples, strict=False):
            _convergence_panel(axes, running(sample, metric, level=level), sample, look)
        for axes in panels[len(samples) :]:
            axes.set_visible(False)
        said = look.say("Trials (line: running mean; band: {level} % interval for trial noise)")
        figure.supxlabel(said.format(level=f"{100 * level:g}"), fontsize=9.5)
        named = look.say("Score" if metric == "average" else metric.title())
        figure.supylabel(named, fontsize=10)
        description = f"{look.say('Runs')}: {len(samples)}"
        return finish(figure, description)


def _converging_values_by_trial(sample: Sample, metric: str) -> np.ndarray:
    """Returns values of shape (questions, trials)."""
    rows = []
    random = np.random.default_rng(0)
    for i, values in enumerate(sample.values[metric]):
        shuffled = random.permutation(len(values))
        ordered = np.empty_like(values)
        ordered[shuffled if sample.order is None else sample.order[i]] = values
        rows.append(ordered[: sample.trials])
    return np.array(rows)


def _convergence_quantile(level: float, freedom: int) -> float:
    if not freedom:
        return math.nan
    if freedom < _NORMAL:
        return two_sided_quantile(level, freedom)
    return NormalDist().inv_cdf((1 + level) / 2)


def _convergence_panel(axes: Axes, table: pl.DataFrame, sample: Sample, look: Look) -> None:
    trials, mean = table["trials"].to_numpy(), table["mean"].to_numpy()
    low, high = (
        table[name].cast(pl.Float64).fill_null(math.nan).to_numpy() for name in ("low", "high")
    )
    axes.axhline(mean[-1], color=GREY, linestyle=":", linewidth=1)
    axes.fill_between(trials, low, high, color=COLOURS[0], alpha=0.22, linewidth=0)
    axes.plot(
        trials, mean, color=COLOURS[0], marker="o" if len(trials) < 25 else None, markersize=3.5
    )
    width = 40 if sample.order is not None else 28  # the rest is for the remark
    axes.set_title(look.name(sample.name, width), loc="left", fontsize=9)
    axes.set_xlim(0.5, len(trials) + 0.5)
    axes.locator_params(axis="x", integer=True, nbins=6, min_n_ticks=1)
    axes.locator_params(axis="y", nbins=5)
    not_below_zero(axes, y=True)
    if sample.order is None:
        axes.set_title(look.say("random order"), loc="right", fontsize=8, color=GREY)
