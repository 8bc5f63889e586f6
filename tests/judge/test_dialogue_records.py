"""Dialogue records and files of FastChat: what is read and written, and what is said of bad lines."""

import gzip
import json
import math
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from made_dialogues import made_dialogue, rating, write_json_lines
from pfgen_rs.errors import ConfigError, InputError
from pfgen_rs.judge.dialogues import Answer, Fields, read_dialogues, read_fields
from pfgen_rs.judge.dialogues.association import judge_agreement, model_means
from pfgen_rs.judge.dialogues.fastchat_files import (
    answer_record,
    judgment_record,
    read_answers,
    read_judge_table,
    read_questions,
    read_ratings,
    written_id,
)
from pfgen_rs.judge.dialogues.records import CATEGORIES
from pfgen_rs.judge.dialogues.tables import sizes


def test_a_record(tmp_path: Path) -> None:
    [found] = read_dialogues(write_json_lines(tmp_path / "a.jsonl", [made_dialogue(11)]))
    assert found.id == "11"
    assert (found.category, found.turn2_type) == ("STEM", "same")
    assert (found.user1, found.user2) == ("空はなぜ青いのですか。", "夕焼けはなぜ赤いのですか。")
    assert found.first == Answer(
        "calm", "光が散乱するからです。", (Fraction(3), Fraction(4)), Fraction(4)
    )
    assert [answer.author for answer in found.seconds] == ["calm", "human"]
    assert found.seconds[0].mean == Fraction(5, 2)
    assert found.seconds[1].judge is None
    record = made_dialogue("a", human1=[4.1, 4.2, 4.3], gpt1=3.7)  # scores are exact
    [found] = read_dialogues(write_json_lines(tmp_path / "a.jsonl", [record]))
    assert (found.first.mean, found.first.judge) == (Fraction(42, 10), Fraction(37, 10))


def test_missing_scores_and_answers(tmp_path: Path) -> None:
    record = made_dialogue("a")
    for key in ("human1", "gpt1", "answers2"):
        del record[key]
    other = made_dialogue("b", human1=None, gpt1=None, answers2=None)
    single = made_dialogue("c", human1=2, answers2=[{"author": "m", "text": ""}])
    first, second, third = read_dialogues(
        write_json_lines(tmp_path / "a.jsonl", [record, other, single])
    )
    for found in (first, second):
        assert (found.first.human, found.first.judge, found.seconds) == ((), None, ())
    assert third.first.human == (Fraction(2),)
    assert third.seconds == (Answer("m", ""),)


def test_compressed_files_blank_lines_and_byte_order_marks(tmp_path: Path) -> None:
    lines = [json.dumps(made_dialogue(name)).encode() for name in "ab"]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines[0] + b"\r\n\n  \n" + lines[1]))
    assert [(each.id, each.source) for each in read_dialogues(path)] == list(
        zip("ab", lines, strict=True)
    )


NO_ID, NO_SCORE = "must be a non-empty text or a number", "must be a score from 1 to 5, not"
BAD: list[tuple[str, Any, str]] = [
    ("id", None, f"'id' {NO_ID}, found null"),
    ("id", True, f"'id' {NO_ID}, found true"),
    ("id", 1.5, f"'id' {NO_ID}, found 1.5"),
    ("category", "math", "unknown category 'math': expected one of human, roleplay, writing, STEM"),
    ("turn2_type", "Same", "unknown turn2_type 'Same': expected one of same, free"),
    ("turns", ["a", "b"], "'turns' must be a list of 3 texts"),
    ("turns", ["a", "b", 3], "'turns' must contain texts only"),
    ("turns", "abc", "'turns' must be a list of 3 texts"),
    ("author1", 3, "'author1' must be text, not 3"),
    ("human1", [0], f"'human1' {NO_SCORE} '0'"),
    ("human1", [True], f"'human1' {NO_SCORE} 'True'"),
    ("human1", [float("nan")], f"'human1' {NO_SCORE} 'nan'"),
    ("gpt1", "4", f"'gpt1' {NO_SCORE} '4'"),
    ("gpt1", 5.01, f"'gpt1' {NO_SCORE} '5.01'"),
    ("answers2", {}, "'answers2' must be a list, not '{}'"),
    ("answers2", ["x"], "'answers2', answer 1: expected an object, not 'x'"),
    ("answers2", [{"author": "m"}], "'answers2', answer 1: missing key 'text'"),
    ("answers2", [{"author": "m", "text": "", "human": [6]}], "'answers2', answer 1: 'human' must"),
]


