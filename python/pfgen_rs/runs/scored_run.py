"""What can be said of every scored run, whether scored here or read from a published `result.json`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, get_args

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.run_files import is_system, named_results
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.lazy import Floats, np, pl
from pfgen_rs.metrics.settings import METRICS, PARTS, Metric
from pfgen_rs.metrics.signature import comparable, part_of
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.runs.differences import Difference, Interval, Method
from pfgen_rs.runs.generation import generation_of
from pfgen_rs.runs.summary import Summaries
from pfgen_rs.stats.checks import check_level
from pfgen_rs.stats.estimates import Sample, estimate, from_moments

if TYPE_CHECKING:
    from pfgen_rs.stats.comparing import Comparison

_WEAKEST = 5  # questions that notebooks show
Run = TypeVar("Run", bound="ScoredRun")
_MEANS = ("length", *PARTS, "average")


class Moments(NamedTuple):
    """Of each answered question: mean and standard deviation of its scores, and the number of answers."""

    means: list[float]
    deviations: list[float]
    counts: list[int]


class ScoredRun(ABC):
    """A run's figures, by question and as a whole: base of `Result` and `PublishedResult`.

    `print` shows the table of `pfgen-rs score`; `repr` is one line.
    """

    path: str | None
    config: dict[str, Any] | None
    input_hash: str | None
    clean: Any  # the mode for which answers were cleaned, if they were
    problems: Sequence[InputError] = ()  # of lines that could not be scored
    _has_responses = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The run's name."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """One line that makes the scores reproducible."""

    @property
    @abstractmethod
    def _summaries(self) -> Summaries: ...

    @abstractmethod
    def _about(self, question_id: str) -> tuple[str, str | None]:
        """Returns text and category of a question."""

    # Figures

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
        return self._whole(self._summaries.scores["fluency"])

    @property
    def truthfulness(self) -> float:
        """Sum of the sources' shares of Truthfulness."""
        return self._whole(self._summaries.scores["truthfulness"])

    @property
    def helpfulness(self) -> float:
        """Mean Helpfulness."""
        return float(self._summaries.scores["helpfulness"])

    @property
    def num_trials(self) -> int:
        """The smallest number of answers to any answered question."""
        return self._summaries.num_trials

    @property
    def height(self) -> int:
        """Number of scored responses."""
        return sum(self._moments.counts)

    @property
    def missing(self) -> list[str]:
        """Ids of the benchmark's questions without answers, where they are known."""
        return []

    @property
    def _moments(self) -> Moments:
        """What the error of the score follows from, by question in the order of ids."""
        summaries = self._summaries.questions.values()
        return Moments(
            [summary.scores["average"] for summary in summaries],
            [summary.spread["score_std"] for summary in summaries],
            [summary.count for summary in summaries],
        )

    @cached_property
    def generation(self) -> dict[str, Any] | None:
        """How the answers were generated, as `generation.json` in the run's folder says, or its journal.

        `None` where neither is there, as for published runs. Raises `InputError` for an invalid journal.
        """
        return generation_of(self.path)

    def summary(self) -> dict[str, Any]:
        """Returns the run's values, including the signature, as one flat object.

        `trial_se` and `question_se` are those of `pfgen_rs.stats.Estimate`, for all responses. `score_low`
        and `score_high` are the bounds of the 95 % interval over questions (Student's t), as in a
        leaderboard's columns of the same names. Values are `None` if there are too few answers; bounds are
        also `None` if the score is not the mean of all answers.
        """
        # From the published numbers, so that errors do not depend on having the responses.
        errors = from_moments(*self._moments).of(self.score)
        return {
            "name": self.name,
            "file": self.path,
            "score": self.score,
            "score_std": None if isnan(self.score_std) else self.score_std,
            "trial_se": errors.trial_se,
            "question_se": errors.question_se,
            "score_low": errors.low,
            "score_high": errors.high,
            "num_trials": self.num_trials,
            "length": self.length,
            "length_std": self.length_std,
            "fluency": self.fluency,
            "truthfulness": self.truthfulness,
            "helpfulness": self.helpfulness,
            "responses": self.height,
            "left_out": len(self.problems),
            "missing_questions": self.missing,
            "input_hash": self.input_hash,
            "signature": self.signature,
        }

    @property
    def _asked(self) -> int:
        """Number of questions in the set."""
        total = (part_of(self.signature, "questions") or "").rpartition("/")[2]
        return int(total) if total.isdecimal() else len(self._summaries.questions)

    @property
    def _summation(self) -> str:
        return part_of(self.signature, "sum") or "plain"

    @property
    def _spread(self) -> dict[str, float]:
        return self._summaries.spread

    def _whole(self, shares: Mapping[str, float]) -> float:
        return float(left_sum(shares.values(), compensated=self._summation == "compensated"))

    # Tables

    @cached_property
    def questions(self) -> pl.DataFrame:
        """One row per question: `answers`, `score`, `score_std`, `length`, `length_std` and mean metrics.

        In the order of ids, with `question_id`, `question` and `category`.
        """
        types: dict[str, Any] = {"category": pl.String}
        return pl.DataFrame(self._question_rows(), schema_overrides=types, infer_schema_length=None)

    @property
    def by_question(self) -> pl.DataFrame:
        """The same as `questions`."""
        return self.questions

    @property
    def by_category(self) -> pl.DataFrame:
        """One row per category: its number of `questions`, `answers`, and means over its questions.

        By name; published results do not say categories, and have one row, for null.
        """
        rows = self.questions.with_columns(pl.col("category").replace("", None))
        found = rows.group_by("category").agg(
            pl.len().alias("questions"), pl.sum("answers"), *map(pl.mean, _MEANS)
        )
        return found.sort("category")

    def _question_rows(self) -> list[dict[str, Any]]:
        rows = []
        for question_id, summary in self._summaries.questions.items():
            text, category = self._about(question_id)
            rows.append(
                {
                    "question_id": question_id,
                    "question": text,
                    "category": category,
                    "answers": summary.count,
                    **summary.spread,
                    **self._question_means(summary.scores),
                }
            )
        return rows

    def _question_means(self, scores: Mapping[str, Any]) -> dict[str, float]:
        shares = {name: self._whole(scores[name]) for name in ("fluency", "truthfulness")}
        return {**shares, "helpfulness": scores["helpfulness"], "average": scores["average"]}

    # Statistics

    def interval(self, level: float = 0.95, method: Method = "t") -> Interval:
        """Returns a confidence interval of the score, for other questions of the same kind.

        `t`: Student's t over the means of questions, as tables show it. `bootstrap`: over questions and
        trials, which may be skewed. Bounds are `None` for one question, and where the score is not the mean
        of all answers. Raises `SettingsError` for an invalid level or method, and `InputError` for a
        bootstrap without responses.
        """
        check_level(level)
        if method not in get_args(Method):
            raise SettingsError(f"unknown method {method!r}: expected t or bootstrap")
        if method == "t":
            found = from_moments(*self._moments, level).of(self.score)
            return Interval(found.low, found.high, level, method)
        if not self._has_responses:
            raise InputError("a bootstrap needs responses: use the method t", path=self.path)
        found = estimate(self.sample(), level=level).of(self.score)
        return Interval(found.bootstrap_low, found.bootstrap_high, level, method)

    def compare(
        self, other: ScoredRun, *, metric: Metric = "average", level: float = 0.95
    ) -> Difference:
        """Compare with another run, paired by question; the numbers are those of `pfgen-rs compare`.

        The interval is from a bootstrap over questions and trials or, with published results, which have
        means alone, Student's t over questions. Raises `InputError` for runs of different sets or settings,
        or with fewer than two questions in common, and `SettingsError` for an invalid metric or level.
        """
        if not isinstance(other, ScoredRun):
            raise InputError(f"expected a result to compare with, not {type(other).__name__}")
        found = compared(summed_alike([self, other]), metrics=[metric], level=level)
        from pfgen_rs.stats.sentences import is_blind, verdict

        [pair] = found.pairs
        method: Method = "bootstrap" if found.interval == "bootstrap" else "t"
        same = ("a", "b", "metric", "difference", "p")
        return Difference(
            **{name: getattr(pair, name) for name in same},
            interval=Interval(pair.low, pair.high, level, method),
            detectable=None if is_blind(found) else pair.minimum_detectable,
            sentence=verdict(pair, found),
            notes=found.notes,
        )

    @abstractmethod
    def sample(self, name: str | None = None) -> Sample:
        """Returns the values of all responses for `pfgen_rs.stats`, named `name` or after the run."""

    def _sample(self, name: str | None, values: Mapping[str, Mapping[str, Floats]]) -> Sample:
        """Returns a sample of values by question and metric."""
        return Sample(
            self.name if name is None else name,
            tuple(values),
            {key: self._about(key)[1] or None for key in values},
            {metric: [each[metric] for each in values.values()] for metric in METRICS},
            comparable(self.signature, None),
            is_system(self.config or {}),
            self._asked,
        )

    def _sample_of_means(self, name: str | None) -> Sample:
        """Returns the means of questions as a sample with one value for each."""
        values = {}
        for key, summary in self._summaries.questions.items():
            means = self._question_means(summary.scores)
            values[key] = {metric: np.array([mean]) for metric, mean in means.items()}
        return self._sample(name, values)

    def _summed_as(self, _: str) -> Self:
        """Returns the same run with sums computed in this way, where that can be chosen."""
        return self

    # What is the same, and what is shown

    def __eq__(self, other: object) -> bool:
        """Whether name, file and its hash, signature and all that is published of scores are the same."""
        if not isinstance(other, type(self)):
            return NotImplemented
        same = ("name", "path", "input_hash", "signature", "height", "_summaries")
        return all(getattr(self, name) == getattr(other, name) for name in same)

    def __hash__(self) -> int:
        """Equal results have equal hashes."""
        return hash((self.name, self.path, self.signature))

    def __repr__(self) -> str:
        """Show the run's name, values and counts, and the signature."""
        values = ", ".join(f"{name}={value}" for name, value in self._values().items())
        return f"{type(self).__name__}({shortened(self.name)!r}, {values}, signature={self.signature!r})"

    def __str__(self) -> str:
        """The table of `pfgen-rs score`, for a window of this width, with the signature."""
        from pfgen_rs.runs.tables import scores_text  # rich, which scoring does without

        return scores_text([self.summary()])

    def _repr_html_(self) -> str:
        """Show values, the interval and the weakest questions in notebooks."""
        from pfgen_rs.io import notebook  # which scoring does without

        values = self._values()
        low, high, *_ = self.interval()
        if low is not None and high is not None:
            values = {
                "score": values.pop("score"),
                "95 % interval": f"{low:.3f} to {high:.3f}",
            } | values
        left_out = counted(len(self.problems), "line")
        weakest = sorted(self._question_rows(), key=lambda row: row["average"])[:_WEAKEST]
        shown = ("question_id", "question", "answers", "average", *PARTS)
        return notebook.document(
            [
                notebook.heading(self.name),
                notebook.table(list(values), [list(values.values())]),
                notebook.paragraph("weakest questions:"),
                notebook.table(shown, [[row[name] for name in shown] for row in weakest]),
                notebook.paragraph(f"{left_out} left out" if self.problems else ""),
                notebook.paragraph(self.signature),
            ]
        )

    def _values(self) -> dict[str, str]:
        return {
            "score": f"{self.score:.4f}",
            **{name: f"{getattr(self, name):.4f}" for name in PARTS},
            "length": f"{self.length:.1f}",
            "answers": str(self.height),
            "questions": f"{len(self._summaries.questions)}/{self._asked}",
            "trials": str(self.num_trials),
        }


