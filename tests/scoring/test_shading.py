"""How common characters are: counted by the scoring table, and once more by searching the answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import small
from pfgen_rs import Benchmark, Settings
from pfgen_rs.scoring.explain import marks, window_counts

TEXTS = st.text("あいう^$ab\U00020000", max_size=14)
ANSWERS = st.lists(TEXTS.filter(bool), min_size=1, max_size=5)
SETTINGS = [Settings(), Settings(max_n=3), Settings(min_n=2, max_n=4), Settings(variant="paper")]
SETTINGS.append(Settings(truthfulness_n=2))


def searched(benchmark: Benchmark, question: str, answers: list[str]) -> list[list[int]]:
    """A row of sources a window, the plain way."""
    sources = benchmark[question].answers.values()
    marked = [f"^{answer}$" for answer in answers]
    windows = [text[i : i + 3] for text in marked for i in range(len(text) - 2)]
    return [[sum(window in text for text in texts) for texts in sources] for window in windows]


def marked(rows: list[list[int]], above: int, below: int) -> bytes:
    """Of one answer, by the largest of up to three neighbours."""
    totals = [sum(row) for row in rows]
    most = [max(totals[max(i - 1, 0) : i + 2]) for i in range(len(totals))]
    return bytes(1 if count > above else 2 * (count < below) for count in most)


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
@given(
    references=st.lists(ANSWERS, min_size=1, max_size=4),
    answers=st.lists(TEXTS, max_size=4),
    above=st.integers(0, 5),
    below=st.integers(0, 5),
)
def test_equals_a_search(
    settings: Settings, references: list[list[str]], answers: list[str], above: int, below: int
) -> None:
    # A text of all characters keeps every baseline above 0.
    sources = {name: [*own, "あいう^$ab"] for name, own in zip("ABCD", references, strict=False)}
    benchmark = small.benchmark({"answers": sources}, settings=settings)
    counts, starts = window_counts(benchmark, "Q1", answers)
    assert counts.shape == (sum(map(len, answers)), len(sources))
    assert counts.tolist() == searched(benchmark, "Q1", answers)
    found = marks(benchmark, "Q1", answers, above=above, below=below)
    for i, answer in enumerate(answers):
        assert starts[i + 1] - starts[i] == len(answer)
        rows = counts[starts[i] : starts[i + 1]].tolist()
        assert found[i] == marked(rows, above, below)


def test_long_answers_are_read_whole(mini: Benchmark) -> None:
    long = "植物は光合成を" * 15_000
    counts, starts = window_counts(mini, "Q02", ["光", long, ""])
    assert starts.tolist() == [0, 1, 1 + len(long), 1 + len(long)]
    assert counts[-8:].tolist() == searched(mini, "Q02", [long[-10:]])[-8:]


def test_threads_make_no_difference(mini: Benchmark) -> None:
    answers = [text for texts in mini["Q02"].answers.values() for text in texts][:600]
    one, _ = window_counts(mini, "Q02", answers, threads=1)
    two, _ = window_counts(mini, "Q02", answers, threads=2)
    np.testing.assert_array_equal(one, two)
    shades = [marks(mini, "Q02", answers, above=9, below=3, threads=n) for n in (1, 2)]
    assert shades[0] == shades[1]


def test_words_are_counted_as_they_are_scored() -> None:
    sources = {"A": ["the cat sat", "the cat ran"]}
    benchmark = small.benchmark({"answers": sources}, settings=Settings(unit="word"))
    counts, starts = window_counts(benchmark, "Q1", ["the cat sat", "cat"])
    assert starts.tolist() == [0, 3, 4]
    assert counts[:, 0].tolist() == [0, 1, 0, 0]
