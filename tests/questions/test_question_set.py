"""Questions of a benchmark by id, text or `Question`, and how they are shown."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import small
from pfgen_rs import Benchmark, InputError, UnknownQuestionError, _native

ODD: list[Any] = [5, None, ["Q02"], {"Q02"}, b"Q02"]


def test_a_question_is_found_by_id_by_text_and_by_itself(mini: Benchmark) -> None:
    question = mini["Q02"]
    for name in ("Q02", question.text, question):
        assert name in mini
        assert mini[name] is mini.find(name) is question
        assert mini.index(name) is mini.index("Q02")
        assert mini.score(name, "光合成") == mini.score("Q02", "光合成")
        assert mini.explain(name, "光合成").question_id == "Q02"


def test_other_questions_are_not_in_it(mini: Benchmark) -> None:
    other = small.question({"question_id": "Q02", "question": "だれ？", "answers": {"A": ["私"]}})
    for name in ("Q99", "光合成", "", other, *ODD):
        assert name not in mini
    for call in (mini.__getitem__, mini.find, mini.index):
        for name in ("Q99", other):
            with pytest.raises(UnknownQuestionError):
                call(name)
        for odd in ODD:
            with pytest.raises(InputError, match="expected its text, its id or a Question, not "):
                call(odd)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_is_no_question_is_an_input_error(mini: Benchmark, odd: Any) -> None:
    with pytest.raises(InputError):
        mini.score(odd, "猫")
    with pytest.raises(InputError):
        mini.explain(odd, "猫")
    with pytest.raises(InputError):
        mini.score_batch([odd], ["猫"])


def test_a_question_of_another_benchmark_is_found_by_its_text(mini: Benchmark) -> None:
    text = mini["Q03"].text
    other = small.question({"question_id": "Q02", "question": text, "answers": {"A": ["私"]}})
    assert mini.find(other) is mini["Q03"]


def test_a_question_is_shown_in_a_line(mini: Benchmark) -> None:
    assert repr(mini["Q02"]) == (
        "Question('Q02', '光合成とは何ですか？', answers: {A: 1000}, rules: 4)"
    )
    sources = {f"S{i}": ["猫\n"] for i in range(1000)}
    hostile = small.question({"question": "\u202e\n" * 1000, "answers": sources})
    assert len(repr(hostile)) < 1000
    assert repr(hostile).isprintable()


def test_threads_that_need_a_scorer_at_once_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = small.benchmark({"answers": {"A": ["海は青い。"]}})
    make, begin = _native.Scorer, threading.Barrier(2, timeout=10)
    made: list[_native.Scorer] = []

    def slowly(*how: Any) -> _native.Scorer:
        time.sleep(0.05)
        made.append(make(*how))
        return made[-1]

    def found(_: int) -> _native.Scorer:
        begin.wait()
        return bench.native_scorer(bench["Q1"])

    monkeypatch.setattr("pfgen_rs._native.Scorer", slowly)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(found, range(2))
    assert one is other
    assert made == [one]
