"""The questions that are asked at every step, always in the same way, and the scores of a step's answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pfgen_rs import _native
from pfgen_rs.ask.protocol import Task
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Prompter
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.lazy import Floats, NDArray, np, pl
from pfgen_rs.metrics.settings import COLUMNS, PARTS
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.scoring import batch
from pfgen_rs.stats import Estimate, from_summary
from pfgen_rs.training.checks import checked_texts, count


class QuestionSample:
    """A fixed set of tasks: some questions of a benchmark, with a number of trials of each.

    `examples`: the benchmark's example answers (default: those in its folder). `questions`: the texts of the
    questions, in order. The tasks are trial 1 of all questions, then trial 2, and so on. Prompts are created
    once: O(trials · questions). `optional`: it may be empty (`questions=0`). Raises `SettingsError`, and
    `InputError` for an unknown question or one without an example answer.
    """

    def __init__(
        self,
        benchmark: QuestionSet,
        examples: Sequence[Example] | None = None,
        *,
        trials: int,
        questions: int | Sequence[str] | None,
        seed: str = "",
        mode: Mode,
        num_examples: int,
        optional: bool = False,
    ) -> None:
        if examples is None and benchmark.folder is None:
            raise SettingsError(
                "the benchmark was not read from files: pass its example answers as `examples`"
            )
        if examples is None:
            examples = read_examples(benchmark.folder)
        self.benchmark, self.trials = benchmark, count(trials, "trials")
        if benchmark.settings.unit == "token":
            raise SettingsError(
                "cannot evaluate texts with a benchmark whose answers are lists of tokens"
            )
        self.prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed)
        self.questions: tuple[str, ...] = ()
        if not (optional and questions == 0):
            self.questions = _chosen(benchmark, self.prompter.questions, questions, seed)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to generate, in the order of the answers."""
        trials = range(1, self.trials + 1)
        return tuple(task for j in trials for task in self.prompter.tasks(j, self.questions))

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """The number of each task's question, for scoring: uint32, shape (tasks,)."""
        return self.benchmark.numbers.find(_native.Texts([task.question for task in self.tasks]))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions."""
        return tuple(self.benchmark.find(text).id for text in self.questions)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The settings that must agree for steps to be comparable, as values for JSON."""
        prompts = "\0".join(f"{task.system}\0{task.prompt}" for task in self.tasks)
        return {
            "signature": self.benchmark.signature,
            "mode": self.prompter.mode,
            "trials": self.trials,
            "questions": list(self.ids),
            "prompts": _digest(prompts),
        }

    def scored(self, texts: Sequence[str | None]) -> ScoredAnswers | None:
        """Score the answers to the tasks on this thread only, leaving the others to training.

        `None` is a task without an answer, and the result if there are no answers at all. Raises
        `InputError` for values that are not valid text.
        """
        given = np.array([text is not None for text in texts], dtype=bool)
        if not given.any():
            return None
        column = self.benchmark.coder.column([text for text in texts if text is not None], 1)
        lengths, columns = batch.score_arrays(
            self.benchmark, self.numbers[given], column, threads=1
        )

        def placed(values: NDArray[Any]) -> Floats:
            found = np.full(len(given), np.nan)
            found[given] = values
            return found.reshape(self.trials, len(self.questions))

        metrics = {name: placed(values) for name, values in zip(COLUMNS, columns, strict=False)}
        return ScoredAnswers(self, texts, placed(lengths), metrics)


@dataclass(frozen=True)
class ScoredAnswers:
    """Scores of a step's answers: float64, shape (trials, questions), NaN where there is no answer.

    `texts`: the answers in the same order, flattened; `None` where there is none.
    """

    sample: QuestionSample
    texts: Sequence[str | None]
    lengths: Floats
    metrics: dict[str, Floats]

    def row(self, baseline: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns the columns of the curve; differences from `baseline`, a row, are paired by question."""
        means, score = _by_question(self.metrics["average"])
        row: dict[str, Any] = _bounds("score", score)
        for name in PARTS:
            row |= _bounds(name, _by_question(self.metrics[name])[1])
        if baseline is not None and baseline["question_scores"] is not None:
            changes = means - np.array(baseline["question_scores"], dtype=np.float64)
            changes = changes[~np.isnan(changes)]
            if len(changes):
                # The spread of the questions' changes already includes the noise of trials.
                row |= _bounds("difference", from_summary(changes, np.zeros_like(changes), 1))
        empty = [not text for text in self.texts if text is not None]
        return row | {
            "question_se": score.question_se,
            "trial_se": score.trial_se,
            "length": float(self.lengths[~np.isnan(self.lengths)].mean()),
            "empty": sum(empty) / len(empty),
            "questions": score.questions,
            "answers": score.responses,
            "question_scores": [None if np.isnan(mean) else mean for mean in means.tolist()],
        }

    def table(self) -> pl.DataFrame:
        """Returns all answers with scores: question_id, question, trial, answer, length, metrics, average."""
        rows = [row for row, text in enumerate(self.texts) if text is not None]
        tasks = [self.sample.tasks[row] for row in rows]
        return pl.DataFrame(
            {
                "question_id": [self.sample.benchmark.find(task.question).id for task in tasks],
                "question": [task.question for task in tasks],
                "trial": [task.trial for task in tasks],
                "answer": [self.texts[row] for row in rows],
                "length": self.lengths.ravel()[rows].astype(np.int64),
                **{name: values.ravel()[rows] for name, values in self.metrics.items()},
            }
        )


def _chosen(
    benchmark: QuestionSet, known: Sequence[str], wanted: int | Sequence[str] | None, seed: str
) -> tuple[str, ...]:
    """Returns texts of questions: all of `known`, a number of them, or the given ones (texts or ids).

    The result is in the order of `known`. A number of questions is chosen by hashes of their texts with the
    seed, so a larger number includes the questions of a smaller one. Raises `SettingsError` for an invalid
    number, and `InputError` for an unknown question or one without an example answer.
    """
    if wanted is None:
        chosen = set(known)
    elif isinstance(wanted, int):
        if not 1 <= wanted <= len(known):
            raise SettingsError(f"questions must be between 1 and {len(known)}, not {wanted}")
        chosen = set(sorted(known, key=lambda text: _digest(f"{seed}::{text}"))[:wanted])
    else:
        chosen = {benchmark.find(question).text for question in checked_texts(wanted, "questions")}
    for text in chosen - set(known):
        raise InputError("no example answer to this question", question=text)
    if not chosen:
        raise SettingsError("no questions chosen")
    for text in chosen:
        benchmark.find(text)
    return tuple(text for text in known if text in chosen)


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _by_question(values: Floats) -> tuple[Floats, Estimate]:
    """Returns the questions' means (NaN without answers), and their mean, clustered by question."""
    counts = (~np.isnan(values)).sum(axis=0)
    if counts.min() == len(values):
        means, sds = values.mean(axis=0), values.std(axis=0)
    else:
        answered = [column[~np.isnan(column)] for column in values.T]
        means = np.array([column.mean() if len(column) else np.nan for column in answered])
        sds = np.array([column.std() if len(column) else np.nan for column in answered])
    known = counts > 0
    return means, from_summary(means[known], sds[known], counts[known].tolist())


def _bounds(name: str, estimate: Estimate) -> dict[str, float | None]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
