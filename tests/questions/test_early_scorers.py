"""Scorers read while modules are imported: those that a file begins with, or none, and never an error."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import helpers
from pfgen_rs import Benchmark, Settings, load_benchmark
from pfgen_rs.benchmark import load_for_scores
from pfgen_rs.questions import early_scorers, index_cache
from pfgen_rs.questions.early_scorers import EarlyScorers
from pfgen_rs.questions.known_questions import KnownQuestions, KnownSet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return helpers.write_benchmark(tmp_path / "questions")


@pytest.fixture
def known(folder: Path, cache: Path, settled: None) -> KnownSet:
    """The questions of the folder, whose scorers are cached."""
    loaded = load_benchmark(folder).prepare()
    KnownQuestions(folder).keep(loaded)
    found = KnownQuestions(folder).found(Settings())
    assert found is not None
    return found


CATS, SEAS = helpers.CATS, helpers.SEAS
FORMS: dict[str, tuple[bytes, set[str]]] = {
    "all": (helpers.lines(), {"Q01", "Q02"}),
    "one": (helpers.lines([(SEAS, "海")]), {"Q02"}),
    "by id": (helpers.lines([("Q01", "猫")]), {"Q01"}),
    "ASCII": (json.dumps({"question": CATS, "answer": "猫"}).encode(), {"Q01"}),
    "part of a name": (helpers.lines([("Q011", "猫"), (f"{CATS}？", "猫")]), set()),
    "empty": (b"", set()),
    "packed": (gzip.compress(helpers.lines()), set()),
    "no text": (os.urandom(1000), set()),
}


@pytest.mark.parametrize("content", FORMS)
def test_the_questions_that_a_file_begins_with(
    known: KnownSet, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "a.jsonl"
    text, expected = FORMS[content]
    path.write_bytes(text)
    assert set(EarlyScorers(known, str(path)).found()) == expected


def test_only_the_beginning_is_looked_at(known: KnownSet, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    many = early_scorers._HEAD // 40
    path.write_bytes(helpers.lines([(CATS, "猫")] * many + [(SEAS, "海")]))
    assert set(EarlyScorers(known, str(path)).found()) == {"Q01"}


def test_runs_in_folders(known: KnownSet, tmp_path: Path) -> None:
    assert len(EarlyScorers(known, str(helpers.write_run(tmp_path / "run"))).found()) == len(known)
    assert not EarlyScorers(known, str(tmp_path)).found()


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_pipe_is_not_opened(known: KnownSet, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert not EarlyScorers(known, str(tmp_path / "pipe.jsonl")).found()


def damaged(index: Path) -> None:
    content = index.read_bytes()
    index.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("change", [Path.unlink, damaged], ids=["absent", "damaged"])
def test_without_an_index_there_are_none(
    known: KnownSet, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    run = helpers.write_run(tmp_path / "run")
    [index] = index_cache.index_files()
    change(index.path)
    assert not EarlyScorers(known, str(run)).found()
    assert not EarlyScorers(known, str(tmp_path / "nothing")).found()


@pytest.mark.parametrize("answers", [helpers.GOOD, helpers.GOOD[:1]], ids=["all", "some"])
def test_a_benchmark_uses_them(
    known: KnownSet,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answers: list[tuple[str, str]],
) -> None:
    """And reads the others when they are asked for; scores are the same."""
    early = EarlyScorers(known, str(helpers.write_run(tmp_path / "run", answers)))
    benchmark = load_for_scores(folder, Settings(), early)
    read: list[int] = []
    load = index_cache.IndexCache.load

    def noted(cache: index_cache.IndexCache, number: int) -> object:
        read.append(number)
        return load(cache, number)

    monkeypatch.setattr(index_cache.IndexCache, "load", noted)
    assert scores(benchmark) == scores(load_benchmark(folder))
    own = len(known) - len({question for question, _ in answers})
    assert len(read) == own + len(known)  # and all of the benchmark beside it


def scores(benchmark: Benchmark) -> list[float]:
    frame = benchmark.score_batch([q for q, _ in helpers.GOOD], [a for _, a in helpers.GOOD])
    return [*frame["average"], *frame["fluency_A"], *frame["truthfulness_B"]]
