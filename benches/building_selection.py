"""Selecting 1,000 of 30,000 answers: the time, and the error against that of random choices.

    python benches/building_selection.py [--quick]

The pool is made from a bundled grammar, with wrong characters. With PFGEN_DATA_DIR set, a pool of
real answers is measured, too, and the published reference answers of a question.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import building_singletons
import measures
from measures import Measure
from pfgen_rs import load_benchmark
from pfgen_rs.references.selection import select

SEED = 20250613
POOL, COUNT, LONGEST = 30_000, 1_000, 10
SUBSETS = 20


def main() -> None:
    """Measure every pool that is at hand, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small pools, to try the script")
    size = 2_000 if parser.parse_args().quick else POOL
    for what, answers in pools(size):
        count = min(COUNT, len(answers) // 3)
        print(f"\n{count:,} of {len(answers):,} {what}")
        print("\n".join(measures.lines(measure(answers, count))), flush=True)


def pools(size: int) -> Iterator[tuple[str, list[str]]]:
    """Made answers, and real ones where they are at hand."""
    yield "made answers", made(size)
    if folder := measures.public_data("candidates"):
        yield "real answers to several questions", candidates(folder, size)
    if folder := measures.public_data("pfgen-bench"):
        question = max(load_benchmark(folder / "data"), key=lambda q: len(q.sources))
        answers = [answer for own in question.answers.values() for answer in own]
        yield "published reference answers of one question", answers


def made(size: int) -> list[str]:
    """Distinct answers of all authors of a grammar, with up to three wrong characters each."""
    rng = random.Random(SEED)
    authors = list(building_singletons.question().sources.values())
    characters = sorted({c for author in authors for _ in range(20) for c in author.sample(rng)})
    found: dict[str, None] = {}
    while len(found) < size:
        answer = list(authors[int(rng.random() * len(authors))].sample(rng))
        for _ in range(int(rng.random() * 4)):
            wrong = characters[int(rng.random() * len(characters))]
            answer[int(rng.random() * len(answer))] = wrong
        found["".join(answer)] = None
    return list(found)


def candidates(folder: Path, size: int) -> list[str]:
    """Answers of 70 to 140 characters to as many questions as are needed, shuffled."""
    answers: list[str] = []
    for path in sorted(folder.glob("*.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            read = (json.loads(line)["answer"] for line in file)
            answers.extend(answer for answer in read if 70 <= len(answer) <= 140)
        if len(answers) >= size:
            break
    random.Random(SEED).shuffle(answers)
    return answers[:size]


def measure(answers: list[str], count: int) -> list[Measure]:
    """Both measures for a pool; numpy counts the same errors."""
    plain = Plain(answers, count)
    start = time.process_time()
    chosen = select(answers, count)
    seconds = time.process_time() - start
    if not math.isclose(plain.error(chosen.rows), chosen.error, rel_tol=1e-9):
        raise SystemExit("the two sides do not agree: there is nothing to compare")
    drawn = statistics.mean(plain.error(plain.subset()) for _ in range(SUBSETS))
    note = (
        f"{chosen.error:.4g}; a random subset {drawn:.4g} (mean of {SUBSETS}), "
        f"{chosen.random_error:.4g} to be expected"
    )
    return [
        Measure("selection_seconds", seconds, "with counting the n-grams"),
        Measure("selection_error", chosen.error / drawn, note),
    ]


class Plain:
    """Selection in numpy: a sparse matrix of the n-grams of each answer, those of one answer left out."""

    def __init__(self, answers: list[str], count: int) -> None:
        self.size, self.count = len(answers), count
        self.rng = np.random.default_rng(SEED)
        pairs = np.concatenate([_pairs(answers, n) for n in range(1, LONGEST + 1)], axis=1)
        numbers, ids = np.unique(pairs[0], return_inverse=True)
        texts = pairs[1].astype(np.int64)
        frequencies = np.bincount(ids)
        self.alone = np.bincount(texts[frequencies[ids] == 1], minlength=self.size)
        self.ngrams = len(numbers)
        repeated = frequencies > 1
        kept = repeated[ids]
        order = np.argsort(texts[kept], kind="stable")
        self.ids = (np.cumsum(repeated) - 1)[ids[kept]][order]
        lengths = np.bincount(texts[kept], minlength=self.size)
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.frequencies = frequencies[repeated]

    def subset(self) -> NDArray[np.int64]:
        """A random choice."""
        return self.rng.choice(self.size, self.count, replace=False)

    def row(self, answer: int) -> NDArray[np.int64]:
        """The n-grams of an answer that others have, too."""
        return self.ids[self.starts[answer] : self.starts[answer + 1]]

    def count_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Chosen answers that contain each n-gram."""
        ids = np.concatenate([self.row(int(row)) for row in rows])
        return np.bincount(ids, minlength=len(self.frequencies))

    def error(self, rows: NDArray[np.int64]) -> float:
        """The mean squared error of a choice."""
        shares = self.count_of(rows) / self.count - self.frequencies / self.size
        alone = self.alone[rows].sum()
        squares = alone * (1 / self.count - 1 / self.size) ** 2
        squares += (self.alone.sum() - alone) / self.size**2
        return float((np.square(shares).sum() + squares) / self.ngrams)


def _pairs(answers: list[str], n: int) -> NDArray[np.uint64]:
    """Each n-gram's 64-bit number with each answer that contains it, once: shape (2, pairs)."""
    text = np.frombuffer("".join(answers).encode("utf-32-le"), np.uint32).astype(np.uint64)
    ends = np.cumsum([len(answer) for answer in answers])
    numbers = np.zeros(len(text) - n + 1, np.uint64)
    for place in range(n):
        numbers = (numbers + text[place : len(numbers) + place] + 1) * np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(29)
    of_start = np.searchsorted(ends, np.arange(len(numbers)), side="right")
    inside = np.arange(len(numbers)) + n <= ends[of_start]
    numbers, of_start = numbers[inside], of_start[inside]
    order = np.lexsort((of_start, numbers))
    numbers, of_start = numbers[order], of_start[order]
    first = np.ones(len(numbers), bool)
    first[1:] = (numbers[1:] != numbers[:-1]) | (of_start[1:] != of_start[:-1])
    return np.stack([numbers[first], of_start[first].astype(np.uint64)])


if __name__ == "__main__":
    main()
