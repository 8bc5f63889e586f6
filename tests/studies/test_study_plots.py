"""Figures of studies hold what they were given, whatever the names, and names never overlap."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from figures import HOSTILE, check_names_are_inert, check_words_are_japanese
from pfgen_rs.errors import PlotError
from pfgen_rs.studies import AgainstStudy, BenchmarkTable, Leaderboard, study_against
from pfgen_rs.studies.metrics import correlations
from pfgen_rs.studies.plots import against_figure, against_scatter, correlation_map


def board(names: list[str]) -> Leaderboard:
    modes = [("completion", "chat", "qa", None)[i % 4] for i in range(len(names))]
    scores = np.random.default_rng(len(names)).uniform(0, 1, len(names))
    return Leaderboard(pl.DataFrame({"model": names, "mode": modes, "score": scores}))


def against(names: list[str], column: str = "b", columns: int = 1) -> AgainstStudy:
    random = np.random.default_rng(7)
    labels = [f"{column}{i}" for i in range(columns)]
    rows = tuple(
        {"name": name, **{label: float(random.uniform(0, 9)) for label in labels}} for name in names
    )
    table = BenchmarkTable("t", ("name", *labels), rows)
    return study_against(table, board(names), labels, name="name")


FIGURES: dict[str, Callable[..., Figure]] = {
    "scatter": lambda names, **look: against_figure(against(names, names[0]), **look),
    "map": lambda names, **look: against_figure(against(names, names[0], 3), **look),
}
NAMES = [f"org/Model-{i}B" for i in range(12)]
pytestmark = pytest.mark.usefixtures("settings_stay")
each_figure = pytest.mark.parametrize("kind", FIGURES)


def numbered(figure: Figure) -> dict[str, str]:
    """The names beside the figure, by number; each number stands once on the chart."""
    [legend] = figure.legends
    names = dict(text.get_text().split("  ", 1) for text in legend.get_texts())
    marks = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    assert sorted(marks) == sorted(names)
    return names


@pytest.mark.parametrize("count", [3, 4, 30, 300])
def test_outliers_and_extremes_are_numbered(count: int) -> None:
    study = against([f"organisation/model-{i}" for i in range(count)])
    [found] = study.columns
    shown = list(numbered(against_figure(study)).values())
    outliers = [name.rpartition("/")[2] for name in found.outliers()["model"]]
    assert shown[:3] == outliers[:3]
    for column in ("figure", "value"):
        for end in (found.points[column].max(), found.points[column].min()):
            [model] = found.points.filter(pl.col(column) == end)["model"]
            assert model.rpartition("/")[2] in shown


def test_points_and_the_line_are_drawn() -> None:
    study = against(NAMES)
    [found] = study.columns
    [axes] = against_scatter(found).axes
    drawn = {
        (x, y)
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x, y in np.asarray(line.get_xydata()).tolist()
    }
    assert drawn == set(found.points.select("figure", "value").iter_rows())
    [line] = [line for line in axes.lines if line.get_linestyle() == "-"]
    for x, y in np.asarray(line.get_xydata()).tolist():
        assert y == pytest.approx(found.intercept + found.slope * x)
    assert f"n = {len(NAMES)}" in axes.get_title(loc="right")


def test_a_map_is_symmetrical() -> None:
    matrix = correlations({"x": [1, 2, 3, 4], "y": [1, 2, 4, 3], "z": [4, 3, 2, float("nan")]})
    axes = correlation_map(matrix).axes[0]
    cells = np.asarray(axes.images[0].get_array(), dtype=float)
    r = -(27**0.5) / 28**0.5
    np.testing.assert_allclose(cells, [[1.0, 0.8, -1.0], [0.8, 1.0, r], [-1.0, r, 1.0]])
    shown = sorted(text.get_text() for text in axes.texts)
    assert shown == ["0.80", "0.80", "1", "1", "1", "−0.98", "−0.98", "−1.00", "−1.00"]


def test_close_correlations_have_more_digits() -> None:
    x = np.arange(20.0)
    matrix = correlations({"x": x, "y": x + 0.01 * np.sin(x)})
    shown = {text.get_text() for text in correlation_map(matrix).axes[0].texts}
    assert "1" in shown
    assert all(text == "1" or text.startswith("0.9999") for text in shown)


@each_figure
def test_hostile_names(kind: str) -> None:
    figure = FIGURES[kind]([f"{HOSTILE}{i}" for i in range(5)], title=HOSTILE, language="ja")
    check_names_are_inert(figure)


@each_figure
def test_japanese_figures(kind: str) -> None:
    check_words_are_japanese(FIGURES[kind](NAMES, language="ja"))


def test_nothing_to_draw() -> None:
    with pytest.raises(PlotError, match="nothing to draw"):
        correlation_map(correlations({"x": [1, 1, 1], "y": [1, 2, 3]}))
    many = correlations({f"c{i}": np.random.default_rng(i).uniform(size=5) for i in range(41)})
    with pytest.raises(PlotError, match="too many names for one figure: 41, at most 40"):
        correlation_map(many)
