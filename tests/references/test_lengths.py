"""The answers nearest in length, against sorting them."""

import math
import random
import statistics
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.references.lengths import nearest_length
from reference_batches import cut

ANSWERS = st.lists(st.text(alphabet="a𠮷", max_size=9), max_size=50)


def sorted_out(answers: list[str], target: int, count: int, seed: int) -> list[bool]:
    digests = _native.text_digests(_native.Texts(answers), seed).tolist()
    order = sorted(
        range(len(answers)), key=lambda row: (abs(len(answers[row]) - target), digests[row], row)
    )
    kept = set(order[:count])
    return [row in kept for row in range(len(answers))]


@given(
    ANSWERS,
    st.integers(0, 12),
    st.integers(0, 60),
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(1, 30), min_size=1, max_size=3),
    st.sampled_from([1, 2, 8]),
)
def test_as_sorted(
    answers: list[str], target: int, count: int, seed: int, sizes: list[int], threads: int
) -> None:
    found = nearest_length(
        cut(answers, sizes), target=target, count=count, seed=seed, threads=threads
    )
    assert found.kept.tolist() == sorted_out(answers, target, count, seed)
    lengths = [len(answer) for answer, kept in zip(answers, found.kept, strict=True) if kept]
    if lengths:
        assert found.mean == sum(lengths) / len(lengths)
        assert math.isclose(found.std, statistics.pstdev(lengths), abs_tol=1e-12)
    else:
        assert math.isnan(found.mean)
        assert math.isnan(found.std)


@given(
    ANSWERS,
    st.integers(0, 12),
    st.integers(0, 60),
    st.sampled_from([0.01, 0.1, 0.2, 1 / 3, 0.9, 1.0]),
    st.none() | st.integers(0, 9),
    st.integers(0, 20),
)
def test_a_share_a_deviation_and_a_floor(
    answers: list[str], target: int, count: int, share: float, deviation: int | None, least: int
) -> None:
    found = nearest_length(
        answers, target=target, count=count, share=share, deviation=deviation, at_least=least
    )
    number = math.ceil(Fraction(str(share)) * len(answers))
    if deviation is not None:
        near = [answer for answer in answers if abs(len(answer) - target) <= deviation]
        number = min(number, len(near))
    number = min(count, len(answers), max(number, least))
    assert found.kept.tolist() == sorted_out(answers, target, number, 0)
    assert (found.limit == "all") == (number == len(answers))


@pytest.mark.parametrize(
    ("limits", "kept", "limit"),
    [
        ({}, 10, "all"),
        ({"share": 0.2}, 2, "share"),
        ({"share": 0.2, "at_least": 5}, 5, "at_least"),
        ({"share": 0.2, "at_least": 50}, 10, "all"),
        ({"share": 0.2, "at_least": 5, "count": 3}, 3, "count"),
        ({"deviation": 2}, 5, "deviation"),
        ({"deviation": 2, "share": 0.4}, 4, "share"),
        ({"deviation": 2, "at_least": 6}, 6, "at_least"),
    ],
    ids=str,
)
def test_what_decides_the_number(limits: dict[str, Any], kept: int, limit: str) -> None:
    found = nearest_length(["a" * length for length in range(1, 11)], target=5, **limits)
    assert (found.kept.sum(), found.limit) == (kept, limit)


def test_the_order_of_answers_does_not_matter() -> None:
    answers = [f"{i:03}" * (1 + i % 3) for i in range(300)]
    shuffled = random.Random(1).sample(answers, len(answers))

    def kept(texts: list[str]) -> set[str]:
        found = nearest_length(texts, target=6, count=150, seed=3).kept
        return {text for text, keep in zip(texts, found, strict=True) if keep}

    assert kept(answers) == kept(shuffled)
    lengths = {len(text) for text in kept(answers)}
    assert lengths == {3, 6, 9}


def test_wrong_input() -> None:
    for wrong in (
        {"target": -1},
        {"count": -1},
        {"share": 0.0},
        {"share": 1.1},
        {"deviation": -1},
        {"at_least": -1},
        {"seed": -1},
        {"seed": 2**64},
    ):
        with pytest.raises(SettingsError):
            nearest_length(["あ"], **wrong)
    with pytest.raises(InputError, match="row 0 is null"):
        nearest_length(pl.Series([None], dtype=pl.String))


def test_batches_must_stay_the_same() -> None:
    readings = iter([["あ", "い"], ["あ"]])
    with pytest.raises(InputError, match="must yield the same answers"):
        nearest_length(lambda: [pl.Series(next(readings))], count=1)
