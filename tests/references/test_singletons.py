"""The singleton filter against counting in a dictionary, for every way of giving answers."""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfgen_rs import InputError, SettingsError
from pfgen_rs.references.singletons import singletons
from reference_batches import cut

TEXTS = st.lists(
    st.one_of(
        st.text(alphabet="ab", max_size=80),
        st.text(alphabet="あい𠮷😀\0", max_size=30),
        st.text(max_size=12),
    ),
    max_size=25,
)


def ngrams(text: str, n: int) -> list[str]:
    return [text[i : i + n] for i in range(len(text) - n + 1)]


def counted(
    answers: Sequence[str], n: int, threshold: int, repeat: bool, weights: Sequence[int]
) -> tuple[list[bool], list[int]]:
    kept = [weight > 0 for weight in weights]
    rounds: list[int] = []
    while not rounds or (repeat and rounds[-1]):
        counts: Counter[str] = Counter()
        for answer, weight, here in zip(answers, weights, kept, strict=True):
            if here:
                counts.update(dict.fromkeys(ngrams(answer, n), 0))
                for ngram in ngrams(answer, n):
                    counts[ngram] += weight
        before = sum(kept)
        kept = [
            here and all(counts[ngram] > threshold for ngram in ngrams(answer, n))
            for answer, here in zip(answers, kept, strict=True)
        ]
        rounds.append(before - sum(kept))
    return kept, rounds


def many(count: int) -> list[str]:
    """Different answers, some of whose n-grams are frequent."""
    rng = random.Random(1)
    return [
        "".join(chr(0x3042 + int(rng.random() * 7) * int(rng.random() * 7)) for _ in range(50))
        for _ in range(count)
    ]


@given(
    answers=TEXTS,
    n=st.one_of(st.integers(1, 6), st.integers(7, 40)),
    threshold=st.integers(0, 3),
    repeat=st.booleans(),
    seed=st.one_of(st.none(), st.integers(0, 9)),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    threads=st.sampled_from([1, 2, 8]),
)
def test_as_counted(
    answers: list[str],
    n: int,
    threshold: int,
    repeat: bool,
    seed: int | None,
    sizes: list[int],
    threads: int,
) -> None:
    rng = random.Random(seed)
    weights = None if seed is None else [rng.randrange(4) for _ in answers]
    found = singletons(
        cut(answers, sizes),
        n=n,
        threshold=threshold,
        repeat=repeat,
        weights=weights,
        memory=1,
        threads=threads,
    )
    expected = counted(answers, n, threshold, repeat, weights or [1] * len(answers))
    assert (found.kept.tolist(), found.rounds) == expected


@pytest.mark.parametrize(("n", "threshold"), [(4, 1), (5, 2), (20, 1), (30, 1)])
def test_little_memory_and_threads_change_nothing(n: int, threshold: int) -> None:
    answers = many(1_200)
    expected = counted(answers, n, threshold, True, [1] * len(answers))
    for memory, threads in ((1 << 30, 1), (1 << 20, 2), (1, 8)):
        told: list[tuple[int, int]] = []
        found = singletons(
            answers,
            n=n,
            threshold=threshold,
            repeat=True,
            memory=memory,
            threads=threads,
            progress=lambda *amounts, told=told: told.append(amounts),
        )
        assert (found.kept.tolist(), found.rounds) == expected
        assert told[0] == (len(answers), 0)
        assert told[-1][0] == told[-1][1] == sorted(told)[-1][0]
        assert (len(told) == 1 + len(found.rounds)) == (memory == 1 << 30)


def test_occurrences_count_not_answers() -> None:
    assert singletons(["ああああああ", "いいいいい", "うえ"], n=5).kept.tolist() == [
        True,
        False,
        True,
    ]
    assert singletons(["いいいいい"], n=5, threshold=0).kept.tolist() == [True]


def test_what_leaves_takes_its_ngrams_along() -> None:
    chain = ["abc", "bcd", "cde", "defg", "xy", "xy"]
    once = singletons(chain, n=2)
    assert once.rounds == [2]
    assert once.kept.tolist() == [False, True, True, False, True, True]
    repeated = singletons(chain, n=2, repeat=True)
    assert repeated.rounds == [2, 2, 0]
    assert repeated.kept.tolist() == [False] * 4 + [True] * 2


def test_weights_stand_for_copies() -> None:
    answers, weights = ["あいうえお", "かきくけこ", "さしすせそ"], [1, 2, 0]
    found = singletons(answers, weights=weights)
    assert found.kept.tolist() == [False, True, False]
    assert singletons(answers, weights=np.array([True, True, False])).kept.sum() == 0


def test_nothing_at_all() -> None:
    found = singletons([])
    assert (found.kept.tolist(), found.rounds) == ([], [0])
    assert singletons(lambda: iter(())).kept.tolist() == []


def test_wrong_settings() -> None:
    for wrong in ({"n": 0}, {"threshold": -1}, {"threshold": 2**32}, {"memory": 0}, {"threads": 0}):
        with pytest.raises(SettingsError):
            singletons(["あ"], **wrong)  # type: ignore[arg-type]
    for weights in ([1, 1], [-1], [1.5], [2**32], [[1]]):
        with pytest.raises(InputError, match="weight"):
            singletons(["あ"], weights=weights)


def test_wrong_answers_are_named() -> None:
    column = pl.Series(["あ", None])
    with pytest.raises(InputError, match="row 3 is null"):
        singletons(lambda: [pl.Series(["い", "う"]), column])
    for wrong in ("あ", [1], ["\ud800"], None, pl.Series([1])):
        with pytest.raises(InputError):
            singletons(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="column of text"):
        singletons(lambda: [pl.Series([1])])


def test_batches_must_stay_the_same() -> None:
    readings = iter(
        [["あい", "うえ"], ["あい"], ["あい", "うえ"], ["あい", "おえ"], ["あ"], ["あ"] * 2]
    )
    for _ in range(3):
        with pytest.raises(InputError, match="the same answers"):
            singletons(lambda: [pl.Series(next(readings))])
