"""Chunks scored together: the same scores, in the same order, and nothing lost where a file has an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import CATS, SEAS, lines, write_benchmark
from pfgen_rs import InputError, UnknownQuestionError, load_benchmark, score_file
from pfgen_rs.io import Chunk, Options, Source
from pfgen_rs.runs import streaming
from pfgen_rs.runs import streaming as module
from pfgen_rs.runs.score_store import Part
from pfgen_rs.runs.streaming import Gathered, Waiting, gathered
from pfgen_rs.scoring.batch import ScoreArrays

TEXT = 100


def waiting(size: int, first: int = 0, rows: int = 1, parts: bool = False) -> Waiting:
    """A chunk of some bytes of text, whose answers are numbers."""
    answers = pl.Series([str(first + row) for row in range(rows)], dtype=pl.String)
    place = np.arange(first, first + rows)
    chunk = Chunk(answers, answers, place, text=b" " * size)
    return Waiting(chunk, place.astype(np.uint32), {None: Part(rows, {})} if parts else None)


def lengths_and_numbers(answers: module.Answers, numbers: module.Numbers) -> ScoreArrays:
    """Scores that say which answer and which number they are of."""
    texts = [int(answers[row]) for row in range(len(answers))]
    return ScoreArrays(np.array(texts, np.uint32), [numbers.astype(np.float64)])


@given(st.lists(st.integers(0, 3 * TEXT), max_size=40))
def test_every_chunk_comes_once_in_order_and_together_they_are_bounded(sizes: list[int]) -> None:
    chunks = [waiting(size, first) for first, size in enumerate(sizes)]
    groups = list(gathered(iter(chunks), TEXT))
    assert [each for group in groups for each in group] == chunks
    assert all(groups)
    for group in groups:
        *before, _ = (each.chunk.size for each in group)
        assert sum(before) < module._TOGETHER * TEXT
    if sizes and sizes[0]:
        assert len(groups[0]) == 1  # so that scoring begins at once


def test_soon_several_come_together() -> None:
    groups = list(gathered((waiting(TEXT - 1) for _ in range(20)), TEXT))
    assert [len(group) for group in groups] == [1, 2, 3, 3, 3, 3, 3, 2]


def test_what_precedes_an_error_comes_before_it() -> None:
    def chunks() -> Iterator[Waiting]:
        yield from (waiting(TEXT, first) for first in range(5))
        raise InputError("damaged")

    groups = gathered(chunks(), TEXT)
    found = [next(groups) for _ in range(3)]
    assert [int(each.chunk.lines[0]) for group in found for each in group] == list(range(5))
    with pytest.raises(InputError, match="damaged"):
        next(groups)


@pytest.mark.parametrize("in_this_thread", [True, False])
@pytest.mark.parametrize("tokens", [True, False])
def test_each_chunk_gets_its_own_scores(tokens: bool, in_this_thread: bool) -> None:
    """Among chunks without responses, and others whose scores are known."""
    shapes = [
        (0, 3, False),
        (3, 0, False),
        (3, 2, True),
        (5, 4, False),
        (9, 0, True),
        (9, 1, False),
    ]
    chunks = [waiting(9, first, rows, parts) for first, rows, parts in shapes]
    found = list(
        Gathered(chunks, lengths_and_numbers, tokens=tokens, in_this_thread=in_this_thread)
    )
    assert [each for each, _ in found] == chunks
    for each, scores in found:
        if each.parts is not None:
            assert scores is None
            continue
        assert scores is not None
        assert scores.lengths.tolist() == each.chunk.lines.tolist()
        assert scores.columns[0].tolist() == each.numbers.tolist()


def test_known_chunks_alone_are_not_scored() -> None:
    def refuse(*_: object) -> ScoreArrays:
        raise AssertionError("scored although it was known")

    chunks = [waiting(9, 0, 2, parts=True)]
    assert list(Gathered(chunks, refuse, tokens=False, in_this_thread=False)) == [(chunks[0], None)]


@pytest.mark.parametrize("threads", [1, 2])
def test_responses_before_an_unknown_question_are_stored(tmp_path: Path, threads: int) -> None:
    benchmark = load_benchmark(write_benchmark(tmp_path / "tiny"))
    many = [(CATS if i % 3 else SEAS, f"猫{i}") for i in range(100)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([*many, ("unknown", "猫")]))
    store = streaming.new_store(benchmark)
    options = Options(text_size=500)
    with pytest.raises(UnknownQuestionError):
        streaming.score_sources(benchmark, [Source(path)], options, store, threads=threads)
    stored = sum(part.rows for _, part in store._held)
    assert stored >= len(many) - 12  # those in the chunk that has the error
    path.write_bytes(lines(many))
    [result] = streaming.score_sources(
        benchmark, [Source(path)], options, streaming.new_store(benchmark), threads=threads
    )
    assert result.to_bytes() == score_file(path, benchmark).to_bytes()
