"""Questions with their scorers for one set of settings."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pfgen_rs import _native
from pfgen_rs.errors import (
    BenchmarkError,
    InputError,
    Item,
    SettingsError,
    StoreError,
    UnknownQuestionError,
)
from pfgen_rs.metrics import units
from pfgen_rs.metrics.helpfulness import Helpfulness
from pfgen_rs.metrics.ngram_index import NgramIndex
from pfgen_rs.metrics.settings import Chosen, Settings, chosen_settings
from pfgen_rs.metrics.signature import signature
from pfgen_rs.metrics.units import Coder, Unit
from pfgen_rs.questions.about import About
from pfgen_rs.questions.index_cache import IndexCache
from pfgen_rs.questions.locate import name_of
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.unknown import Lookalikes

if TYPE_CHECKING:
    from pfgen_rs.questions.left_out import LeftOut


class QuestionSet:
    """Questions with scorers for one set of settings. Thread-safe.

    `bench["Q14"]` returns a question, `"Q14" in bench` tests whether it exists, and iteration yields all
    questions sorted by id. Scorers are built on first use. `folder`: where the questions were read from, if
    they were. `settings`: all, or some by name; by default those that the questions state
    (`Question.scoring`) or, where they state none, the published ones. Raises `SettingsError` if they
    contradict the questions.
    """

    # Users call what has no underscore; the rest of this package calls all of it.

    def __init__(
        self,
        questions: Sequence[Question],
        metadata_hash: str,
        settings: Chosen = None,
        folder: Path | None = None,
    ) -> None:
        rules = any(question.rules for question in questions)
        self.settings = chosen_settings(settings, stated_by(questions), rules=rules)
        self.folder = folder
        for question in questions:
            _check_unit(question, self.settings.unit)
        self.metadata_hash = metadata_hash
        self._questions = {q.id: q for q in sorted(questions, key=lambda q: q.id)}
        self._by_text = {q.text: q for q in self._questions.values()}
        self._scorers: dict[str, _native.Scorer] = {}
        self._making = threading.Lock()
        self._made_batches: tuple[int, _native.Batches] | None = None
        self._made_rules: dict[str, Helpfulness] = {}
        self._indexes: dict[str, NgramIndex] = {}
        self.left_out: LeftOut | None = None

    def __getitem__(self, question: str | Question) -> Question:
        """Returns the question with this id or, failing that, this text. Raises the same errors as `find`."""
        found = self._questions.get(question) if isinstance(question, str) else None
        return self.find(question) if found is None else found

    def __contains__(self, question: object) -> bool:
        """Whether there is a question with this id or text; for a `Question`, with its text."""
        return self._found(question) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the scorers, which are rebuilt when needed."""
        own = (list(self), self.metadata_hash, self.settings, self.folder)
        return type(self), own, {"left_out": self.left_out}

    def __iter__(self) -> Iterator[Question]:
        """Iterate over all questions, sorted by id."""
        return iter(self._questions.values())

    def __len__(self) -> int:
        """Count the questions."""
        return len(self._questions)

    def __repr__(self) -> str:
        """Show the number of questions and the signature."""
        return f"{type(self).__name__}({len(self)} questions, {self.signature!r})"

    def _repr_html_(self) -> str:
        """Show the first questions, with numbers of reference answers and rules, in notebooks."""
        from pfgen_rs.io import notebook  # which scoring does without

        rows = [
            (q.id, q.text, q.category, sum(map(len, q.answers.values())), len(q.rules))
            for q in self
        ]
        return notebook.document(
            [
                notebook.heading(f"{type(self).__name__}: {len(self)} questions"),
                notebook.table(("id", "question", "category", "reference answers", "rules"), rows),
                notebook.paragraph(self.signature),
            ]
        )

    @cached_property
    def sources(self) -> list[str]:
        """All sources, in the order of their first appearance in the questions (sorted by id)."""
        return list(dict.fromkeys(source for question in self for source in question.sources))

    @property
    def about(self) -> About | None:
        """What the set says of itself; `None` if it is of format 1, which says nothing."""
        return self._in_order[0].about if self._in_order else None

    @cached_property
    def models(self) -> list[str]:
        """Names of the models that wrote reference answers, sorted; empty if the set does not say."""
        return sorted({name for question in self for name in question.models})

    @cached_property
    def signature(self) -> str:
        """One line that makes scores of this benchmark reproducible."""
        return self._signed()

    def _signed(self, **about: Any) -> str:
        """Returns the signature of scores by these questions; `about`: what `signature` is told of them."""
        without = None if self.left_out is None else self.left_out.mark
        return signature(self.metadata_hash, self.settings, without=without, **about)

    def find(self, question: str | Question) -> Question:
        """Returns the question with this exact text or, failing that, this id; a `Question` is found by text.

        Raises `UnknownQuestionError`, or `InputError` for anything but text or a `Question`.
        """
        found = self._found(question)
        if found is not None:
            return found
        text = question.text if isinstance(question, Question) else question
        if not isinstance(text, str):
            raise InputError(
                f"invalid question: expected its text, its id or a Question, not {type(text).__name__}"
            )
        raise self._unknown(text)

    def _found(self, question: object) -> Question | None:
        if isinstance(question, Question):
            return self._by_text.get(question.text)
        if isinstance(question, str):
            return self._by_text.get(question) or self._questions.get(question)
        return None

    def _unknown(
        self,
        question: str,
        others: Iterable[str] = (),
        *,
        row: int | None = None,
        path: str | None = None,
        line: int | None = None,
        search: bool = True,
        item: Item = "line",
        advice: str = "",
    ) -> UnknownQuestionError:
        """Returns the error for an unknown question; `others` and `search` as for `Lookalikes.message`."""
        problem = advice or self._lookalikes.message(question, others, search=search)
        problem = problem if row is None else f"row {row}: {problem}"
        return UnknownQuestionError(problem, path=path, line=line, question=question, item=item)

    def _crowd(self, asked: Iterable[str]) -> str | None:
        """Returns a hint if at least half of these questions are published ones, but not in this set."""
        return self._lookalikes.crowd(asked)

    def with_settings(self, settings: Settings | Mapping[str, Any]) -> Self:
        """Returns the same questions with other settings, sharing the indexes.

        A mapping has those that change. Also shares the scorers if the settings differ only in `summation`.
        Raises `SettingsError` if they contradict what the questions state, or if reference answers have been
        left out, which needs to know the settings.
        """
        if not isinstance(settings, Settings):
            settings = chosen_settings({**asdict(self.settings), **settings}, None)
        if self.left_out is not None and settings.definition != self.settings.definition:
            raise SettingsError("reference answers are left out: choose the settings before that")
        other = type(self)(list(self), self.metadata_hash, settings, self.folder)
        if settings.definition == self.settings.definition:
            other._scorers, other.left_out = self._scorers, self.left_out
        return other

    @cached_property
    def _numbers(self) -> _native.Numbers:
        """Maps the text or, failing that, the id of a question to its number, in the order of ids."""
        return _native.Numbers([[q.text for q in self], list(self._questions)])

    @cached_property
    def _in_order(self) -> list[Question]:
        """The questions by their numbers."""
        return list(self)

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the questions by their numbers."""
        return list(self._questions)

    @cached_property
    def _coder(self) -> Coder:
        """Encodes the units of answers as code points; for words, it knows all reference answers."""
        columns = [answers for question in self for answers in question.answers.values()]
        settings = self.settings
        return units.coder(settings.unit, *columns, skipped=settings.skipped)

    def _columns(self, question: Question) -> list[tuple[str, _native.Texts]]:
        """Returns a question's sources with their coded answers, for native code."""
        encode = self._coder.column
        return [(source, encode(answers).coded) for source, answers in question.answers.items()]

    def index(self, question: str | Question) -> NgramIndex:
        """Returns the suffix-array index over the units of the reference answers to a question (text or id).

        Built on first use. Raises `UnknownQuestionError`.
        """
        found = self.find(question)
        if self.settings.unit != "word":
            return found.index
        if found.id not in self._indexes:
            self._indexes[found.id] = NgramIndex(found.answers, self.settings.unit)
        return self._indexes[found.id]

    def _native_scorer(self, question: Question) -> _native.Scorer:
        """Returns the native scorer of a question, loaded from the cache or built on first use.

        Raises `BenchmarkError` if a source has no answers or its baseline is 0.
        """
        if question.id not in self._scorers:
            self._make_scorers([question])
        return self._scorers[question.id]

    def _helpfulness(self, question: Question) -> Helpfulness:
        """Returns the evaluator of a question's keyword rules."""
        if question.id not in self._made_rules:
            self._made_rules[question.id] = Helpfulness(question.rules, self.settings, question.id)
        return self._made_rules[question.id]

    def prepare(
        self, questions: Sequence[Question] | None = None, *, threads: int | None = None
    ) -> Self:
        """Build the scorers of all (or the given) questions now, in parallel, unless the cache has them.

        Those in the cache are read when they are first used, which takes a few milliseconds a question.
        Those that are built are saved to the cache once all are. Processes that share a cache build all of
        them once, as far as their file system has locks. Returns itself.
        """
        if not self._cache.is_usable:
            self._make_scorers(self if questions is None else questions, threads)
        return self

    @property
    def index_path(self) -> Path | None:
        """Path of the cached scorers, which need not exist; `None` if questions were not read from files."""
        return self._cache.path

    def _batches(
        self, questions: Sequence[Question], *, threads: int | None = None, once: bool = False
    ) -> _native.Batches:
        """Returns the native batch scorer for these questions (and perhaps others), by their `numbers`.

        `once`: whether scorers that are in the cache, but not in memory, are needed for one batch only. Then
        they are read when that is scored, one after another, which takes a fraction of the memory, and raises
        `StoreError` for a damaged file.
        """
        if once and not self._scorers and self._cache.is_usable:
            return self._batches_of(
                {q.id: self._cache.stored(self._number_of[q.id]) for q in questions}
            )
        self._make_scorers(questions, threads)
        count, made = len(self._scorers), self._made_batches
        if made is None or made[0] != count:
            made = self._made_batches = count, self._batches_of(self._scorers)
        return made[1]  # another thread may have replaced it meanwhile, with other questions

    def _baselines(self, question: Question) -> dict[str, float]:
        """Returns the mean Fluency, with baseline 1, of each source's own answers: the divisor of Fluency."""
        return dict(zip(question.sources, self._native_scorer(question).baselines, strict=True))

    def _batches_of(
        self, scorers: Mapping[str, _native.Scorer] | Mapping[str, _native.StoredScorer]
    ) -> _native.Batches:
        entries = [self._entry(q, scorers[q.id]) if q.id in scorers else None for q in self]
        return _native.Batches(entries, len(self.sources))

    def _entry(
        self, question: Question, scorer: _native.Scorer | _native.StoredScorer
    ) -> tuple[Any, _native.Rules, list[int]]:
        columns = [self._places[source] for source in question.sources]
        return scorer, self._helpfulness(question).native, columns

    def _give_up_cache(self, error: StoreError) -> None:
        """Report a damaged file of cached scorers, which are built again."""
        self._cache.give_up(error)

    def _make_scorers(self, questions: Iterable[Question], threads: int | None = None) -> None:
        """Read the missing scorers of these questions from the cache, or build them, in parallel."""
        missing = [question for question in questions if question.id not in self._scorers]
        if missing:
            with self._making:  # rather than twice
                self._make_missing_scorers(missing, threads)

    def _make_missing_scorers(self, missing: list[Question], threads: int | None) -> None:
        missing = [question for question in missing if question.id not in self._scorers]
        if not missing:
            return
        if len(self._scorers) + len(missing) < len(self):
            self._make_each_scorer(missing, threads)
            return
        with self._cache.building():
            self._make_each_scorer(missing, threads)
            self._cache.save([self._scorers[question.id] for question in self])

    def _make_each_scorer(self, missing: list[Question], threads: int | None) -> None:
        missing.sort(key=_question_set_answers, reverse=True)  # so that threads end together
        _ = self._coder  # once, rather than in each of the threads
        workers = min(threads or os.cpu_count() or 1, len(missing))
        if workers == 1:
            found = list(map(self._scorer, missing))
        else:
            with ThreadPoolExecutor(workers) as pool:
                found = list(pool.map(self._scorer, missing))
        for question, scorer in zip(missing, found, strict=True):
            self._scorers[question.id] = scorer

    def _scorer(self, question: Question) -> _native.Scorer:
        stored = self._cache.load(self._number_of[question.id])
        if stored is not None:
            return stored
        try:
            return _native.Scorer(self._columns(question), self.settings.native)
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
    def _number_of(self) -> dict[str, int]:
        return {question_id: number for number, question_id in enumerate(self._questions)}


def stated_by(questions: Sequence[Question]) -> Mapping[str, Any] | None:
    """Returns the settings that these questions state, if any.

    Raises `BenchmarkError` if they state different ones, or say different things of their set.
    """
    says = {"scoring": "state different settings ('scoring')", "about": "differ in 'set'"}
    for question in questions:
        for key, what in says.items():
            if getattr(question, key) != getattr(questions[0], key):
                names = (each.file or each.id for each in (questions[0], question))
                raise BenchmarkError(f"{' and '.join(names)} {what}: they belong to different sets")
    return questions[0].scoring if questions else None


def _question_set_answers(question: Question) -> int:
    return sum(map(len, question.answers.values()))


def _check_unit(question: Question, unit: Unit) -> None:
    if question.has_tokens != (unit == "token"):
        theirs = "lists of token ids" if question.has_tokens else "texts"
        raise BenchmarkError(
            f"question {question.id}: the reference answers are {theirs}, which cannot be split into units "
            f"of type {unit!r}: choose another unit in the settings"
        )
    if unit == "token" and question.rules:
        raise BenchmarkError(
            f"question {question.id}: keyword rules need text, which tokens do not have: remove the "
            "question's keywords"
        )
