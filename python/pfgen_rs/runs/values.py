"""The values of a run, whichever way it was scored; needs neither numpy nor polars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pfgen_rs.errors import InputError
from pfgen_rs.io.counted import counted, plural
from pfgen_rs.metrics.signature import signature
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.runs.naming import run_name
from pfgen_rs.runs.summaries import Summaries

if TYPE_CHECKING:
    from pfgen_rs.io.cleaning import Mode
    from pfgen_rs.metrics.settings import Settings

__all__ = ["AskedQuestion", "Moments", "QuestionsAsked", "RunValues"]


class AskedQuestion(Protocol):
    """A question, as far as values of runs need it."""

    @property
    def id(self) -> str:
        """Its id."""


class QuestionsAsked(Protocol):
    """The questions of a run."""

    @property
    def metadata_hash(self) -> str:
        """The digest of their files."""

    @property
    def settings(self) -> Settings:
        """How answers are scored."""

    def __len__(self) -> int:
        """Count them."""

    def __iter__(self) -> Iterator[AskedQuestion]:
        """Iterate over them, sorted by id."""


class Moments(NamedTuple):
    """Of each answered question: mean and standard deviation of its scores, and the number of answers."""

    means: list[float]
    deviations: list[float]
    counts: list[int]


class RunValues(ABC):
    """A scored run; what its fields are, `Result` says."""

    benchmark: QuestionsAsked
    path: str | None
    config: dict[str, Any] | None
    input_hash: str | None
    problems: list[InputError]
    clean: Mode | None
    run: str | None
    unclean: Counter[str]
    planned: int | None
    cut_short: InputError | None

    @property
    @abstractmethod
    def height(self) -> int:
        """Number of scored responses."""

    @property
    @abstractmethod
    def _counts(self) -> dict[str, int]: ...

    @property
    @abstractmethod
    def _summaries(self) -> Summaries: ...

    @property
    def moments(self) -> Moments:
        """What the error of the score follows from, by question in the order of ids."""
        summaries = self._summaries.questions.values()
        return Moments(
            [summary.scores["average"] for summary in summaries],
            [summary.spread["score_std"] for summary in summaries],
            [summary.count for summary in summaries],
        )

    @property
    def name(self) -> str:
        """The run's name in its file, the model named in `config.json`, or the name of the folder or file."""
        if self.run is not None:
            return self.run
        model = (self.config or {}).get("model")
        return model if isinstance(model, str) and model else run_name(self.path)

    @property
    def place(self) -> str:
        """The file, with the run's name if the file has several, for messages."""
        path = self.path or "the responses"
        return path if self.run is None else f"{path}, run {self.run!r}"

    @property
    def score(self) -> float:
        """The score of the run: mean over trials and questions, rounded to 4 decimals."""
        return self._spread["score"]

    @property
    def score_std(self) -> float:
        """Population standard deviation over the first `num_trials` trials, as published, to 4 decimals."""
        return self._spread["score_std"]

    @property
    def length(self) -> float:
        """Mean length of the answers in code points (or other units), rounded to 1 decimal."""
        return self._spread["length"]

    @property
    def length_std(self) -> float:
        """Population standard deviation of the lengths, rounded to 1 decimal."""
        return self._spread["length_std"]

    @property
    def fluency(self) -> float:
        """Sum of the sources' shares of Fluency; 1 is the mean of the reference answers, not a limit."""
        return self._whole(self._scores["fluency"])

    @property
    def truthfulness(self) -> float:
        """Sum of the sources' shares of Truthfulness."""
        return self._whole(self._scores["truthfulness"])

    @property
    def helpfulness(self) -> float:
        """Mean Helpfulness."""
        return float(self._scores["helpfulness"])

    @property
    def num_trials(self) -> int:
        """The smallest number of answers to any answered question."""
        return self._summaries.num_trials

    @property
    def missing(self) -> list[str]:
        """Ids of the benchmark's questions without answers, which count nowhere."""
        return [q.id for q in self.benchmark if q.id not in self._counts]

    @property
    def is_partial(self) -> bool:
        """Whether the run is not whole: questions have no answers, or trials are unfinished."""
        return bool(self.missing) or self.planned is not None

    @property
    def left_out_count(self) -> int:
        """Number of lines that could not be scored."""
        return len(self.problems)

    @property
    def missing_note(self) -> str:
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
        return signature(
            self.benchmark.metadata_hash,
            self.benchmark.settings,
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
        return {**spread, "score": round(self._scores["average"], 4)}

    @property
    def _scores(self) -> dict[str, Any]:
        return self._summaries.scores

    def _whole(self, shares: Mapping[str, float]) -> float:
        return float(left_sum(shares.values(), compensated=self.benchmark.settings.compensated))
