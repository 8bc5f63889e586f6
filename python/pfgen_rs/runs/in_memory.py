"""Runs whose responses were passed in memory."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Options
from pfgen_rs.io.cleaning import cleaning_mode, count_unclean
from pfgen_rs.lazy import np, pl
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.responses import with_texts
from pfgen_rs.runs.result import Responses, Result
from pfgen_rs.runs.score_store import ResponseScores, chunk_rows
from pfgen_rs.runs.streaming import new_store
from pfgen_rs.scoring import batch
from pfgen_rs.scoring.inputs import text_columns
from pfgen_rs.scoring.left_out import without_own


def evaluate(
    benchmark: QuestionSet,
    data: Any,
    answers: Any,
    options: Options,
    *,
    name: str | None = None,
    threads: int | None = None,
) -> Result:
    """Score responses in memory (in any form that `score_batch` accepts) and summarise them as a run."""
    options = replace(options, tokens=benchmark.settings.unit == "token")
    benchmark = without_own(benchmark, options.model, options.leave_out)
    found = text_columns(data, answers, options)
    codes, coded, read_as = batch.numbered_responses(benchmark, found, threads=threads)
    scores = batch.score_column(benchmark, codes, coded, threads=threads)
    if not len(codes):
        raise InputError("no responses")
    texts = found.answers
    column = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=options.answer_type)
    unclean = Counter[str]() if options.tokens else count_unclean(_native.Texts(column), None)
    about = {
        "run": name,
        "clean": cleaning_mode(options.clean),
        "unclean": unclean,
        "read_as": read_as,
        "model": options.model,
    }
    responses = MemoryResponses(found.questions, column)
    return result_in_memory(benchmark, codes, scores, responses, **about)


def result_in_memory(
    benchmark: QuestionSet,
    codes: _native.Codes,
    scores: _native.Scored,
    responses: Responses,
    **about: Any,
) -> Result:
    """Summarise scores in memory as a run; `codes`: of the questions; `about`: fields of `Result`."""
    store = new_store(benchmark, in_memory=len(codes))
    places = _native.Places(np.arange(1, len(codes) + 1))
    stored = ResponseScores(store)
    stored.parts.append(store.add(str, *chunk_rows(benchmark.ids, codes, places, scores)))
    return Result(benchmark, stored, responses, **about)


class MemoryResponses:
    """Responses that were passed in memory."""

    def __init__(self, questions: pl.Series, answers: pl.Series) -> None:
        self._questions, self._answers = questions, answers

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the texts, compressed."""
        content = BytesIO()
        columns = [self._questions.alias("question"), self._answers.alias("answer")]
        pl.DataFrame(columns).write_ipc(content)
        return _memory_responses_again, (lzma.compress(content.getvalue()),)

    def frames(self, scores: ResponseScores) -> Iterator[pl.DataFrame]:
        """Yield rows with texts and scores, in order."""
        at = 0
        for part in scores.parts:
            end = at + part.rows
            frame = scores.frame(part)
            yield with_texts(frame, self._questions[at:end], self._answers[at:end])
            at = end

    def records(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Yield the answer and complete record of some responses."""
        for line, _ in samples:
            answer = self._answers[line - 1]
            answer = answer.to_list() if isinstance(answer, pl.Series) else answer
            yield answer, {"answer": answer}


def _memory_responses_again(content: bytes) -> MemoryResponses:
    table = pl.read_ipc(lzma.decompress(content))
    return MemoryResponses(table["question"], table["answer"])


class NoTexts:
    """Stands for the texts of a run of which only the scores are known."""

    def frames(self, scores: ResponseScores) -> Iterator[pl.DataFrame]:
        """Raise `InputError`."""
        del scores
        raise self._error()

    def records(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Raise `InputError`."""
        del samples
        raise self._error()

    def _error(self) -> InputError:
        return InputError(
            "the texts of the answers are not known: pass rows that have questions and answers, too"
        )
