"""Filters against plain Python, for every way of giving answers; choosing answers, counted anew."""

import math
import random
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings as examples, strategies as st

import oracle
from pfgen_rs import Benchmark, InputError, SettingsError, _native
from pfgen_rs.references import filters
from pfgen_rs.references.built import Built
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.consensus import Consensus, consensus
from pfgen_rs.references.filters import Singletons, duplicates, singletons
from pfgen_rs.references.lengths import Length, nearest_length
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select, select
from pfgen_rs.references.steps import Batches


def cut(answers: Sequence[str], sizes: Sequence[int]) -> Batches:
    """Batches of these sizes, over and over, until all answers are given."""

    def batches() -> Iterator[pl.Series]:
        at = turn = 0
        while at < len(answers):
            size = sizes[turn % len(sizes)]
            yield pl.Series(answers[at : at + size], dtype=pl.String)
            at, turn = at + size, turn + 1

    return batches


SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=3)
THREADS = st.sampled_from([1, 2, 8])


@pytest.mark.parametrize(
    ("keep", "readings"),
    [
        (singletons, [["あい", "うえ"], ["あい"]]),
        (singletons, [["あい", "うえ"], ["あい", "おえ"]]),
        (singletons, [["あ"], ["あ"] * 2]),
        (lambda batches: nearest_length(batches, count=1), [["あ", "い"], ["あ"]]),
    ],
)
def test_batches_must_stay_the_same(keep: Any, readings: list[list[str]]) -> None:
    each = iter(readings)
    with pytest.raises(InputError, match="the same answers"):
        keep(lambda: [pl.Series(next(each))])


@pytest.mark.parametrize("keep", [duplicates, singletons, nearest_length])
def test_wrong_answers_are_named(keep: Any) -> None:
    column = pl.Series(["あ", None])
    with pytest.raises(InputError, match="row 3 is null"):
        keep(lambda: [pl.Series(["い", "う"]), column])
    for wrong in ("あ", [1], ["\ud800"], None, pl.Series([1])):
        with pytest.raises(InputError):
            keep(wrong)
    with pytest.raises(InputError, match="column of text"):
        keep(lambda: [pl.Series([1])])


@pytest.mark.parametrize(
    ("keep", "wrong"),
    [
        (duplicates, {"memory": [0]}),
        (singletons, {"n": [0], "threshold": [-1, 2**32], "memory": [0], "threads": [0]}),
        (nearest_length, {key: [-1] for key in ("target", "count", "deviation", "at_least")}),
        (nearest_length, {"share": [0.0, 1.1], "seed": [-1, 2**64]}),
        (lambda texts, **how: consensus(pl.Series(texts), **how), {"share": [0.0, 1.1]}),
    ],
)
def test_wrong_settings(keep: Any, wrong: dict[str, list[Any]]) -> None:
    for name, value in [(name, value) for name, values in wrong.items() for value in values]:
        with pytest.raises(SettingsError):
            keep(["あ"], **{name: value})


# Duplicates.


def copies(answers: list[str]) -> list[int]:
    """By row: how often a text stands in the pool at its first row, 0 at others."""
    counts = Counter(answers)
    return [counts.pop(answer, 0) for answer in answers]


@given(
    st.lists(st.one_of(st.text(alphabet="あ𠮷", max_size=3), st.text(max_size=9)), max_size=60),
    SIZES,
    THREADS,
)
def test_duplicates_as_counted(answers: list[str], sizes: list[int], threads: int) -> None:
    found = duplicates(cut(answers, sizes), threads=threads)
    assert (found.tolist(), str(found.dtype)) == (copies(answers), "uint32")


