"""Settings refuse what makes no sense, and the signature names what is unusual."""

import copy
import hashlib
import pickle
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Any

import pytest

import small
from pfgen_rs import Benchmark, PfgenError, Settings, SettingsError, __version__
from pfgen_rs.metrics.settings import SKIPPED, fixed_part, signature

HASH = "13581cc9df3fb849ec9293bcec2b03de1a48ecc2"
START = "pfgen|set:13581cc9"
END = f"v:{__version__}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"variant": "papers"}, "unknown variant 'papers'"),
        ({"summation": "fsum"}, "unknown summation 'fsum': expected one of 'plain', 'compensated'"),
        ({"variant": "paper", "summation": "compensated"}, "variant 'paper' has no published"),
        ({"min_n": 0}, "min_n must be at least 1"),
        ({"min_n": 5, "max_n": 4}, "max_n must not be smaller than min_n"),
        ({"max_n": 201}, "max_n must not be larger than max_length"),
        ({"truthfulness_n": 0}, "truthfulness_n must be at least 1"),
        ({"truthfulness_n": 201}, "truthfulness_n must not be larger than max_length"),
        ({"threshold": 0.0}, "threshold must be between"),
        ({"threshold": -0.1}, "threshold must be between"),
        ({"threshold": 1e-310}, "threshold must be between"),
        ({"threshold": 1.0000001}, "threshold must be between"),
        ({"threshold": float("nan")}, "threshold must be between"),
        ({"target_length": 150}, "zero_length must be larger than target_length"),
        ({"zero_length": 201}, "max_length must not be smaller than zero_length"),
        ({"max_length": 149}, "max_length must not be smaller than zero_length"),
        ({"max_length": 10**7}, "max_length must not be larger"),
        ({"min_n": -1}, "invalid setting"),
        ({"max_n": 2**70}, "invalid setting"),
        ({"max_n": "10"}, "invalid setting"),
        ({"threshold": None}, "invalid setting"),
        ({"target_length": 99.5}, "invalid setting"),
        ({"skipped": "\ud800"}, "invalid setting"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**values)


def test_settings_errors_are_of_the_package_and_value_errors() -> None:
    with pytest.raises(ValueError, match="min_n") as caught:
        Settings(min_n=0)
    assert isinstance(caught.value, PfgenError)


@pytest.mark.parametrize(
    "values",
    [
        {"min_n": 200, "max_n": 200},
        {"truthfulness_n": 200},
        {"threshold": 1.0},
        {"threshold": 1e-9},
        {"target_length": 0, "zero_length": 1},
        {"target_length": 199, "zero_length": 200},
        {"skipped": ""},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(values: dict[str, Any]) -> None:
    chosen = Settings(**values)
    assert {name: getattr(chosen, name) for name in values} == values


def test_summation_is_no_part_of_the_definition() -> None:
    chosen = Settings(max_n=9, summation="compensated")
    assert chosen.definition == Settings(max_n=9) != chosen
    assert chosen.definition.definition == chosen.definition


def test_settings_are_values() -> None:
    chosen = Settings(max_n=9)
    assert chosen == Settings(max_n=9) != Settings()
    assert replace(chosen, max_n=10) == Settings()
    assert len({chosen, Settings(max_n=9), Settings()}) == 2
    with pytest.raises(FrozenInstanceError):
        chosen.max_n = 8  # type: ignore[misc]


def test_copies_are_equal_and_score_the_same() -> None:
    chosen = Settings(variant="paper", max_n=9)
    data = {"answers": {"A": ["猫は眠る"]}, "keywords": [{"t": "猫"}]}
    benchmark = small.benchmark(data, settings=chosen).prepare()
    assert asdict(chosen) == {**asdict(Settings()), "variant": "paper", "max_n": 9}
    for copied in (copy.deepcopy(benchmark), pickle.loads(pickle.dumps(benchmark))):
        assert copied.settings == chosen
        assert copied.score("Q1", "猫が眠る") == benchmark.score("Q1", "猫が眠る")


def test_signature_of_the_published_settings() -> None:
    assert signature(HASH, Settings()) == f"{START}|variant:pfgen-bench|n:1-10|t:3|{END}"
    assert fixed_part() == f"pfgen|{END}"


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"variant": "paper"}, "variant:paper|n:1-10|t:3"),
        ({"min_n": 2, "max_n": 5}, "variant:pfgen-bench|n:2-5|t:3"),
        ({"truthfulness_n": 4}, "variant:pfgen-bench|n:1-10|t:4"),
        ({"threshold": 0.01}, "variant:pfgen-bench|n:1-10|t:3|threshold:0.01"),
        ({"target_length": 90}, "variant:pfgen-bench|n:1-10|t:3|length:90-150-200"),
        ({"zero_length": 140}, "variant:pfgen-bench|n:1-10|t:3|length:100-140-200"),
        ({"max_length": 300}, "variant:pfgen-bench|n:1-10|t:3|length:100-150-300"),
        ({"summation": "compensated"}, "variant:pfgen-bench|n:1-10|t:3|sum:compensated"),
        ({"helpfulness": False}, "variant:pfgen-bench|n:1-10|t:3|helpfulness:none"),
    ],
)
def test_signature_of_other_settings(values: dict[str, Any], parts: str) -> None:
    assert signature(HASH, Settings(**values)) == f"{START}|{parts}|{END}"


