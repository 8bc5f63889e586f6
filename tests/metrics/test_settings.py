"""Settings refuse what makes no sense, and the signature names what is unusual."""

import copy
import hashlib
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Any

import polars as pl
import pytest

import small
from made_samples import made
from pfgen_rs import Benchmark, Settings, SettingsError, __version__, load_benchmark, stats
from pfgen_rs.metrics import settings as names
from pfgen_rs.metrics.settings import SKIPPED
from pfgen_rs.metrics.signature import fixed_part, signature
from pfgen_rs.report import plots
from pfgen_rs.training import rewards

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
    with pytest.raises(ValueError, match=message) as caught:
        Settings(**values)
    assert isinstance(caught.value, SettingsError)


@pytest.mark.parametrize(
    "values",
    [
        *({"min_n": 200, "max_n": 200}, {"truthfulness_n": 200}, {"threshold": 1.0}),
        *({"threshold": 1e-9}, {"skipped": ""}),
        *({"target_length": 0, "zero_length": 1}, {"target_length": 199, "zero_length": 200}),
    ],
)
def test_the_ends_of_the_ranges_are_allowed(values: dict[str, Any]) -> None:
    chosen = Settings(**values)
    assert {name: getattr(chosen, name) for name in values} == values


def test_settings_are_values() -> None:
    chosen = Settings(max_n=9)
    assert chosen == Settings(max_n=9) != Settings()
    assert replace(chosen, max_n=10) == Settings()
    assert len({chosen, Settings(max_n=9), Settings()}) == 2
    with pytest.raises(FrozenInstanceError):
        chosen.max_n = 8  # type: ignore[misc]
    other = replace(chosen, summation="compensated")  # which is no part of the definition
    assert other.definition == other.definition.definition == chosen != other


def test_copies_are_equal_and_score_the_same() -> None:
    chosen = Settings(variant="paper", max_n=9)
    data = {"answers": {"A": ["猫は眠る"]}, "keywords": [{"t": "猫"}]}
    benchmark = small.benchmark(data, settings=chosen).prepare()
    assert asdict(chosen) == {**asdict(Settings()), "variant": "paper", "max_n": 9}
    for copied in (copy.deepcopy(benchmark), pickle.loads(pickle.dumps(benchmark))):
        assert copied.settings == chosen
        assert copied.score("Q1", "猫が眠る") == benchmark.score("Q1", "猫が眠る")


SKIPS = {s: hashlib.sha256("".join(sorted(s)).encode()).hexdigest()[:8] for s in ("あ|", "")}


PLAIN = "variant:pfgen-bench|n:1-10|t:3"


@pytest.mark.parametrize(
    ("values", "more", "parts"),
    [
        ({}, {}, PLAIN),
        ({"variant": "paper"}, {}, "variant:paper|n:1-10|t:3"),
        ({"min_n": 2, "max_n": 5}, {}, "variant:pfgen-bench|n:2-5|t:3"),
        ({"truthfulness_n": 4}, {}, "variant:pfgen-bench|n:1-10|t:4"),
        ({"threshold": 0.01}, {}, f"{PLAIN}|threshold:0.01"),
        ({"target_length": 90}, {}, f"{PLAIN}|length:90-150-200"),
        ({"zero_length": 140}, {}, f"{PLAIN}|length:100-140-200"),
        ({"max_length": 300}, {}, f"{PLAIN}|length:100-150-300"),
        ({"summation": "compensated"}, {}, f"{PLAIN}|sum:compensated"),
        ({"helpfulness": False}, {}, f"{PLAIN}|helpfulness:none"),
        ({"skipped": "あ|"}, {}, f"{PLAIN}|skip:{SKIPS['あ|']}"),
        ({"skipped": "|あ"}, {}, f"{PLAIN}|skip:{SKIPS['あ|']}"),
        ({"skipped": SKIPPED[::-1]}, {}, PLAIN),
        ({"skipped": SKIPPED * 2}, {}, PLAIN),
        ({}, {"answered": (50, 50)}, PLAIN),
        ({}, {"answered": (49, 50)}, f"{PLAIN}|questions:49/50"),
        (
            asdict(Settings("paper", 2, 3, 4, 0.25, 10, 20, 30, "")),
            {"answered": (3, 50)},
            f"variant:paper|n:2-3|t:4|threshold:0.25|length:10-20-30|skip:{SKIPS['']}|questions:3/50",
        ),
    ],
)
def test_the_signature(values: dict[str, Any], more: dict[str, Any], parts: str) -> None:
    assert signature(HASH, Settings(**values), **more) == f"{START}|{parts}|{END}"
    assert fixed_part() == f"pfgen|{END}"


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
    with pytest.raises(SettingsError, match=rf"must be between 1 and 1024 .*, not {threads}$"):
        mini.score_batch(["Q01"], ["答え"], threads=threads)


# Names of metrics: the same everywhere, and one error for an unknown one.

ANY: Any = "beauty"
USES: dict[str, Callable[[], object]] = {
    "a scorer": lambda: load_benchmark("mini").scorer(ANY),
    "a reward": lambda: rewards.Reward("mini", metric=ANY),
    "an estimate": lambda: stats.estimate(made(), ANY),
    "a comparison": lambda: stats.compare([made("a"), made("b")], metrics=[ANY]),
    "a running mean": lambda: plots.running(made(), ANY),
    "a plot of sources": lambda: plots.source_pairs(pl.DataFrame(), pl.DataFrame(), metric=ANY),
}


@pytest.mark.parametrize("use", USES)
def test_an_unknown_metric_is_one_kind_of_error(use: str) -> None:
    with pytest.raises(SettingsError, match=r"^unknown metric 'beauty': expected one of \w+, "):
        USES[use]()


def test_columns_of_scores_are_named_so() -> None:
    bench = load_benchmark("mini")
    columns = bench.score_batch(["Q02"], ["光合成"]).columns
    expected = [*names.COLUMNS, *names.share_names(bench.sources)]
    assert columns[-len(expected) :] == expected
    assert names.share_name("fluency", bench.sources[0]) in columns
    assert set(names.COLUMNS) == set(names.METRICS)
