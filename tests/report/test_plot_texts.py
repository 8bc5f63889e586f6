"""No text of a figure is cut off or lies on another, names keep their ends, and cut lists say so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from pfgen_rs import errors, stats
from pfgen_rs.drawing import fonts as drawn_names
from pfgen_rs.drawing.figures import fixed
from pfgen_rs.drawing.fonts import LATIN, japanese_font
from pfgen_rs.drawing.style import drawing
from pfgen_rs.report import plots
from plot_data import CATEGORIES, FIGURES, question_table, response_table, runs, source_table
from plot_faults import drawn_texts, text_faults

each_figure = pytest.mark.parametrize("kind", FIGURES)
FAMILIES = (LATIN, japanese_font())
LONG = {
    "long": "organisation/a-very-long-model-name-with-many-parts-32b-v0.{0}-preview-step_{0} · chat",
    "wide": "W" * 40 + "{0}-step_{0}",
    "Japanese": "日本語の組織/とても長い名前のモデルで途中が省略される-{0}-step_{0} · completion",
}


def said(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in drawn_texts(figure))


# Texts and their places.


@each_figure
@pytest.mark.parametrize("language", ["en", "ja"])
def test_texts_have_their_room(kind: str, language: Any) -> None:
    """With names of each kind, among them Japanese ones, which are wider."""
    forms = list(LONG.values())
    names = [forms[i % 3].format(i) for i in range(12)]
    assert (
        text_faults(FIGURES[kind](runs(12, model=names), language=language), but_marks=True) == []
    )


@pytest.mark.parametrize("kind", ["length", "categories"])
def test_texts_of_many_runs_have_their_room(kind: str) -> None:
    assert text_faults(FIGURES[kind](runs(200)), but_marks=True) == []


@pytest.mark.parametrize(
    ("lengths", "right", "beyond"),
    [
        ([*range(90, 130), 1700], 240, "1 longer, up to 1,700"),
        ([*range(90, 130), 1700, 1600], 1785, None),  # two of 42 are more than 3 %
        ([*range(90, 190), 1700, 1600, 1500], 240, "3 longer, up to 1,700"),
        ([90, 400], 420, None),
        ([90, 130, 300], 315, None),  # not much longer
        ([90], 240, None),
        ([90, 2500], 240, "1 longer, up to 2,500"),
    ],
)
def test_one_run_with_very_long_answers_does_not_stretch_the_axis(
    lengths: list[float], right: float, beyond: str | None
) -> None:
    scores = np.linspace(0.9, 0.01, len(lengths)).tolist()
    figure = plots.score_length(runs(len(lengths), length=[*map(float, lengths)], score=scores))
    axes = figure.axes[1]
    assert axes.get_xlim() == pytest.approx((0, right))
    edge = "" if beyond is None else f" – at the right edge: {beyond}"
    assert axes.get_xlabel() == f"Mean length (characters){edge}"
    drawn = np.concatenate([np.asarray(line.get_xdata()) for line in axes.lines])
    assert drawn.max() <= right
    assert text_faults(figure, but_marks=True) == []


def test_long_names_of_sources_are_not_clipped() -> None:
    table = runs(3)
    scores = source_table(table).with_columns(pl.col("source") + "長い名前の生成元" * 5)
    for language in ("en", "ja"):
        assert text_faults(plots.source_pairs(scores, table, language=language)) == []


def test_titles_fit_narrow_figures() -> None:
    scores = pl.DataFrame({"name": ["m"], "question_id": ["a"], "score": [0.5]})
    figure = plots.category_map(scores, {"a": "x"}, title="A Title That Is Much Too Long " * 9)
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1


# Names.

LETTERS = st.characters(min_codepoint=0x21, max_codepoint=0x7E) | st.sampled_from("漢字あいう")


@given(st.text(LETTERS, max_size=120), st.integers(12, 60), st.floats(0.15, 0.85))
def test_a_name_fits_and_keeps_its_ends(name: str, width: int, share: float) -> None:
    found = drawn_names.shortened(name, FAMILIES, width, share)
    whole = drawn_names.text_width(name, FAMILIES)
    assert drawn_names.text_width(found, FAMILIES) <= width + 1e-6
    assert (found == name) == (whole <= width)
    if found != name:
        head, _, tail = found.partition("…")
        assert name.startswith(head)
        assert name.endswith(tail)
        assert len(head + tail) < len(name)
        assert drawn_names.text_width(found, FAMILIES) > width - 4  # no more is lost than must be


@pytest.mark.parametrize("mode", ["chat", "completion", "qa · 0a1b2c3"])
def test_the_mode_stays_whole(mode: str) -> None:
    name = "organisation/a-very-long-model-name-with-many-parts-32b-instruct-v0.1-preview"
    found = drawn_names.shortened(f"{name} · {mode}", FAMILIES, 44)
    assert found.endswith(f"preview · {mode}"[-20:])
    assert found.startswith("organisation/")
    assert f" · {mode}" in found
    assert found.count("…") == 1


def test_different_names_look_different() -> None:
    middle = [f"{'a' * 30}-{size}b-{'z' * 60}" for size in (7, 13, 70)]
    with drawing() as look:
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


def test_cells_of_a_map_have_no_negative_zero() -> None:
    scores = pl.DataFrame({"name": ["m", "n"], "question_id": ["a", "a"], "score": [-0.001, -0.5]})
    axes = plots.category_map(scores, {"a": "x"}).axes[0]
    assert {text.get_text() for text in axes.texts} == {"0.00", "−0.50"}


# Parts of long lists.


def test_cut_lists_say_so() -> None:
    many, few = runs(516), runs(7)
    assert "30 of 516 runs shown, best first" in said(plots.intervals(many, top=30))
    assert "30 of 516 runs shown, best first" in said(
        plots.category_map(question_table(many), CATEGORIES, top=30)
    )
    assert "The best 12 of 516 runs are numbered" in said(plots.score_length(many))
    japanese = plots.intervals(many, top=9, language="ja")
    assert "516 件中、スコア上位 9 件を表示" in said(japanese)
    for figure in (plots.intervals(few), plots.score_length(few)):
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


def test_a_number_of_runs_must_be_positive() -> None:
    with pytest.raises(errors.PlotError, match="invalid number of runs 0: expected 1 or more"):
        plots.intervals(runs(2), top=0)
    with pytest.raises(errors.PlotError, match="expected 1 or more"):
        plots.category_map(question_table(runs(2)), CATEGORIES, top=-1)