@pytest.mark.parametrize("most", [20, 300, 5_000])
def test_duplicates_in_little_memory(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    answers = [str(int(rng.random() ** 3 * 3_000)) for _ in range(2_000)]
    readings = 0
    batches = cut(answers, [100, 1])

    def read() -> list[pl.Series]:
        nonlocal readings
        readings += 1
        return list(batches())

    monkeypatch.setattr(filters, "LEAST_MEMORY", 1)
    found = duplicates(read, memory=most * filters.ROW_BYTES)
    assert found.tolist() == copies(answers)
    assert (readings == 1) == (most == 5_000)


def test_many_copies_of_one_text() -> None:
    found = duplicates(cut(["同じ"] * 100_000, [10_000]), memory=1)
    assert found[0] == found.sum() == 100_000


def test_digests() -> None:
    texts = ["", "あ", "𠮷", "あ"]
    digests = _native.text_digests(_native.Texts(texts), 0)
    assert (digests.shape, str(digests.dtype)) == ((4, 2), "uint64")
    assert [f"{high:016x}{low:016x}" for high, low in digests.tolist()] == [
        _native.digest(text.encode()) for text in texts
    ]
    other = _native.text_digests(_native.Texts(texts), 2**64 - 1, threads=2)
    assert (other != digests).any(axis=1).all()


# Singletons.

SINGLES = st.lists(
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
    answers=SINGLES,
    n=st.one_of(st.integers(1, 6), st.integers(7, 40)),
    threshold=st.integers(0, 3),
    repeat=st.booleans(),
    seed=st.one_of(st.none(), st.integers(0, 9)),
    sizes=SIZES,
    threads=THREADS,
)
def test_singletons_as_counted(
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
    settings: dict[str, Any] = {"n": n, "threshold": threshold, "repeat": repeat}
    found = singletons(cut(answers, sizes), weights=weights, memory=1, threads=threads, **settings)
    expected = counted(answers, n, threshold, repeat, weights or [1] * len(answers))
    assert (found.kept.tolist(), found.rounds) == expected


@pytest.mark.parametrize(("n", "threshold"), [(4, 1), (5, 2), (20, 1), (30, 1)])
def test_singletons_in_little_memory(n: int, threshold: int) -> None:
    answers = many(1_200)
    expected = counted(answers, n, threshold, True, [1] * len(answers))
    for memory, threads in ((1 << 30, 1), (1 << 20, 2), (1, 8)):
        told: list[tuple[int, int]] = []
        settings: dict[str, Any] = {"n": n, "threshold": threshold, "repeat": True}
        settings["progress"] = lambda *amounts, told=told: told.append(amounts)
        found = singletons(answers, memory=memory, threads=threads, **settings)
        assert (found.kept.tolist(), found.rounds) == expected
        assert told[0] == (len(answers), 0)
        assert told[-1][0] == told[-1][1] == sorted(told)[-1][0]
        assert (len(told) == 1 + len(found.rounds)) == (memory == 1 << 30)


def test_occurrences_count_not_answers() -> None:
    found = singletons(["ああああああ", "いいいいい", "うえ"], n=5)
    assert found.kept.tolist() == [True, False, True]
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
    for wrong in ([1, 1], [-1], [1.5], [2**32], [[1]]):
        with pytest.raises(InputError, match="weight"):
            singletons(["あ"], weights=wrong)


def test_nothing_at_all() -> None:
    found = singletons([])
    assert (found.kept.tolist(), found.rounds) == ([], [0])
    assert singletons(lambda: iter(())).kept.tolist() == []


# Lengths.

ANSWERS = st.lists(st.text(alphabet="a𠮷", max_size=9), max_size=50)


def sorted_out(answers: list[str], target: int, count: int, seed: int) -> list[bool]:
    digests = _native.text_digests(_native.Texts(answers), seed).tolist()
    order = sorted(
        range(len(answers)), key=lambda row: (abs(len(answers[row]) - target), digests[row], row)
    )
    kept = set(order[:count])
    return [row in kept for row in range(len(answers))]


@given(ANSWERS, st.integers(0, 12), st.integers(0, 60), st.integers(0, 2**64 - 1), SIZES, THREADS)
def test_the_nearest_lengths_are_kept(
    answers: list[str], target: int, count: int, seed: int, sizes: list[int], threads: int
) -> None:
    found = nearest_length(
        cut(answers, sizes), target=target, count=count, seed=seed, threads=threads
    )
    assert found.kept.tolist() == sorted_out(answers, target, count, seed)
    lengths = [len(answer) for answer, kept in zip(answers, found.kept, strict=True) if kept]
    expected = (
        (sum(lengths) / len(lengths), statistics.pstdev(lengths)) if lengths else (math.nan,) * 2
    )
    assert found.spread == pytest.approx(expected, abs=1e-12, nan_ok=True)


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
        *(({}, 10, "all"), ({"share": 0.2}, 2, "share"), ({"deviation": 2}, 5, "deviation")),
        *(
            ({"share": 0.2, "at_least": 5}, 5, "at_least"),
            ({"share": 0.2, "at_least": 50}, 10, "all"),
        ),
        ({"share": 0.2, "at_least": 5, "count": 3}, 3, "count"),
        ({"deviation": 2, "share": 0.4}, 4, "share"),
        ({"deviation": 2, "at_least": 6}, 6, "at_least"),
    ],
    ids=str,
)
def test_what_decides_the_number(limits: dict[str, Any], kept: int, limit: str) -> None:
    found = nearest_length(["a" * length for length in range(1, 11)], target=5, **limits)
    assert (found.kept.sum(), found.limit) == (kept, limit)


