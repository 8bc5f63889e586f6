"""Choosing reference answers: errors counted anew with dictionaries, reproducibility, options, bad input."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings as examples, strategies as st

from pfgen_rs import Benchmark, InputError, SettingsError
from pfgen_rs.references import selection
from pfgen_rs.references.selection import Selection, select

MANY = 200_000


def ngrams(text: str, lengths: range) -> set[str]:
    return {text[i : i + n] for n in lengths for i in range(len(text) - n + 1)}


def error(
    answers: Sequence[str],
    rows: Sequence[int],
    weights: Sequence[int] | None = None,
    lengths: range = range(1, 11),
) -> Fraction:
    """The error of choosing `rows`, as it is defined."""
    pool: Counter[str] = Counter()
    chosen: Counter[str] = Counter()
    weights = weights or [1] * len(answers)
    for row, (answer, weight) in enumerate(zip(answers, weights, strict=True)):
        for ngram in ngrams(answer, lengths):
            pool[ngram] += weight
            chosen[ngram] += row in rows
    some, all_ = len(rows), sum(weights)
    squares = ((Fraction(chosen[g], some) - Fraction(pool[g], all_)) ** 2 for g in pool)
    return sum(squares, Fraction(0)) / (len(pool) or 1)


def same(a: Selection, b: Selection) -> bool:
    """The same choice, whatever time it took."""
    figures = [(s.error, s.greedy_error, s.random_error, s.proposals, s.seed) for s in (a, b)]
    return figures[0] == figures[1] and a.rows.tolist() == b.rows.tolist()


@pytest.fixture(scope="module")
def answers(mini: Benchmark) -> list[str]:
    """Answers to one question, many with wrong characters, so that some n-grams are rare."""
    rng = random.Random(4)
    question = next(iter(mini))
    texts = [text for own in question.answers.values() for text in own[:400]]
    spoilt = [
        "".join(c if rng.random() > 0.01 else rng.choice(text) for c in text) for text in texts
    ]
    return spoilt[:400]


TEXT = st.text("ab", max_size=12) | st.text("あ𠮷。", max_size=8)
TEXTS = st.lists(TEXT, min_size=1, max_size=12)


@examples(max_examples=200)
@given(data=st.data(), texts=TEXTS)
def test_errors_are_exact(data: st.DataObject, texts: list[str]) -> None:
    rows = len(texts)
    weights = data.draw(st.none() | st.lists(st.integers(1, 99), min_size=rows, max_size=rows))
    min_n, more = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 9))
    chosen = select(
        texts,
        data.draw(st.integers(1, 14)),
        weights=weights,
        seed=data.draw(st.integers(0, 2**64 - 1)),
        proposals=data.draw(st.integers(0, 500)),
        restarts=data.draw(st.integers(1, 3)),
        min_n=min_n,
        max_n=min_n + more,
    )
    exact = error(texts, chosen.rows.tolist(), weights, range(min_n, min_n + more + 1))
    assert chosen.error == float(exact)
    assert chosen.error <= chosen.greedy_error


def test_no_exchange_is_better(answers: list[str]) -> None:
    """What is found after long is at most what a single exchange would lead to."""
    few = [answer[:20] for answer in answers[:25]]
    chosen = select(few, 4, proposals=20_000, restarts=3)
    rows = chosen.rows.tolist()
    best = min(
        error(few, [new if row == old else row for row in rows])
        for old in rows
        for new in range(len(few))
        if new not in rows
    )
    assert chosen.error <= float(best)


def test_a_choice_is_better_than_chance(answers: list[str]) -> None:
    chosen = select(pl.Series(answers), 40, seed=3)
    assert chosen.rows.dtype == np.dtype(np.int64)
    assert chosen.rows.tolist() == sorted(set(chosen.rows.tolist()))
    assert chosen.error == float(error(answers, chosen.rows.tolist()))
    assert chosen.error < chosen.greedy_error < 0.8 * chosen.random_error
    others = random.Random(0)
    drawn = [float(error(answers, others.sample(range(len(answers)), 40))) for _ in range(3)]
    assert 0.5 * min(drawn) < chosen.random_error < 2 * max(drawn)


def test_rounds_and_threads_are_alike(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = select(answers, 50, seed=9, proposals=MANY, restarts=3, threads=1)
    for threads in (2, 8, None):
        again = select(answers, 50, seed=9, proposals=MANY, restarts=3, threads=threads)
        assert same(again, expected)
    for seconds in (1e-4, 0.01):
        monkeypatch.setattr(selection, "_ROUND", seconds)
        assert same(select(answers, 50, seed=9, proposals=MANY, restarts=3), expected)
    assert not same(select(answers, 50, seed=10, proposals=MANY, restarts=3), expected)


def test_errors_never_rise(answers: list[str]) -> None:
    told: list[tuple[int, float]] = []
    chosen = select(answers, 50, seconds=0.7, progress=lambda *now: told.append(now))
    errors = [each for _, each in told]
    assert len(told) > 2
    assert errors == sorted(errors, reverse=True)
    assert told[0] == (0, chosen.greedy_error)
    assert told[-1] == (chosen.proposals, chosen.error)


def test_a_run_by_time_is_repeated_by_its_proposals(answers: list[str]) -> None:
    timed = select(answers, 50, seconds=0.3, seed=5, restarts=2)
    assert timed.proposals > 0
    assert 0.3 <= timed.seconds < 3
    assert same(select(answers, 50, proposals=timed.proposals, seed=5, restarts=2), timed)


def test_the_best_restart_wins(answers: list[str]) -> None:
    found = [select(answers, 30, proposals=MANY, restarts=n).error for n in (1, 2, 4)]
    assert found == sorted(found, reverse=True)


def test_strata_get_their_shares(answers: list[str]) -> None:
    sources = ["P"] * 100 + ["S"] * 101 + ["P"] * 99 + ["T"] * 100
    for proposals in (0, MANY):
        chosen = select(answers, 10, strata=sources, proposals=proposals)
        shares = Counter(sources[row] for row in chosen.rows)
        assert shares == {"P": 5, "S": 3, "T": 2}  # of 4.975, 2.525 and 2.5
        assert chosen.error == float(error(answers, chosen.rows.tolist()))
    weights = [1 + 9 * (source == "T") for source in sources]
    chosen = select(answers, 150, strata=np.array(sources), weights=weights, proposals=MANY)
    shares = Counter(sources[row] for row in chosen.rows)
    assert shares == {"T": 100, "P": 33, "S": 17}  # T cannot have its 115.4


def test_weights_count_as_copies(answers: list[str]) -> None:
    """The pool's distribution is that of the copies; each text is chosen at most once all the same."""
    few = answers[:30]
    weights = [1 + row % 4 for row in range(len(few))]
    chosen = select(few, 5, weights=np.array(weights, np.int32), proposals=MANY)
    assert len(set(chosen.rows.tolist())) == 5
    copies = [text for text, weight in zip(few, weights, strict=True) for _ in range(weight)]
    starts = [sum(weights[:row]) for row in range(len(few))]
    assert chosen.error == float(error(copies, [starts[row] for row in chosen.rows]))


