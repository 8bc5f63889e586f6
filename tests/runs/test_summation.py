"""Sums as Python adds them up to 3.11 and since 3.12: both readings of a run, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle
import readings
from pfgen_rs import Benchmark, Result, Settings, SettingsError, load_benchmark, score_file
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.source import Source
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.questions.index_cache import index_files
from pfgen_rs.runs import streaming

BOTH = pytest.mark.parametrize("summation", ["plain", "compensated"])


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return readings.write_benchmark(tmp_path_factory.mktemp("set") / "set")


@pytest.fixture(scope="module")
def run(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return readings.write_run(tmp_path_factory.mktemp("run") / "run", benchmark, "plain")


@pytest.fixture(autouse=True)
def _the_readings_differ(run: Path, benchmark: Path) -> None:
    plain, other = (readings.write_result(run, benchmark, name) for name in readings.ADD)
    assert plain != other


def scored(run: Path, benchmark: Path, summation: Summation) -> Result:
    return score_file(run, benchmark, settings=Settings(summation=summation))


@BOTH
def test_results_are_byte_identical(run: Path, benchmark: Path, summation: Summation) -> None:
    expected = readings.write_result(run, benchmark, summation)
    assert scored(run, benchmark, summation).to_bytes() == expected


@BOTH
def test_a_result_is_read_without_scoring(run: Path, benchmark: Path, summation: Summation) -> None:
    direct = scored(run, benchmark, summation)
    again = scored(run, benchmark, readings.OTHER[summation])
    found = again.with_summation(summation)
    assert found.to_bytes() == direct.to_bytes() != again.to_bytes()
    assert found.frame.equals(direct.frame, null_equal=True)
    assert found.by_question.equals(direct.by_question)
    assert found.signature == direct.signature
    assert (found.fluency, found.truthfulness) == (direct.fluency, direct.truthfulness)
    assert direct.with_summation(summation) is direct


def test_figures_on_disk_are_read_again(run: Path, benchmark: Path) -> None:
    loaded = load_benchmark(benchmark)
    store = streaming.new_store(loaded, in_memory=5)
    [result] = streaming.score_sources(loaded, [Source(run)], Options(), store)
    assert store.journaled
    expected = scored(run, benchmark, "compensated")
    assert result.with_summation("compensated").to_bytes() == expected.to_bytes()


def test_single_answers_and_batches(benchmark: Path) -> None:
    loaded = load_benchmark(benchmark, settings=readings.COMPENSATED)
    pairs = readings.responses(benchmark)
    questions, answers = map(list, zip(*pairs, strict=True))
    batch = loaded.score_batch(questions, answers, chunk_size=7)
    expected = [as_oracle(loaded, key).score(text, oracle.compensated_sum) for key, text in pairs]
    assert batch["average"].to_list() == [scores["average"] for scores in expected]
    for metric in ("fluency", "truthfulness"):
        sums = [oracle.compensated_sum(scores[metric].values()) for scores in expected]
        assert batch[metric].to_list() == sums
        assert loaded.scorer(metric)(questions, answers).tolist() == sums
    assert np.array_equal(loaded.scorer()(questions, answers), batch["average"].to_numpy())
    for (key, text), scores in zip(pairs, expected, strict=True):
        assert loaded.score(key, text).to_dict() == scores


def as_oracle(benchmark: Benchmark, key: str) -> oracle.Question:
    question = benchmark[key]
    answers = {source: list(texts) for source, texts in question.answers.items()}
    return oracle.Question({"answers": answers, "keywords": question.keywords})


def test_both_readings_share_an_index(benchmark: Path) -> None:
    load_benchmark(benchmark).prepare()
    before = index_files()
    other = load_benchmark(benchmark, settings=readings.COMPENSATED)
    assert other.index_path == load_benchmark(benchmark).index_path
    assert other.index_path in [file.path for file in before]
    other.prepare()
    assert index_files() == before
    loaded = load_benchmark(benchmark).prepare()
    shared = loaded.with_settings(readings.COMPENSATED)
    assert shared._native_scorer(shared["Q01"]) is loaded._native_scorer(loaded["Q01"])


def test_variant_paper_has_plain_sums(run: Path, benchmark: Path) -> None:
    result = score_file(run, benchmark, settings=Settings(variant="paper"))
    with pytest.raises(SettingsError, match="variant 'paper' has no published files"):
        result.with_summation("compensated")