@pytest.mark.parametrize(
    ("limits", "within"),
    [({}, 5), ({"deviation": 3}, 3), ({"share": 0.2}, 2), ({"spread": (0.0, 2.7)}, None)],
    ids=str,
)
def test_lengths_that_hardly_differ_are_widened(limits: dict[str, Any], within: int | None) -> None:
    chance = np.random.default_rng(5)
    lengths = np.rint(chance.normal(100, 9, 20_000)).astype(int).tolist()
    answers = ["".join(map(chr, chance.integers(0x3042, 0x3090, length))) for length in lengths]
    found = nearest_length(answers, count=300, **{"spread": (1.8, 2.7), **limits})
    assert (found.within, found.limit, int(found.kept.sum())) == (within, "count", 300)
    if within is None:
        assert found.spread.std == 0
        return
    near = [row for row, length in enumerate(lengths) if abs(length - 100) <= within]
    digests = _native.text_digests(_native.Texts(answers), 0, None)
    drawn = sorted(near, key=lambda row: tuple(digests[row].tolist()))[:300]
    assert np.flatnonzero(found.kept).tolist() == sorted(drawn)
    if not limits:
        assert found.spread.std == pytest.approx(2.9, abs=0.3)
        assert statistics.pstdev(lengths[row] for row in near) >= 2.7


