"""How answers differ: distributions of a run's scores and lengths, and convergence over trials."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from pfgen_rs import PlotError, comparisons, extras
from pfgen_rs.drawing.figures import finish, not_below_zero, panels, remark
from pfgen_rs.drawing.style import COLOURS, DASHES, GREY, INK, Look, LookOptions, drawing
from pfgen_rs.lazy import Axes, Figure, np, pl
from pfgen_rs.metrics.settings import PARTS, check_metric
from pfgen_rs.report.plot_kinds import Plot, plot_kind
from pfgen_rs.report.plots.inputs import PlotRequest, drawable, responses, sample_names
from pfgen_rs.report.plots.points import bounds_of, cut_in_figure, cut_note
from pfgen_rs.stats import Sample

_BINS = 40
QUESTIONS = "{shown} of {count} questions shown"
MOST = 120  # questions


@plot_kind("convergence", "score against number of trials (from responses)", options=["metric"])
def _convergence(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `convergence`."""
    found = comparisons.comparison_samples(request.responses)
    names = sample_names(request.responses)
    samples = [replace(each, name=name) for each, name in zip(found, names, strict=True)]
    named = [(pl.lit(each.name).alias("name"), running(each, request.metric)) for each in samples]
    table = pl.concat([rows.select(name, pl.all()) for name, rows in named])
    return Plot(table, partial(convergence, samples, metric=request.metric))


@plot_kind("spread", "distribution of one run's scores and lengths (from responses)")
def _spread(request: PlotRequest) -> Plot:
    """Returns the plot of the kind `spread`."""
    results = request.responses
    if len(results) != 1:
        raise PlotError(f"the spread figure takes one run, got {len(results)}")
    table = responses(results[0])
    notes = cut_note(QUESTIONS, MOST, table["question_id"].n_unique())
    return Plot(table, partial(distributions, table, name=sample_names(results)[0]), notes)


