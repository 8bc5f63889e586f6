"""Regular expressions of rules: natively what Python finds, and otherwise Python with a time limit."""

import os
import re
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given, settings as examples, strategies as st

import oracle
import small
from expressions import EXPRESSIONS, LINES, OTHER, SAME, TEXTS
from pfgen_rs import Benchmark, BenchmarkError, Settings, _native
from pfgen_rs.metrics import expressions
from pfgen_rs.metrics.expressions import OutOfTimeError, limited_ends, linear_expression
from pfgen_rs.metrics.helpfulness import Helpfulness, parse_rules

SETTINGS = Settings()


def theirs(pattern: str, text: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = re.search(pattern, text)
    return _native.UNKNOWN if found is None else found.end()


def ours(pattern: str, texts: list[str], limit: int = 1000) -> list[int] | None:
    linear = linear_expression(pattern)
    expression = None if linear is None else _native.Expression.compile(linear)
    return None if expression is None else expression.ends(_native.Texts(texts), limit).tolist()


@pytest.mark.parametrize("pattern", SAME)
def test_the_table(pattern: str) -> None:
    texts = [*TEXTS, "2024年12月", "a" * 30 + "b"]
    if pattern in ("(a+)+$", "(a|aa)+$"):
        texts.pop()  # takes Python too long
    assert ours(pattern, texts) == [theirs(pattern, text) for text in texts]


@pytest.mark.parametrize("pattern", OTHER)
def test_outside_the_table(pattern: str) -> None:
    re.compile(pattern)
    assert ours(pattern, TEXTS) is None
    ends = limited_ends(pattern, TEXTS).tolist()
    assert ends == [theirs(pattern, text) for text in TEXTS]


@pytest.mark.parametrize("pattern", [".", r"\d", r"\w", r"\s", r"\D", r"[^\W_]", r"[^\S\n]"])
def test_classes_are_those_of_the_running_python(pattern: str) -> None:
    every = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    found = ours(pattern, every)
    assert found is not None
    python = re.compile(pattern)
    wrong = [c for c, end in zip(every, found, strict=True) if (end == 1) != bool(python.match(c))]
    assert wrong == []


@examples(max_examples=200)
@given(EXPRESSIONS, st.lists(LINES, max_size=5))
@example("(?:a|ab)(?:c|bcd)*?$", ["abcd", "abcd\n", "abc"])
@example("(a|ab)(c|bcd)(d*)", ["abcd"])
@example(r"(?:\s|a$)|\n$", ["a\n", "\n\n"])
def test_the_native_end_is_pythons(pattern: str, texts: list[str]) -> None:
    try:
        re.compile(pattern)
    except re.error:  # two groups of one name do not occur, but `^*` does
        return
    found = ours(pattern, texts)
    assert found is None or found == [theirs(pattern, text) for text in texts]


@examples(max_examples=200)
@given(
    st.text(st.sampled_from(r"ab.\[]()^$|*+?{},12-:&~#P<>=!dwsWxuAZnb "), max_size=10),
    st.lists(LINES, max_size=4),
)
def test_any_expression_that_is_translated_means_the_same(pattern: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            re.compile(pattern)
        except (re.error, OverflowError):
            return
    found = ours(pattern, texts)
    assert found is None or found == [theirs(pattern, text) for text in texts]


def test_only_as_much_is_read_as_python_reads() -> None:
    assert ours("あ$", ["ああああ"], 3) == [3]
    assert ours("い", ["ああああい"], 4) == [_native.UNKNOWN]
    assert ours("い", ["ああああい"] * 3000, 5) == [5] * 3000


# In a benchmark.


def rules(*patterns: str, settings: Settings = SETTINGS) -> Benchmark:
    keywords = [{"and": [{"t": "あ"}, {"t": pattern, "importance": 0.5}]} for pattern in patterns]
    return small.benchmark({"answers": {"P": ["ああい"]}, "keywords": keywords}, settings=settings)


def test_nested_repetitions_cost_nothing() -> None:
    benchmark = rules("(a+)+$", "(?:a|aa)+c")
    started = time.perf_counter()
    assert benchmark.score("Q1", "あ" + "a" * 38 + "b").helpfulness == 0
    assert time.perf_counter() - started < 2
    assert benchmark._helpfulness(benchmark["Q1"]).backtracking == {}


@pytest.mark.parametrize("unit", ["character", "word"])
def test_a_search_that_takes_long_is_an_error(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "TIME_LIMIT", 0.3)
    settings = Settings(unit=unit)  # type: ignore[arg-type]
    benchmark = rules("い", r"\b(a+)+$", settings=settings)
    assert list(benchmark._helpfulness(benchmark["Q1"]).backtracking) == [r"\b(a+)+$"]
    wanted = (
        r"question Q1, keywords\[1\].and\[1\]: matching the regular expression .* to one answer took "
        r"longer than 0\.3 seconds: write it without repetitions within repetitions"
    )
    text = "い " + "a" * 36 + "b"
    scorer = benchmark.scorer("helpfulness")
    for score in (
        lambda: benchmark.score("Q1", text),
        lambda: benchmark.score_batch(["Q1"] * 2, ["い", text]),
        lambda: scorer("Q1", [text]),
        lambda: benchmark.explain("Q1", text),
    ):
        with pytest.raises(BenchmarkError, match=wanted):
            score()
    assert benchmark.score("Q1", "あい aa").helpfulness == 1


def test_both_engines_give_the_oracles_helpfulness() -> None:
    keywords = [{"t": "い+$"}, {"t": r"(?<=あ)い", "importance": 0.5}, {"t": r"\d{2}"}]
    benchmark = small.benchmark({"answers": {"P": ["ああい"]}, "keywords": keywords})
    wanted = oracle.Question({"answers": {"P": ["ああい"]}, "keywords": keywords})
    for text in ["", "あい", "あい\n", "い１２", "あ" * 200 + "い"]:
        assert benchmark.score("Q1", text).helpfulness == round(wanted.helpfulness(text)[0], 4)


# The process that searches.


def process() -> int:
    assert expressions._searching.process is not None
    return expressions._searching.process.pid


def test_one_process_for_all_threads() -> None:
    texts = [["ab" * i, "b" * i] for i in range(60)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda of: limited_ends("(?<=a)b+", of).tolist(), texts))
    assert found == [[theirs("(?<=a)b+", text) for text in of] for of in texts]
    first = process()
    many = ["い" * (i % 50) for i in range(3000)]  # which go in parts
    assert limited_ends(r"い+\b", many).tolist() == [theirs("い+", text) for text in many]
    assert limited_ends(r"い+\b", []).tolist() == []
    assert process() == first


def test_a_killed_process_is_replaced() -> None:
    limited_ends("(?=a)", ["a"])
    killed = process()
    os.kill(killed, signal.SIGTERM)
    assert limited_ends("(?=a)", ["ba"]).tolist() == [1]
    assert process() != killed


@pytest.mark.parametrize(
    ("owner", "name", "value", "words"),
    [
        (sys, "executable", "/nowhere/python3", r".*'\(\?=a\)'.*/nowhere/python3.* failed"),
        (expressions, "_SCRIPT", "/nowhere/script.py", ".* failed: exit status 2"),
        (sys, "executable", "/usr/bin/x", ".*'/usr/bin/x' is not a Python interpreter: write"),
    ],
)
def test_a_process_that_cannot_start_is_an_error(
    owner: Any, name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expressions._searching.close()
    monkeypatch.setattr(owner, name, value)
    with pytest.raises(BenchmarkError, match=f"cannot match {words}"):
        limited_ends("(?=a)", ["a"])


def test_a_rule_that_compiles_for_minutes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "TIME_LIMIT", 0.5)
    pattern = "|".join(f"{branch:05}{'あ' * 195}" for branch in range(20_000))
    started = time.perf_counter()
    with pytest.raises(BenchmarkError, match=r"^keywords\[0\]: compiling the regular ") as told:
        parse_rules([{"t": pattern}])
    assert time.perf_counter() - started < 10
    assert str(told.value).endswith("took longer than 0.5 seconds: write it shorter")
    assert len(str(told.value)) < 200


def test_long_rules_are_matched_and_checked_like_short_ones() -> None:
    words = [f"語{number}" for number in range(5000)]
    [rule] = parse_rules([{"t": "|".join(words)}])
    assert Helpfulness([rule], Settings()).evaluate("これは語4999です。") == (1.0, 11)
    with pytest.raises(BenchmarkError, match=r"invalid regular expression .*…: missing"):
        parse_rules([{"t": "|".join(words) + "|("}])


@pytest.mark.parametrize("pattern", [r"\w" * 4_990, "[" + r"\w" * 4_990 + "]", r"\W{9}" * 1_600])
def test_a_rule_of_many_classes_takes_neither_seconds_nor_gigabytes(pattern: str) -> None:
    # Many are left to Python, which writes out no classes; in brackets Python takes them for one.
    assert (linear_expression(pattern) is None) == (pattern[0] != "[")
    [rule] = parse_rules([{"t": pattern}])
    assert Helpfulness([rule], Settings()).evaluate("猫")[0] == float(pattern[0] == "[")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_has_its_own_process() -> None:
    limited_ends("(?=a)", ["a"])
    parents = process()
    child = os.fork()
    if not child:
        right = limited_ends("(?=b)", ["ab"]).tolist() == [1] and process() != parents
        os._exit(0 if right else 1)
    assert limited_ends("(?=a)", ["ba"]).tolist() == [1]
    assert os.waitpid(child, 0)[1] == 0
    assert limited_ends("(?=a)", ["bba"]).tolist() == [2]
    assert process() == parents


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no pthread_kill")
def test_ctrl_c_ends_a_search() -> None:
    main = threading.get_ident()
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    started = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        limited_ends(r"\b(a+)+$", ["a" * 40 + "b"])
    assert time.perf_counter() - started < 3
    assert limited_ends("(?=a)", ["ba"]).tolist() == [1]


def test_the_time_limit_is_for_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "TIME_LIMIT", 0.5)
    text = "a" * 20 + "b"
    started = time.perf_counter()
    assert theirs(r"\b(a+)+$", text) == _native.UNKNOWN
    count = int(0.8 / (time.perf_counter() - started)) + 1
    assert limited_ends(r"\b(a+)+$", [text] * count).tolist() == [_native.UNKNOWN] * count
    with pytest.raises(OutOfTimeError):
        limited_ends(r"\b(a+)+$", [text, "a" * 60 + "b"])
