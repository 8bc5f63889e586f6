"""Index queries against the naive ones of the oracle."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings as examples, strategies as st

import oracle
from pfgen_rs import Benchmark, InputError, NgramIndex, _native
from places import CASE_TABLE

CASES = json.loads(CASE_TABLE.read_text(encoding="utf-8"))
Answers = dict[str, list[str]]

ANSWERS: Answers = {
    "B": ["^猫$", "猫\0猫猫", "行\n末\r\n", ""],
    "A": ["𠮷𠮷\U0010ffff", "\u2028猫\u0085"],
    "無": [],
}
LONGEST = max(len(answer) for answers in ANSWERS.values() for answer in answers)


@pytest.fixture(scope="module")
def index() -> NgramIndex:
    return NgramIndex(ANSWERS)


def check_pattern(index: NgramIndex, answers: Answers, pattern: str, width: int = 3) -> None:
    """All queries for one pattern."""
    assert index.count(pattern) == oracle.count(answers, pattern)
    frequency = index.document_frequency(pattern)
    expected = oracle.document_frequency(answers, pattern)
    assert frequency == (sum(expected.values()), expected)
    assert list(frequency.by_source) == list(answers)
    assert index.locate(pattern) == oracle.locate(answers, pattern)
    lines = [(*at, left, right) for at, left, _, right in index.concordance(pattern, width)]
    assert lines == oracle.concordance(answers, pattern, width)
    followers = [(c or "", n) for c, n in oracle.next_characters(answers, pattern)]
    assert list(index.next_characters(pattern).items()) == followers


def check_ngrams(index: NgramIndex, answers: Answers, n: int, **limits: Any) -> None:
    found = index.ngrams(n, **limits)
    got = [(text, count, frequency.by_source) for text, count, frequency in found]
    assert all(frequency.total == sum(frequency.by_source.values()) for *_, frequency in found)
    assert got == oracle.ngrams(answers, n, **limits)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any]) -> None:
    answers: Answers = case["sources"]
    index = NgramIndex(answers)
    for entry in case["expected"]:
        assert index.count(entry["pattern"]) == entry["count"]
        assert index.document_frequency(entry["pattern"]).by_source == entry["df"]
    patterns = [entry["pattern"] for entry in case["expected"]] + case["texts"]
    for pattern in filter(None, patterns):
        check_pattern(index, answers, pattern)


@examples(max_examples=200)
@given(data=st.data(), alphabet=st.sampled_from(["ab", "あい。", "^$a", "a\0\n𠮷", "\r\u2028b"]))
def test_random_text(data: st.DataObject, alphabet: str) -> None:
    texts = st.lists(st.text(alphabet, max_size=20), max_size=5)
    answers = data.draw(st.dictionaries(st.sampled_from("PSTR"), texts, min_size=1))
    index = NgramIndex(answers)
    patterns = st.lists(st.text(alphabet + "☃", min_size=1, max_size=6), max_size=6)
    width = data.draw(st.integers(0, 25))
    for pattern in data.draw(patterns):
        check_pattern(index, answers, pattern, width)
    min_df, top = data.draw(st.integers(0, 4)), data.draw(st.none() | st.integers(0, 5))
    check_ngrams(index, answers, data.draw(st.integers(0, 6)), min_df=min_df, top=top)


# Patterns at the edges.


@pytest.mark.parametrize(
    "pattern",
    ["^", "$", "^猫$", "\0", "猫\0", "\n", "\r\n", "\r", "\u2028", "\u0085", "猫", "行\n末\r\n",
     "𠮷", "𠮷𠮷", "\U0010ffff", "𠮷\U0010ffff"],
)  # fmt: skip
def test_characters_that_mean_something_elsewhere(index: NgramIndex, pattern: str) -> None:
    assert index.count(pattern) > 0
    check_pattern(index, ANSWERS, pattern)


ABSENT = [*"鯨\ufffe\U0001f600", "猫鯨", "猫" * (LONGEST + 1), "鯨" * 5000, "$猫", "$猫\0", "\r\n^"]


@pytest.mark.parametrize("pattern", ABSENT)
def test_patterns_that_do_not_occur(index: NgramIndex, pattern: str) -> None:
    """Unknown characters, patterns longer than any answer, patterns across answers."""
    assert index.count(pattern) == 0
    check_pattern(index, ANSWERS, pattern)


def test_the_empty_pattern_is_refused(index: NgramIndex) -> None:
    queries: list[Callable[[str], object]] = [
        *(index.count, index.document_frequency, index.locate, index.concordance),
        *(index.next_characters, lambda pattern: index.count_batch(["猫", pattern])),
        lambda pattern: index.document_frequency_batch(["猫", pattern]),
    ]
    for query in queries:
        with pytest.raises(InputError, match="empty n-gram"):
            query("")


@pytest.mark.parametrize("n", [0, 1, 2, 3, LONGEST, LONGEST + 1, 10**6])
def test_ngrams_of_any_length(index: NgramIndex, n: int) -> None:
    check_ngrams(index, ANSWERS, n)
    check_ngrams(index, ANSWERS, n, min_df=2, top=1)


def test_sources_of_nothing() -> None:
    empty: list[Answers] = [{"A": []}, {"A": [""]}, {"A": [], "B": ["", ""]}]
    for answers in empty:
        index = NgramIndex(answers)
        check_pattern(index, answers, "猫")
        check_ngrams(index, answers, 1)
        assert index.answer_counts == {source: len(texts) for source, texts in answers.items()}
    with pytest.raises(ValueError, match="at least one source"):
        NgramIndex({})


def test_the_end_of_an_answer_follows_too(index: NgramIndex) -> None:
    followers = index.next_characters("猫")
    assert followers == {"": 1, "\0": 1, "$": 1, "猫": 1, "\u0085": 1}
    assert sum(followers.values()) == index.count("猫") == 5


def test_repr_shows_no_text(index: NgramIndex) -> None:
    assert repr(index) == "NgramIndex(B: 4, A: 2, 無: 0; 18 characters)"
    assert index.sources == ["B", "A", "無"]


# Batches.

PATTERNS = ["猫", "^", "鯨", "𠮷", "猫猫", "\0"]
FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "Utf8": lambda v: pa.array(v, pa.string()),
    "LargeUtf8": lambda v: pa.array(v, pa.large_string()),
    "Utf8View": lambda v: pa.array(v, pa.string_view()),
    "chunked": lambda v: pa.chunked_array([v[:2], [], v[2:]], pa.string()),
    "polars": lambda v: pl.Series(v, dtype=pl.String),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("patterns", [PATTERNS, []])
def test_batches(index: NgramIndex, form: str, patterns: list[str]) -> None:
    counts = index.count_batch(FORMS[form](patterns))
    assert counts.dtype == np.dtype(np.uint64)
    assert counts.shape == (len(patterns),)
    assert counts.tolist() == [oracle.count(ANSWERS, pattern) for pattern in patterns]
    frequencies = index.document_frequency_batch(FORMS[form](patterns))
    assert frequencies.dtype == np.dtype(np.uint32)
    assert frequencies.shape == (len(patterns), 3)
    expected = [oracle.document_frequency(ANSWERS, pattern) for pattern in patterns]
    assert frequencies.tolist() == [list(row.values()) for row in expected]


@pytest.mark.parametrize(
    "patterns", ["猫", ["猫", None], ["猫", 1], pa.array(["猫", None]), pa.array([1]), ["\ud800"]]
)
def test_batches_of_something_else(index: NgramIndex, patterns: Any) -> None:
    with pytest.raises(InputError):
        index.count_batch(patterns)
    with pytest.raises(InputError):
        index.document_frequency_batch(patterns)


def unchecked(rows: list[bytes], kind: pa.DataType) -> pa.Array:
    """Text as another library may hand it over."""
    text = pa.array(rows, pa.large_binary()).cast(pa.large_string(), safe=False)
    return text.cast(kind, safe=False)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_character_cut_by_rows(kind: pa.DataType, threads: int) -> None:
    """All rows together are UTF-8, but not each."""
    rows = ["猫と犬と鳥と魚".encode()] * 600
    whole = b"".join(rows)
    _native.Texts(unchecked(rows, kind), threads)
    for cut in (1, 2, 13, 14, 21 * 300 + 1):
        parts = [whole[:cut], whole[cut : cut + 21], whole[cut + 21 :]]
        with pytest.raises(InputError, match="row 0 is not UTF-8"):
            _native.Texts(unchecked(parts, kind), threads)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_long_text_is_checked_in_pieces(kind: pa.DataType) -> None:
    """Pieces of a megabyte end inside characters; damage next to where they end is found."""
    short, long = [b"a" * 13] * 300, "あ".encode() * 100_000
    _native.Texts(unchecked([*short, *[long] * 12], kind), 2)
    for place in (2**20 - 2, 2**20 - 1, 2**20, 2**20 + 1, 2 * 2**20, 3 * 2**20 + 1):
        number, at = divmod(place - 13 * len(short), len(long))
        damaged = [long] * 12
        damaged[number] = long[:at] + b"\xff" + long[at + 1 :]
        with pytest.raises(InputError, match=f"row {300 + number} is not UTF-8"):
            _native.Texts(unchecked([*short, *damaged], kind), 2)


@given(
    st.lists(st.binary(max_size=20) | st.text(max_size=20).map(str.encode), max_size=12), st.data()
)
def test_validity_is_that_of_each_row(rows: list[bytes], data: st.DataObject) -> None:
    def is_text(row: bytes) -> bool:
        try:
            row.decode()
        except UnicodeDecodeError:
            return False
        return True

    kind = data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    start = data.draw(st.integers(0, len(rows)))
    column = unchecked(rows, kind).slice(start)
    cut = data.draw(st.integers(0, len(column)))
    parts = pa.chunked_array([column.slice(0, cut), column.slice(cut)], kind)
    wrong = [row for row, text in enumerate(rows[start:]) if not is_text(text)]
    for texts in (column, parts):
        if not wrong:
            assert len(_native.Texts(texts)) == len(rows) - start
            continue
        with pytest.raises(InputError, match=f"row {wrong[0]} is not UTF-8"):
            _native.Texts(texts)


@pytest.mark.parametrize("number", [-1, 2**32, 2**80])
def test_numbers_out_of_range(index: NgramIndex, number: int) -> None:
    for ask in (
        lambda: index.ngrams(number),
        lambda: index.ngrams(1, min_df=number),
        lambda: index.ngrams(1, top=number),
        lambda: index.concordance("猫", width=number),
    ):
        with pytest.raises(InputError, match=rf"must be between 0 and \d+, not {number}"):
            ask()


def test_threads_share_an_index(mini: Benchmark) -> None:
    question = next(iter(mini))
    answers = {source: list(texts) for source, texts in question.answers.items()}
    patterns = sorted({t[i : i + 3] for t in next(iter(answers.values()))[:3] for i in (0, 9)})

    def ask(pattern: str) -> tuple[object, ...]:
        own = question.index
        return own.locate(pattern), own.document_frequency(pattern), own.ngrams(2, 500)

    alone = [ask(pattern) for pattern in patterns]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, patterns * 20)) == alone * 20
    assert [places for places, *_ in alone] == [oracle.locate(answers, p) for p in patterns]
