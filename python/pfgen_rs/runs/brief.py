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
from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import _native
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.cleaning import stated_mode
from pfgen_rs.io.compression import XZ
from pfgen_rs.io.run_files import run_file
from pfgen_rs.io.source import Source, is_same_state, read_config
from pfgen_rs.io.unclean_counts import CHECKED, reasons, unclean_marks
from pfgen_rs.metrics.names import COLUMNS, score_names, share_names
from pfgen_rs.questions.index_cache import index_key, index_path
from pfgen_rs.questions.known_questions import KnownSet
from pfgen_rs.runs.summaries import (
    FOREIGN,
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
_AVERAGE = COLUMNS.index("average")
_FIELDS = ("question", "answer")
_SUFFIXES = (".jsonl", ".xz")


class _ScoredQuestion(NamedTuple):
    """The responses to a question: its number, their rows in the file, and lengths and scores by row."""

    number: int
    rows: list[int]
    lengths: list[int]
    columns: list[list[float]]


class BriefRun(RunValues):
    """The values of a run without its responses."""

    problems: list[InputError]
    clean = run = planned = cut_short = None  # whatever has these is not usual

    def __init__(
        self,
        benchmark: KnownSet,
        path: str,
        config: dict[str, Any] | None,
        input_hash: str,
        unclean: Counter[str],
        scored: Sequence[_ScoredQuestion],
    ) -> None:
        self.benchmark = self._known = benchmark
        self.path, self.config, self.input_hash = path, config, input_hash
        self.unclean, self._scored, self.problems = unclean, scored, []

    @property
    def height(self) -> int:
        """Number of scored responses."""
        return sum(self._counts.values())

    @cached_property
    def _counts(self) -> dict[str, int]:
        questions = self._known.questions
        return {questions[scored.number].id: len(scored.rows) for scored in self._scored}

    @cached_property
    def _summaries(self) -> Summaries:
        """As of `aggregate.summarise`, with plain sums, and without samples."""
        num_trials = min(self._counts.values())
        trials = [scored.columns[_AVERAGE][:num_trials] for scored in self._scored]
        by_trial = [_brief_sum(scores) / len(trials) for scores in zip(*trials, strict=True)]
        questions = dict(zip(self._counts, map(self._summary, self._scored), strict=True))
        lengths = [0] * self.height
        for scored in self._scored:
            for row, length in zip(scored.rows, scored.lengths, strict=True):
                lengths[row] = length
        spread = {
            **_brief_mean_and_std("score", by_trial, 4),
            **_brief_mean_and_std("length", lengths, 1),
        }
        scores = run_scores([summary.scores for summary in questions.values()])
        empty = lengths.count(0)
        low = sum(value < FOREIGN for scored in self._scored for value in scored.columns[_AVERAGE])
        # An empty answer scores 0, and so is among those.
        return Summaries(questions, num_trials, spread, scores, empty, low - empty)

    def _summary(self, scored: _ScoredQuestion) -> Summary:
        """Returns aggregates of a question, summed by descending `average` (stable) as published."""
        sources = self._known.questions[scored.number].sources
        averages = scored.columns[_AVERAGE]
        ranked = sorted(range(len(averages)), key=lambda place: -averages[place])
        columns = dict(zip(score_names(sources), scored.columns, strict=True))
        means = {
            name: _brief_sum(map(columns[name].__getitem__, ranked)) / len(ranked)
            for name in (*share_names(sources), "helpfulness", "average")
        }
        spread = {
            **_brief_mean_and_std("score", [averages[place] for place in ranked], 4),
            **_brief_mean_and_std("length", [scored.lengths[place] for place in ranked], 1),
        }
        return Summary(len(ranked), spread, rounded_question_scores(sources, means), [])


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
    if found is None:
        return None
    scored, suspects = found
    run = BriefRun(
        benchmark,
        source.path,
        config,
        hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        reasons(suspects, marks),
        scored,
    )
    return run if run.height <= CHECKED else None


def _brief_content(source: Source) -> bytes | None:
    """Returns the bytes of a small file of lines."""
    if source.path == "-" or source.suffix not in _SUFFIXES:
        return None
    descriptor = os.open(source.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a pipe must not be waited for
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return None
        content = file.read(_LARGEST + 1)
        is_whole = len(content) <= _LARGEST and is_same_state(state, os.fstat(descriptor))
    return content if is_whole else None


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
) -> tuple[list[_ScoredQuestion], list[str]] | None:
    """Returns the scores, and answers that may not be clean."""
    settings = benchmark.settings
    key = index_key([(question.id, question.digest) for question in benchmark], settings)
    if key is None or not index_path(key).is_file():
        return None
    store = _native.Store(index_path(key), key)
    if len(store) != len(benchmark):
        return None
    texts, ids = zip(*((question.text, question.id) for question in benchmark), strict=True)
    questions = [(list(known.answers.values()), known.native_rules()) for known in benchmark]
    numbers = _native.Numbers([texts, ids])
    found = _native.score_lines(
        text, _FIELDS, numbers, store, settings.native, questions, list(marks)
    )
    return None if found is None else ([_ScoredQuestion(*scored) for scored in found[0]], found[1])
