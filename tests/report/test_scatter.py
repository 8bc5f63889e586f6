"""Figures of any columns hold what scipy and statsmodels compute, in colours for all eyes."""

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from matplotlib.colors import to_rgb
from scipy import stats as scipy_stats  # type: ignore[import-untyped]
from scipy.cluster import hierarchy  # type: ignore[import-untyped]

from figures import texts
from pfgen_rs import errors
from pfgen_rs.drawing import style
from pfgen_rs.report import plots
from pfgen_rs.report.plots.columns import label
from pfgen_rs.report.site.pages import strings
from plot_data import CATEGORIES, curves, dated, question_table, runs

pytestmark = pytest.mark.usefixtures("settings_stay")


@pytest.mark.parametrize(
    ("x", "y", "log"),
    [("length", "score", None), ("parameters", "score", None), ("released", "price", "y")],
)
def test_the_line_and_its_interval_are_those_of_statsmodels(x: str, y: str, log: Any) -> None:
    table = dated(runs(20))
    _, axes = plots.scatter(table, x, y, log=log).axes
    assert (axes.get_xscale(), axes.get_yscale()) == (
        "log" if x == "parameters" else "linear",
        "log" if log else "linear",
    )
    usable = table.filter(pl.col("mode").ne_missing("system")).drop_nulls([x, y])
    one, other = (usable[key].cast(pl.Float64).to_numpy() for key in (x, y))
    one = np.log10(one) if x == "parameters" else one
    other = np.log10(other) if log else other
    at = np.linspace(one.min(), one.max(), 100)
    found = sm.OLS(other, sm.add_constant(one)).fit().get_prediction(sm.add_constant(at))
    wanted = [found.predicted_mean, *found.conf_int(alpha=0.05).T]
    wanted = [10**each for each in wanted] if log else wanted
    [line] = [each for each in axes.lines if each.get_linestyle() == "--"]
    np.testing.assert_allclose(np.asarray(line.get_ydata()), wanted[0], rtol=1e-9)
    corners = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert (corners.min(), corners.max()) == pytest.approx(
        (wanted[1].min(), wanted[2].max()), rel=1e-9
    )
    r = f"r = {scipy_stats.pearsonr(one, other)[0]:.4f} (n = {len(one)})".replace("-", "−")
    assert axes.get_title(loc="right") == r


def test_families_are_joined_in_order() -> None:
    table = dated(runs(12)).drop_nulls("parameters").filter(pl.col("mode").ne_missing("system"))
    _, axes = plots.scatter(table, "parameters").axes
    lines = [line for line in axes.lines if line.get_color() == style.GREY]
    joined = [np.asarray(line.get_xdata()).tolist() for line in lines]
    wanted = [part["parameters"].sort().to_list() for part in table.partition_by("family")]
    assert sorted(joined) == sorted(wanted)
    assert max(map(len, wanted)) > 1


