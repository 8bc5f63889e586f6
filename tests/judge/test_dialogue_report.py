"""Tables of dialogues and ratings as Markdown, files and figures."""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from figures import check_words_are_japanese
from made_dialogues import CATEGORIES, made_dialogue, made_set, rating, write_json_lines
from pfgen_rs.drawing import style
from pfgen_rs.drawing.figures import svg
from pfgen_rs.errors import InputError, OutputError, PlotError, SettingsError
from pfgen_rs.judge.dialogues import layout
from pfgen_rs.judge.dialogues.layout import write_tables
from pfgen_rs.judge.dialogues.report import DIALOGUE_TABLES, TABLES, model_table, tables_of

HOSTILE = "$x^2$ | <script>alert(1)</script> ]]>--> & \n\u202e[x](y) *b*"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_json_lines(tmp_path_factory.mktemp("d") / "d.jsonl", made_set(8, 3))


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Ratings of three models by two judges."""
    draw = random.Random(0)
    records = [
        rating(question_id=question, model=model, judge=judge, turn=turn, score=draw.randint(1, 10))
        for judge in ("j1", "j2")
        for model in ("a", "b", HOSTILE)
        for question in range(12)
        for turn in (1, 2)
    ]
    return write_json_lines(tmp_path / "j.jsonl", records)


def names_of(*paths: Path, **more: Any) -> list[str]:
    return [table.name for table in tables_of(paths, **more).tables]


def questions_beside(path: Path, categories: Sequence[str]) -> Path:
    records = [{"question_id": n, "category": c, "turns": ["a"]} for n, c in enumerate(categories)]
    return write_json_lines(path.with_name("q.jsonl"), records)


def test_every_table_is_made_by_default(data: Path, judged: Path) -> None:
    assert names_of(data, per_category=10) == list(DIALOGUE_TABLES)
    assert tables_of([data], per_category=10).notes == []
    assert names_of(judged) == ["means", "judges"]
    assert set(TABLES) == {*DIALOGUE_TABLES, "6", "means", "judges"}
    # What the data does not allow is a remark, unless it was asked for.
    assert names_of(data) == list(DIALOGUE_TABLES[1:])
    [note] = tables_of([data]).notes
    assert note.startswith("table 1 left out: too few dialogues: expected at least 30")
    with pytest.raises(InputError, match="too few dialogues"):
        tables_of([data], ["1"])


def test_what_data_allows(data: Path, judged: Path, tmp_path: Path) -> None:
    for paths, names, message in (
        ([data], ["7"], "unknown table '7': expected one of 1, 2, 3"),
        ([data], ["6"], "table '6' cannot be made from dialogue records: expected one of 1, 2"),
        ([judged], ["3"], "table '3' cannot be made from these ratings: expected one of means"),
        ([judged, data], None, "cannot mix dialogue records and ratings"),
        ([data, data], None, "expected one file of dialogue records, found 2"),
        ([tmp_path], None, "is not a folder of graded dialogues"),
    ):
        with pytest.raises((InputError, SettingsError), match=message):
            tables_of(paths, names)
    alone = [line for line in judged.read_text().splitlines() if '"j1"' in line]
    judged.write_text("\n".join(alone))
    assert names_of(judged) == ["means"]
    with pytest.raises(InputError, match="cannot compare judges: expected ratings of the same"):
        tables_of([judged], ["judges"])


def test_markdown_is_as_the_paper_prints_it(tmp_path: Path) -> None:
    records = [
        made_dialogue("1", category="human"),
        made_dialogue("2", category="human", turn2_type="free", answers2=[]),
    ]
    path = write_json_lines(tmp_path / "d.jsonl", records)
    scores, sizes = tables_of([path], ["4", "2"]).tables
    lines = scores.markdown().splitlines()
    assert lines[0] == "## Table 4: mean scores of second answers"
    assert lines[2].startswith("| author | human, people | human, judge | roleplay, people |")
    assert lines[3].startswith("| :-- | --: | --: |")
    assert lines[4] == "| calm | 2.50 | 3.00 |" + " – |" * 8
    assert lines[5] == "| human | 4.50 | – |" + " – |" * 8
    assert sizes.markdown().splitlines()[4:] == [
        "| same | 1 | 0 | 0 | 0 | 0 | 1 |",
        "| free | 1 | 0 | 0 | 0 | 0 | 1 |",
        "| total | 2 | 0 | 0 | 0 | 0 | 2 |",
    ]


def test_intervals_in_tables() -> None:
    rows = [("a", 1234, 0.5, -0.1234, 0.75), ("b", 2, 0.25, None, None), ("c", 3, None, None, None)]
    columns = ["author", "answers", "r", "r_low", "r_high"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    grid = layout.with_intervals(frame, 1, ["r"], 2)
    assert grid.headings == ["author", "answers", "r"]
    assert grid.rows == [
        ["a", "1,234", "0.50 [-0.12, 0.75]"],
        ["b", "2", "0.25"],
        ["c", "3", "–"],
    ]


def test_names_of_strangers_are_escaped(judged: Path, tmp_path: Path) -> None:
    answers = [{"author": HOSTILE, "text": "x", "human": [3], "gpt": 2}]
    path = write_json_lines(tmp_path / "d.jsonl", [made_dialogue("1", answers2=answers)])
    tables = [*tables_of([path], ["4", "5"]).tables, *tables_of([judged]).tables[:1]]
    for table in tables:
        text = table.markdown()
        assert "<script" not in text
        assert "[x](y)" not in text
        assert "\u202e" not in text
        columns = {line.count("|") - 1 for line in text.splitlines() if line.startswith("|")}
        assert columns == {len(table.grid.headings)}
        if table.name == "4":
            content = svg(table.figure(title=HOSTILE, language="ja"))
            assert b"<script" not in content


@pytest.mark.usefixtures("settings_stay")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_figures(data: Path, judged: Path, language: Any) -> None:
    path = questions_beside(judged, [f"c{n % 3}" for n in range(12)])
    rated = tables_of([judged], questions=path).tables
    made = [*tables_of([data], per_category=10).tables, *rated, model_table(_model_frame(3))]
    for table in made:
        if table.name != "2":
            figure = table.figure(language=language)
            assert figure.get_label()
            if language == "ja":
                check_words_are_japanese(figure)


def _model_frame(models: int) -> pl.DataFrame:
    rows = [
        (version, f"m{model}", category, 60, 0, 0, 5.0 + model / 4 + place / 10)
        for version in ("lite", "easy", "hard")
        for model in range(models)
        for place, category in enumerate((*CATEGORIES, "mean"))
    ]
    columns = ["version", "model", "category", "dialogues", "invalid", "missing", "rating"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_a_radar_chart_shows_the_numbers_of_its_table() -> None:
    hole = pl.when(pl.col("model") == "m1", pl.col("category") == "STEM").then(None)
    frame = _model_frame(3).with_columns(rating=hole.otherwise("rating"))
    figure = model_table(frame).figure()
    assert len(figure.axes) == 3
    for axes, version in zip(figure.axes, ("lite", "easy", "hard"), strict=True):
        assert axes.get_title() == version
        assert [tick.get_text() for tick in axes.get_xticklabels()] == list(CATEGORIES)
        assert axes.get_ylim() == (0.0, 10.0)
        for line, model in zip(axes.lines, ("m0", "m1", "m2"), strict=True):
            mine = frame.filter(pl.col("category") != "mean", version=version, model=model)
            shown = mine["rating"].to_list()
            drawn = [None if math.isnan(y) else y for y in np.asarray(line.get_ydata())]
            assert drawn == [*shown, shown[0]]
    assert "lite: m0 human 5.00, roleplay 5.10" in str(figure.get_label())


def test_table_6_says_what_is_left_out_and_draws_some_of_many_models() -> None:
    frame = _model_frame(1).with_columns(pl.lit(2).alias("invalid"))
    assert model_table(frame).notes == ["Dialogues with invalid ratings, left out: 6"]
    table = model_table(_model_frame(20))
    assert len(table.figure().axes[0].lines) == layout.MOST
    assert len(table.grid.rows) == 60


def test_written_tables(data: Path, tmp_path: Path) -> None:
    made = tables_of([data], ["3", "5"]).tables
    written = write_tables(tmp_path / "out", made, plot="png")
    assert sorted(path.name for path in written) == [
        f"table-{name}{suffix}" for name in "35" for suffix in (".csv", ".md", ".parquet", ".png")
    ]
    assert pl.read_parquet(tmp_path / "out/table-3.parquet").equals(made[0].frame)
    assert (tmp_path / "out/table-5.md").read_text() == made[1].markdown()
    again = write_tables(tmp_path / "again", made, plot="svg")
    assert {path.suffix for path in again} == {".csv", ".md", ".parquet", ".svg"}


def test_nothing_to_draw(judged: Path, tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "d.jsonl", [made_dialogue("1", answers2=[])])
    made = [*tables_of([path], ["4", "5"]).tables, *tables_of([judged], ["means"]).tables]
    for table in made:
        with pytest.raises(PlotError, match=f"table {table.name} has nothing to draw by category"):
            table.figure()
    assert len(write_tables(tmp_path / "out", made, plot="svg")) == 9


def test_without_matplotlib(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(style, "available", lambda: False)
    [table] = tables_of([data], ["3"]).tables
    with pytest.raises(OutputError, match="plots need matplotlib"):
        table.figure()
    assert len(write_tables(tmp_path, [table])) == 3


def test_categories_of_ratings(judged: Path) -> None:
    categories = ["writing", "math"] * 6
    path = questions_beside(judged, categories)
    [table] = tables_of([judged], ["means"], questions=path).tables
    headings = ["judge", "model", "mean", "turn 1", "turn 2", "writing", "math"]
    assert table.grid.headings == headings
    assert len(table.figure().axes) == 2
    assert table.notes == ()
    questions_beside(judged, categories[:7])
    [table] = tables_of([judged], ["means"], questions=path).tables
    assert table.notes == ("Questions without a category: 5",)


def test_ratings_in_several_files(judged: Path, tmp_path: Path) -> None:
    [note] = tables_of([judged, judged], ["means"]).notes
    assert note.startswith("144 answers are rated more than once")
    other = write_json_lines(tmp_path / "o.jsonl", [rating(question_id=99, judge="j3")])
    alone = [line for line in judged.read_text().splitlines() if '"j1"' in line]
    judged.write_text("\n".join(alone))
    assert names_of(judged, other) == ["means"]
    [note] = tables_of([judged, other]).notes
    assert note.startswith("table judges left out: cannot compare judges")
    with pytest.raises(InputError, match="cannot compare judges"):
        tables_of([judged, other], ["judges"])
