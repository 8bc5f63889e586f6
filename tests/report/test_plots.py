"""Figures hold the numbers that they were given."""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from pfgen_rs import errors, stats
from pfgen_rs.drawing import style
from pfgen_rs.report import plots
from pfgen_rs.report.plots import points as placing
from pfgen_rs.report.plots.inputs import drawable
from plot_data import (
    CATEGORIES,
    FIGURES,
    question_table,
    response_table,
    runs,
    sample,
    source_table,
)

pytestmark = pytest.mark.usefixtures("settings_stay")


def points(axes: Any) -> set[tuple[float, float]]:
    """What is drawn with markers and no line."""
    return {
        (float(x), float(y))
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x, y in zip(*line.get_data(), strict=True)
    }


def pairs(table: pl.DataFrame, x: str, y: str) -> set[tuple[float, float]]:
    return set(table.select(x, y).rows())


# What figures show.


def test_pairs_of_metrics() -> None:
    table = runs(12)
    figure = plots.metric_pairs(table)
    wanted = combinations(("fluency", "truthfulness", "helpfulness"), 2)
    panels = figure.axes[1:]
    for axes, (x, y) in zip(panels, wanted, strict=True):
        assert points(axes) == pairs(table, x, y)
        assert (axes.get_xlabel(), axes.get_ylabel()) == (x.title(), y.title())
        models = table.filter(pl.col("mode").ne_missing("system"))
        r = np.corrcoef(models[x], models[y])[0, 1]
        assert len(models) == 10
        shown = f"r = {r:.4f} (n = 10)".replace("-", "−")
        assert axes.get_title(loc="right") == shown
        assert f"{x}–{y} {shown}" in str(figure.get_label())


def test_points_are_numbered_as_the_list_says() -> None:
    table = runs(9).sample(fraction=1, shuffle=True, seed=0)
    figure = plots.metric_pairs(table)
    listed = [text.get_text() for text in figure.axes[0].texts]
    shown = table.sort("score", descending=True).rows(named=True)
    numbers, letters = iter("123456789"), iter("abc")
    marks = [next(letters if run["mode"] == "system" else numbers) for run in shown]
    for mark, run in zip(marks, shown, strict=True):
        assert listed[listed.index(run["name"]) - 1] == mark
    drawn: Any = figure.axes[1].texts
    assert {note.get_text(): tuple(note.xy) for note in drawn} == {
        mark: pytest.approx((run["fluency"], run["truthfulness"]))
        for mark, run in zip(marks, shown, strict=True)
    }


def test_score_and_length() -> None:
    table = runs(7)
    [_, axes] = plots.score_length(table).axes
    assert points(axes) == pairs(table, "length", "score")
    assert axes.get_xlim()[0] == 0
    assert axes.get_xlim()[1] > np.max(table["length"].to_numpy())
    grounds: Any = axes.patches
    spans = [(ground.get_x(), ground.get_x() + ground.get_width()) for ground in grounds]
    assert spans == [(100, 150), (150, axes.get_xlim()[1])]
    legend: Any = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "length discount (100–150 characters)",
        "longer: the best cut before 150 characters is scored",
    ]


def test_sources_are_compared_over_the_questions_of_both() -> None:
    table = runs(8)
    scores = source_table(table).filter(pl.col("source") != "C")
    [_, axes] = plots.source_pairs(scores, table, metric="fluency").axes
    common = scores.filter(pl.col("question_id") != "Q3")
    means = {
        source: common.filter(pl.col("source") == source)
        .group_by("name", maintain_order=True)
        .agg(pl.col("fluency").mean())["fluency"]
        .to_numpy()
        for source in "AB"
    }
    found = points(axes)
    assert len(found) == 8
    for at in zip(means["A"], means["B"], strict=True):
        assert min(math.dist(at, other) for other in found) < 1e-12
    models = [mode != "system" for mode in table["mode"]]
    r = np.corrcoef(means["B"][models], means["A"][models])[0, 1]
    assert axes.get_title(loc="right") == f"r = {r:.4f} (n = 7)"
    assert axes.get_ylabel().endswith("source B")


def test_the_sources_of_most_questions_stand_in_the_published_order() -> None:
    table = runs(3)
    named = {"A": "S", "B": "P", "C": "T"}
    scores = source_table(table).with_columns(pl.col("source").replace(named))
    panels = plots.source_pairs(scores, table).axes[1:]
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in panels]
    shown = ("P (PLaMo-100b)", "T (Swallow-MX)", "S (stockmark-100b)")
    wanted = combinations(shown, 2)
    assert sorted(labels) == sorted((f"Score\nsource {x}", f"Score\nsource {y}") for x, y in wanted)


def test_means_of_categories_with_published_scores_first() -> None:
    names = list(runs(3)["name"])
    table = plots.category_means(question_table(runs(3)), CATEGORIES, {names[1]: 0.9})
    assert table.columns == ["name", "all", "in math", "in arts", "in ?"]
    assert table["name"][0] == names[1]
    assert table["all"].to_list() == pytest.approx([0.9, 0.15, 0.15])
    for row in table.rows():
        assert row[2:] == pytest.approx((0.1, 0.1, 0.3))


