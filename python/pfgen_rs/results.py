"""Runs: the scores of many responses, summarised exactly as published (`result.json`)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import scoring
from pfgen_rs.errors import IncompleteRunError, InputError
from pfgen_rs.io import Responses, read_responses, write_atomic
from pfgen_rs.question_set import QuestionSet
from pfgen_rs.settings import Settings
from pfgen_rs.signature import signature
from pfgen_rs.sums import left_mean, left_sum

__all__ = ["Result", "evaluate", "score_path"]

_QUANTILES = (0, 0.25, 0.5, 0.75, 1)
_METRICS = ("fluency", "truthfulness")


@dataclass(frozen=True)
class Result:
    """Scores of a run.

    `frame` has a row a response: `line` (from 1), `question_id`, `question`, `answer`, `length` in code
    points, the three metrics, `average`, and each source's share. The figures of the run (`score`,
    `fluency`, …) are those published: means over questions, rounded as published.
    """

    benchmark: QuestionSet = field(repr=False)
    frame: pl.DataFrame = field(repr=False)
    path: str | None = None
    config: dict[str, Any] | None = None
    input_hash: str | None = None
    problems: list[InputError] = field(default_factory=list, repr=False)
    record: Callable[[int], dict[str, Any]] | None = field(default=None, repr=False)

    @cached_property
    def by_question(self) -> pl.DataFrame:
        """A row a question: `answers`, `score`, `score_std`, `length`, `length_std` and mean metrics."""
        rows = []
        for question_id, summary in self._summaries.items():
            scores = summary.scores
            rows.append(
                {
                    "question_id": question_id,
                    "question": self.benchmark[question_id].text,
                    "category": self.benchmark[question_id].category,
                    "answers": len(summary.rows),
                    **summary.spread,
                    "fluency": left_sum(scores["fluency"].values()),
                    "truthfulness": left_sum(scores["truthfulness"].values()),
                    "helpfulness": scores["helpfulness"],
                    "average": scores["average"],
                }
            )
        return pl.DataFrame(rows)

    @property
    def score(self) -> float:
        """The benchmark's figure: mean over trials and questions, rounded to 4."""
        return self._spread["score"]

    @property
    def score_std(self) -> float:
        """Population standard deviation over trials, as published, rounded to 4."""
        return self._spread["score_std"]

    @property
    def length(self) -> float:
        """Mean length of the answers in code points, rounded to 1."""
        return self._spread["length"]

    @property
    def length_std(self) -> float:
        """Population standard deviation of the lengths, rounded to 1."""
        return self._spread["length_std"]

    @property
    def fluency(self) -> float:
        """Sum of the sources' shares of Fluency."""
        return float(left_sum(self._scores["fluency"].values()))

    @property
    def truthfulness(self) -> float:
        """Sum of the sources' shares of Truthfulness."""
        return float(left_sum(self._scores["truthfulness"].values()))

    @property
    def helpfulness(self) -> float:
        """Mean Helpfulness."""
        return float(self._scores["helpfulness"])

    @cached_property
    def num_trials(self) -> int:
        """The smallest number of answers any answered question has."""
        return min(len(summary.rows) for summary in self._summaries.values())

    @property
    def missing(self) -> list[str]:
        """Ids of the benchmark's questions without any answer; all figures leave them out."""
        return [q.id for q in self.benchmark if q.id not in self._summaries]

    @property
    def signature(self) -> str:
        """What makes the figures reproducible; names how many questions were answered if some were not."""
        counts = (len(self._summaries), len(self.benchmark))
        return signature(self.benchmark.metadata_hash, self.benchmark.settings, answered=counts)

    def to_dict(self, *, allow_partial: bool = False) -> dict[str, Any]:
        """The published `result.json` as an object, keys in the published order.

        With other settings, or questions left out, it carries a `signature`, too.
        Raises `IncompleteRunError` where questions lack answers, unless `allow_partial`.
        """
        if self.missing and not allow_partial:
            raise IncompleteRunError(
                f"{len(self.missing)} of {len(self.benchmark)} questions have no answer "
                f"({', '.join(self.missing[:5])}{', …' if len(self.missing) > 5 else ''}): a published "
                "result needs all; allow a partial one explicitly"
            )
        questions = {key: self._question_entry(key) for key in self._summaries}
        return {
            **({} if self.input_hash is None else {"input_hash": self.input_hash}),
            "metadata_hash": self.benchmark.metadata_hash,
            **({} if self._is_published_kind else {"signature": self.signature}),
            **({} if self.config is None else {"config": self.config}),
            "num_trials": self.num_trials,
            **self._spread,
            "scores": self._scores,
            "questions": questions,
        }

    def to_bytes(self, *, allow_partial: bool = False) -> bytes:
        """The content of `result.json`, byte for byte as published."""
        result = self.to_dict(allow_partial=allow_partial)
        # Tables may have columns, such as times, that JSON has no form for.
        return json.dumps(result, ensure_ascii=False, indent=2, default=str).encode()

    def to_json(self, path: str | os.PathLike[str], *, allow_partial: bool = False) -> None:
        """Write `result.json` byte for byte as published, whole or not at all."""
        write_atomic(path, self.to_bytes(allow_partial=allow_partial))

    def __str__(self) -> str:
        """The score and the signature it is worthless without."""
        return f"{self.score:.4f} ±{self.score_std:.4f}/√{self.num_trials} ({self.signature})"

    @property
    def _is_published_kind(self) -> bool:
        return self.benchmark.settings == Settings() and not self.missing

    @cached_property
    def _summaries(self) -> dict[str, _Summary]:
        rows = (
            self.frame.with_row_index("row").group_by("question_id").agg("row").sort("question_id")
        )
        return {
            question_id: _summarise(self.benchmark, self.frame, question_id, np.array(indices))
            for question_id, indices in rows.iter_rows()
        }

    @cached_property
    def _spread(self) -> dict[str, float]:
        averages = self.frame.get_column("average").to_numpy()
        trials = [averages[s.rows[: self.num_trials]] for s in self._summaries.values()]
        by_trial = left_sum(trials) / len(trials)
        lengths = self.frame.get_column("length").to_numpy().astype(np.float64)
        return {**_mean_and_std("score", by_trial, 4), **_mean_and_std("length", lengths, 1)}

    @cached_property
    def _scores(self) -> dict[str, Any]:
        return _running([summary.scores for summary in self._summaries.values()])

    def _question_entry(self, question_id: str) -> dict[str, Any]:
        summary = self._summaries[question_id]
        return {
            "question": self.benchmark[question_id].text,
            **summary.spread,
            "scores": summary.scores,
            "samples": [self._sample(row) for row in summary.sample_rows],
        }

    def _sample(self, row: int) -> dict[str, Any]:
        question_id, answer = self.frame.select("question_id", "answer").row(row)
        record = {"answer": answer} if self.record is None else self.record(row)
        kept = {key: value for key, value in record.items() if key != "question"}
        return {**kept, "scores": scoring.score(self.benchmark, question_id, answer).to_dict()}


