"""The numbers on the page of metrics are those of `bench.explain` and of the bundled runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pfgen_rs
from page_tables import tables
from pfgen_rs import Benchmark, Question
from pfgen_rs.scoring.explain import Explanation
from places import DOCS

PAGES = sorted((DOCS / "explanation").glob("metrics*.md"))
ID, ANSWER = "Q14", "四角い布です。箱も包む布です。"
LONGEST, SCALE = 10, 200.0


@pytest.fixture(scope="module")
def bench() -> Benchmark:
    return pfgen_rs.load_benchmark("mini")


@pytest.fixture(scope="module")
def explained(bench: Benchmark) -> Explanation:
    return bench.explain(ID, ANSWER)


each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def rows(path: Path, place: int) -> list[list[str]]:
    """The rows of one of the first tables, which follow one answer."""
    return tables(path)[place].rows


def frequencies(question: Question, ngrams: Iterator[str]) -> str:
    """N-grams that occur, with their document frequencies."""
    found = {ngram: question.index.document_frequency(ngram).total for ngram in ngrams}
    return ", ".join(f"{ngram} {df:,}" for ngram, df in found.items() if df) or "–"


def new_ngrams(end: int) -> Iterator[str]:
    """N-grams that end before `end` and nowhere earlier in the answer, the shortest first."""
    for start in range(end - 1, max(end - LONGEST, 0) - 1, -1):
        if ANSWER[start:end] not in ANSWER[: end - 1]:
            yield ANSWER[start:end]


@each_page
def test_fluency_adds_what_the_table_says(
    path: Path, bench: Benchmark, explained: Explanation
) -> None:
    total, expected = 0, []
    for i, (character, gain) in enumerate(
        explained.characters.select("character", "gain_A").iter_rows(), 1
    ):
        total += gain
        parts = frequencies(bench[ID], new_ngrams(i))
        assert gain == sum(int(df.replace(",", "")) for df in re.findall(r" ([\d,]*\d)", parts))
        expected.append([str(i), character, parts, f"{gain:,}", f"{total:,}"])
    assert rows(path, 0) == expected
    baseline = bench.baselines(bench[ID])["A"]
    value = explained.score.details.fluency["A"]
    assert total / baseline == value
    assert f"`{total:,} ÷ {baseline:,.3f} = {value:.6f}`" in path.read_text(encoding="utf-8")


@each_page
def test_truthfulness_is_the_mean_of_its_characters(path: Path, explained: Explanation) -> None:
    columns = explained.characters.select("covering_df_A", "skipped").iter_rows()
    reference = explained.references["A"]
    values = [min(1.0, df / reference * SCALE) for df, skipped in columns if not skipped]
    truthfulness = explained.score.details.truthfulness["A"]
    assert sum(values) / len(values) == truthfulness
    said = f"`{sum(values):g} ÷ {len(values)} = {truthfulness:.6f}`"
    assert said in path.read_text(encoding="utf-8")


@each_page
def test_helpfulness_and_the_score_follow(path: Path, explained: Explanation) -> None:
    factors = [1.0 if rule.met else 1 - rule.importance for rule in explained.rules]
    shown = [(row[0], row[1], row[3]) for row in rows(path, 1)]
    page = path.read_text(encoding="utf-8")
    assert shown == [
        (rule.label, f"{rule.importance:g}", f"{factor:g}")
        for rule, factor in zip(explained.rules, factors, strict=True)
    ]
    missed = " × ".join(f"{factor:g}" for factor in factors if factor < 1)
    score = explained.score
    assert f"`{missed} = {score.helpfulness:g}`" in page
    parts = f"{score.fluency['A']} + {score.truthfulness['A']} + {score.helpfulness:g}"
    assert f"`({parts}) ÷ 3 = {score.average}`" in page