def test_the_map_shows_the_means() -> None:
    table = question_table(runs(4)).with_columns(pl.col("score") + pl.int_range(pl.len()) / 100)
    means = plots.category_means(table, CATEGORIES)
    axes = plots.category_map(table, CATEGORIES).axes[0]
    values = np.asarray(axes.images[0].get_array())
    np.testing.assert_array_equal(values, means.drop("name").to_numpy())
    assert [label.get_text() for label in axes.get_yticklabels()] == means["name"].to_list()
    assert [text.get_text() for text in axes.texts] == [f"{v:.2f}" for v in values.flatten()]


@given(st.integers(1, 4), st.integers(2, 7), st.sampled_from(stats.METRICS))
@settings(max_examples=25)
def test_running_means(questions: int, trials: int, metric: str) -> None:
    one = sample(questions, trials)
    table = plots.running(one, metric)
    ordered, random = np.empty((questions, trials)), np.random.default_rng(0)
    for q, values in enumerate(one.values[metric]):
        ordered[q, random.permutation(trials)] = values
    assert table["trials"].to_list() == list(range(1, trials + 1))
    assert table["low"][0] is None
    for n in range(2, trials + 1):
        first = ordered[:, :n]
        error = math.sqrt((first.var(axis=1, ddof=1) / n).sum()) / questions
        reach = scipy_stats.t.ppf(0.975, questions * (n - 1)) * error
        row = table.row(n - 1, named=True)
        assert row["mean"] == pytest.approx(first.mean())
        assert (row["low"], row["high"]) == pytest.approx(
            (first.mean() - reach, first.mean() + reach)
        )


def test_the_last_error_is_that_of_the_estimate() -> None:
    one = sample(40, 9)
    last = plots.running(one).row(-1, named=True)
    error = stats.estimate(one, resamples=100).trial_se
    assert error is not None
    assert (last["high"] - last["low"]) / 2 == pytest.approx(1.96 * error, rel=0.01)


def test_without_times_the_order_is_random_but_fixed() -> None:
    one = sample(2, 30)
    ordered = [np.sort(values) for values in one.values["average"]]
    rising = stats.Sample("m", one.questions, one.categories, {"average": ordered})
    table = plots.running(rising)
    assert table.equals(plots.running(rising))
    assert abs(table["mean"][4] - table["mean"][-1]) < 0.3  # the file's order would begin far below
    assert table["mean"][-1] == pytest.approx(np.mean(ordered))


def test_convergence_draws_what_was_computed() -> None:
    one = sample(3, 30)
    [axes] = plots.convergence([one], metric="fluency").axes
    table = plots.running(one, "fluency")
    _, line = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), table["mean"])
    [band] = axes.collections
    corners: Any = band.get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(table["high"].max())


def test_steps_in_names() -> None:
    wanted = [
        ("org/m/step_1000", "r", "org/m", 1000),
        ("org/m-step2000", "r", "org/m", 2000),
        ("m-iter_0002000", "r", "m", 2000),
        ("m/checkpoint-500", "r", "m", 500),
        ("m_global_step12", "r", "m", 12),
        ("m-Step=7-hf", "r", "m--hf", 7),
        ("step_1/step_2", "r", "step_1", 2),
        ("m", "result/m/iteration-30/abcdef0", "result/m", 30),
        ("m", "result/m-step3", "result/m", 3),
    ]
    without = [("m-7b", "result/m-7b/1234567"), ("footsteps12", "r")]
    names = [*without, *((model, run) for model, run, _, _ in wanted)]
    table = plots.series(pl.DataFrame(names, schema=["model", "run"], orient="row"))
    assert set(table.select("model", "run", "series", "step").rows()) == set(wanted)


def test_score_by_step() -> None:
    names = [f"m-step_{100 * i}" for i in range(1, 7)]
    table = runs(6, model=names).sample(fraction=1, shuffle=True, seed=3)
    [axes] = plots.score_steps(table).axes
    [line] = axes.lines
    ordered = table.sort("score", descending=True)
    np.testing.assert_array_equal(line.get_xdata(), [100, 200, 300, 400, 500, 600])
    np.testing.assert_array_equal(line.get_ydata(), ordered["score"])
    corners: Any = axes.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == ordered["score_low"].min()


def test_spread_of_a_run() -> None:
    table = response_table()
    figure = plots.distributions(table)
    total, metrics, length, boxes = figure.axes
    for axes, name in ((total, "average"), (length, "length")):
        bars: Any = axes.patches
        assert sum(bar.get_height() for bar in bars) == len(table)
        assert axes.lines[0].get_xdata()[0] == pytest.approx(table[name].mean())  # type: ignore[index]
    assert [line.get_label() for line in metrics.lines] == [
        "Fluency",
        "Truthfulness",
        "Helpfulness",
    ]
    medians = table.group_by("question_id").agg(pl.col("average").median()).sort("question_id")
    drawn = [line.get_ydata() for line in boxes.lines if line.get_color() == style.COLOURS[1]]
    assert drawn == pytest.approx(np.array([[value] * 2 for value in medians["average"]]))


