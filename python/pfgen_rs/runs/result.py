"""Results of runs: the scores of many responses, aggregated exactly as published (`result.json`)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast, overload

from pfgen_rs import extras
from pfgen_rs.errors import IncompleteRunError, InputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.io.json_lines import indented
from pfgen_rs.io.layouts import PLAIN, ReadAs
from pfgen_rs.io.remote.urls import is_url
from pfgen_rs.io.run_files import run_name, stated_model
from pfgen_rs.io.text import counted, plural
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import BY_SOURCE, METRICS, Settings, Summation, share_name
from pfgen_rs.metrics.signature import part_of
from pfgen_rs.metrics.units import Answer
from pfgen_rs.questions.folder import Placed
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.score_store import ResponseScores
from pfgen_rs.runs.scored_run import ScoredRun
from pfgen_rs.runs.summary import Sampled, Summaries, summarise
from pfgen_rs.stats.estimates import Sample

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage


class Responses(Protocol):
    """The texts of a run: in memory, or read again when needed."""

    def frames(self, scores: ResponseScores) -> Iterator[pl.DataFrame]:
        """Yields rows with texts and scores, in order, as in `Result.frame`."""

    def records(
        self, samples: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Answer, dict[str, Any]]]:
        """Yields answer and record of some responses, given by line and start of the line, ascending."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(ScoredRun):
    """Scores of a run.

    The numbers of the run (`score`, `fluency`, …) are the published ones: means over questions, rounded as
    published. Large runs are not kept in memory: texts are read again when needed, for `frame` and for the
    samples in `to_dict`, which raise `InputError` if the file has changed.

    `clean`: the mode for which answers were cleaned, if they were. `unclean`: number of answers with content
    that pfgen-bench removes during generation, by reason. `run`: its name, if its file has several runs.
    `planned`: for a partial result, from unfinished trials, the number of answers that the whole run will
    have; its `score` is the mean over questions of all their answers. `cut_short`: says so if the file may
    have been cut short, since only its last record has no newline. `read_as`: what the file was recognised
    as, with the numbers of prompts that contain their question and of answers without their reasoning.
    `model`: who wrote the answers, if that was said; otherwise `config` may.

    A pickle has scores, but neither the benchmark nor texts of files: whoever
    reads it needs the same benchmark (by name or folder, else `BenchmarkError`), and the file where texts are
    asked for. Two results are equal if name, file, signature and everything published of their scores are.

    >>> import pfgen_rs
    >>> careless, faithful = (pfgen_rs.score_file(pfgen_rs.sample_runs()[name], "mini")
    ...                       for name in ("careless", "faithful"))
    >>> faithful.score, faithful.fluency, faithful.truthfulness, faithful.helpfulness
    (0.8256, 0.87514, 0.93355, 0.66822)
    >>> faithful.interval()  # doctest: +ELLIPSIS
    Interval(low=0.78..., high=0.86..., level=0.95, method='t')
    >>> print(faithful.compare(careless))  # doctest: +ELLIPSIS
    mini/faithful scores 0.3662 more than mini/careless (95 % bootstrap interval +0.3185 to +0.4106, ...)
    >>> print(faithful)  # doctest: +ELLIPSIS +NORMALIZE_WHITESPACE
    <BLANKLINE>
    ...
    1  mini/faithful  0.8256 ...
    >>> faithful.questions.sort("average").select("question_id", "answers", "average").row(0)
    ('Q09', 10, 0.68083)
    >>> faithful.by_category.select("category", "questions", "average").row(0)
    ('arts', 1, 0.81715)
    >>> faithful.to_polars().shape, faithful.to_json()[:1]
    ((140, 13), '{')
    """

    _has_responses = True

    benchmark: QuestionSet = field(repr=False)
    response_scores: ResponseScores = field(repr=False)
    responses: Responses = field(repr=False)
    path: str | None = None
    config: dict[str, Any] | None = None
    input_hash: str | None = None
    problems: list[InputError] = field(default_factory=list, repr=False)
    clean: Mode | None = None
    run: str | None = None
    unclean: Counter[str] = field(default_factory=Counter, repr=False)
    planned: int | None = None
    cut_short: InputError | None = field(default=None, repr=False)
    read_as: ReadAs = PLAIN
    model: str | None = None

    @property
    def name(self) -> str:
        """The run's name in its file, the model named in `config.json`, or the name of the folder or file."""
        if self.run is not None:
            return self.run
        own = "answers" if self.path is None else run_name(self.path)
        return stated_model(self.config) or own

    @property
    def _own_model(self) -> str | None:
        """Name of the model that wrote the answers, if it is known."""
        return self.model or stated_model(self.config)

    @property
    def _place(self) -> str:
        """The file, with the run's name if the file has several, for messages."""
        path = self.path or "the responses"
        return path if self.run is None else f"{path}, run {self.run!r}"

    @property
    def missing(self) -> list[str]:
        """Ids of the benchmark's questions without answers, which count nowhere."""
        return [q.id for q in self.benchmark if q.id not in self._counts]

    @property
    def is_partial(self) -> bool:
        """Whether the run is not whole: questions have no answers, or trials are unfinished."""
        return bool(self.missing) or self.planned is not None

    @property
    def _missing_note(self) -> str:
        """What is missing, as a clause: `1 of 14 questions has no answer`, or the number of answers."""
        if self.planned is not None:
            asked = f"{len(self._counts)} of {counted(len(self.benchmark), 'question')}"
            return f"partial result of {self.height:,} of {counted(self.planned, 'answer')}, to {asked}"
        count = len(self.missing)
        asked = counted(len(self.benchmark), "question")
        return f"{count} of {asked} {plural(count, 'has', 'have')} no answer"

    @property
    def signature(self) -> str:
        """One line that makes the scores reproducible; includes the number of answers if some are missing."""
        counts = (len(self._counts), len(self.benchmark))
        return self.benchmark._signed(
            answered=counts,
            answers=None if self.planned is None else (self.height, self.planned),
            clean=self.clean,
        )

    @property
    def empty(self) -> int:
        """Number of empty answers."""
        return self._summaries.empty

    @property
    def foreign(self) -> int:
        """Number of other answers that have next to nothing in common with the reference answers."""
        return self._summaries.foreign

    @property
    def _spread(self) -> dict[str, float]:
        spread = self._summaries.spread
        if self.planned is None:
            return spread
        # Trials of unequal size have no score each.
        return {**spread, "score": round(self._summaries.scores["average"], 4)}

    def _about(self, question_id: str) -> tuple[str, str | None]:
        question = self.benchmark[question_id]
        return question.text, question.category

    def _summed_as(self, summation: str) -> Result:
        is_fixed = self.benchmark.settings.variant == "paper"
        return self if is_fixed else self.with_summation(cast("Summation", summation))

    def sample(self, name: str | None = None) -> Sample:
        """Returns the values of all responses for `pfgen_rs.stats`, named `name` or after the run."""
        values = {key: self.response_scores.of_question(key, METRICS) for key in self._counts}
        return self._sample(name, values)

    def _values(self) -> dict[str, str]:
        planned = {} if self.planned is None else {"answers": f"{self.height}/{self.planned}"}
        return {**super()._values(), **planned}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, and of the benchmark where it is."""
        _, *rest = (getattr(self, each.name) for each in fields(self))
        return Result, (Placed(self.benchmark), *rest)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per response.

        `line` (from 1), `question_id`, `question`, `answer`, `length` in code points (or other units), the
        three metrics, `average`, and each source's share.
        """
        return pl.concat(self.responses.frames(self.response_scores), rechunk=True)

    def with_summation(self, summation: Summation) -> Result:
        """Returns the same run with its sums computed in this way, without scoring it again.

        Raises `SettingsError` for variant `paper`, which has plain sums only.
        """
        settings = replace(self.benchmark.settings, summation=summation)
        if settings == self.benchmark.settings:
            return self
        sources = {question.id: question.sources for question in self.benchmark}
        return replace(
            self,
            benchmark=self.benchmark.with_settings(settings),
            response_scores=self.response_scores.summed_again(sources, settings),
        )

    @property
    def height(self) -> int:
        """Number of scored responses."""
        return self.response_scores.height

    @property
    def _sample_places(self) -> list[tuple[int, int]]:
        """Line, and start of the line, of the responses that `to_dict` shows, ascending."""
        return sorted(
            {
                (sample.line, sample.start)
                for summary in self._summaries.questions.values()
                for sample in summary.samples
            }
        )

    def to_dict(self, *, allow_partial: bool = False) -> dict[str, Any]:
        """Returns the published `result.json` as an object, with keys in the published order.

        With non-default settings, or for a partial result, it also has a `signature`.
        Raises `IncompleteRunError` for a partial result, unless `allow_partial`.
        """
        if self.is_partial and not allow_partial:
            named = f"{', '.join(self.missing[:5])}{', …' if len(self.missing) > 5 else ''}"
            raise IncompleteRunError(
                f"{self._missing_note}{f' ({named})' if named and self.planned is None else ''}, but a "
                "published result needs all: answer them, or allow a partial result explicitly"
            )
        samples = self._samples()
        questions = {key: self._question_entry(key, samples) for key in self._summaries.questions}
        return {
            **({} if self.input_hash is None else {"input_hash": self.input_hash}),
            "metadata_hash": self.benchmark.metadata_hash,
            **({} if self._is_published_kind else {"signature": self.signature}),
            **({} if self.config is None else {"config": self.config}),
            "num_trials": self.num_trials,
            **self._spread,
            "scores": self._summaries.scores,
            "questions": questions,
        }

    def to_bytes(self, *, allow_partial: bool = False) -> bytes:
        """Returns the content of `result.json`, byte for byte as published."""
        return result_content(self.to_dict(allow_partial=allow_partial))

    @overload
    def to_json(self, path: None = None, *, allow_partial: bool = False) -> str: ...

    @overload
    def to_json(
        self,
        path: str | os.PathLike[str],
        *,
        allow_partial: bool = False,
        storage_options: Mapping[str, Any] | Storage | None = None,
    ) -> None: ...

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        allow_partial: bool = False,
        storage_options: Mapping[str, Any] | Storage | None = None,
    ) -> str | None:
        """Write `result.json` atomically, byte for byte as published; without a path, return its text.

        `path` may be a URL of object storage, opened with `storage_options` (see `score_file`). Raises
        what `to_dict` raises, and `OutputError`.
        """
        content = self.to_bytes(allow_partial=allow_partial)
        if path is None:
            return content.decode()
        if is_url(path):
            from pfgen_rs.io.remote.storage import RemoteTarget

            RemoteTarget(path, storage_options).put(content)
        else:
            write_atomic(path, content)
        return None

    def to_polars(self) -> pl.DataFrame:
        """Returns one row per response: `frame`."""
        return self.frame

    def to_pandas(self) -> Any:
        """Returns `frame` as a pandas DataFrame. Raises `PfgenError` if pandas is not installed."""
        pandas = extras.needed("pandas", "pandas")
        return pandas.DataFrame(self.frame.to_dict(as_series=False))

    @overload
    def to_html(self, path: None = None, *, answers_per_question: int = 1000) -> str: ...

    @overload
    def to_html(
        self, path: str | os.PathLike[str], *, answers_per_question: int = 1000
    ) -> None: ...

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, answers_per_question: int = 1000
    ) -> str | None:
        """Write a page about the run: one file if `path` ends in `.html`, else a folder with `index.html`.

        Scores with intervals, tables and distributions, and answers (up to `answers_per_question`, including
        the published samples), explained character by character. Needs no network. Without a path, returns
        the text of the file. Raises `SettingsError` if the unit is not a character, `InputError` for fewer
        than 5 answers per question, and `OutputError`.
        """
        # The one upward import: pages need results, but results rarely need a page.
        from pfgen_rs.report.site.run_page import run_text, write_run

        if path is None:
            return run_text(self, answers_per_question=answers_per_question)
        write_run(self, path, answers_per_question=answers_per_question)
        return None

    @property
    def _is_published_kind(self) -> bool:
        return (
            self.clean is None
            and part_of(self.benchmark.signature, "without") is None
            and self.benchmark.settings.definition == Settings()
            and not self.is_partial
        )

    @cached_property
    def _counts(self) -> dict[str, int]:
        return self.response_scores.counts()

    @cached_property
    def _summaries(self) -> Summaries:
        return summarise(self.benchmark, self.response_scores)

    def _question_entry(
        self,
        question_id: str,
        samples: Mapping[tuple[int, int], tuple[dict[str, Any], list[list[Any]]]],
    ) -> dict[str, Any]:
        question, summary = self.benchmark[question_id], self._summaries.questions[question_id]
        return {
            "question": question.text,
            **summary.spread,
            "scores": summary.scores,
            "samples": [
                _published_sample(question.sources, sample, *samples[sample.line, sample.start])
                for sample in summary.samples
            ],
        }

    def _samples(self) -> dict[tuple[int, int], tuple[dict[str, Any], list[list[Any]]]]:
        """Returns the records of all samples by place, read in one pass, and what their rules missed."""
        asked = {
            (sample.line, sample.start): question_id
            for question_id, summary in self._summaries.questions.items()
            for sample in summary.samples
        }
        places = self._sample_places
        found = list(self.responses.records(places))
        column = self.benchmark._coder.column([answer for answer, _ in found], 1)
        samples = {}
        for i, (place, (_, record)) in enumerate(zip(places, found, strict=True)):
            rules = self.benchmark._helpfulness(self.benchmark[asked[place]])
            samples[place] = record, rules.results(column.texts[i], column.coded[i])
        return samples


def result_content(result: Mapping[str, Any]) -> bytes:
    """Returns the content of a `result.json`, byte for byte as published, from what `to_dict` returns."""
    return indented(result)


def _published_sample(
    sources: Sequence[str], sample: Sampled, record: Mapping[str, Any], missed: list[list[Any]]
) -> dict[str, Any]:
    """Returns a response as in `result.json`: its record without the question, and its scores."""
    values = sample.scores
    fluency, truthfulness = (
        {source: values[share_name(metric, source)] for source in sources} for metric in BY_SOURCE
    )
    scores = {
        "fluency": fluency,
        "fluency_discount": 1.0,
        "truthfulness": truthfulness,
        "helpfulness": values["helpfulness"],
        "helpfulness_results": missed,
        "average": values["average"],
    }
    kept = {key: value for key, value in record.items() if key != "question"}
    return {**kept, "scores": scores}
