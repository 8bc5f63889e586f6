"""Duplicates and digests against dictionaries of texts."""

import random
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.references import duplicates as module
from pfgen_rs.references.duplicates import duplicates
from reference_batches import cut


def counted(answers: list[str]) -> list[int]:
    """By row: how often a text stands in the pool at its first row, 0 at others."""
    counts = Counter(answers)
    return [counts.pop(answer, 0) for answer in answers]


@given(
    st.lists(st.one_of(st.text(alphabet="あ𠮷", max_size=3), st.text(max_size=9)), max_size=60),
    st.lists(st.integers(1, 30), min_size=1, max_size=3),
    st.sampled_from([1, 2, 8]),
)
def test_as_counted(answers: list[str], sizes: list[int], threads: int) -> None:
    found = duplicates(cut(answers, sizes), threads=threads)
    assert found.counts.tolist() == counted(answers)
    assert found.first.tolist() == [count > 0 for count in counted(answers)]
    assert (str(found.first.dtype), str(found.counts.dtype)) == ("bool", "uint32")


@pytest.mark.parametrize("most", [20, 300, 5_000])
def test_little_memory_changes_nothing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    answers = [str(int(rng.random() ** 3 * 3_000)) for _ in range(2_000)]
    readings = 0
    batches = cut(answers, [100, 1])

    def read() -> list[pl.Series]:
        nonlocal readings
        readings += 1
        return list(batches())

    monkeypatch.setattr(module, "LEAST_MEMORY", 1)
    found = duplicates(read, memory=most * module.ROW_BYTES)
    assert found.counts.tolist() == counted(answers)
    assert (readings == 1) == (most == 5_000)


def test_many_copies_of_one_text() -> None:
    found = duplicates(cut(["同じ"] * 100_000, [10_000]), memory=1)
    assert found.counts[0] == found.counts.sum() == 100_000


def test_wrong_input() -> None:
    with pytest.raises(SettingsError):
        duplicates(["あ"], memory=0)
    with pytest.raises(InputError, match="row 1 is null"):
        duplicates(pl.Series(["あ", None]))


def test_digests() -> None:
    texts = ["", "あ", "𠮷", "あ"]
    digests = _native.text_digests(_native.Texts(texts), 0)
    assert (digests.shape, str(digests.dtype)) == ((4, 2), "uint64")
    assert [f"{high:016x}{low:016x}" for high, low in digests.tolist()] == [
        _native.digest(text.encode()) for text in texts
    ]
    other = _native.text_digests(_native.Texts(texts), 2**64 - 1, threads=2)
    assert (other != digests).any(axis=1).all()
