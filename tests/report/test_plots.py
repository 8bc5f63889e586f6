"""Figures hold the numbers that they were given, and look as they should whatever the names."""

import logging
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from figures import HOSTILE, check_names_are_inert, texts
from pfgen_rs import errors, stats
from pfgen_rs.drawing import style
from pfgen_rs.drawing.figures import fixed
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


def test_the_discount_of_length_is_that_of_the_set() -> None:
    signature = "pfgen|set:0|variant:pfgen-bench|n:1-10|t:3|unit:word|length:40-60-80|v:1"
    worded = runs(7).with_columns(pl.lit(signature).alias("signature"))
    for table, span, label, said in (
        (runs(7), (100, 150), "Length (characters)", "length discount (100–150 characters)"),
        (worded, (40, 60), "Length (words)", "length discount (40–60 words)"),
    ):
        [_, axes] = plots.scatter(table, "length").axes
        assert points(axes) == pairs(table, "length", "score")
        [ground] = axes.patches
        corners = ground.get_path().get_extents(ground.get_patch_transform())
        assert (corners.x0, corners.x1) == pytest.approx(span)
        assert axes.get_xlabel() == label
        assert axes.get_title(loc="left").endswith(said)


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
    assert table.columns == ["name", "all", "category:math", "category:arts", "category:?"]
    assert table["name"][0] == names[1]
    assert table["all"].to_list() == pytest.approx([0.9, 0.15, 0.15])
    for row in table.rows():
        assert row[2:] == pytest.approx((0.1, 0.1, 0.3))


def test_the_map_shows_the_means() -> None:
    table = question_table(runs(4)).with_columns(pl.col("score") + pl.int_range(pl.len()) / 100)
    means = plots.category_means(table, CATEGORIES)
    axes = plots.category_map(means).axes[0]
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
        *(("org/m/step_1000", "r", "org/m", 1000), ("org/m-step2000", "r", "org/m", 2000)),
        *(("m-iter_0002000", "r", "m", 2000), ("m/checkpoint-500", "r", "m", 500)),
        *(("m_global_step12", "r", "m", 12), ("m-Step=7-hf", "r", "m--hf", 7)),
        *(("step_1/step_2", "r", "step_1", 2), ("m", "result/m-step3", "result/m", 3)),
        ("m", "result/m/iteration-30/abcdef0", "result/m", 30),
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


def rank_ranges(axes: Axes) -> list[str]:
    return [label.get_text() for right in axes.child_axes for label in right.get_yticklabels()]


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
    assert axes.get_title(loc="right") == "rank range"
    assert rank_ranges(axes) == [
        f"{low}–{high}" for low, high in ordered.select("^rank_.*$").rows()
    ]


def test_runs_without_intervals_are_points() -> None:
    table = runs(4).drop("score_low", "score_high", "rank_low", "rank_high")
    [axes] = plots.intervals(table).axes
    assert len(points(axes)) == 4
    unsure = runs(3, score_low=[0.1, None, None], rank_low=[1, None, None])
    [axes] = plots.intervals(unsure).axes
    assert rank_ranges(axes) == ["1–2"]
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
    [_, axes] = plots.scatter(table, "length").axes
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
        lambda: plots.category_map(
            plots.category_means(question_table(runs(2)), CATEGORIES), top=-1
        ),
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


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=30))
@settings(max_examples=25)
def test_marks_stay_within_the_frame_and_near(places: list[tuple[float, float]]) -> None:
    marks = [str(i) for i in range(len(places))]
    frame = (-60, -60, 460, 360)
    offsets = placing.offsets_of(np.array(places), marks, frame)
    for (x, y), (dx, dy) in zip(places, offsets, strict=True):
        assert 5 < math.hypot(dx, dy) < 40
        assert -60 <= x + dx <= 460
        assert -60 <= y + dy <= 360


# Figures whatever the names, fonts and settings: as files, and with texts that have their room.


each_figure = pytest.mark.parametrize("kind", FIGURES)


# Names of strangers.


@each_figure
def test_hostile_names_are_drawn_as_they_are(kind: str) -> None:
    table = runs(3, model=[f"{HOSTILE}{i}-step_{i}" for i in range(3)])
    figure = FIGURES[kind](table, title=HOSTILE, language="ja")
    check_names_are_inert(figure)


def test_names_of_runs_are_drawn_as_they_are() -> None:
    table = runs(3, model=["a $\\frac$", "b\nc", "😀\U0010fffd" + "x" * 500])
    listed = texts(plots.metric_pairs(table))
    assert "a $\\frac$" in listed
    assert "b\\nc" in listed
    [long] = [text for text in listed if text.endswith("xxx")]
    assert "\\U0010fffd" in long
    assert len(long) <= 44


