"""FastChat's files of MT-bench: read, written, averaged, and judges compared."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats  # type: ignore[import-untyped]
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from made_dialogues import rating, write_json_lines
from pfgen_rs.errors import InputError
from pfgen_rs.judge.dialogues.association import judge_agreement, model_means
from pfgen_rs.judge.dialogues.mt_bench import (
    answer_record,
    judgment_record,
    read_answers,
    read_judge_table,
    read_questions,
    read_ratings,
    written_id,
)

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
    assert len(questions) == 60
    assert all(len(question.turns) == 2 for question in questions)
    [reference] = read_answers(folder / "reference_answer/gpt-4.jsonl")
    assert reference.model == "gpt-4"
    for path in sorted((folder / "model_answer").glob("*.jsonl")):
        [answers] = read_answers(path)
        assert answers.model == path.stem
        assert len(answers.answers) == 80
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


def test_a_rating_that_fastchat_could_not_read_is_invalid(tmp_path: Path) -> None:
    records = [
        rating(score=-1),
        rating(question_id="2", score=4),
        rating(question_id=3, score=None),
    ]
    ratings = read_ratings([write_json_lines(tmp_path / "a.jsonl", records)])
    assert ratings.frame["score"].to_list() == [None, 4.0, None]
    assert ratings.notes == ("2 invalid ratings left out of means",)
    [row] = model_means(ratings).filter(pl.col("category") == "mean").to_dicts()
    assert (row["ratings"], row["invalid"], row["mean"]) == (1, 2, 4.0)


def test_ids_are_texts_and_duplicates_are_kept(tmp_path: Path) -> None:
    paths = [
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
    ]


BAD = [
    ({"question_id": None}, "'question_id' must be a non-empty text or a number"),
    ({"model": 3}, "'model' must be text, not 3"),
    ({"judge": []}, "'judge' must be a name, or a list"),
    ({"judge": [1]}, "'judge' must be a name, or a list"),
    ({"turn": "1"}, "'turn' must be a whole number of at least 1, not '1'"),
    ({"turn": 0}, "'turn' must be a whole number of at least 1, not 0"),
    ({"score": "5"}, "'score' must be a number of at least 0, or -1, not '5'"),
    ({"score": -2}, "'score' must be a number of at least 0, or -1, not -2"),
    ({"score": True}, "'score' must be a number of at least 0, or -1, not True"),
    ({"score": math.inf}, "'score' must be a number of at least 0, or -1, not inf"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_judgments_are_located(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [rating(), rating(**changes)])
    with pytest.raises(InputError) as caught:
        read_ratings([path])
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
        ("question_id,model,turn,j\n1,m,1,8\n1,m,x,9\n", "row 2: 'j' rates turn None of question"),
        ("question_id,model,turn,j\n1,m,1,8\n1,,1,9\n", "row 2: 'j' rates turn 1 of question '1'"),
        ("question_id,model,turn,j\n1,m,1,8,9\n", "cannot be read as CSV: found more fields"),
        (
            "question_id,model,turn,j\n1,m,1,-3\n",
            "row 1: 'j' rates turn 1 of question '1' by 'm' as '-3'",
        ),
        (
            "question_id,model,turn,j\n1,m,1,nan\n",
            "row 1: 'j' rates turn 1 .* a number of at least 0",
        ),
        ("question_id,model,turn,j\n", "no judgments found"),
    ],
)
def test_bad_tables_of_judges(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
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


def test_ids_are_written_as_fastchat_does() -> None:
    ids = ("11", "011", "x", "٣", "9" * 30)
    assert [written_id(each) for each in ids] == [11, *ids[1:]]
