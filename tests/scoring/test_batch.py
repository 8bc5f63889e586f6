"""Columns in, columns of scores out: `score_batch` and `scorer`, in threads, forked processes and workers."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import helpers
import small
from pfgen_rs import Benchmark, InputError, Settings, SettingsError, UnknownQuestionError
from pfgen_rs.metrics.settings import Metric

ANSWERS = ["光合成です。", "風呂敷です。"]


def many(questions: int) -> Benchmark:
    """A benchmark of tiny questions."""
    rules = [{"t": "猫"}]
    return small.benchmark(
        *(
            {
                "question_id": f"Q{i:05}",
                "question": f"{i}は何ですか？",
                "keywords": rules,
                "answers": {"A": ["猫"]},
            }
            for i in range(questions)
        )
    ).prepare(threads=1)


def seconds(questions: int) -> float:
    """The shortest processor time of a batch with an answer to each of so many questions."""
    benchmark = many(questions)
    columns = [question.id for question in benchmark], ["猫です。"] * questions
    times = []
    for _ in range(6):
        start = time.process_time()
        benchmark.score_batch(*columns, threads=1)
        times.append(time.process_time() - start)
    return min(times)


def test_time_is_linear_in_the_questions() -> None:
    gc.disable()
    try:
        few, eight_times = seconds(500), seconds(4000)
    finally:
        gc.enable()
    # Linear: 8 times, and a little more for memory outside the caches. A loop in a loop: over 50 times.
    assert eight_times < 25 * few


def test_single_answers_take_the_same_time_however_many_questions_there_are() -> None:
    """Each first answer to a question prepares that question alone."""

    def first_answers(questions: int) -> float:
        benchmark = many(questions)
        start = time.process_time()
        for question in list(benchmark)[:200]:
            benchmark.score(question, "猫です。")
        return time.process_time() - start

    few, more = (min(first_answers(questions) for _ in range(3)) for questions in (200, 4000))
    assert more < 4 * few


def test_expressions_get_the_rows_of_their_questions() -> None:
    rules = [[{"t": "猫+は"}], [{"t": "犬"}], [{"t": "^鳥"}]]
    benchmark = small.benchmark(
        *(
            {
                "question_id": f"Q{i}",
                "question": f"{i}？",
                "keywords": keywords,
                "answers": {"A": ["猫は犬"]},
            }
            for i, keywords in enumerate(rules)
        )
    )
    noise = np.random.default_rng(1)
    questions = [f"Q{i}" for i in noise.integers(0, 3, 300)]
    answers = [["猫猫は", "犬", "鳥", ""][i] for i in noise.integers(0, 4, 300)]
    expected = [benchmark.score(*row).helpfulness for row in zip(questions, answers, strict=True)]
    for chunk_size in (7, 300):
        frame = benchmark.score_batch(questions, answers, chunk_size=chunk_size)
        assert frame["helpfulness"].to_list() == expected
    assert 0 < sum(expected) < 300


def test_types_refuse_what_is_refused(mini: Benchmark) -> None:
    """Each line has an error for type checkers, which complain of an ignored one that is none."""
    with pytest.raises(InputError, match="expected a list or column, not one question"):
        mini.score_batch(mini["Q02"], ANSWERS)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="found str in row 0"):
        mini.score_batch(["Q02"])
    with pytest.raises(InputError, match="not int"):
        mini.score_batch(["Q02"], 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="row 0 is int"):
        mini.evaluate(["Q02"], [5])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected text, not Struct"):
        mini.score_batch({"question": [{"a": 1}], "answer": ["a"]})
    with pytest.raises(InputError, match="invalid questions: expected text") as caught:
        mini.score_batch([1], ["a"])  # type: ignore[arg-type]
    assert "strict=False" not in str(caught.value)


# `bench.scorer()`: the figures of `score_batch`, in threads, forked processes and workers.


METRICS: tuple[Metric, ...] = get_args(Metric)


@pytest.fixture(scope="module")
def pairs(mini: Benchmark) -> tuple[list[str], list[str]]:
    """Several hundred responses, of all lengths."""
    questions, answers = [], []
    for i, question in enumerate(mini):
        texts = [text for answers in question.answers.values() for text in answers]
        for j, text in enumerate(texts[:30]):
            questions.append(question.text if j % 2 else question.id)
            answers.append((text * 3)[: 11 * j + i])
    return questions, answers


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("threads", [1, 2, None])
def test_figures_are_those_of_score_batch(
    metric: Metric, threads: int | None, mini: Benchmark, pairs: tuple[list[str], list[str]]
) -> None:
    scores = mini.scorer(metric, threads=threads)(*pairs)
    assert scores.dtype == np.float64
    assert scores.tolist() == mini.score_batch(*pairs)[metric].to_list()


def test_one_answer_none_and_one_question_for_many(mini: Benchmark) -> None:
    scorer = mini.scorer()
    assert scorer(["Q01"], ["猫"]).tolist() == [mini.score("Q01", "猫").average]
    assert scorer([], []).shape == (0,)
    assert scorer("Q01", ["猫", "犬"]).tolist() == scorer(["Q01", "Q01"], ["猫", "犬"]).tolist()
    both = mini["Q01"], "Q02"
    assert scorer(both, ["猫", "犬"]).tolist() == scorer(["Q01", "Q02"], ["猫", "犬"]).tolist()
    assert scorer(mini["Q01"], ["猫"]).tolist() == scorer("Q01", ["猫"]).tolist()
    series = pl.Series(["猫", "犬"])
    assert scorer("Q01", series).tolist() == scorer("Q01", series.to_arrow()).tolist()


@pytest.mark.parametrize("count", [1, 2, 40, 255, 256])
def test_plain_lists_are_scored_as_columns_are(
    count: int, mini: Benchmark, pairs: tuple[list[str], list[str]]
) -> None:
    """Lists of `str` take a way of their own, up to 255 answers."""
    scorer = mini.scorer()
    questions, answers = (column[-count:] for column in pairs)
    expected = scorer(pl.Series(questions), pl.Series(answers)).tolist()
    assert scorer(questions, answers).tolist() == expected
    assert scorer(tuple(questions), tuple(answers)).tolist() == expected
    alike = scorer(pl.Series([questions[0]] * count), pl.Series(answers)).tolist()
    assert scorer(questions[0], answers).tolist() == alike


def test_expressions_and_other_units_are_scored_as_ever() -> None:
    """What the short way of plain lists does not know goes the general way."""
    question = {"question_id": "Q1", "question": "何？", "answers": {"A": ["猫と犬", "鳥と犬"]}}
    rules = [{"t": "猫.犬"}, {"t": "鳥", "importance": 0.5}]
    bench = small.benchmark(question | {"keywords": rules})
    found = bench.scorer("helpfulness")("Q1", ["猫と犬と鳥", "猫と犬", "犬"])
    assert found.tolist() == [1.0, 0.5, 0.0]
    words = bench.with_settings(Settings(unit="word"))
    expected = words.score_batch(["Q1"], ["猫と犬"])["average"].to_list()
    assert words.scorer()(["Q1"], ["猫と犬"]).tolist() == expected


def test_what_is_wrong_is_told(mini: Benchmark) -> None:
    scorer: Any = mini.scorer()
    for questions, answers, message in (
        (["Q01", "Q99"], ["猫", "犬"], "row 1"),
        (["Q01", "Q01"], ["猫"], "2 questions but 1 answers"),
        (["Q01"], ["猫", "犬"], "1 questions but 2 answers"),
        (["Q01"], "猫", "not a single string"),
        (["Q01"], [1], "row 0 is int"),
        (5, ["猫"], "not int"),
        (["Q01"], 5, "not int"),
        (["Q01"], ["\ud800"], "lone surrogate"),
    ):
        with pytest.raises(InputError, match=message):
            scorer(questions, answers)
    with pytest.raises(UnknownQuestionError):
        scorer(["Q01", "Q99"], ["猫", "犬"])
    with pytest.raises(SettingsError, match="unknown metric 'length': expected one of average, "):
        mini.scorer("length")  # type: ignore[arg-type]


def test_threads_share_one(mini: Benchmark, pairs: tuple[list[str], list[str]]) -> None:
    scorer = mini.scorer()
    expected = scorer(*pairs).tolist()

    def one(row: int) -> float:
        return scorer([pairs[0][row]], [pairs[1][row]]).item()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(len(expected)))) == expected


WORKERS = """
import multiprocessing, sys, pfgen_rs
bench = pfgen_rs.load_benchmark(sys.argv[2])
many = ["Q01", "Q02"] * 1000, [f"猫は{i}回、海で眠ります。" for i in range(2000)]
expected = bench.score_batch(*many, threads=2)["average"].to_list()
scorer = bench.scorer(threads=2)
assert scorer(*many).tolist() == expected
with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
    for scores in pool.starmap(scorer, [many] * 4):
        assert scores.tolist() == expected
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers(start: str, tmp_path: Path) -> None:
    """Of a process of its own, which has used threads before it forks."""
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {start}")
    done = helpers.python(WORKERS, start, helpers.write_benchmark(tmp_path / "questions"))
    assert done.returncode == 0, done.stderr


def test_it_can_be_pickled(mini: Benchmark) -> None:
    scorer = mini.scorer("fluency", threads=None)
    again = pickle.loads(pickle.dumps(scorer))
    assert (again.metric, again.threads) == ("fluency", None)
    assert again("Q01", ["猫は"]).tolist() == scorer("Q01", ["猫は"]).tolist()
    assert repr(again) == repr(scorer)