def test_missing_fields_and_duplicate_ids_are_located(tmp_path: Path) -> None:
    for key in ("id", "category", "turn2_type", "turns", "author1"):
        record = {name: value for name, value in made_dialogue("b").items() if name != key}
        path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue("a"), record])
        with pytest.raises(InputError, match=rf"line 2: missing key '{key}': found .*\[fields\]"):
            read_dialogues(path)
    write_json_lines(path, [made_dialogue(11), made_dialogue("11")])
    with pytest.raises(InputError, match="line 2: duplicate id '11': already on line 1"):
        read_dialogues(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.json", json.dumps(made_dialogue("a")).encode()
    array = json.dumps([made_dialogue("a"), made_dialogue("b", gpt1=9)]).encode()
    packed = gzip.compress(b"".join(whole.replace(b'"a"', b"%d" % i) + b"\n" for i in range(99)))
    for content, said in (
        (whole + b"\n{\n", "line 2: is not JSON"),
        (b"\n", f"{path}: contains no dialogues"),
        (array, "element 2: 'gpt1' must be a score from 1 to 5, not '9'"),
        (packed[:-20], r"line \d+: the compressed data is damaged or cut short"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=said):
            read_dialogues(path)
    for missing, said in ((tmp_path / "none.jsonl", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=f"cannot be read: {said}"):
            read_dialogues(missing)


def test_other_names_of_fields(tmp_path: Path) -> None:
    config = tmp_path / "fields.toml"
    config.write_text(
        "[fields]\nid = 'dialogue'\nturns = ['u1', 'a1', 'u2']\nanswers2 = 'replies'\n"
        "author = 'by'\ntext = 'body'\nhuman = 'people'\ngpt = 'judge'\n"
    )
    record = {"dialogue": 3, "category": "human", "turn2_type": "free", "author1": "m"}
    record |= {"u1": "一", "a1": "二", "u2": "三"}
    record["replies"] = [{"by": "m", "body": "四", "people": [1], "judge": 2}]
    path = write_json_lines(tmp_path / "a.jsonl", [record])
    [found] = read_dialogues(path, read_fields(config))
    assert (found.id, found.user1, found.first.text, found.user2) == ("3", "一", "二", "三")
    assert found.seconds == (Answer("m", "四", (Fraction(1),), Fraction(2)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fields]\nidd = 'x'", r"\[fields\]: unknown key 'idd': expected one of id, category"),
        ("[fields]\nid = 3", r"\[fields\]: id must be a key, not 3"),
        ("[fields]\nid = ['a', 'b', 'c']", r"\[fields\]: id must be a key, not"),
        ("[fields]\nturns = ['a']", r"\[fields\]: turns must be one key or a list of three keys"),
        ("id = 'x'", r"expected a table \[fields\], and nothing else"),
        ("", r"expected a table \[fields\], and nothing"),
        ("[fields", "invalid TOML"),
    ],
)
def test_bad_tables_of_fields(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "fields.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"^{path}: {message}"):
        read_fields(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_fields(tmp_path / "none.toml")
    assert Fields().turns == "turns"


def test_sizes_of_the_paper(tmp_path: Path) -> None:
    """Table 2: 2,280 + 2,982 = 5,262."""
    counts = {"same": (615, 378, 570, 420, 297), "free": (834, 444, 666, 555, 483)}
    records = [
        made_dialogue(f"{kind}{category}{i}", category=category, turn2_type=kind, answers2=[])
        for kind, row in counts.items()
        for category, count in zip(CATEGORIES, row, strict=True)
        for i in range(count)
    ]
    found = sizes(read_dialogues(write_json_lines(tmp_path / "a.jsonl", records)))
    assert found.rows() == [
        ("same", *counts["same"], 2280),
        ("free", *counts["free"], 2982),
        ("total", 1449, 822, 1236, 975, 780, 5262),
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(made_dialogue("a"))), anything)
def test_whatever_stands_in_a_field(tmp_path: Path, key: str, value: Any) -> None:
    """Either it is read, or the error has a place."""
    path = write_json_lines(tmp_path / "a.jsonl", [made_dialogue("a", **{key: value})])
    try:
        [dialogue] = read_dialogues(path)
    except InputError as error:
        place = error.path, error.line
    else:
        place = path, 1
        assert all(1 <= score <= 5 for answer in dialogue.seconds for score in answer.human)
        assert dialogue.category in CATEGORIES
    assert place == (path, 1)


# The published files.


def test_the_means_of_japanese_mt_bench(judging_dir: Path) -> None:
    wanted = json.loads((judging_dir / "vectors/agreement.json").read_text())["japanese-mt-bench"]
    folder = judging_dir / "data/japanese-mt-bench"
    ratings = read_ratings([folder / "gpt-4_single.jsonl"])
    assert len(ratings.frame) == 564
    [note] = ratings.notes
    assert note.startswith("4 answers are rated more than once, and all ratings are kept: question")
    questions = read_questions(folder / "question.jsonl")
    means = model_means(ratings, {q.id: q.category for q in questions})
    found = dict(means.filter(pl.col("category") == "mean").select("model", "mean").iter_rows())
    assert found.keys() == wanted.keys()
    for model, mean in wanted.items():
        assert found[model] == pytest.approx(mean, abs=1e-12)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert found == dict(
        means.filter(pl.col("category") == "turn 1").select("model", "mean").iter_rows()
    )
    writing = means.filter(pl.col("category") == "writing")
    ids = [q.id for q in questions if q.category == "writing"]
    rows = ratings.frame.filter(pl.col("question_id").is_in(ids))
    for row in writing.to_dicts():
        scores = rows.filter(pl.col("model") == row["model"])["score"]
        assert (row["ratings"], row["mean"]) == (len(scores), pytest.approx(scores.mean()))


def test_the_published_questions_and_answers(judging_dir: Path) -> None:
    folder = judging_dir / "data/japanese-mt-bench"
    questions = read_questions(folder / "question.jsonl")
    assert [len(question.turns) for question in questions] == [2] * 60
    assert read_answers(folder / "reference_answer/gpt-4.jsonl")[0].model == "gpt-4"
    for path in sorted((folder / "model_answer").glob("*.jsonl")):
        [answers] = read_answers(path)
        assert (answers.model, len(answers.answers)) == (path.stem, 80)
        assert {question.id for question in questions} <= answers.answers.keys()


def test_four_judges_of_23_models(judging_dir: Path) -> None:
    path = judging_dir / "data/judge-comparison/judge_comparison_details.csv"
    ratings = read_judge_table(path)
    assert len(ratings.frame) == 4 * 3680
    assert ratings.frame["score"].null_count() == 7
    assert ratings.notes == ("7 invalid ratings left out of means",)
    found = judge_agreement(ratings, resamples=300)
    assert len(found) == 6 * 2
    table = pl.read_csv(path)
    for row in found.to_dicts():
        a, b = row["judge_a"], row["judge_b"]
        both = table.filter((pl.col(a) >= 0) & (pl.col(b) >= 0))
        assert row["questions"] == 80
        if row["over"] == "items":
            x, y = both[a].to_list(), both[b].to_list()
            kappa = cohen_kappa_score(x, y, labels=range(1, 11), weights="quadratic")
            assert row["items"] == len(both)
            assert row["kappa"] == pytest.approx(kappa, abs=1e-12)
            assert row["kappa_low"] < row["kappa"] < row["kappa_high"]
        else:
            means = both.group_by("model").agg(pl.col(a).mean(), pl.col(b).mean())
            x, y = means[a].to_list(), means[b].to_list()
            assert row["items"] == 23
            assert row["kappa"] is None
        assert row["pearson"] == pytest.approx(scipy_stats.pearsonr(x, y)[0], abs=1e-12)
        assert row["spearman"] == pytest.approx(scipy_stats.spearmanr(x, y)[0], abs=1e-9)
        fisher = scipy_stats.pearsonr(x, y).confidence_interval()
        assert row["pearson_fisher_low"] == pytest.approx(fisher.low, abs=1e-9)
        assert row["pearson_low"] < row["pearson"] < row["pearson_high"]
        assert row["spearman_low"] < row["spearman"] <= row["spearman_high"]


# Reading.


def test_invalid_ratings_and_duplicates_are_noted(tmp_path: Path) -> None:
    scores = {1: -1, "2": 4, 3: None}
    records = [rating(question_id=question, score=score) for question, score in scores.items()]
    ratings = read_ratings([write_json_lines(tmp_path / "a.jsonl", records)])
    assert ratings.frame["score"].to_list() == [None, 4.0, None]
    assert ratings.notes == ("2 invalid ratings left out of means",)
    [row] = model_means(ratings).filter(pl.col("category") == "mean").to_dicts()
    assert (row["ratings"], row["invalid"], row["mean"]) == (1, 2, 4.0)
    paths = [  # ids are texts
        write_json_lines(tmp_path / "a.jsonl", [rating(question_id=11, score=1)]),
        write_json_lines(tmp_path / "b.jsonl", [rating(question_id="11", score=4, judge="j")]),
    ]
    ratings = read_ratings(paths)
    assert ratings.notes == (
        "1 answer is rated more than once, and all ratings are kept: question 11, turn 1 of m",
    )
    assert model_means(ratings)["mean"].to_list() == [2.5, 2.5]


def test_means_over_turns_and_categories(tmp_path: Path) -> None:
    scores = {("1", 1): 8, ("1", 2): 6, ("2", 1): 3, ("2", 2): -1, ("3", 1): 10}
    records = [
        rating(question_id=question, turn=turn, score=score)
        for (question, turn), score in scores.items()
    ]
    ratings = read_ratings([write_json_lines(tmp_path / "a.jsonl", records)])
    means = model_means(ratings, {"1": "math", "2": "writing"})
    assert means.select("category", "ratings", "invalid", "mean").rows() == [
        ("mean", 4, 1, 27 / 4),
        ("turn 1", 3, 0, 7.0),
        ("turn 2", 1, 1, 6.0),
        ("math", 2, 0, 7.0),
        ("writing", 1, 1, 3.0),
        ("overall", 3, 1, 5.0),  # of the categories' means, however many ratings each has
    ]


NO_JUDGE, NO_RATING = "must be a name, or a list", "must be a number of at least 0, or -1, not"
BAD_RATINGS: list[tuple[str, Any, str]] = [
    ("question_id", None, f"'question_id' {NO_ID}"),
    ("model", 3, "'model' must be text, not 3"),
    ("judge", [], f"'judge' {NO_JUDGE}"),
    ("judge", [1], f"'judge' {NO_JUDGE}"),
    ("turn", "1", "'turn' must be a whole number of at least 1, not '1'"),
    ("turn", 0, "'turn' must be a whole number of at least 1, not 0"),
    ("score", "5", f"'score' {NO_RATING} '5'"),
    ("score", -2, f"'score' {NO_RATING} -2"),
    ("score", True, f"'score' {NO_RATING} True"),
    ("score", math.inf, f"'score' {NO_RATING} inf"),
]


@pytest.mark.parametrize(
    ("make", "read", "key", "value", "message"),
    [
        *((partial(made_dialogue, 1), read_dialogues, *bad) for bad in BAD),
        *((rating, lambda path: read_ratings([path]), *bad) for bad in BAD_RATINGS),
    ],
)
def test_bad_fields_are_located(
    make: Any, read: Any, key: str, value: Any, message: str, tmp_path: Path
) -> None:
    records = [{**make(), **changes} for changes in ({"id": 0}, {key: value})]
    path = write_json_lines(tmp_path / "a.jsonl", records)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line 2: {message}")


def test_bad_questions_and_answers_are_located(tmp_path: Path) -> None:
    question = {"question_id": 1, "category": "math", "turns": ["a", "b"]}
    answer = {"question_id": 1, "model_id": "m", "choices": [{"turns": ["a"]}]}
    for read, records, message in (
        (read_questions, [question, question], "line 2: duplicate id '1': already on"),
        (read_questions, [{**question, "turns": []}], "line 1: 'turns' must be a list of texts"),
        (read_questions, [{"category": "x"}], "line 1: 'question_id' must be a non-empty text"),
        (read_answers, [answer, answer], "line 2: duplicate answer of model 'm' to question '1'"),
        (read_answers, [{**answer, "choices": []}], "line 1: 'choices' must be a list"),
        (read_answers, [{**answer, "choices": [{"turns": [1]}]}], "line 1: 'turns' must be a list"),
        (read_questions, [], ": contains no questions"),
        (read_answers, [], ": contains no answers"),
    ):
        with pytest.raises(InputError, match=message):
            read(write_json_lines(tmp_path / "a.jsonl", records))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question_id,model,a\n", "missing columns: expected question_id, model, turn and a col"),
        ("question_id,model,turn\n", "missing columns"),
        ("1,m,1,8\n1,m,x,9\n", "row 2: 'j' rates turn None of question"),
        ("1,m,1,8\n1,,1,9\n", "row 2: 'j' rates turn 1 of question '1'"),
        ("1,m,1,8,9\n", "cannot be read as CSV: found more fields"),
        ("1,m,1,-3\n", "row 1: 'j' rates turn 1 of question '1' by 'm' as '-3'"),
        ("1,m,1,nan\n", "row 1: 'j' rates turn 1 .* a number of at least 0"),
        ("", "no judgments found"),
    ],
)
def test_bad_tables_of_judges(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text if text.startswith("question") else f"question_id,model,turn,j\n{text}")
    with pytest.raises(InputError, match=message):
        read_judge_table(path)


# Agreement.


def agreement(path: Path, rows: list[str]) -> pl.DataFrame:
    """The agreement of two judges in a table of theirs."""
    path.write_text("\n".join(["question_id,model,turn,a,b", *rows]))
    return judge_agreement(read_judge_table(path), resamples=100)


def test_judges_who_rated_different_answers_are_compared_over_those_of_both(tmp_path: Path) -> None:
    cells = [(1, 2, 3), (2, 5, ""), (3, 7, 7), (4, "", 1), (5, 1, 2), (6, 9, -1)]
    found = agreement(tmp_path / "a.csv", [f"{q},m{q % 2},1,{a},{b}" for q, a, b in cells])
    [items] = found.filter(pl.col("over") == "items").to_dicts()
    assert items["items"] == items["questions"] == 3
    assert items["pearson"] == pytest.approx(np.corrcoef([2, 7, 1], [3, 7, 2])[0, 1])


def test_judges_who_always_agree(tmp_path: Path) -> None:
    rows = [f"{q},m{m},1,{(q * m) % 7},{(q * m) % 7}" for q in range(9) for m in range(5)]
    for row in agreement(tmp_path / "a.csv", rows).to_dicts():
        assert row["pearson"] == pytest.approx(1.0)
        assert row["spearman"] == pytest.approx(1.0)
        assert row["kappa"] in (None, pytest.approx(1.0))


# Writing.


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    answers = [answer_record("11", "m", ["一", "二"], 1.5), answer_record("x", "m", ["三"], 2.5)]
    [found] = read_answers(write_json_lines(tmp_path / "a.jsonl", answers))
    assert (found.model, found.answers) == ("m", {"11": ("一", "二"), "x": ("三",)})
    grade = {
        "model": "m", "judge": {"model": "j"}, "prompt": "single-v1", "turn": 2, "user_prompt": "…",
        "output": "[[7]]", "timestamp": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    scores = (("11", 7.0), ("b", 7.5), ("c", None))
    records = [judgment_record({**grade, "item": item, "rating": score}) for item, score in scores]
    assert [record["score"] for record in records] == [7, 7.5, -1]
    assert list(records[0]) == [
        "question_id", "model", "judge", "user_prompt", "judgment", "score", "turn", "tstamp"
    ]  # fmt: skip
    ratings = read_ratings([write_json_lines(tmp_path / "j.jsonl", records)])
    assert ratings.frame.rows() == [
        (item, "m", "j", "single-v1", 2, score) for item, score in scores
    ]
    ids = ("11", "011", "x", "٣", "9" * 30)  # written as FastChat does
    assert [written_id(each) for each in ids] == [11, *ids[1:]]