def test_a_build_tells_that_it_widens_lengths(tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = [
        {"question": "q", "answer": "".join(chance.choices("あいうえお", k=90 + n % 21))}
        for n in range(4_200)
    ]
    pl.DataFrame(rows).write_ndjson(tmp_path / "candidates.jsonl")
    config = BuildConfig(
        ("candidates.jsonl",),
        "set",
        folder=tmp_path,
        steps=("length", "select"),
        length=Length(count=200, share=1.0),
        select=Select(100),
    )
    result = build(config)
    [warning] = [each for each in result.warnings if "wider" in each]
    assert warning.startswith(
        "length gives a wider range of lengths to 1 of 1 question (Q01): the 200 ans"
    )
    assert warning.endswith("drawn from those within 5 of it")
    [spread] = result.questions[0].lengths.values()
    assert 2 < spread.std < 4


# Consensus.

AGREEING = st.lists(st.text("あいうえ、。", max_size=9), max_size=12)


def agreements(answers: list[str]) -> list[float]:
    """Truthfulness of each answer against a reference that consists of the others."""
    settings = oracle.Settings()
    return [
        oracle.reference_without(answers, number, settings).truthfulness(answer)
        for number, answer in enumerate(answers)
    ]


@given(AGREEING, st.sampled_from((0.1, 0.5, 0.7, 1.0)), st.integers(0, 8))
def test_what_agrees_most_is_kept(answers: list[str], share: float, at_least: int) -> None:
    found = consensus(pl.Series(answers, dtype=pl.String), share=share, at_least=at_least)
    number = max(-(-len(answers) * round(share * 10) // 10), min(at_least, len(answers)))
    assert int(found.kept.sum()) == number
    if len(answers) < 2:
        return
    expected = agreements(answers)
    kept = [value for value, keep in zip(expected, found.kept, strict=True) if keep]
    gone = [value for value, keep in zip(expected, found.kept, strict=True) if not keep]
    assert found.least == min(kept)
    assert max(gone, default=0.0) <= min(kept)


def test_neither_order_nor_threads_matter() -> None:
    rng = random.Random(5)
    answers = ["".join(rng.choices("あいうえお", k=rng.randrange(3, 9))) for _ in range(300)]
    texts: set[frozenset[str]] = set()
    for threads in (1, 2):
        rng.shuffle(answers)
        found = consensus(pl.Series(answers), share=0.3, threads=threads)
        texts.add(frozenset(np.array(answers)[found.kept].tolist()))
    assert len(texts) == 1


def built(tmp_path: Path, **changes: Any) -> Built:
    """A set of 40 answers that agree and 10 that nobody else gives."""
    common = [f"光合成は植物が光から養分を作る働きです。その{n % 4}番目の説明。" for n in range(40)]
    odd = ["".join(chr(0x4E00 + 40 * n + k) for k in range(20)) for n in range(10)]
    rows = [{"question": "光合成とは？", "answer": text} for text in [*odd, *common]]
    pl.DataFrame(rows).write_ndjson(tmp_path / "candidates.jsonl")
    values = {"steps": ("consensus", "select"), "select": Select(20), **changes}
    config = BuildConfig(("candidates.jsonl",), "set", folder=tmp_path, **values)
    return build(config)


def test_the_step_leaves_what_the_selection_needs(tmp_path: Path) -> None:
    [question] = built(tmp_path, consensus=Consensus(0.1)).questions
    [step, _] = question.reports
    assert (step.step, step.before, step.after) == ("consensus", 50, 20)
    assert step.details["sources"]["X"]["least"] > 0.5
    [removed] = step.removed
    assert (removed.count, len(removed.examples)) == (30, 3)
    assert all("光合成" in answer for answer in question.answers["X"])


def test_lengths_leave_what_the_consensus_needs(tmp_path: Path) -> None:
    steps = ("length", "consensus", "select")
    made = built(tmp_path, steps=steps, select=Select(15), consensus=Consensus(0.4))
    assert [report.after for report in made.questions[0].reports] == [38, 16, 15]


def test_singletons_spare_pools_in_which_everything_is_rare(tmp_path: Path) -> None:
    chosen = {"steps": ("singletons",), "select": Select(5)}
    [applied] = built(tmp_path, **chosen, singletons=Singletons(at_least=40)).questions
    assert [report.after for report in applied.reports] == [40]
    made = built(tmp_path, **chosen, singletons=Singletons(at_least=41))
    [report] = made.questions[0].reports
    assert (report.after, report.details["not_applied"], report.removed) == (50, 40, [])
    assert "fewer answers than singletons.at_least would be left" in made.warnings[0]


# Choosing reference answers: errors counted anew with dictionaries, reproducibility, options, bad input.


def ngrams_of(text: str, lengths: range) -> set[str]:
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
        for ngram in ngrams_of(answer, lengths):
            pool[ngram] += weight
            chosen[ngram] += row in rows
    some, all_ = len(rows), sum(weights)
    squares = ((Fraction(chosen[g], some) - Fraction(pool[g], all_)) ** 2 for g in pool)
    return sum(squares, Fraction(0)) / (len(pool) or 1)


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
    count = data.draw(st.integers(1, 14))
    chosen = select(texts, count, weights=weights, min_n=min_n, max_n=min_n + more)
    exact = error(texts, chosen.rows.tolist(), weights, range(min_n, min_n + more + 1))
    assert chosen.error == pytest.approx(float(exact), rel=1e-9, abs=1e-15)


def test_a_choice_is_better_than_chance(answers: list[str]) -> None:
    chosen = select(pl.Series(answers), 40)
    assert chosen.rows.dtype == np.dtype(np.int64)
    assert chosen.rows.tolist() == sorted(set(chosen.rows.tolist()))
    assert chosen.error == pytest.approx(float(error(answers, chosen.rows.tolist())))
    assert chosen.error < 0.8 * chosen.random_error
    others = random.Random(0)
    drawn = [float(error(answers, others.sample(range(len(answers)), 40))) for _ in range(10)]
    assert statistics.mean(drawn) == pytest.approx(chosen.random_error, rel=0.1)


def test_the_order_of_answers_does_not_matter(answers: list[str]) -> None:
    distinct = sorted(set(answers))
    backwards = distinct[::-1]
    chosen, again = select(distinct, 50), select(backwards, 50)
    assert {distinct[row] for row in chosen.rows} == {backwards[row] for row in again.rows}


def test_strata_get_their_shares(answers: list[str]) -> None:
    sources = ["P"] * 100 + ["S"] * 101 + ["P"] * 99 + ["T"] * 100
    chosen = select(answers, 10, strata=sources)
    shares = Counter(sources[row] for row in chosen.rows)
    assert shares == {"P": 5, "S": 3, "T": 2}  # of 4.975, 2.525 and 2.5
    assert chosen.error == pytest.approx(float(error(answers, chosen.rows.tolist())))
    weights = [1 + 9 * (source == "T") for source in sources]
    chosen = select(answers, 150, strata=np.array(sources), weights=weights)
    shares = Counter(sources[row] for row in chosen.rows)
    assert shares == {"T": 100, "P": 33, "S": 17}  # T cannot have its 115.4


def test_weights_count_as_copies(answers: list[str]) -> None:
    """The pool's distribution is that of the copies; each text is chosen at most once all the same."""
    few = answers[:30]
    weights = [1 + row % 4 for row in range(len(few))]
    chosen = select(few, 5, weights=np.array(weights, np.int32))
    assert len(set(chosen.rows.tolist())) == 5
    copies = [text for text, weight in zip(few, weights, strict=True) for _ in range(weight)]
    starts = [sum(weights[:row]) for row in range(len(few))]
    exact = error(copies, [starts[row] for row in chosen.rows])
    assert chosen.error == pytest.approx(float(exact))


@pytest.mark.parametrize("count", [3, 4, 10**6])
def test_all_are_chosen_where_there_are_few(count: int) -> None:
    chosen = select(["猫", "犬", "猫"], count)
    assert chosen.rows.tolist() == [0, 1, 2]
    assert (chosen.error, chosen.random_error) == (0.0, 0.0)


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
        ({"min_n": 0}, SettingsError, "min_n"),
        ({"min_n": 11}, SettingsError, "max_n"),
        ({"max_n": 2**40}, SettingsError, "max_n"),
    ],
)
def test_what_makes_no_sense(changes: dict[str, Any], kind: type, message: str) -> None:
    arguments = {"answers": ["猫", "犬"], "count": 1, **changes}
    with pytest.raises(kind, match=message):
        select(**arguments)


def test_ctrl_c_ends_it(answers: list[str]) -> None:
    def interrupt(done: int, count: int) -> None:
        assert (done, count) == (16, 40)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(answers, 40, progress=interrupt)
