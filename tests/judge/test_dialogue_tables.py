"""Tables of dialogues, and light versions, equal those of independent programs, as they are shown, too."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from figures import check_words_are_japanese
from made_dialogues import (
    AUTHORS,
    CATEGORIES,
    TYPES,
    dialogues_of,
    made_dialogue,
    made_set,
    rating,
    write_json_lines,
)
from pfgen_rs.drawing import radar, style
from pfgen_rs.drawing.figures import svg
from pfgen_rs.errors import InputError, OutputError, PlotError, SettingsError
from pfgen_rs.judge import dialogues as made
from pfgen_rs.judge.dialogues import difficulty, human_judge_correlation, layout, light_version
from pfgen_rs.judge.dialogues.layout import write_tables
from pfgen_rs.judge.dialogues.records import Turn
from pfgen_rs.judge.dialogues.report import DIALOGUE_TABLES, TABLES, model_table, tables_of
from pfgen_rs.judge.dialogues.tables import VERSIONS, answer_lengths, answer_scores, light_scores

Record = dict[str, Any]
RECORDS = made_set(40, 5, unscored=2)


def mean(values: list[Any]) -> float | None:
    return float(sum(map(Fraction, values)) / len(values)) if values else None


def answers_of(records: list[Record], turn: int) -> list[Record]:
    """All second answers, or every first one once, with category and first user turn."""
    found: list[Record] = []
    for record in records:
        user, text, _ = record["turns"]
        first = {"author": record["author1"], "text": text}
        first |= {"human": record["human1"], "gpt": record["gpt1"]}
        about = {"category": record["category"], "user": user}
        found += [{**each, **about} for each in (record["answers2"] if turn == 2 else [first])]
    once = {(a["category"], a["user"], a["text"], a["author"]): a for a in reversed(found)}
    return found if turn == 2 else list(once.values())[::-1]


@pytest.mark.parametrize("turn", [1, 2])
def test_scores_and_lengths(turn: Turn) -> None:
    answers = answers_of(RECORDS, turn)
    dialogues = dialogues_of(RECORDS)
    scores, lengths = answer_scores(dialogues, turn), answer_lengths(dialogues, turn)
    kinds = [(author, category) for author in AUTHORS for category in CATEGORIES]
    assert scores.select("author", "category").rows() == kinds
    assert lengths.select("author", "category").rows() == kinds
    for (author, category), row, length in zip(
        kinds, scores.to_dicts(), lengths.to_dicts(), strict=True
    ):
        mine = [a for a in answers if (a["author"], a["category"]) == (author, category)]
        human = [Fraction(sum(a["human"]), len(a["human"])) for a in mine if a["human"]]
        judge = [a["gpt"] for a in mine if a["gpt"] is not None]
        assert row["answers"] == length["answers"] == len(mine)
        assert (row["human"], row["human_scored"]) == (mean(human), len(human))
        assert (row["judge"], row["judge_scored"]) == (mean(judge), len(judge))
        assert length["length"] == mean([len(a["text"]) for a in mine])


def test_first_answers_count_once() -> None:
    """Each stands in two dialogues; counting both would weigh them all the same, so one gets a third."""
    records = [
        made_dialogue("a", human1=[1], gpt1=1),
        made_dialogue("b", human1=[1], gpt1=1, turn2_type="free"),
        made_dialogue("c", human1=[4], gpt1=5, turns=["q", "x" * 100, "r"]),
        made_dialogue("d", human1=[4], gpt1=5, turns=["q", "x" * 100, "r"], author1="other"),
    ]
    found = answer_scores(dialogues_of(records), 1).filter(pl.col("answers") > 0)
    assert found.select("author", "answers", "human", "judge").rows() == [
        ("calm", 2, 2.5, 3.0),
        ("other", 1, 4.0, 5.0),
    ]
    length = answer_lengths(dialogues_of(records), 1).filter(pl.col("author") == "calm")
    assert length["length"].drop_nulls().to_list() == [(100 + len("光が散乱するからです。")) / 2]


def test_first_answers_that_are_scored_in_another_dialogue() -> None:
    records = [
        made_dialogue("a", human1=[], gpt1=2),
        made_dialogue("b", human1=[5, 4], gpt1=3),
        made_dialogue("c", human1=[1], gpt1=None),
    ]
    [row] = answer_scores(dialogues_of(records), 1).filter(pl.col("answers") > 0).to_dicts()
    assert (row["human"], row["judge"], row["answers"]) == (4.5, 2.0, 1)


def test_people_come_last_and_others_in_order() -> None:
    answers = [{"author": name, "text": "x"} for name in ("human", "zeta", "alpha", "human ")]
    found = answer_scores(dialogues_of([made_dialogue("a", answers2=answers)]), 2)
    authors = found["author"].unique(maintain_order=True).to_list()
    assert authors == ["alpha", "human ", "zeta", "human"]
    assert found["human"].null_count() == len(found)


def test_scores_of_light_versions() -> None:
    dialogues = dialogues_of(RECORDS)
    versions = [light_version(dialogues, version, per_category=20) for version in VERSIONS]
    found = light_scores(versions)
    assert found["version"].unique(maintain_order=True).to_list() == ["easy", "hard", "lite"]
    by_id = {record["id"]: record for record in RECORDS}
    for row in found.to_dicts():
        [light] = [each for each in versions if each.version == row["version"]]
        human, judge = [], []
        for dialogue in light.dialogues:
            record = by_id[dialogue.id]
            if record["category"] == row["category"]:
                scored = [a["human"] for a in record["answers2"] if a["human"]]
                people = [Fraction(sum(scores), len(scores)) for scores in scored]
                judged = [Fraction(a["gpt"]) for a in record["answers2"] if a["gpt"] is not None]
                human += [sum(people) / len(people)] if people else []
                judge += [sum(judged) / len(judged)] if judged else []
        assert row["dialogues"] == 20
        assert (row["human"], row["human_scored"]) == (mean(human), len(human))
        assert (row["judge"], row["judge_scored"]) == (mean(judge), len(judge))


@pytest.mark.parametrize("turn", [1, 2])
def test_correlations(turn: Any) -> None:
    everything = answers_of(RECORDS, turn)
    answers = [a for a in everything if a["human"] and a["gpt"] is not None]
    found = human_judge_correlation(dialogues_of(RECORDS), turn=turn, resamples=200)
    assert found["author"].to_list() == [*AUTHORS, "all"]
    for row in found.to_dicts():
        mine = [a for a in answers if row["author"] in ("all", a["author"])]
        x = [float(np.mean(a["human"])) for a in mine]
        y = [a["gpt"] for a in mine]
        fisher = scipy_stats.pearsonr(x, y).confidence_interval(0.95)
        assert row["answers"] == len(mine)
        assert row["user_turns"] == len({a["user"] for a in mine})
        assert row["pearson"] == pytest.approx(scipy_stats.pearsonr(x, y)[0], abs=1e-12)
        assert row["spearman"] == pytest.approx(scipy_stats.spearmanr(x, y)[0], abs=1e-12)
        assert row["pearson_fisher_low"] == pytest.approx(fisher.low, abs=1e-12)
        for name in ("pearson", "spearman"):
            for kind in ("", "_fisher"):
                assert row[f"{name}{kind}_low"] < row[name] < row[f"{name}{kind}_high"]


def test_second_turns_are_the_default_and_other_turns_refused() -> None:
    dialogues = dialogues_of(RECORDS)
    default = human_judge_correlation(dialogues, resamples=100)
    assert default.equals(human_judge_correlation(dialogues, turn=2, resamples=100))
    assert not default.equals(human_judge_correlation(dialogues, turn=1, resamples=100))
    with pytest.raises(SettingsError, match="invalid turn 3: expected 1 or 2"):
        human_judge_correlation(dialogues, turn=3)  # type: ignore[arg-type]


def test_bootstraps_resample_first_user_turns() -> None:
    """Copies of a dialogue under the same user turn say nothing new; Fisher's interval believes them."""
    records = [
        made_dialogue(
            f"{i}-{copy}",
            turns=[f"q{i}", f"a{i}", "r"],
            answers2=[{"author": "m", "text": "x", "human": [1 + i % 5], "gpt": 1 + i * i % 5}],
        )
        for i in range(30)
        for copy in range(10)
    ]
    one = human_judge_correlation(dialogues_of(records[::10]), resamples=1000).to_dicts()[0]
    ten = human_judge_correlation(dialogues_of(records), resamples=1000).to_dicts()[0]
    assert (one["user_turns"], ten["user_turns"]) == (30, 30)
    assert (one["answers"], ten["answers"]) == (30, 300)
    widths = [row["pearson_high"] - row["pearson_low"] for row in (one, ten)]
    assert widths[0] == pytest.approx(widths[1], abs=1e-9)
    fisher = [row["pearson_fisher_high"] - row["pearson_fisher_low"] for row in (one, ten)]
    assert fisher[1] < 0.5 * fisher[0]