def test_what_a_scatter_plot_says_of_itself() -> None:
    table = dated(runs(20))
    _, axes = plots.scatter(table, "parameters", "price").axes
    assert axes.get_ylabel() == "Price of a million output tokens (USD)"
    assert axes.get_title(loc="left").startswith("16 of 20 runs, those with both values; line:")
    figure = plots.scatter(table, "released", language="ja")
    _, dates = figure.axes
    figure.draw_without_rendering()
    assert dates.get_xlabel() == "公開日"
    ticks = [text.get_text() for text in dates.get_xticklabels()]
    assert len(ticks) == len(set(ticks)) > 2
    assert all(text.startswith("202") for text in ticks)
    for columns, log, message in (
        (("score", "score"), None, "against itself"),
        (("rank_low", "mode"), None, "wrong type"),
        (("below", "score"), "x", "no run is above zero"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            plots.scatter(table.with_columns(below=-1.0), *columns, log=log)  # type: ignore[arg-type]


def test_intervals_of_any_column() -> None:
    table = runs(6).with_columns(length_low=pl.col("length") - 1, length_high=pl.col("length") + 2)
    [axes] = plots.intervals(table, "length").axes
    ordered = table.sort("length", descending=True)
    assert [label.get_text()[:-4] for label in axes.get_yticklabels()] == ordered["name"].to_list()
    assert axes.get_xlabel() == "Length (95 % interval)"
    assert axes.child_axes == []  # ranks are those of scores
    reach = {tuple(p[:, 0]) for each in axes.collections for p in each.get_segments()}  # type: ignore[attr-defined]
    assert reach == set(ordered.select("length_low", "length_high").rows())


def varied() -> pl.DataFrame:
    random = np.random.default_rng(5)
    table = question_table(runs(9))
    return table.with_columns(score=pl.Series(random.uniform(0, 1, len(table))))


def test_panels_have_the_intervals_of_scipy() -> None:
    means = plots.category_intervals(varied(), CATEGORIES)
    figure = plots.panels(runs(9), means, top=4)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        *("overall", "Mathematics", "Arts", "?")
    ]
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == runs(9)["name"].head(4).to_list()
    for name, axes in zip(names, (figure.axes[1],) * 4, strict=True):
        own = varied().filter((pl.col("name") == name) & pl.col("question_id").is_in(["Q0", "Q2"]))[
            "score"
        ]
        wanted = scipy_stats.t.interval(0.95, 1, own.mean(), scipy_stats.sem(own.to_numpy()))
        drawn = [p[:, 0] for each in axes.collections for p in each.get_segments()]  # type: ignore[attr-defined]
        assert any(np.allclose(one, wanted) for one in drawn)
    assert means.filter(pl.col("category") == "arts")["score_low"].null_count() == 9


def test_runs_and_questions_stand_in_the_order_of_their_trees() -> None:
    table = plots.clustered(varied())
    cells = varied().pivot("question_id", index="name", values="score")
    for side, found, values in (
        (cells["name"].to_list(), table["name"].to_list(), cells.drop("name").to_numpy()),
        (cells.columns[1:], table.columns[1:], cells.drop("name").to_numpy().T),
    ):
        tree = hierarchy.linkage(values, "average", optimal_ordering=True)
        wanted = [side[place] for place in hierarchy.leaves_list(tree)]
        assert found in (wanted, wanted[::-1])
        means = [values[side.index(name)].mean() for name in found]
        half = len(means) // 2
        assert np.mean(means[:half]) >= np.mean(means[-half:])  # the better end first
    figure = plots.question_map(table, of=12)
    drawn = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_array_equal(drawn, table.drop("name").to_numpy())
    assert any(text.startswith("9 of 12 runs shown") for text in texts(figure))


def test_missing_scores_stay_empty() -> None:
    table = plots.clustered(varied().filter(pl.int_range(pl.len()) != 3))
    assert table.drop("name").null_count().sum_horizontal().to_list() == [1]
    assert plots.question_map(table).axes[0].images


def test_several_curves() -> None:
    given = curves(3)
    [axes] = plots.learning_curves(given).axes
    lines = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert [line.get_label() for line in lines] == [*given]
    for line, curve in zip(lines, given.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve["score"])
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 3
    with pytest.raises(errors.PlotError, match="too many series for one figure: 13"):
        plots.learning_curves(curves(13))


def test_categories_are_called_as_on_pages() -> None:
    pages = strings(("common",)).table
    named = {key.removeprefix("category_"): key for key in pages if key.startswith("category_")}
    assert len(named) == 14
    for language in ("en", "ja"):
        with style.drawing(language=language) as look:
            for name, key in named.items():
                assert label(f"category:{name}", look) == pages[key][language]


# Colours for all eyes: differences in CIELAB as Machado et al. (2009) simulate full colour blindness.


_SEEN = {
    "usual": np.eye(3),
    "deutan": [
        *([0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413]),
        [-0.011820, 0.042940, 0.968881],
    ],
    "protan": [
        *([0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216]),
        [-0.003882, -0.048116, 1.051998],
    ],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
}
_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def lab(colour: str, sight: str) -> Any:
    linear = np.where(
        (rgb := np.array(to_rgb(colour))) > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92
    )
    x = np.array(_XYZ) @ np.clip(_SEEN[sight] @ linear, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", ["usual", "deutan", "protan"])
def test_colours_differ_for_any_colour_vision(sight: str) -> None:
    places = [lab(colour, sight) for colour in style.COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > 10
    assert min(np.linalg.norm(place - lab("#ffffff", sight)) for place in places) > 30


def test_where_greys_are_alike_shapes_and_dashes_differ() -> None:
    table = pl.concat([runs(5), runs(5)]).with_columns(
        mode=pl.Series(["chat", "qa", "completion", "system", None] * 2)
    )
    _, axes = plots.scatter(table, "length").axes
    looks = {
        line.get_marker(): line.get_color() for line in axes.lines if line.get_marker() != "None"
    }
    assert len(looks) == 5  # a shape for each kind
    lines = plots.learning_curves(curves(12)).axes[0].lines
    shown = [
        (each.get_marker(), each.get_linestyle(), each.get_color())
        for each in lines
        if each.get_marker() != "None"
    ]
    for (marker, dash, one), (other_marker, other_dash, other) in combinations(shown, 2):
        apart = abs(lab(str(one), "grey")[0] - lab(str(other), "grey")[0])
        assert apart > 10 or marker != other_marker or dash != other_dash