@pytest.mark.parametrize("count", [3, 4, 10**6])
def test_all_are_chosen_where_there_are_few(count: int) -> None:
    chosen = select(["猫", "犬", "猫"], count)
    assert chosen.rows.tolist() == [0, 1, 2]
    assert (chosen.error, chosen.greedy_error, chosen.random_error) == (0.0, 0.0, 0.0)
    assert chosen.proposals == 0
    assert select(["猫", "犬"], count, seconds=60, weights=[3, 1]).seconds < 10


def test_answers_without_text() -> None:
    chosen = select(["", "", ""], 2)
    assert (len(chosen.rows), chosen.error) == (2, 0.0)
    assert len(select(["", "猫", ""], 2, min_n=2).rows) == 2


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"answers": []}, InputError, "no answer"),
        ({"answers": "猫"}, InputError, "column of text"),
        ({"answers": ["猫", None]}, InputError, "row 1 is NoneType"),
        ({"weights": [1]}, InputError, "weights has 1 rows, but there are 2 answers"),
        *(
            ({"weights": wrong}, InputError, "a column of integers of at least 1")
            for wrong in ([1, 0], [-1, 1], [1.0, 2.0], [[1, 2]])
        ),
        ({"weights": [2**62, 2**62]}, InputError, "too large"),
        ({"strata": ["a"]}, InputError, "strata has 1 rows"),
        ({"strata": [1, None]}, InputError, "can be sorted"),
        ({"count": 0}, SettingsError, "count"),
        ({"count": -1}, SettingsError, "invalid setting"),
        ({"count": 2.5}, SettingsError, "invalid setting"),
        ({"seed": -1}, SettingsError, "invalid setting"),
        ({"seed": 2**64}, SettingsError, "invalid setting"),
        ({"restarts": 0}, SettingsError, "restarts"),
        ({"min_n": 0}, SettingsError, "min_n"),
        ({"min_n": 11}, SettingsError, "max_n"),
        ({"max_n": 2**40}, SettingsError, "max_n"),
        ({"proposals": -1}, SettingsError, "proposals"),
        ({"seconds": -1.0}, SettingsError, "seconds"),
        ({"seconds": float("nan")}, SettingsError, "seconds"),
        ({"seconds": 1, "proposals": 1}, SettingsError, "mutually exclusive"),
        ({"threads": 0, "restarts": 2}, SettingsError, "threads"),
        ({"threads": 0}, SettingsError, "threads"),
    ],
)
def test_what_makes_no_sense(changes: dict[str, Any], kind: type, message: str) -> None:
    arguments = {"answers": ["猫", "犬"], "count": 1, **changes}
    with pytest.raises(kind, match=message):
        select(**arguments)


def test_answers_with_too_many_ngrams() -> None:
    with pytest.raises(InputError, match=r"row 1 has \d+ different n-grams"):
        select(["猫", "".join(map(chr, range(0x4E00, 0x4E00 + 7000)))], 1)


def test_ctrl_c_ends_it(answers: list[str]) -> None:
    def interrupt(done: int, _: float) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(answers, 20, proposals=2**60, progress=interrupt)