def test_a_planted_length_bias_is_found() -> None:
    """The judge gives 0.5 more for each factor e of the length."""
    draw = np.random.default_rng(0)
    records = []
    for i in range(200):
        length = int(draw.integers(5, 400))
        human = float(draw.uniform(1.5, 3.0))
        judge = round(human + 0.5 * math.log(length) - 1.5 + 0.1 * draw.normal(), 6)
        answer = {"author": "m", "text": "x" * length, "human": [human], "gpt": judge}
        if 1 <= judge <= 5:
            records.append(made_dialogue(i, turns=[f"q{i}", "a", "r"], answers2=[answer]))
    [row] = made.length_bias(dialogues_of(records)).to_dicts()
    assert row["slope_low"] < 0.5 < row["slope_high"]
    assert row["slope"] == pytest.approx(0.5, abs=0.03)
    assert row["spearman_low"] > 0.9


def test_length_bias_equals_scipy_and_leaves_out_empty_answers() -> None:
    empty = {"author": "calm", "text": "", "human": [1], "gpt": 5}
    records = [*RECORDS, made_dialogue("e", answers2=[empty])]
    found = made.length_bias(dialogues_of(records), resamples=100).filter(pl.col("author") == "all")
    answers = [a for a in answers_of(RECORDS, 2) if a["human"] and a["gpt"] is not None]
    x = [math.log(len(a["text"])) for a in answers]
    y = [a["gpt"] - float(np.mean(a["human"])) for a in answers]
    [row] = found.to_dicts()
    assert row["answers"] == len(answers)
    assert row["slope"] == pytest.approx(scipy_stats.linregress(x, y).slope, abs=1e-12)
    assert row["spearman"] == pytest.approx(scipy_stats.spearmanr(x, y)[0], abs=1e-12)


