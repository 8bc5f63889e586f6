"""Figures hold the numbers that they were given, whatever the names, the fonts and the user's settings."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from pfgen_rs import errors, stats
from pfgen_rs.report import plots
from pfgen_rs.report.plots import fonts, frames, placing, style
from pfgen_rs.report.plots.words import JAPANESE

HOSTILE = "$x^2$ <script>alert(1)</script> ]]>--> & \n\u202eabc\x1b[31m 漢字" + "長" * 100_000


def runs(count: int = 5, **changes: Any) -> pl.DataFrame:
    """Runs with numbers that are all different."""
    random = np.random.default_rng(count)
    score = np.sort(random.uniform(0.1, 1.0, count))[::-1]
    columns: dict[str, Any] = {
        "run": [f"result/m{i}/abcdef0" for i in range(count)],
        "model": [f"org/m{i}-step_{100 * (i + 1)}" for i in range(count)],
        "mode": [("completion", "chat", "qa", "system", None)[i % 5] for i in range(count)],
        "score": score,
        "fluency": random.uniform(0, 1.2, count),
        "truthfulness": random.uniform(0, 1, count),
        "helpfulness": random.uniform(0, 1, count),
        "length": random.uniform(20, 300, count),
        "score_low": score - 0.05,
        "score_high": score + 0.04,
        "rank_low": np.arange(1, count + 1),
        "rank_high": np.arange(1, count + 1) + 1,
        **changes,
    }
    return pl.DataFrame(columns).with_columns(pl.col("model").alias("name"))


def sample(questions: int = 3, trials: int = 6, *, timed: bool = True) -> stats.Sample:
    random = np.random.default_rng(questions)
    ids = tuple(f"Q{i}" for i in range(questions))
    values = {name: list(random.uniform(0, 1, (questions, trials))) for name in stats.METRICS}
    order = [random.permutation(trials) for _ in ids] if timed else None
    return stats.Sample("m", ids, dict.fromkeys(ids), values, order)


def question_table(table: pl.DataFrame) -> pl.DataFrame:
    rows = [(name, f"Q{i}", 0.1 * i) for name in table["name"] for i in range(4)]
    return pl.DataFrame(rows, schema=["name", "question_id", "score"], orient="row")


def source_table(table: pl.DataFrame) -> pl.DataFrame:
    random = np.random.default_rng(1)
    rows = [
        (name, question, source, *random.uniform(0, 1, 3))
        for name in table["name"]
        for question, sources in (("Q1", "AB"), ("Q2", "AB"), ("Q3", "A"), ("Q4", "ABC"))
        for source in sources
    ]
    columns = ["name", "question_id", "source", "fluency", "truthfulness", "average"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def response_table(prefix: str = "Q") -> pl.DataFrame:
    random = np.random.default_rng(2)
    count = 60
    names = ("average", "fluency", "truthfulness", "helpfulness")
    return pl.DataFrame(
        {
            "question_id": [f"{prefix}{i % 3}" for i in range(count)],
            "length": random.integers(1, 300, count),
            **{name: random.uniform(0, 1.1, count) for name in names},
        }
    )


CATEGORIES = {"Q0": "math", "Q1": "arts", "Q2": "math", "Q3": None}
# Each figure, of runs and with what every figure takes.
FIGURES: dict[str, Callable[..., Figure]] = {
    "metrics": plots.metric_pairs,
    "length": plots.score_length,
    "intervals": plots.intervals,
    "steps": plots.score_steps,
    "sources": lambda table, **look: plots.source_pairs(source_table(table), table, **look),
    "categories": lambda table, **look: plots.category_map(
        question_table(table), CATEGORIES, **look
    ),
    "convergence": lambda _, **look: plots.convergence([sample(), sample(timed=False)], **look),
    "spread": lambda _, **look: plots.distributions(response_table(), **look),
}
each_figure = pytest.mark.parametrize("kind", FIGURES)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


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


@pytest.fixture(autouse=True)
def _settings_stay() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


# What figures show.


def test_pairs_of_metrics() -> None:
    table = runs(12)
    figure = plots.metric_pairs(table)
    wanted = [
        ("fluency", "truthfulness"),
        ("fluency", "helpfulness"),
        ("truthfulness", "helpfulness"),
    ]
    panels = figure.axes[1:]
    for axes, (x, y) in zip(panels, wanted, strict=True):
        assert points(axes) == pairs(table, x, y)
        assert (axes.get_xlabel(), axes.get_ylabel()) == (x.title(), y.title())
        r = np.corrcoef(table[x], table[y])[0, 1]
        assert axes.get_title(loc="right") == f"r = {r:.4f}"
        assert f"{x}–{y} r = {r:.4f}" in str(figure.get_label())


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


def test_each_kind_has_its_own_colour_and_shape() -> None:
    [listing, axes] = plots.score_length(runs(5)).axes
    looks = [(line.get_color(), line.get_marker()) for line in axes.lines]
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 5
    legend = [(line.get_color(), line.get_marker()) for line in listing.lines[:5]]
    assert legend == looks


def test_sources_are_compared_over_the_questions_of_both() -> None:
    table = runs(8)
    scores = source_table(table)
    figure = plots.source_pairs(scores, table, metric="fluency", sources=("B", "A"))
    [_, axes] = figure.axes
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
    for at in zip(means["B"], means["A"], strict=True):
        assert min(math.dist(at, other) for other in found) < 1e-12
    r = np.corrcoef(means["B"], means["A"])[0, 1]
    assert axes.get_title(loc="right") == f"r = {r:.4f}"
    assert axes.get_xlabel().endswith("source B")


def test_the_usual_sources_are_those_of_most_questions() -> None:
    table = runs(3)
    figure = plots.source_pairs(source_table(table), table)
    labels = [(axes.get_xlabel()[-1], axes.get_ylabel()[-1]) for axes in figure.axes[1:]]
    assert labels == [("A", "B"), ("A", "C"), ("B", "C")]


def test_source_choices_that_cannot_be() -> None:
    table = runs(3)
    scores = source_table(table)
    for changes, message in (
        ({"metric": "helpfulness"}, "no 'helpfulness' of their own"),
        ({"sources": ("A", "Z")}, "no question has"),
        ({"sources": ("A",)}, "no question has"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            plots.source_pairs(scores, table, **changes)


def test_means_of_categories() -> None:
    table = plots.category_means(question_table(runs(2)), CATEGORIES)
    assert table.columns == ["name", "all", "in math", "in arts", "in ?"]
    for row in table.rows():
        assert row[1:] == pytest.approx((0.15, 0.1, 0.1, 0.3))


def test_the_map_shows_the_means() -> None:
    table = question_table(runs(4)).with_columns(pl.col("score") + pl.int_range(pl.len()) / 100)
    means = plots.category_means(table, CATEGORIES)
    axes = plots.category_map(table, CATEGORIES).axes[0]
    values = np.asarray(axes.images[0].get_array())
    np.testing.assert_array_equal(values, means.drop("name").to_numpy())
    assert [label.get_text() for label in axes.get_yticklabels()] == means["name"].to_list()
    assert [text.get_text() for text in axes.texts] == [f"{v:.2f}" for v in values.flatten()]


def test_a_category_without_answers_is_left_empty() -> None:
    scores = pl.DataFrame({"name": ["m", "n", "n"], "question_id": ["a", "a", "b"], "score": 0.5})
    axes = plots.category_map(scores, {"a": "x", "b": "y"}).axes[0]
    assert len(axes.texts) == 5


@given(
    st.integers(1, 4),
    st.integers(2, 7),
    st.sampled_from(stats.METRICS),
    st.sampled_from([0.5, 0.9, 0.99]),
)
@settings(max_examples=25)
def test_running_means(questions: int, trials: int, metric: str, level: float) -> None:
    one = sample(questions, trials)
    table = plots.running(one, metric, level=level)
    ordered = np.empty((questions, trials))
    for q, values in enumerate(one.values[metric]):
        ordered[q, one.order[q]] = values  # type: ignore[index]
    assert table["trials"].to_list() == list(range(1, trials + 1))
    assert table["low"][0] is None
    for n in range(2, trials + 1):
        first = ordered[:, :n]
        error = math.sqrt((first.var(axis=1, ddof=1) / n).sum()) / questions
        reach = scipy_stats.t.ppf((1 + level) / 2, questions * (n - 1)) * error
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
    one = sample(2, 30, timed=False)
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


@pytest.mark.parametrize(
    ("model", "run", "wanted"),
    [
        ("org/m/step_1000", "r", ("org/m", 1000)),
        ("org/m-step2000", "r", ("org/m", 2000)),
        ("m-iter_0002000", "r", ("m", 2000)),
        ("m/checkpoint-500", "r", ("m", 500)),
        ("m_global_step12", "r", ("m", 12)),
        ("m-Step=7-hf", "r", ("m--hf", 7)),
        ("step_1/step_2", "r", ("step_1", 2)),
        ("m", "result/m/iteration-30/abcdef0", ("result/m", 30)),
        ("m", "result/m-step3", ("result/m", 3)),
        ("m-7b", "result/m-7b/1234567", None),
        ("footsteps12", "r", None),
    ],
)
def test_steps_in_names(model: str, run: str, wanted: tuple[str, int] | None) -> None:
    table = pl.DataFrame({"model": ["a-step_1", model], "run": ["a", run]})
    found = dict(zip(*plots.series(table).select("model", "step").to_dict().values(), strict=True))
    assert found.get(model) == (None if wanted is None else wanted[1])
    if wanted is not None:
        assert wanted[0] in plots.series(table)["series"].to_list()


def test_a_step_pattern_of_ones_own() -> None:
    table = pl.DataFrame({"model": ["m@3k", "m@12k", "n"], "run": ["", "", ""]})
    found = plots.series(table, r"@(\d+)k")
    assert found.select("series", "step").rows() == [("m", 3), ("m", 12)]
    for pattern, message in (("(", "no regular"), (r"\d+", "needs a group"), ("(z)", "no run has")):
        with pytest.raises(errors.PlotError, match=message):
            plots.series(table, pattern)


def test_score_by_step() -> None:
    table = runs(6).sample(fraction=1, shuffle=True, seed=3)
    figure = plots.score_steps(table, pattern=r"org/m\d-step_(\d+)")
    [axes] = figure.axes
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
    ranks = [text.get_text() for text in axes.texts[1:]]
    assert ranks == [f"{low}–{high}" for low, high in ordered.select("^rank_.*$").rows()]


def test_runs_without_intervals_are_points() -> None:
    table = runs(4).drop("score_low", "score_high", "rank_low", "rank_high")
    [axes] = plots.intervals(table).axes
    assert len(points(axes)) == 4
    unsure = runs(3, score_low=[0.1, None, None], rank_low=[1, None, None])
    [axes] = plots.intervals(unsure).axes
    assert len(axes.texts) == 2


# Too few, too many, nothing.


@each_figure
def test_one_run(kind: str) -> None:
    assert FIGURES[kind](runs(1)).get_suptitle()  # warnings are errors


@pytest.mark.parametrize("kind", ["metrics", "length", "intervals", "steps"])
def test_nothing_to_draw(kind: str) -> None:
    with pytest.raises(errors.PlotError, match="nothing to draw"):
        FIGURES[kind](runs(3).clear())
    nothing = runs(3).with_columns(pl.lit(math.nan).alias("score"))
    with pytest.raises(errors.PlotError, match="nothing to draw: no run has score"):
        FIGURES[kind](nothing)
    with pytest.raises(errors.PlotError, match="no column 'score'"):
        FIGURES[kind](runs(3).drop("score"))
    with pytest.raises(errors.PlotError, match="wrong kind"):
        FIGURES[kind](runs(3).with_columns(pl.lit("x").alias("score")))


def test_runs_without_a_number_are_left_out() -> None:
    values = [0.5, math.nan, None, math.inf, 0.25]
    table = runs(5).with_columns(pl.Series("length", values))
    [_, axes] = plots.score_length(table).axes
    assert {x for x, _ in points(axes)} == {0.5, 0.25}


def test_correlation_needs_two_values() -> None:
    figure = plots.metric_pairs(runs(3, fluency=0.5))
    assert figure.axes[1].get_title(loc="right") == "r = –"


def test_no_samples_and_too_many() -> None:
    for found in ([], [sample()] * 13):
        with pytest.raises(errors.PlotError, match="1 to 12 runs"):
            plots.convergence(found)
    with pytest.raises(errors.PlotError, match="'score' is none of"):
        plots.running(sample(), "score")


def test_a_thousand_runs() -> None:
    table = runs(1000)
    figure = plots.metric_pairs(table)
    assert points(figure.axes[1]) == pairs(table, "fluency", "truthfulness")
    assert not figure.axes[1].texts
    [axes] = plots.intervals(table).axes
    assert points(axes) == {(score, row) for row, score in enumerate(table["score"][:100])}


def test_too_many_series() -> None:
    table = runs(13).with_columns(pl.format("m{}-step1", pl.col("run")).alias("model"))
    with pytest.raises(errors.PlotError, match="13 series are too many"):
        plots.score_steps(table)


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


def test_marks_of_a_line_of_points_do_not_overlap() -> None:
    places = np.array([(6.0 * i, 4.0 * i) for i in range(24)])
    marks = [str(i + 1) for i in range(24)]
    offsets = placing.offsets_of(places, marks, (-90, -90, 300, 300))
    middles = places + offsets
    for i, one in enumerate(middles):
        apart = np.abs(np.delete(middles, i, axis=0) - one)
        assert ((apart[:, 0] > 4.5) | (apart[:, 1] > 6)).all()


# Names of strangers.


@each_figure
def test_hostile_names_are_drawn_as_they_are(kind: str) -> None:
    table = runs(3, model=[f"{HOSTILE}{i}-step_{i}" for i in range(3)])
    figure = FIGURES[kind](table, title=HOSTILE, language="ja")
    title = figure.get_suptitle()
    assert title.startswith("$x^2$ <script>alert(1)</script> ]]>--> & \\n\\u202ea…長")
    assert len(title) == 100
    assert not any(text.get_parse_math() for text in figure.findobj(Text))
    content = plots.svg(figure)
    assert b"<script" not in content
    assert b"\x1b" not in content
    root = ET.fromstring(content)
    assert root.get("role") == "img"
    said = {node.tag.rpartition("}")[2]: node.text for node in list(root)[:2]}
    assert said == {"title": title, "desc": figure.get_label()}
    assert all(said.values())


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
    plots.category_map(question_table(table), {"Q0": HOSTILE, "Q1": "$"})


# Language and fonts.


@each_figure
def test_japanese_figures(kind: str) -> None:
    """Every word of ours is in the list; where no font has its characters, warnings would tell."""
    found = texts(FIGURES[kind](runs(5), language="ja"))
    english = set(JAPANESE) - set(JAPANESE.values())
    assert not english & set(found)
    assert any(not text.isascii() for text in found)


def test_an_unknown_language() -> None:
    with pytest.raises(errors.PlotError, match="no language 'fr': use one of en, ja"):
        plots.metric_pairs(runs(2), language="fr")  # type: ignore[arg-type]


@pytest.fixture
def no_font(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fonts._found.cache_clear()
    monkeypatch.setattr(fonts, "_japanese", lambda: iter(()))
    yield
    fonts._found.cache_clear()


@pytest.mark.usefixtures("no_font")
def test_without_a_japanese_font() -> None:
    table = runs(2, model=["日本語-step_1", "é-step_2"])
    with pytest.warns(plots.FontWarning, match="no installed font has Japanese glyphs") as told:
        figure = plots.metric_pairs(table, language="ja")
    assert len(told) == 1
    plots.svg(figure)
    found = texts(figure)
    assert "\\u65e5\\u672c\\u8a9e-step_1" in found
    assert "é-step_2" in found
    assert figure.get_suptitle() == "Metrics of the runs"
    plots.score_length(table, language="ja")  # a second warning would be an error


def test_a_font_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, message in (
        ("No Such Font", "there is no font 'No Such Font'"),
        (fonts.LATIN, "'DejaVu Sans' has no Japanese glyphs"),
        (str(tmp_path / "missing.ttf"), "no font that can be read"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            plots.metric_pairs(runs(2), font=name)
    broken = tmp_path / "broken.otf"
    broken.write_bytes(b"nothing")
    monkeypatch.setenv(fonts.ENVIRONMENT, str(broken))
    with pytest.raises(errors.PlotError, match="no font that can be read"):
        plots.metric_pairs(runs(2))


def test_a_fonts_file_and_family() -> None:
    family = fonts.japanese_font()
    if family is None:
        pytest.skip("no Japanese font is installed")
    from matplotlib import font_manager

    path = font_manager.findfont(family)
    for name in (family, str(path)):
        assert fonts.japanese_font(name) == family
    figure = plots.metric_pairs(runs(2), font=family)
    assert figure.findobj(Text)[0].get_fontfamily() == [fonts.LATIN, family]


def test_fonts_that_matplotlib_has_not_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its list of fonts is kept for ever; newer ones are found all the same."""
    from matplotlib import font_manager

    if fonts.japanese_font() is None:
        pytest.skip("no Japanese font is installed")
    kept = [e for e in font_manager.fontManager.ttflist if e.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", kept)
    manager: Any = font_manager.fontManager
    manager._findfont_cached.cache_clear()
    for cached in (fonts._found, fonts._font):
        cached.cache_clear()
    assert fonts.japanese_font() is not None


# Files.


DRAW_AND_PRINT = """
import hashlib, numpy as np, polars as pl
from pfgen_rs import stats
from pfgen_rs.report import plots
columns = {"model": list("abc"), "mode": ["qa", "chat", "日本"]}
runs = pl.DataFrame({**columns, "score": [0.5, 0.4, 0.2], "length": [90, 100, 110]})
values = {"average": [np.array([0.25, 0.5, 1]), np.array([0.5, 0.1, 0.2])]}
sample = stats.Sample("m", ("a", "b"), {"a": None, "b": None}, values)
for figure in (plots.score_length(runs, language="ja"), plots.convergence([sample])):
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
    before = plots.svg(plots.score_length(runs(4)))
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "none"}):
        assert plots.svg(plots.score_length(runs(4))) == before


def test_saving(tmp_path: Path) -> None:
    figure = plots.score_length(runs(2))
    plots.save(figure, tmp_path / "new" / "a.SVG")
    plots.save(figure, str(tmp_path / "a.png"))
    assert (tmp_path / "new" / "a.SVG").read_bytes() == plots.svg(figure)
    assert (tmp_path / "a.png").read_bytes() == plots.png(figure)
    with pytest.raises(errors.OutputError, match=r"unknown format; use one of \.svg, \.png"):
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


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, pfgen_rs.report.plots.kinds; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_columns_are_checked() -> None:
    with pytest.raises(errors.PlotError, match="no column 'a', 'b'"):
        frames.drawable(pl.DataFrame({"c": [1]}), ["a", "c"], ["b"])
