"""Questions by id, text or `Question`, sample runs, and the order of sources in reports."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pfgen_rs
import small
from pfgen_rs import Benchmark, InputError, UnknownQuestionError, _native, load_benchmark
from pfgen_rs.errors import BenchmarkNotFoundError
from pfgen_rs.questions.unknown import explained
from pfgen_rs.report.answers import distinct_windows, run_answers, window_table
from pfgen_rs.report.site.benchmark_page import benchmark_page, references_payload

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


def test_sample_runs_are_there_by_name(mini: Benchmark) -> None:
    runs = pfgen_rs.sample_runs()
    assert list(runs) == ["babbling", "careless", "faithful"]
    scores = [pfgen_rs.score_file(folder, mini).score for folder in runs.values()]
    assert sorted(scores) == scores
    assert all(folder.is_absolute() for folder in runs.values())


@pytest.mark.parametrize("name", ["pfgen_bench", "x" * 10_000], ids=len)
def test_unknown_benchmarks_are_named_with_what_shows_the_others(name: str) -> None:
    with pytest.raises(BenchmarkNotFoundError, match=f"'{name}': .* 'pfgen-rs data list' shows"):
        pfgen_rs.load_benchmark(name)


QUESTION = {
    "question_id": "Q1",
    "question": "q?",
    "answers": {"S": ["abcd", "abc"], "P": ["abcx"], "T": ["xyz", "xyzz", "abcc"]},
}


def test_payloads_of_pages_keep_what_is_of_each_source_together() -> None:
    benchmark = small.benchmark(QUESTION)
    question = benchmark["Q1"]
    found = references_payload(question)
    assert found["sources"] == ["P", "T", "S"]
    assert found["answers"] == [list(question.answers[source]) for source in "PTS"]
    for gram, *counts in found["ngrams"]["3"]:
        frequency = question.index.document_frequency(gram).by_source
        assert counts == [frequency[source] for source in "PTS"]

    table = window_table(benchmark, "Q1", distinct_windows(["abcd"])).payload()
    assert (table["sources"], table["answers"]) == (["P", "T", "S"], [1, 3, 2])
    for i, column in enumerate(table["counts"]):
        for j, count in enumerate(column):
            window = table["text"][3 * j : 3 * j + 3]
            texts = [f"^{text}$" for text in question.answers["PTS"[i]]]
            assert count == sum(window in text for text in texts)


def test_shares_and_cuts_stay_with_their_source() -> None:
    [found] = run_answers(small.benchmark(QUESTION).evaluate(["q?"] * 2, ["abcd", "xyz"]))
    payload = found.payload()
    assert payload["sources"] == ["P", "T", "S"]
    columns = [f"{m}_{s}" for m in ("fluency", "truthfulness") for s in "PTS"] + ["helpfulness"]
    shares = [[round(v * 1e4) for v in found.scores[column]] for column in columns]
    assert payload["shares"] == shares
    cuts = found.cuts.T.tolist()
    assert payload["cuts"] == [cuts[i] for i in (1, 2, 0, 4, 5, 3, 6)]


def test_the_benchmark_page_has_a_legend_of_published_sources() -> None:
    page = benchmark_page(small.benchmark(QUESTION)).decode()
    assert "P = PLaMo-100b, T = Swallow-MX, S = stockmark-100b" in page
    assert explained(["P", "B"]) == ""
    assert "<td>P, T, S</td>" in page
    assert "PLaMo-100b" not in benchmark_page(load_benchmark("mini")).decode()