@dataclass(frozen=True)
class _Summary:
    """One question of a run: its rows in the file's order, figures, and the rows of its samples."""

    rows: NDArray[np.int64]
    spread: dict[str, float]
    scores: dict[str, Any]
    sample_rows: list[int]


def score_path(
    benchmark: QuestionSet,
    path: str | os.PathLike[str],
    *,
    question_field: str,
    answer_field: str,
    skip_bad_lines: bool,
    threads: int | None,
) -> Result:
    """Score a file of responses; `pfgen_rs.score_file` says what it may be."""
    responses = read_responses(
        path,
        question_field=question_field,
        answer_field=answer_field,
        skip_bad_lines=skip_bad_lines,
    )
    kept = _known_rows(benchmark, responses, skip_bad_lines)
    questions = pl.Series("question", [responses.questions[row] for row in kept], dtype=pl.String)
    answers = pl.Series("answer", [responses.answers[row] for row in kept], dtype=pl.String)
    lines = pl.Series("line", [responses.lines[row] for row in kept], dtype=pl.Int64)
    scores = scoring.score_columns(benchmark, questions, answers, threads=threads)
    return Result(
        benchmark=benchmark,
        frame=_frame(lines, questions, answers, scores),
        path=responses.path,
        config=responses.config,
        input_hash=responses.input_hash,
        problems=sorted(responses.problems, key=lambda problem: problem.line or 0),
        record=lambda row: responses.record(kept[row]),
    )


