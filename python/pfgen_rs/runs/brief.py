"""Scores one published run without numpy and polars, which take longer to import than it takes to score.

Only for what is usual: unchanged question files whose scorers are cached, and a small file of JSON lines,
plain or xz, in which nothing is out of the ordinary. Whatever else there is, errors included, is left to
`streaming`; numbers are the same, to the last bit.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.cleaning import Mode, stated_mode
from pfgen_rs.io.compression import XZ
from pfgen_rs.io.run_files import run_file
from pfgen_rs.io.source import Source, read_config
from pfgen_rs.io.unclean_counts import CHECKED, reasons, unclean_marks
from pfgen_rs.metrics.names import score_names, share_names
from pfgen_rs.questions.index_cache import index_key, index_path
from pfgen_rs.questions.known_questions import KnownSet
from pfgen_rs.runs.summaries import (
    Summaries,
    Summary,
    rounded_aggregate,
    rounded_question_scores,
    run_scores,
)
from pfgen_rs.runs.values import RunValues

__all__ = ["BriefRun", "scored_briefly"]

_LARGEST = 4 << 20  # bytes on disk
_LONGEST = 16 << 20  # bytes of text
_MAGIC = frozenset("*?[")
_FIELDS = ("question", "answer")
_SUFFIXES = (".jsonl", ".xz")


@dataclass(frozen=True)
class BriefRun(RunValues):
    """The values of a run without its responses; its fields are those of `Result`.

    `numbers`: number of each response's question. `lengths`, `columns`: lengths of the answers, and the
    columns of scores by name.
    """

    benchmark: KnownSet
    path: str
    config: dict[str, Any] | None
    input_hash: str
    unclean: Counter[str]
    numbers: Sequence[int] = field(repr=False)
    lengths: Sequence[int] = field(repr=False)
    columns: dict[str, Sequence[float]] = field(repr=False)
    problems: list[InputError] = field(default_factory=list)
    clean: Mode | None = None
    run: str | None = None
    planned: int | None = None
    cut_short: InputError | None = None

    @property
    def height(self) -> int:
        """Number of scored responses."""
        return len(self.numbers)

    @cached_property
    def _rows(self) -> dict[int, list[int]]:
        """The rows of each answered question, by its number."""
        rows: dict[int, list[int]] = {number: [] for number in sorted(set(self.numbers))}
        for row, number in enumerate(self.numbers):
            rows[number].append(row)
        return rows

    @cached_property
    def _counts(self) -> dict[str, int]:
        questions = self.benchmark.questions
        return {questions[number].id: len(rows) for number, rows in self._rows.items()}

    @cached_property
    def _summaries(self) -> Summaries:
        """As of `aggregate.summarise`, with plain sums, and without samples."""
        averages = self.columns["average"]
        num_trials = min(self._counts.values())
        trials = ([averages[row] for row in rows[:num_trials]] for rows in self._rows.values())
        by_trial = [total / len(self._rows) for total in map(_brief_sum, zip(*trials, strict=True))]
        questions = dict(zip(self._counts, self._question_summaries(), strict=True))
        spread = {
            **_brief_mean_and_std("score", by_trial, 4),
            **_brief_mean_and_std("length", self.lengths, 1),
        }
        scores = run_scores([summary.scores for summary in questions.values()])
        return Summaries(questions, num_trials, spread, scores)

    def _question_summaries(self) -> Iterator[Summary]:
        """Yield aggregates, summed by descending `average` (stable) as published."""
        averages = self.columns["average"]
        for number, rows in self._rows.items():
            ranked = sorted(rows, key=lambda row: -averages[row])
            sources = self.benchmark.questions[number].sources
            means = {
                name: _brief_sum(map(self.columns[name].__getitem__, ranked)) / len(ranked)
                for name in (*share_names(sources), "helpfulness", "average")
            }
            spread = {
                **_brief_mean_and_std("score", [averages[row] for row in ranked], 4),
                **_brief_mean_and_std("length", [self.lengths[row] for row in ranked], 1),
            }
            yield Summary(len(rows), spread, rounded_question_scores(sources, means), [])


def _brief_sum(values: Any) -> float:
    """The plain sum from the left of at least one number."""
    return float(reduce(add, values))


def _brief_mean_and_std(name: str, values: Sequence[float], digits: int) -> dict[str, float]:
    mean = _brief_sum(values) / len(values)
    squares = ((value - mean) * (value - mean) for value in values)
    return rounded_aggregate(name, mean, _brief_sum(squares) / len(values), digits)


def scored_briefly(path: str, benchmark: KnownSet) -> BriefRun | None:
    """Score a run (its file or folder); `None` if anything about it is not usual."""
    if _MAGIC.intersection(path) or (os.path.isdir(path) and run_file(Path(path)) is None):  # noqa: PTH112
        return None
    try:
        source = Source(path)
        content = _brief_content(source)
        text = None if content is None else _brief_text(content)
        if content is None or text is None:
            return None
        config = read_config(source.path)
        marks = unclean_marks(stated_mode(config))
        found = _brief_scores(text, benchmark, marks)
    except (PfgenError, OSError, ValueError):
        return None  # said where it is found again
    if found is None or len(found[0]) > CHECKED:
        return None
    numbers, lengths, columns, suspects = found
    return BriefRun(
        benchmark,
        source.path,
        config,
        hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        reasons(suspects, marks),
        numbers,
        lengths,
        dict(zip(score_names(benchmark.sources), columns, strict=True)),
    )


def _brief_content(source: Source) -> bytes | None:
    """Returns the bytes of a small file of lines."""
    if source.path == "-" or source.suffix not in _SUFFIXES:
        return None
    descriptor = os.open(source.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a pipe must not be waited for
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = file.read(_LARGEST + 1)
    return content if len(content) <= _LARGEST else None


def _brief_text(content: bytes) -> bytes | None:
    """Returns the text of whole lines that begin like objects; unpacked if it is one undamaged xz stream."""
    text = content
    if content.startswith(XZ):
        unpacker = lzma.LZMADecompressor()
        try:
            text = unpacker.decompress(content, _LONGEST)
        except (lzma.LZMAError, EOFError):
            return None
        if not unpacker.eof or unpacker.unused_data:
            return None
    return text if text.startswith(b"{") and text.endswith(b"\n") else None


def _brief_scores(
    text: bytes, benchmark: KnownSet, marks: Sequence[str]
) -> tuple[list[int], list[int], list[list[float]], list[str]] | None:
    settings, places = benchmark.settings, {s: n for n, s in enumerate(benchmark.sources)}
    key = index_key([(question.id, question.digest) for question in benchmark], settings)
    if key is None or not index_path(key).is_file():
        return None
    store = _native.Store(index_path(key), key)
    if len(store) != len(benchmark):
        return None
    questions = [
        (
            list(question.answers.values()),
            question.native_rules(),
            [places[source] for source in question.sources],
        )
        for question in benchmark
    ]
    texts, ids = zip(*((question.text, question.id) for question in benchmark), strict=True)
    return _native.score_lines(
        text,
        _FIELDS,
        _native.Numbers([texts, ids]),
        store,
        settings.native,
        questions,
        len(places),
        list(marks),
    )
