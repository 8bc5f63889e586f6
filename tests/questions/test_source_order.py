"""The order of sources in reports, and what their published names stand for."""

from __future__ import annotations

from itertools import permutations

import pytest

import small
from pfgen_rs import load_benchmark
from pfgen_rs.questions.unknown import PUBLISHED, explained, known, order, sources_in_order
from pfgen_rs.report.answers import distinct_windows, run_answers, window_table
from pfgen_rs.report.site.benchmark_page import benchmark_page, references_payload


@pytest.mark.parametrize("sources", [*permutations("SPT"), ("B", "R", "A", "P"), ()])
def test_sources_stand_as_in_published_reports(sources: tuple[str, ...]) -> None:
    assert [sources[i] for i in order(sources)] == list(
        sources_in_order(dict.fromkeys(sources, 0.0))
    )


def test_only_sets_with_published_sources_alone_are_explained() -> None:
    assert known("SP") == {"P": "PLaMo-100b", "S": "stockmark-100b"}
    assert explained("SP") == "P = PLaMo-100b, S = stockmark-100b"
    assert set(known(PUBLISHED)) == set(PUBLISHED)
    assert known(["P", "B"]) == {}
    assert explained(["P", "B"]) == ""


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
    assert "<td>P, T, S</td>" in page
    assert "PLaMo-100b" not in benchmark_page(load_benchmark("mini")).decode()