def evaluate(
    benchmark: QuestionSet, data: Any, answers: Any = None, *, threads: int | None = None
) -> Result:
    """Score responses in memory (as `score_batch` takes them) and summarise them as a run."""
    questions, texts = scoring.text_columns(data, answers)
    scores = scoring.score_columns(benchmark, questions, texts, threads=threads)
    if not len(scores):
        raise InputError("there are no responses")
    lines = pl.int_range(1, len(scores) + 1, eager=True).alias("line")
    column = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=pl.String)
    frame = _frame(lines, questions.alias("question"), column.alias("answer"), scores)
    return Result(benchmark, frame)


def _frame(
    lines: pl.Series, questions: pl.Series, answers: pl.Series, scores: pl.DataFrame
) -> pl.DataFrame:
    metrics = scores.drop("question_id")
    return pl.DataFrame([lines, scores.get_column("question_id"), questions, answers]).hstack(
        metrics
    )


def _known_rows(benchmark: QuestionSet, responses: Responses, skip: bool) -> list[int]:
    """Rows whose question the benchmark has; the first other one is an error unless they are skipped."""
    unknown: dict[str, InputError] = {}
    for text in dict.fromkeys(responses.questions):
        try:
            benchmark.find(text)
        except InputError as error:
            unknown[text] = error
    if not unknown:
        return list(range(len(responses.questions)))
    kept = []
    for row, text in enumerate(responses.questions):
        if text not in unknown:
            kept.append(row)
            continue
        located = responses.located(unknown[text], row)
        if not skip:
            raise located
        responses.problems.append(located)
    if not kept:
        raise InputError("no line answers a question of the benchmark", path=responses.path)
    return kept


def _summarise(
    benchmark: QuestionSet, frame: pl.DataFrame, question_id: str, rows: NDArray[np.int64]
) -> _Summary:
    """All sums run in the order of falling `average` (stable), as published."""
    mine = frame[rows]
    averages = mine.get_column("average").to_numpy()
    ranked = np.argsort(-averages, kind="stable")

    def column(name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = mine.get_column(name).to_numpy()[ranked].astype(np.float64)
        return values

    scores: dict[str, Any] = {
        metric: {
            source: round(left_mean(column(f"{metric}_{source}")), 5)
            for source in benchmark[question_id].sources
        }
        for metric in _METRICS
    }
    scores.update({name: round(left_mean(column(name)), 5) for name in ("helpfulness", "average")})
    spread = {
        **_mean_and_std("score", column("average"), 4),
        **_mean_and_std("length", column("length"), 1),
    }
    places = dict.fromkeys(round(x * (len(rows) - 1)) for x in _QUANTILES)
    return _Summary(rows, spread, scores, [int(rows[ranked[place]]) for place in places])


def _mean_and_std(name: str, values: NDArray[np.float64], digits: int) -> dict[str, float]:
    mean = left_mean(values)
    variance = left_mean((values - mean) ** 2)
    return {name: round(mean, digits), f"{name}_std": round(math.sqrt(variance), digits)}


def _running(questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The run's `scores`: running values, rounded to 5 after each question; sources as they first appear."""
    total: dict[str, Any] = {metric: {} for metric in _METRICS}
    for scores in questions:
        for metric in _METRICS:
            for source, value in scores[metric].items():
                before = total[metric].get(source, 0.0)
                total[metric][source] = round(before + value / len(questions), 5)
        for metric in ("helpfulness", "average"):
            before = total.get(metric, 0.0)
            total[metric] = round(before + scores[metric] / len(questions), 5)
    return total
