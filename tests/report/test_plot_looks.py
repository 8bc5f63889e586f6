"""Figures whatever the names, fonts and settings: as files, and with texts that have their room."""

import logging
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from figures import HOSTILE, check_names_are_inert, texts
from pfgen_rs import errors, stats
from pfgen_rs.drawing import style
from pfgen_rs.drawing.figures import fixed
from pfgen_rs.report import plots
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
def test_japanese_without_a_japanese_font(
    capfd: pytest.CaptureFixture[str],
) -> None:
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
        for axis in (axes.xaxis, axes.yaxis):
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


LENGTHS: list[tuple[list[int], float, str]] = [
    ([*range(90, 130), 1700], 240, "1 longer, up to 1,700"),
    ([*range(90, 130), 1700, 1600], 1785, ""),  # two of 42 are more than 3 %
    ([*range(90, 190), 1700, 1600, 1500], 240, "3 longer, up to 1,700"),
    ([90, 130, 300], 315, ""),  # not much longer
    ([90], 240, ""),
    ([90, 2500], 240, "1 longer, up to 2,500"),
]


@pytest.mark.parametrize(("lengths", "right", "beyond"), LENGTHS)
def test_long_answers_do_not_stretch_the_axis(
    lengths: list[int], right: float, beyond: str
) -> None:
    scores = np.linspace(0.9, 0.01, len(lengths)).tolist()
    figure = plots.score_length(runs(len(lengths), length=[*map(float, lengths)], score=scores))
    axes = figure.axes[1]
    assert axes.get_xlim() == pytest.approx((0, right))
    edge = f" – at the right edge: {beyond}" if beyond else ""
    assert axes.get_xlabel() == f"Mean length (characters){edge}"
    assert max(np.max(line.get_xdata()) for line in axes.lines) <= right
    assert text_faults(figure, but_marks=True) == []


def test_long_names_of_sources_and_titles_are_not_clipped() -> None:
    table = runs(3)
    scores = source_table(table).with_columns(pl.col("source") + "長い名前の生成元" * 5)
    for language in ("en", "ja"):
        assert text_faults(plots.source_pairs(scores, table, language=language)) == []
    one = pl.DataFrame({"name": ["m"], "question_id": ["a"], "score": [0.5]})
    title = "A Title That Is Much Too Long " * 9
    assert text_faults(plots.category_map(one, {"a": "x"}, title=title)) == []


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
        "length": lambda: plots.score_length(table),
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
    for figure in (plots.intervals(runs(7)), plots.score_length(runs(7))):
        assert " of " not in said(figure)


def test_questions_that_are_left_out_are_counted() -> None:
    table = response_table().with_columns(pl.int_range(pl.len()).cast(pl.String).alias("id"))
    each = pl.concat([table.with_columns(question_id=pl.col("id") + part) for part in "abc"])
    assert "120 of 180 questions shown" in said(plots.distributions(each))
    assert "questions shown" not in said(plots.distributions(response_table()))


def test_only_the_best_of_many_are_numbered_and_listed() -> None:
    table = runs(70, mode="chat").sample(fraction=1, shuffle=True, seed=2)
    figure = plots.score_length(table)
    best = table.sort("score", descending=True).head(12)
    drawn: Any = figure.axes[1].texts
    assert {note.get_text(): tuple(note.xy) for note in drawn} == {
        str(i + 1): pytest.approx((run["length"], run["score"]))
        for i, run in enumerate(best.rows(named=True))
    }
    listed = [text.get_text() for text in figure.axes[0].texts]
    assert [name for name in best["name"] if name not in listed] == []
    assert len(listed) == 1 + 1 + 2 * 12  # the kind, the remark, marks and names