def test_what_is_undefined_is_null() -> None:
    answers = [{"author": "m", "text": "xx", "human": [3], "gpt": 3}] * 3
    dialogues = dialogues_of([made_dialogue("a", answers2=answers)])
    for table in (human_judge_correlation, made.length_bias):
        [row] = table(dialogues).to_dicts()
        numbers = row.keys() - {"author", "answers", "user_turns"}
        assert {row[key] for key in numbers} == {None}
        assert table(dialogues_of([made_dialogue("a", answers2=[])])).is_empty()


def oracle_difficulty(record: Record) -> Fraction | None:
    means = [
        Fraction(sum(answer["human"]), len(answer["human"]))
        for answer in record["answers2"]
        if answer["author"] != "human" and answer["human"]
    ]
    return Fraction(sum(means), len(means)) if means else None


def oracle(records: list[Record], version: str, each: int, seed: int) -> set[str]:
    """The ids of a light version, the obvious way."""
    draw, chosen = random.Random(seed), []
    for category in CATEGORIES:
        for kind in TYPES:
            found = [r for r in records if (r["category"], r["turn2_type"]) == (category, kind)]
            scored = sorted((r for r in found if oracle_difficulty(r) is not None), key=_id)
            if version == "lite":
                chosen += draw.sample([_id(r) for r in scored], each // 2)
            else:  # sorting is stable, so equal ones stay in the order of their ids
                scored.sort(key=lambda r: oracle_difficulty(r) or 0, reverse=version == "easy")
                chosen += [_id(r) for r in scored[: each // 2]]
    return set(chosen)


def _id(record: Record) -> str:
    return str(record["id"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", [0, 7])
def test_versions_equal_an_independent_choice(version: Any, seed: int) -> None:
    records = made_set(45, seed, unscored=3)
    found = light_version(dialogues_of(records), version, seed=seed)
    assert found.unscored == 3 * len(CATEGORIES) * len(TYPES)
    assert {each.id for each in found.dialogues} == oracle(records, version, 60, seed)
    assert Counter((d.category, d.turn2_type) for d in found.dialogues) == {
        (category, kind): 30 for category in CATEGORIES for kind in TYPES
    }
    order = [_id(record) for record in records]
    places = [order.index(each.id) for each in found.dialogues]
    assert places == sorted(places)


scores = st.lists(st.integers(1, 5), max_size=3)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 9999), scores, scores, scores), min_size=3, max_size=12
    ).filter(lambda rows: len({row[0] for row in rows}) == len(rows)),
    st.sampled_from(VERSIONS),
    st.integers(0, 3),
)
def test_any_scores(rows: list[Any], version: Any, seed: int) -> None:
    """Scores tie, are missing, and ids are numbers whose order as strings is another."""
    records = [
        made_dialogue(
            f"{place}{number}" if category else number,
            category=CATEGORIES[category],
            turn2_type=kind,
            answers2=[
                {"author": author, "text": "x", "human": people}
                for author, people in zip(("calm", "other", "human"), row, strict=True)
            ],
        )
        for category in range(len(CATEGORIES))
        for place, kind in enumerate(TYPES)
        for number, *row in [(f"{place}{category}{n}", *more) for n, *more in rows]
    ]
    needed = min(
        sum(oracle_difficulty(r) is not None for r in records if r["turn2_type"] == kind)
        for kind in TYPES
    ) // len(CATEGORIES)
    dialogues = dialogues_of(records)
    if needed:
        found = light_version(dialogues, version, per_category=2 * needed, seed=seed)
        assert {each.id for each in found.dialogues} == oracle(records, version, 2 * needed, seed)
    with pytest.raises(InputError, match="too few dialogues"):
        light_version(dialogues, version, per_category=2 * needed + 2)


def _chosen(scores: dict[str, list[int]], version: Any, each: int = 2) -> set[str]:
    """The ends of the ids of a light version of dialogues of every kind that have these scores."""
    records = [
        made_dialogue(
            f"{category}-{kind}-{name}",
            category=category,
            turn2_type=kind,
            answers2=[{"author": "calm", "text": "x", "human": people}],
        )
        for category in CATEGORIES
        for kind in TYPES
        for name, people in scores.items()
    ]
    found = light_version(dialogues_of(records), version, per_category=each).dialogues
    return {dialogue.id.rpartition("-")[2] for dialogue in found}


def test_ties_go_by_id_as_a_string() -> None:
    ties = {"9": [3, 3], "10": [2, 4], "11": [3], "2": [1, 5]}
    for version in ("easy", "hard"):
        assert _chosen(ties, version) == {"10"}
        assert _chosen(ties, version, 4) == {"10", "11"}


def test_means_are_exact() -> None:
    """As floats, 1/3 + 1/3 + 1/3 of means would differ in the last place, and decide."""
    thirds = {"b": [1, 1, 2], "a": [4, 4, 4], "c": [1, 2, 1]}
    assert _chosen(thirds, "hard") == {"b"}
    assert _chosen(thirds, "easy") == {"a"}


def test_peoples_answers_do_not_count_and_neither_do_the_judges_scores() -> None:
    answers = [
        {"author": "human", "text": "x", "human": [5, 5], "gpt": 5},
        {"author": "a", "text": "x", "human": [1, 2]},
        {"author": "b", "text": "x", "human": [4], "gpt": 1},
        {"author": "c", "text": "x", "human": [], "gpt": 5},
    ]
    [found] = dialogues_of([made_dialogue("d", answers2=answers)])
    assert difficulty(found) == Fraction(11, 4)
    [found] = dialogues_of([made_dialogue("d", answers2=answers[:1] + answers[3:])])
    assert difficulty(found) is None


def test_odd_and_impossible_sizes_and_unknown_versions_are_refused() -> None:
    for count in (1, 3, 59, 61, 0, -2):
        with pytest.raises(SettingsError, match=f"per category {count}: expected an even number"):
            light_version([], "lite", per_category=count)
    with pytest.raises(SettingsError, match="unknown version 'mid': expected one of lite, easy"):
        light_version([], "mid")  # type: ignore[arg-type]


def test_too_few_of_a_kind() -> None:
    records = [
        record
        for record in made_set(3, unscored=1)
        if (record["category"], record["turn2_type"]) != ("writing", "free")
        or not record["answers2"][0]["human"]
    ]
    with pytest.raises(InputError) as caught:
        light_version(dialogues_of(records), "easy", per_category=6)
    assert str(caught.value) == (
        "too few dialogues: expected at least 3 scored ones of each kind, but writing/free has 0 "
        "(10 unscored dialogues left out): choose a smaller number per category"
    )


# Tables of dialogues and ratings as Markdown, files and figures.


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
    assert grid.rows == [["a", "1,234", "0.50 [-0.12, 0.75]"], ["b", "2", "0.25"], ["c", "3", "–"]]


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
    assert len(table.figure().axes[0].lines) == radar.MOST
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
    headings = ["judge", "model", "mean", "turn 1", "turn 2", "writing", "math", "overall"]
    assert table.grid.headings == headings
    assert len(table.figure().axes) == 2
    assert table.notes == ()
    for _, part in table.frame.group_by("judge", "model"):
        means = dict(part.select("category", "mean").iter_rows())
        assert means["overall"] == (means["writing"] + means["math"]) / 2
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
