"""The fixed sample of questions: the same tasks at every step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.ask.protocol import Task
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Mode, Prompter
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.training.checks import checked_texts, count

__all__ = ["FixedSample", "choose_questions", "examples_of"]


@dataclass(frozen=True)
class FixedSample:
    """A fixed set of tasks: some questions of a benchmark, with a number of trials of each.

    `questions`: the texts of the questions, in order. The tasks are trial 1 of all questions, then trial 2,
    and so on. Prompts are created once: O(trials · questions).
    """

    benchmark: QuestionSet
    prompter: Prompter
    questions: tuple[str, ...]
    trials: int

    @classmethod
    def of(
        cls,
        benchmark: QuestionSet,
        examples: Sequence[Example],
        *,
        trials: int,
        questions: int | Sequence[str] | None,
        seed: str,
        mode: Mode,
        num_examples: int,
        optional: bool = False,
    ) -> FixedSample:
        """Create a sample; `optional`: it may be empty (`questions=0`).

        Raises `SettingsError`, and `InputError` for an unknown question or one without an example answer.
        """
        trials = count(trials, "trials")
        if benchmark.settings.unit == "token":
            raise SettingsError(
                "cannot evaluate texts with a benchmark whose answers are lists of tokens"
            )
        prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed)
        chosen: tuple[str, ...] = ()
        if not (optional and questions == 0):
            chosen = choose_questions(benchmark, prompter.questions, questions, seed)
        return cls(benchmark, prompter, chosen, trials)

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
            "prompts": hashlib.sha1(prompts.encode(), usedforsecurity=False).hexdigest(),
        }


def choose_questions(
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
        chosen = set(sorted(known, key=lambda text: _sample_question_digest(seed, text))[:wanted])
    else:
        chosen = {benchmark.find(question).text for question in checked_texts(wanted, "questions")}
    for text in chosen - set(known):
        raise InputError("no example answer to this question", question=text)
    if not chosen:
        raise SettingsError("no questions chosen")
    for text in chosen:
        benchmark.find(text)
    return tuple(text for text in known if text in chosen)


def examples_of(benchmark: QuestionSet) -> list[Example]:
    """Read a benchmark's example answers; raises `SettingsError` if it was not read from files."""
    if benchmark.folder is None:
        raise SettingsError(
            "the benchmark was not read from files: pass its example answers as `examples`"
        )
    return read_examples(benchmark.folder)


def _sample_question_digest(seed: str, question: str) -> str:
    return hashlib.sha1(f"{seed}::{question}".encode(), usedforsecurity=False).hexdigest()