def test_intervals_stand_by_rank() -> None:
    table = runs(10).sample(fraction=1, shuffle=True, seed=1)
    [axes] = plots.intervals(table).axes
    ordered = table.sort("score", descending=True)
    assert points(axes) == {(score, row) for row, score in enumerate(ordered["score"])}
    lines: Any = axes.collections
    parts = [part for each in lines for part in each.get_segments()]
    drawn = {(*part[:, 0].tolist(), part[0, 1]) for part in parts}
    limits = ordered.select("score_low", "score_high").rows()
    assert drawn == {(low, high, row) for row, (low, high) in enumerate(limits)}
    *ranks, heading = (text.get_text() for text in axes.texts)
    assert heading == "rank range"
    assert ranks == [f"{low}–{high}" for low, high in ordered.select("^rank_.*$").rows()]


def test_runs_without_intervals_are_points() -> None:
    table = runs(4).drop("score_low", "score_high", "rank_low", "rank_high")
    [axes] = plots.intervals(table).axes
    assert len(points(axes)) == 4
    unsure = runs(3, score_low=[0.1, None, None], rank_low=[1, None, None])
    [axes] = plots.intervals(unsure).axes
    assert len(axes.texts) == 2
    aside = runs(3, score_low=None, score_high=None, mean=[0.1, 0.2, 0.3])
    assert points(plots.intervals(aside).axes[0]) == {(s, i) for i, s in enumerate(aside["score"])}


# Too few, too many, nothing.


@pytest.mark.parametrize("kind", FIGURES)
def test_one_run(kind: str) -> None:
    assert FIGURES[kind](runs(1)).get_suptitle()  # warnings are errors


@pytest.mark.parametrize("kind", ["metrics", "length", "intervals", "steps"])
def test_nothing_to_draw(kind: str) -> None:
    for table, message in (
        (runs(3).clear(), "nothing to draw"),
        (runs(3, score=math.nan), "nothing to draw: no run has score"),
        (runs(3).drop("score"), "missing columns in the table to draw: 'score'"),
        (runs(3, score="x"), "wrong type"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            FIGURES[kind](table)


def test_runs_without_a_number_are_left_out() -> None:
    values = [0.5, math.nan, None, math.inf, 0.25]
    table = runs(5).with_columns(pl.Series("length", values))
    [_, axes] = plots.score_length(table).axes
    assert {x for x, _ in points(axes)} == {0.5, 0.25}


def test_correlation_needs_two_values() -> None:
    figure = plots.metric_pairs(runs(3, fluency=0.5))
    assert figure.axes[1].get_title(loc="right") == "r = – (n = 3)"


def test_the_best_of_a_thousand_runs_have_intervals() -> None:
    table = runs(1000)
    [axes] = plots.intervals(table).axes
    assert points(axes) == {(score, row) for row, score in enumerate(table["score"][:100])}


SERIES = runs(13).with_columns(pl.format("m{}-step1", pl.col("run")).alias("model"))
ONE_SOURCE = source_table(runs(3)).filter(pl.col("source") == "A")
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: plots.score_steps(SERIES), "too many series for one figure: 13"),
    (lambda: plots.series(runs(2, model="m", run="r")), "no run has a step"),
    (lambda: plots.convergence([]), "1 to 12 runs"),
    (lambda: plots.convergence([sample()] * 13), "1 to 12 runs"),
    (lambda: plots.running(sample(), "score"), "unknown metric 'score'"),
    (lambda: plots.source_pairs(ONE_SOURCE, runs(3)), "no question has"),
    (
        lambda: plots.source_pairs(ONE_SOURCE, runs(3), metric="helpfulness"),
        "'helpfulness' is not computed by source",
    ),
    (lambda: plots.intervals(runs(2), top=0), "invalid number of runs 0: expected 1 or more"),
    (
        lambda: plots.category_map(question_table(runs(2)), CATEGORIES, top=-1),
        "invalid number of runs -1",
    ),
    (
        lambda: plots.metric_pairs(runs(2), language="fr"),  # type: ignore[arg-type]
        "unknown language 'fr': expected one of en, ja",
    ),
    (
        lambda: drawable(pl.DataFrame({"c": [1]}), ["a", "c"], ["b"]),
        "missing columns in the table to draw: 'a', 'b'",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_drawn(call: Callable[[], object], message: str) -> None:
    with pytest.raises(errors.PfgenError, match=message):
        call()


# Marks beside points.


@given(
    st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=30),
)
@settings(max_examples=25)
def test_marks_stay_within_the_frame_and_near(places: list[tuple[float, float]]) -> None:
    marks = [str(i) for i in range(len(places))]
    frame = (-60, -60, 460, 360)
    offsets = placing.offsets_of(np.array(places), marks, frame)
    for (x, y), (dx, dy) in zip(places, offsets, strict=True):
        assert 5 < math.hypot(dx, dy) < 40
        assert -60 <= x + dx <= 460
        assert -60 <= y + dy <= 360