def test_hostile_ids_and_sources() -> None:
    plots.distributions(response_table(HOSTILE))
    table = runs(3)
    scores = source_table(table).with_columns(pl.col("source") + HOSTILE)
    assert b"<script" not in plots.svg(plots.source_pairs(scores, table))
    plots.category_map(plots.category_means(question_table(table), {"Q0": HOSTILE, "Q1": "$"}))


# Language and fonts.


@pytest.fixture
def no_font_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with the fonts that packages bring, and none beside them."""
    from matplotlib import font_manager

    def forget() -> None:
        manager: Any = font_manager.fontManager
        manager._findfont_cached.cache_clear()
        for cached in (style._default_font, style._font_of_family):
            cached.cache_clear()

    latin = [e for e in font_manager.fontManager.ttflist if e.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", latin)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    forget()
    yield
    forget()


@pytest.mark.usefixtures("no_font_installed")
def test_japanese_without_a_japanese_font(capfd: pytest.CaptureFixture[str]) -> None:
    table = runs(2, model=["日本語-step_1", "é-step_2"])
    figure = plots.metric_pairs(table, language="ja")
    plots.svg(figure)
    assert {"日本語-step_1", "é-step_2"} <= set(texts(figure))
    assert figure.get_suptitle() == "指標間の関係"
    assert figure.findobj(Text)[0].get_fontfamily() == [style.LATIN, "IPAexGothic"]
    assert capfd.readouterr() == ("", "")  # nothing of the search for a font


def test_a_font_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, message in (
        ("No Such Font", "unknown font 'No Such Font'"),
        (style.LATIN, "'DejaVu Sans' has no Japanese glyphs"),
        (str(tmp_path / "missing.ttf"), "not a readable font"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            plots.metric_pairs(runs(2), font=name)
    broken = tmp_path / "broken.otf"
    broken.write_bytes(b"nothing")
    monkeypatch.setenv(style.ENVIRONMENT, str(broken))
    with pytest.raises(errors.PlotError, match="not a readable font"):
        plots.metric_pairs(runs(2))


def test_a_fonts_file_and_family() -> None:
    family = style.japanese_font()
    from matplotlib import font_manager

    path = font_manager.findfont(family)
    for name in (family, str(path)):
        assert style.japanese_font(name) == family
    figure = plots.metric_pairs(runs(2), font=family)
    assert figure.findobj(Text)[0].get_fontfamily() == [style.LATIN, family]
    assert style.lacks("No-Such Family", "a") == {"a"}  # a hyphen is no fontconfig pattern


def test_drawing_is_quiet_about_faces_that_a_font_lacks(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    with style.matplotlib_settings():
        logger.warning("findfont: Failed to find font weight bold")
    assert logger.level == level
    assert capfd.readouterr() == ("", "")


# Files.


DRAW_AND_PRINT = """
import hashlib, numpy as np, polars as pl
from pfgen_rs import stats
from pfgen_rs.report import plots
columns = {"model": list("abc"), "mode": ["qa", "chat", "日本"]}
runs = pl.DataFrame({**columns, "score": [0.5, 0.4, 0.2], "length": [90, 100, 110]})
values = {"average": [np.array([0.25, 0.5, 1]), np.array([0.5, 0.1, 0.2])]}
sample = stats.Sample("m", ("a", "b"), {"a": None, "b": None}, values)
for figure in (plots.scatter(runs, "length", language="ja"), plots.convergence([sample])):
    for content in (plots.svg(figure), plots.png(figure), plots.svg(figure)):
        print(hashlib.sha1(content).hexdigest())
