"""Figures look the same whatever the names, the fonts and the user's settings; and as files."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.text import Text

from figures import HOSTILE, check_names_are_inert, check_words_are_japanese, texts
from pfgen_rs import errors
from pfgen_rs.drawing import fonts, style
from pfgen_rs.report import plots
from pfgen_rs.report.plots import inputs
from plot_data import FIGURES, question_table, response_table, runs, source_table

pytestmark = pytest.mark.usefixtures("settings_stay")
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
    plots.category_map(question_table(table), {"Q0": HOSTILE, "Q1": "$"})


# Language and fonts.


@each_figure
def test_japanese_figures(kind: str) -> None:
    check_words_are_japanese(FIGURES[kind](runs(5), language="ja"))


def test_an_unknown_language() -> None:
    with pytest.raises(errors.PlotError, match="unknown language 'fr': expected one of en, ja"):
        plots.metric_pairs(runs(2), language="fr")  # type: ignore[arg-type]


@pytest.fixture
def no_font_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with the fonts that packages bring, and none beside them."""
    from matplotlib import font_manager

    def forget() -> None:
        manager: Any = font_manager.fontManager
        manager._findfont_cached.cache_clear()
        for cached in (fonts._default_font, fonts._font_of_family):
            cached.cache_clear()

    latin = [e for e in font_manager.fontManager.ttflist if e.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", latin)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    forget()
    yield
    forget()


@pytest.mark.usefixtures("no_font_installed")
def test_japanese_is_drawn_where_no_japanese_font_is_installed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = runs(2, model=["日本語-step_1", "é-step_2"])
    figure = plots.metric_pairs(table, language="ja")
    plots.svg(figure)
    assert {"日本語-step_1", "é-step_2"} <= set(texts(figure))
    assert figure.get_suptitle() == "指標間の関係"
    assert figure.findobj(Text)[0].get_fontfamily() == [fonts.LATIN, "IPAexGothic"]
    assert capfd.readouterr() == ("", "")  # nothing of the search for a font


def test_a_font_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, message in (
        ("No Such Font", "unknown font 'No Such Font'"),
        (fonts.LATIN, "'DejaVu Sans' has no Japanese glyphs"),
        (str(tmp_path / "missing.ttf"), "not a readable font"),
    ):
        with pytest.raises(errors.PlotError, match=message):
            plots.metric_pairs(runs(2), font=name)
    broken = tmp_path / "broken.otf"
    broken.write_bytes(b"nothing")
    monkeypatch.setenv(fonts.ENVIRONMENT, str(broken))
    with pytest.raises(errors.PlotError, match="not a readable font"):
        plots.metric_pairs(runs(2))


def test_a_fonts_file_and_family() -> None:
    family = fonts.japanese_font()
    from matplotlib import font_manager

    path = font_manager.findfont(family)
    for name in (family, str(path)):
        assert fonts.japanese_font(name) == family
    figure = plots.metric_pairs(runs(2), font=family)
    assert figure.findobj(Text)[0].get_fontfamily() == [fonts.LATIN, family]


@pytest.mark.usefixtures("no_font_installed")
def test_a_font_that_was_installed_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matplotlib keeps its list of fonts for ever; newer ones are found all the same."""
    from matplotlib import font_manager

    installed = str(distribution(fonts.BROUGHT_BY).locate_file(fonts._BROUGHT))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [installed])
    assert fonts.japanese_font("IPAexGothic") == "IPAexGothic"
    assert fonts.lacks("No-Such Family", "a") == {"a"}  # a hyphen is no fontconfig pattern


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


def test_columns_are_checked() -> None:
    with pytest.raises(errors.PlotError, match="missing columns in the table to draw: 'a', 'b'"):
        inputs.drawable(pl.DataFrame({"c": [1]}), ["a", "c"], ["b"])