def compared(runs: Sequence[ScoredRun], **settings: Any) -> Comparison:
    """Compare runs; `settings` and errors as for `pfgen_rs.stats.compare`.

    If some have means of questions alone, all are compared by these, with Student's t.
    """
    from pfgen_rs.stats.comparing import compare

    if not all(run._has_responses for run in runs):
        settings = {"interval": "student", **settings}
    return compare(comparison_samples(runs), **settings)


def summed_alike(runs: Sequence[Run]) -> list[Run]:
    """Returns runs with their sums computed as in the first, where that can be chosen."""
    return [run._summed_as(runs[0]._summation) for run in runs]


def comparison_samples(results: Sequence[ScoredRun]) -> list[Sample]:
    """Returns the values of the runs, named by model, and by file or number where several have the same."""
    found, clean = [], cleaned_together(results)
    whole = all(result._has_responses for result in results)
    places = Counter((result.name, result.path) for result in results if result.path is not None)
    for (name, path), count in places.items():
        if count > 1:
            raise InputError(f"duplicate run name {name!r}", path=path)
    for told_apart, result in named_results(results).items():
        sample = result.sample(told_apart) if whole else result._sample_of_means(told_apart)
        found.append(replace(sample, signature=comparable(result.signature, clean)))
    return found


def cleaned_together(results: Sequence[ScoredRun]) -> str | None:
    """Returns the modes for which the answers of runs were cleaned that are compared, for their signature.

    Raises `InputError` if only some were cleaned.
    """
    modes = {result.clean for result in results}
    if None in modes and len(modes) > 1:
        raise InputError(
            "the answers of some runs were cleaned, and those of others were not: score all of them alike"
        )
    return "+".join(sorted(filter(None, modes))) or None