"""


def test_the_same_figure_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    exec(DRAW_AND_PRINT, {})
    here = capsys.readouterr().out
    assert here.split()[0::3] == here.split()[2::3]
    command = [sys.executable, "-c", DRAW_AND_PRINT]
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout == here


def test_the_users_settings_do_not_matter() -> None:
    before = plots.svg(plots.scatter(runs(4), "length"))
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "none"}):
        assert plots.svg(plots.scatter(runs(4), "length")) == before


def test_saving(tmp_path: Path) -> None:
    figure = plots.scatter(runs(2), "length")
    plots.save(figure, tmp_path / "new" / "a.SVG")
    plots.save(figure, str(tmp_path / "a.png"))
    assert (tmp_path / "new" / "a.SVG").read_bytes() == plots.svg(figure)
    assert (tmp_path / "a.png").read_bytes() == plots.png(figure)
    with pytest.raises(
        errors.OutputError, match=r"unknown format '.pdf': expected one of \.svg, \.png"
    ):
        plots.save(figure, tmp_path / "a.pdf")
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(errors.OutputError, match="cannot be written"):
        plots.save(figure, tmp_path / "taken.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "new", "taken.svg"]


# matplotlib is an extra.


@each_figure
def test_without_matplotlib(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "find_spec", lambda _: None)
    with pytest.raises(errors.OutputError, match=r"pip install 'pfgen_rs\[plots\]'"):
        FIGURES[kind](runs(3))


# Texts and their places.


SLACK = 1.5  # pixels by which boxes may overlap: they are taller than their letters


def text_faults(figure: Figure, *, but_marks: bool = False) -> list[str]:
    """Each text that is clipped, and each pair that overlaps.

    `but_marks`: leave out marks beside points, for which there may be no room among many points.
    """
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [text for text in drawn_texts(figure) if not (but_marks and _is_mark(text))]
    boxes = [(text, text.get_window_extent(renderer)) for text in texts]
    return [*_clipped(figure, boxes), *_overlapping(boxes)]


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """The texts that a reader sees."""
    for axes in figure.axes:
        yield from filter(_is_drawn, _texts_of(axes))
    for text in (*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())):
        if _is_drawn(text):
            yield text


def _texts_of(axes: Axes) -> Iterator[Text]:
    if not axes.get_visible():
        return
    found: Any = axes
    yield from axes.texts
    yield from (axes.title, found._left_title, found._right_title)
    legend = axes.get_legend()
    if legend is not None:
        yield from legend.get_texts()
    if axes.axison:
        for axis in (axes.xaxis, axes.yaxis, *(child.yaxis for child in axes.child_axes)):
            yield axis.label
            yield from _tick_labels(axis)


def _tick_labels(axis: Axis) -> Iterator[Text]:
    low, high = sorted(axis.get_view_interval())
    for tick in axis.get_major_ticks():
        if low <= tick.get_loc() <= high:
            yield from (tick.label1, tick.label2)


def _is_drawn(text: Text) -> bool:
    return bool(text.get_visible() and text.get_text().strip())


def _is_mark(text: Text) -> bool:
    return text.get_text().isalnum() and len(text.get_text()) <= 3 and text.get_fontsize() == 7.5


def _clipped(figure: Figure, boxes: list[tuple[Text, Bbox]]) -> Iterator[str]:
    whole = figure.bbox
    for text, box in boxes:
        beyond = max(whole.x0 - box.x0, whole.y0 - box.y0, box.x1 - whole.x1, box.y1 - whole.y1)
        if beyond > SLACK:
            yield f"clipped: {text.get_text()!r}"


def _overlapping(boxes: list[tuple[Text, Bbox]]) -> Iterator[str]:
    level = [(text, box) for text, box in boxes if text.get_rotation() % 90 == 0]
    for (one, a), (other, b) in combinations(level, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > SLACK and along > SLACK:
            yield f"overlapping: {one.get_text()!r}, {other.get_text()!r}"


FAMILIES = (style.LATIN, style.japanese_font())
LONG = (
    "organisation/a-very-long-model-name-with-many-parts-32b-v0.{0}-preview-step_{0} · chat",
    "W" * 40 + "{0}-step_{0}",
    "日本語の組織/とても長い名前のモデルで途中が省略される-{0}-step_{0} · completion",
)


def said(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in drawn_texts(figure))


@each_figure
@pytest.mark.parametrize("language", ["en", "ja"])
def test_texts_have_their_room(kind: str, language: Any) -> None:
    """With names of each kind, among them Japanese ones, which are wider."""
    names = [LONG[i % 3].format(i) for i in range(12)]
    figure = FIGURES[kind](runs(12, model=names), language=language)
    assert text_faults(figure, but_marks=True) == []


@pytest.mark.parametrize("kind", ["length", "categories"])
def test_texts_of_many_runs_have_their_room(kind: str) -> None:
    assert text_faults(FIGURES[kind](runs(200)), but_marks=True) == []


def test_long_names_of_sources_and_titles_are_not_clipped() -> None:
    table = runs(3)
    scores = source_table(table).with_columns(pl.col("source") + "長い名前の生成元" * 5)
    for language in ("en", "ja"):
        assert text_faults(plots.source_pairs(scores, table, language=language)) == []
    one = pl.DataFrame({"name": ["m"], "question_id": ["a"], "score": [0.5]})
    title = "A Title That Is Much Too Long " * 9
    assert text_faults(plots.category_map(plots.category_means(one, {"a": "x"}), title=title)) == []


# Names.

LETTERS = st.characters(min_codepoint=0x21, max_codepoint=0x7E) | st.sampled_from("漢字あいう")


@given(st.text(LETTERS, max_size=120), st.integers(12, 60), st.floats(0.15, 0.85))
def test_a_name_fits_and_keeps_its_ends(name: str, width: int, share: float) -> None:
    found = style.shortened(name, FAMILIES, width, share)
    whole = style.text_width(name, FAMILIES)
    assert style.text_width(found, FAMILIES) <= width + 1e-6
    assert (found == name) == (whole <= width)
    if found != name:
        head, _, tail = found.partition("…")
        assert name.startswith(head)
        assert name.endswith(tail)
        assert len(head + tail) < len(name)
        assert style.text_width(found, FAMILIES) > width - 4  # no more is lost than must be


def test_the_mode_stays_whole() -> None:
    name = "organisation/a-very-long-model-name-with-many-parts-32b-instruct-v0.1-preview"
    for mode in ("chat", "completion", "qa · 0a1b2c3"):
        found = style.shortened(f"{name} · {mode}", FAMILIES, 44)
        assert re.fullmatch(rf"organisation/[^…]*…[^…]*w · {mode}", found), found


def test_different_names_look_different() -> None:
    middle = [f"{'a' * 30}-{size}b-{'z' * 60}" for size in (7, 13, 70)]
    with style.drawing() as look:
        assert len({look.name(name) for name in middle}) == 1
        assert len(set(look.names(middle))) == 3
        assert look.names(["a", "a"]) == ["a", "a"]
        assert look.names([]) == []


# Numbers.


@given(st.floats(-1e6, 1e6), st.integers(0, 5))
def test_no_negative_zero_and_a_proper_minus(value: float, digits: int) -> None:
    shown = fixed(value, digits)
    assert "-" not in shown
    number = float(shown.replace("−", "-"))
    assert number == round(value, digits)
    assert math.copysign(1, number) == 1 or number < 0


@pytest.mark.parametrize("kind", ["convergence", "spread", "intervals", "length", "metrics"])
def test_scores_of_nothing_are_not_below_zero(kind: str) -> None:
    """A run whose answers all score 0 has no negative ticks."""
    table = runs(2, score=0.0, score_low=0.0, score_high=0.0, fluency=0.0, length=0.0)
    zeros = {name: [np.zeros(4), np.zeros(4)] for name in stats.METRICS}
    one = stats.Sample("m", ("a", "b"), {"a": None, "b": None}, zeros)
    responses = response_table().with_columns(
        pl.lit(0.0).alias(name) for name in ("average", "fluency", "truthfulness", "helpfulness")
    )
    figures: dict[str, Any] = {
        "convergence": lambda: plots.convergence([one]),
        "spread": lambda: plots.distributions(responses),
        "intervals": lambda: plots.intervals(table),
        "length": lambda: plots.scatter(table, "length"),
        "metrics": lambda: plots.metric_pairs(table),
    }
    figure = figures[kind]()
    numbers = [text for text in said(figure).split("\n") if set(text) <= set("−-.0123456789")]
    assert len(numbers) > 3
    assert not [number for number in numbers if number[0] in "−-"]
    assert text_faults(figure, but_marks=True) == []


# Parts of long lists.


def test_cut_lists_say_so() -> None:
    japanese = plots.intervals(runs(516), top=9, language="ja")
    assert "516 件中、スコア上位 9 件を表示" in said(japanese)
    for figure in (plots.intervals(runs(7)), plots.scatter(runs(7), "length")):
        assert " of " not in said(figure)


def test_questions_that_are_left_out_are_counted() -> None:
    table = response_table().with_columns(pl.int_range(pl.len()).cast(pl.String).alias("id"))
    each = pl.concat([table.with_columns(question_id=pl.col("id") + part) for part in "abc"])
    assert "120 of 180 questions shown" in said(plots.distributions(each))
    assert "questions shown" not in said(plots.distributions(response_table()))


def test_only_the_best_of_many_are_numbered_and_listed() -> None:
    table = runs(70, mode="chat").sample(fraction=1, shuffle=True, seed=2)
    figure = plots.scatter(table, "length")
    best = table.sort("score", descending=True).head(12)
    drawn: Any = figure.axes[1].texts
    assert {note.get_text(): tuple(note.xy) for note in drawn} == {
        str(i + 1): pytest.approx((run["length"], run["score"]))
        for i, run in enumerate(best.rows(named=True))
    }
    listed = [text.get_text() for text in figure.axes[0].texts]
    assert [name for name in best["name"] if name not in listed] == []
    assert len(listed) == 1 + 1 + 2 * 12  # the kind, the remark, marks and names
