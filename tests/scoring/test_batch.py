"""Columns in, columns of scores out: the ways to pass them, and time linear in the questions."""

from __future__ import annotations

import gc
import time

import numpy as np
import polars as pl
import pytest

import small
from pfgen_rs import Benchmark, InputError, Question

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

    few, many_questions = (
        min(first_answers(questions) for _ in range(3)) for questions in (200, 4000)
    )
    assert many_questions < 4 * few


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


def test_every_way_to_pass_columns(mini: Benchmark) -> None:
    pandas = pytest.importorskip("pandas")
    expected = mini.score_batch(["Q02", "Q14"], ANSWERS)
    questions: list[str | Question] = [mini["Q02"], "Q14"]
    table = pl.DataFrame({"question": ["Q02", "Q14"], "answer": ANSWERS})
    column, array = table["question"], np.array(ANSWERS)
    for frame in (
        mini.score_batch(questions, ANSWERS),
        mini.score_batch(column, ANSWERS),
        mini.score_batch(column.to_arrow(), table["answer"].to_arrow()),
        mini.score_batch(np.array(["Q02", "Q14"]), array.tolist()),
        mini.score_batch(table),
        mini.score_batch(table.lazy()),
        mini.score_batch(table.to_arrow()),
        mini.score_batch(pandas.DataFrame({"question": ["Q02", "Q14"], "answer": ANSWERS})),
        mini.score_batch({"question": questions, "answer": ANSWERS}),
    ):
        assert frame.equals(expected)
    result = mini.evaluate(questions, ANSWERS)
    assert result.score == mini.evaluate(table).score
    assert result.frame["question"].to_list() == [mini["Q02"].text, "Q14"]


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