def distributions(
    responses: "pl.DataFrame",
    *,
    name: str | None = None,
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw histograms of a run's scores and lengths, and a box plot of the scores by question.

    `responses`: columns `question_id`, `length`, `average` and the metrics, as returned by
    `pfgen_rs.report.plots.responses`. `name`: the run's, for the title. Boxes extend from quartile to
    quartile, whiskers to the last value within 1.5 times that; the first 120 questions are shown. Raises
    `PlotError` if there is nothing to draw.
    """
    found = drawable(responses, ["question_id"], ["average", "length", *PARTS])
    with drawing(**options) as look:
        questions = found["question_id"].unique().sort().head(MOST).to_list()
        width = max(9.6, 1 + 0.21 * len(questions))
        figure = look.figure(
            look.title, "Distribution of scores and lengths", width, 7, subject=name
        )
        places = figure.subplot_mosaic([["total", "metrics", "length"], ["boxes"] * 3])
        _histogram(places["total"], found["average"], look, "Score", 4)
        _metrics(places["metrics"], found, look)
        _histogram(places["length"], found["length"], look, "Length (characters)", 1)
        _boxes(places["boxes"], found, questions, look)
        return finish(figure, f"{look.say('Responses')}: {len(found):,}")


_LEAST = {"average": (1.0, COLOURS[0]), "length": (150.0, COLOURS[2])}  # ends of axes; colours
_AT_TOP: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}


def _histogram(axes: Axes, values: "pl.Series", look: Look, label: str, digits: int) -> None:
    """Count values in bins from 0, and mark their mean."""
    numbers = values.to_numpy()
    least, colour = _LEAST[values.name]
    edges: list[float] = np.linspace(0, max(least, np.max(numbers)), _BINS + 1).tolist()
    axes.hist(numbers, edges, color=colour)
    mean = float(numbers.mean())
    said = look.say("mean {value}").format(value=f"{mean:.{digits}f}")
    axes.axvline(mean, color=INK, linewidth=1.2, linestyle="--", label=said)
    axes.legend(**_AT_TOP, handlelength=1.7)
    axes.locator_params(axis="x", nbins=6)
    axes.set(xlabel=look.say(label), ylabel=look.say("Responses"))


def _metrics(axes: Axes, found: "pl.DataFrame", look: Look) -> None:
    """Draw cumulative shares, since the bars of several histograms would hide each other."""
    for metric, colour, dash in zip(PARTS, COLOURS[1:], DASHES, strict=False):
        values = found[metric].to_numpy()
        axes.ecdf(values, linestyle=dash, color=colour, label=look.say(metric.title()))
    axes.set(xlabel=look.say("Value"), ylabel=look.say("Cumulative share of responses"))
    axes.set_ylim(0, 1.02)
    not_below_zero(axes, x=True)
    axes.legend(
        **_AT_TOP, ncols=3, columnspacing=1.0, handlelength=1.7, handletextpad=0.4, fontsize=8
    )


def _boxes(axes: Axes, found: "pl.DataFrame", questions: list[str], look: Look) -> None:
    parts = found.partition_by("question_id", as_dict=True)
    line = {"color": COLOURS[0], "linewidth": 0.9}
    axes.boxplot(
        [parts[(question,)]["average"].to_numpy() for question in questions],
        tick_labels=[look.name(question, 12) for question in questions],
        widths=0.62,
        patch_artist=True,
        boxprops={"facecolor": "#cfe3f1", "edgecolor": COLOURS[0], "linewidth": 0.9},
        medianprops={"color": COLOURS[1], "linewidth": 1.6},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 2.5, "markerfacecolor": INK, "markeredgewidth": 0},
    )
    axes.tick_params(axis="x", rotation=90, labelsize=8)
    axes.grid(visible=False, axis="x")
    not_below_zero(axes, y=True)
    said = [look.say(word) for word in ("Question", "box: quartiles", "line: median")]
    axes.set(xlabel="; ".join(said), ylabel=look.say("Score"))
    remark(axes, cut_in_figure(look, QUESTIONS, len(questions), len(parts)))


_MOST = 12  # runs in one figure
_LEVEL = 0.95


def running(sample: Sample, metric: str = "average") -> "pl.DataFrame":
    """Returns the mean over the first 1, 2, … trials, in a fixed random order.

    The order of the file is not used, since published files are sorted by line.

    One row per trial: `trials`, `mean`, `low`, `high`. The 95 % interval is for trial noise alone, with the
    same questions: mean ± t·√(Σ s_q²/n)/Q with the variances s_q² of the first n answers to each of Q
    questions, and Q·(n - 1) degrees of freedom; null for one trial. Time O(responses).
    """
    check_metric(metric)
    values = _values_by_trial(sample, metric)
    numbers = np.arange(1, values.shape[1] + 1)
    means = np.cumsum(values, axis=1) / numbers
    centred = values - values.mean(axis=1, keepdims=True)  # otherwise squares would lose digits
    shifts = np.cumsum(centred, axis=1) / numbers
    squares = np.clip(np.cumsum(centred**2, axis=1) - numbers * shifts**2, 0, None)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt((squares / (numbers - 1) / numbers).sum(axis=0)) / len(values)
    student = extras.needed("scipy.stats", "plots").t
    reach = student.ppf((1 + _LEVEL) / 2, len(values) * (numbers - 1)) * errors
    mean = means.mean(axis=0)
    bounds = {"low": mean - reach, "high": mean + reach}
    table = pl.DataFrame({"trials": numbers, "mean": mean, **bounds})
    return table.with_columns(pl.col("low", "high").fill_nan(None))


def convergence(
    samples: Sequence[Sample],
    *,
    metric: str = "average",
    **options: Unpack[LookOptions],
) -> Figure:
    """Draw how the score converges with the number of trials (`running`), one panel per run.

    Raises `PlotError` for no runs, or more than 12.
    """
    if not 1 <= len(samples) <= _MOST:
        raise PlotError(f"convergence shows 1 to {_MOST} runs, got {len(samples)}")
    with drawing(**options) as look:
        across = 2 if len(samples) == 4 else min(len(samples), 3)
        size = 1 + (5.4 if across == 1 else 3.7 * across), 0.9 + 2.7 * -(-len(samples) // across)
        figure = look.figure(look.title, "Convergence over trials", *size)
        for axes, sample in zip(panels(figure, len(samples), across), samples, strict=True):
            _panel(axes, running(sample, metric), sample, look)
        said = look.say("Trials (line: running mean; band: {level} % interval for trial noise)")
        figure.supxlabel(said.format(level=f"{100 * _LEVEL:g}"), fontsize=9.5)
        named = look.say("Score" if metric == "average" else metric.title())
        figure.supylabel(named, fontsize=10)
        return finish(figure, f"{look.say('Runs')}: {len(samples)}")


def _values_by_trial(sample: Sample, metric: str) -> "np.ndarray":
    """Returns values of shape (questions, trials)."""
    random = np.random.default_rng(0)
    places = [np.argsort(random.permutation(len(each))) for each in sample.values[metric]]
    shuffled = zip(sample.values[metric], places, strict=True)
    return np.array([values[order][: sample.trials] for values, order in shuffled])


def _panel(axes: Axes, table: "pl.DataFrame", sample: Sample, look: Look) -> None:
    trials, mean = table["trials"].to_numpy(), table["mean"].to_numpy()
    low, high = bounds_of(table, ("low", "high"))
    axes.axhline(mean[-1], color=GREY, linestyle=":", linewidth=1)
    axes.fill_between(trials, low, high, color=COLOURS[0], alpha=0.22, linewidth=0)
    axes.plot(
        trials, mean, color=COLOURS[0], marker="o" if len(trials) < 25 else None, markersize=3.5
    )
    axes.set_title(look.name(sample.name, 28), loc="left", fontsize=9)
    axes.set_xlim(0.5, len(trials) + 0.5)
    axes.locator_params(axis="x", integer=True, nbins=6, min_n_ticks=1)
    axes.locator_params(axis="y", nbins=5)
    not_below_zero(axes, y=True)
    axes.set_title(look.say("random order"), loc="right", fontsize=8, color=GREY)
