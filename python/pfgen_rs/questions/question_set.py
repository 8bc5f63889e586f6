"""Questions with their scorers, for one choice of settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError, InputError, Item, UnknownQuestionError
from pfgen_rs.metrics import units
from pfgen_rs.metrics.helpfulness import Helpfulness
from pfgen_rs.metrics.ngram_index import NgramIndex
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.signature import signature
from pfgen_rs.metrics.units import Coder, Unit
from pfgen_rs.questions.index_cache import IndexCache
from pfgen_rs.questions.locate import name_of
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.unknown import Lookalikes

__all__ = ["QuestionSet"]


class QuestionSet:
    """Questions with scorers for one choice of settings. Safe to share between threads.

    `bench["Q14"]` is a question, `"Q14" in bench` says whether there is one, and iteration yields all of them
    by id. Scorers are built when first needed. `folder`: where the questions were read from, if they were.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        metadata_hash: str,
        settings: Settings | None = None,
        folder: Path | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.folder = folder
        for question in questions:
            _check_unit(question, self.settings.unit)
        self.metadata_hash = metadata_hash
        self._questions = {q.id: q for q in sorted(questions, key=lambda q: q.id)}
        self._by_text = {q.text: q for q in self._questions.values()}
        self._scorers: dict[str, _native.Scorer] = {}
        self._all_batches: _native.Batches | None = None
        self._lone_batches: dict[str, _native.Batches] = {}
        self._helpfulness: dict[str, Helpfulness] = {}
        self._indexes: dict[str, NgramIndex] = {}

    def __getitem__(self, question: str | Question) -> Question:
        """The question with this id or, failing that, this text; raises what `find` raises."""
        found = self._questions.get(question) if isinstance(question, str) else None
        return self.find(question) if found is None else found

    def __contains__(self, question: object) -> bool:
        """Whether there is a question with this id or text (that of a `Question` object)."""
        return self._found(question) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the scorers: they are built again where they are needed."""
        return type(self), (list(self), self.metadata_hash, self.settings, self.folder)

    def __iter__(self) -> Iterator[Question]:
        """All questions in the order of their ids."""
        return iter(self._questions.values())

    def __len__(self) -> int:
        """Count the questions."""
        return len(self._questions)

    def __repr__(self) -> str:
        """Show size and signature."""
        return f"{type(self).__name__}({len(self)} questions, {self.signature!r})"

    @cached_property
    def sources(self) -> list[str]:
        """All sources, in the order in which the questions (by id) first name them."""
        return list(dict.fromkeys(source for question in self for source in question.sources))

    @property
    def signature(self) -> str:
        """What makes scores of this benchmark reproducible, in one line."""
        return signature(self.metadata_hash, self.settings)

    def find(self, question: str | Question) -> Question:
        """The question with this exact text or, failing that, this id; of a `Question`, the text counts.

        Raises `UnknownQuestionError`, and `InputError` for anything but text or a `Question`.
        """
        found = self._found(question)
        if found is not None:
            return found
        text = question.text if isinstance(question, Question) else question
        if not isinstance(text, str):
            raise InputError(
                f"invalid question: expected its text, its id or a Question, not {type(text).__name__}"
            )
        raise self.unknown(text)

    def _found(self, question: object) -> Question | None:
        if isinstance(question, Question):
            return self._by_text.get(question.text)
        if isinstance(question, str):
            return self._by_text.get(question) or self._questions.get(question)
        return None

    def unknown(
        self,
        question: str,
        others: Iterable[str] = (),
        *,
        row: int | None = None,
        path: str | None = None,
        line: int | None = None,
        search: bool = True,
        item: Item = "line",
    ) -> UnknownQuestionError:
        """The error for a question that is not here; `others` and `search` as for `Lookalikes.message`."""
        problem = self._lookalikes.message(question, others, search=search)
        problem = problem if row is None else f"row {row}: {problem}"
        return UnknownQuestionError(problem, path=path, line=line, question=question, item=item)

    def crowd(self, asked: Iterable[str]) -> str | None:
        """What to tell about these questions if at least half of them are published ones, and not here."""
        return self._lookalikes.crowd(asked)

    def with_settings(self, settings: Settings) -> Self:
        """The same questions with other settings; the indexes are shared.

        Scorers, too, where the settings differ in `summation` alone.
        """
        other = type(self)(list(self), self.metadata_hash, settings, self.folder)
        if settings.definition == self.settings.definition:
            other._scorers = self._scorers
        return other

    @cached_property
    def numbers(self) -> _native.Numbers:
        """Numbers of questions, in the order of their ids, by text or, failing that, id."""
        return _native.Numbers([[q.text for q in self], list(self._questions)])

    @cached_property
    def in_order(self) -> list[Question]:
        """The questions by their numbers."""
        return list(self)

    @cached_property
    def coder(self) -> Coder:
        """What makes code points of the units of answers; for words it knows all reference answers."""
        columns = [answers for question in self for answers in question.answers.values()]
        settings = self.settings
        return units.coder(settings.unit, *columns, skipped=settings.skipped)

    def columns(self, question: Question) -> list[tuple[str, _native.Texts]]:
        """Sources of a question and their answers, coded, for the native side."""
        encode = self.coder.column
        return [(source, encode(answers).coded) for source, answers in question.answers.items()]

    def index(self, question: str | Question) -> NgramIndex:
        """Suffix-array index over the units of the reference answers to the question with this text or id.

        Built when first asked for. Raises `UnknownQuestionError`.
        """
        found = self.find(question)
        if self.settings.unit != "word":
            return found.index
        if found.id not in self._indexes:
            self._indexes[found.id] = NgramIndex(found.answers, self.settings.unit)
        return self._indexes[found.id]

    def native_scorer(self, question: Question) -> _native.Scorer:
        """The native scorer of a question, taken from the cache or built when first asked for.

        Raises `BenchmarkError` where a source has no answers or its baseline is 0.
        """
        if question.id not in self._scorers:
            self.prepare([question])
        return self._scorers[question.id]

    def helpfulness(self, question: Question) -> Helpfulness:
        """The evaluator of a question's keyword rules."""
        if question.id not in self._helpfulness:
            self._helpfulness[question.id] = Helpfulness(question.rules, self.settings)
        return self._helpfulness[question.id]

    def prepare(
        self, questions: Sequence[Question] | None = None, *, threads: int | None = None
    ) -> Self:
        """Make the scorers of all (or the given) questions ready now, in parallel; returns itself.

        What an earlier process left in the cache is opened, the rest is built; once all are there, the
        cache gets them.
        """
        wanted = self if questions is None else questions
        missing = [question for question in wanted if question.id not in self._scorers]
        if missing:
            _ = self.coder  # once, rather than in each of the threads
            workers = min(threads or os.cpu_count() or 1, len(missing))
            if workers == 1:
                found = list(map(self._scorer, missing))
            else:
                with ThreadPoolExecutor(workers) as pool:
                    found = list(pool.map(self._scorer, missing))
            for question, scorer in zip(missing, found, strict=True):
                self._scorers[question.id] = scorer
            if len(self._scorers) == len(self):
                self._cache.save([self._scorers[question.id] for question in self])
        return self

    @property
    def index_path(self) -> Path | None:
        """Where the cache has the scorers, or would; `None` where questions were not read from files."""
        return self._cache.path

    def batches(
        self, questions: Sequence[Question], *, threads: int | None = None
    ) -> _native.Batches:
        """What scores responses to these questions (others may be ready, too), by their `numbers`."""
        self.prepare(questions, threads=threads)
        if self._all_batches is not None:
            return self._all_batches
        ready = [self._entry(q) if q.id in self._scorers else None for q in self]
        batches = _native.Batches(ready, len(self.sources))
        if None not in ready:
            self._all_batches = batches
        return batches

    def lone_batches(self, question: Question) -> _native.Batches:
        """What scores responses to this question alone, by the code 0, however many others there are."""
        if question.id not in self._lone_batches:
            self.prepare([question])
            self._lone_batches[question.id] = _native.Batches(
                [self._entry(question)], len(self.sources)
            )
        return self._lone_batches[question.id]

    def baselines(self, question: Question) -> dict[str, float]:
        """Mean Fluency, with baseline 1, of each source's own answers (spec: the divisor of Fluency)."""
        return dict(zip(question.sources, self.native_scorer(question).baselines, strict=True))

    def _entry(self, question: Question) -> tuple[_native.Scorer, _native.Rules, list[int]]:
        columns = [self._places[source] for source in question.sources]
        return self._scorers[question.id], self.helpfulness(question).native, columns

    def _scorer(self, question: Question) -> _native.Scorer:
        stored = self._cache.load(self._numbers[question.id])
        if stored is not None:
            return stored
        try:
            return _native.Scorer(self.columns(question), self.settings.native)
        except BenchmarkError as error:
            raise BenchmarkError(f"question {question.id}: {error}") from None

    @cached_property
    def _cache(self) -> IndexCache:
        return IndexCache(list(self), self.settings)

    @cached_property
    def _lookalikes(self) -> Lookalikes:
        return Lookalikes(None if self.folder is None else name_of(self.folder), list(self))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {source: place for place, source in enumerate(self.sources)}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {question_id: number for number, question_id in enumerate(self._questions)}


def _check_unit(question: Question, unit: Unit) -> None:
    if question.has_tokens != (unit == "token"):
        theirs = "lists of token ids" if question.has_tokens else "texts"
        raise BenchmarkError(
            f"question {question.id}: the reference answers are {theirs}, which have no units of the kind "
            f"{unit!r}: choose another unit in the settings"
        )
    if unit == "token" and question.rules:
        raise BenchmarkError(
            f"question {question.id}: keyword rules look at text, and tokens have none: give the question no "
            "keywords (Helpfulness is then that of an empty list of rules)"
        )
