"""What is scored: the responses of the published runs, or of the bundled ones where those are not at hand."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import polars as pl

import pfgen_rs
from measures import DATA, public_data
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.reading import read_ahead
from pfgen_rs.io.source import Source
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.questions.question import Question

T = TypeVar("T")

SEED = 20250613
FEW = 1_000
"""Responses; with fewer, what a batch costs in itself would show."""


@dataclass(frozen=True)
class World:
    """A benchmark, where it lies, and real responses to it."""

    benchmark: Benchmark
    folder: Path
    frame: pl.DataFrame
    what: str

    @cached_property
    def lines(self) -> list[bytes]:
        """Every response as a line of JSON."""
        return [
            (json.dumps({"question": q, "answer": a}, ensure_ascii=False) + "\n").encode()
            for q, a in self.frame.iter_rows()
        ]

    def with_sources(self, count: int) -> list[Question]:
        """The questions with so many sources."""
        return [question for question in self.benchmark if len(question.sources) == count]

    def answers_to(self, questions: Sequence[Question]) -> pl.DataFrame:
        """The real responses to these questions, drawn with replacement where there are few."""
        found = self.frame.filter(pl.col("question").is_in([q.text for q in questions]))
        if len(found) >= FEW:
            return found
        return found.sample(FEW, with_replacement=True, seed=SEED)

    def pooled_answers(self) -> list[str]:
        """The reference answers of all questions, each once, shuffled."""
        texts = [a for question in self.benchmark for s in question.answers.values() for a in s]
        answers = list(dict.fromkeys(texts))
        random.Random(SEED).shuffle(answers)
        return answers

    def drawn(self, count: int) -> pl.DataFrame:
        """So many responses, drawn with replacement."""
        return self.frame.sample(count, with_replacement=True, seed=SEED)

    def write(self, path: Path, count: int) -> Path:
        """A file of so many responses, drawn with replacement."""
        rng = random.Random(SEED)
        with path.open("wb") as file:
            for start in range(0, count, 100_000):
                file.writelines(rng.choices(self.lines, k=min(100_000, count - start)))
        return path


def real_world() -> World:
    """The published questions and runs in `PFGEN_DATA_DIR`, or the bundled ones."""
    given = public_data("pfgen-bench")
    folder = (given / "data").resolve() if given else bundled_path()
    runs = given / "result" if given else folder / "runs"
    benchmark = pfgen_rs.load_benchmark(folder)
    frame = pl.concat(read(path) for path in sorted(runs.rglob("trials.jsonl*")))
    kind = "published" if given else "bundled"
    what = f"{len(frame):,} responses of the {kind} runs, {len(benchmark)} questions"
    if not given:
        what += f" (what is asked for means the published ones: set {DATA})"
    return World(benchmark, folder, frame.sample(fraction=1, shuffle=True, seed=SEED), what)


def read(path: Path) -> pl.DataFrame:
    """Questions and answers of a file."""
    return pl.concat(
        pl.DataFrame([chunk.questions.alias("question"), chunk.answers.alias("answer")])
        for chunk in decoded(path)
    )


def decoded(path: Path) -> Iterator[Chunk]:
    """A file's responses as they are scored: in chunks, decoded ahead."""
    with read_ahead([Source(str(path))], Options()) as readings:
        for reading in readings:
            yield from reading


def spread(items: Sequence[T], count: int) -> list[T]:
    """`count` items evenly spread over all."""
    count = min(count, len(items))
    return [items[i * len(items) // count] for i in range(count)]