def test_signature_of_other_skipped_characters() -> None:
    digest = hashlib.sha256("|あ".encode()).hexdigest()[:8]
    expected = f"{START}|variant:pfgen-bench|n:1-10|t:3|skip:{digest}|{END}"
    assert signature(HASH, Settings(skipped="あ|")) == expected
    assert signature(HASH, Settings(skipped="|あ")) == expected
    for same in (SKIPPED[::-1], SKIPPED * 2):
        assert signature(HASH, Settings(skipped=same)) == signature(HASH, Settings())


def test_signature_of_everything_at_once() -> None:
    chosen = Settings("paper", 2, 3, 4, 0.25, 10, 20, 30, "")
    digest = hashlib.sha256(b"").hexdigest()[:8]
    parts = f"variant:paper|n:2-3|t:4|threshold:0.25|length:10-20-30|skip:{digest}"
    assert signature(HASH, chosen, answered=(3, 50)) == f"{START}|{parts}|questions:3/50|{END}"


def test_signature_of_a_partial_run() -> None:
    usual = f"{START}|variant:pfgen-bench|n:1-10|t:3"
    assert signature(HASH, Settings(), answered=(49, 50)) == f"{usual}|questions:49/50|{END}"
    assert signature(HASH, Settings(), answered=(50, 50)) == f"{usual}|{END}"


def test_scores_carry_the_signature() -> None:
    first = {"answers": {"A": ["あ"]}, "keywords": [{"t": "あ"}]}
    second = {"answers": {"A": ["い"]}, "question_id": "Q2", "question": "？"}
    benchmark = small.benchmark(first, second, settings=Settings(max_n=4))
    line = f"pfgen|set:00000000|variant:pfgen-bench|n:1-4|t:3|{END}"
    assert benchmark.signature == benchmark.score("Q1", "あ").signature == line
    assert str(benchmark.score("Q1", "あ")).endswith(f"({line})")
    assert benchmark.with_settings(Settings(max_n=3)).signature == line.replace("1-4", "1-3")
    partial = line.replace(END, f"questions:1/2|{END}")
    assert benchmark.evaluate(["Q1"], ["あ"]).signature == partial


@pytest.mark.published
def test_signature_of_the_published_set(published_benchmark: Benchmark) -> None:
    assert published_benchmark.metadata_hash == HASH
    assert published_benchmark.signature == f"{START}|variant:pfgen-bench|n:1-10|t:3|{END}"


@pytest.mark.parametrize("threads", [-1, 0, 1025, 100_000])
def test_threads_have_a_limit(threads: int, mini: Benchmark) -> None:
    with pytest.raises(
        SettingsError, match=rf"threads must be between 1 and 1024 .*, not {threads}$"
    ):
        mini.score_batch(["Q01"], ["答え"], threads=threads)
