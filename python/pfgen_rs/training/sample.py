"""The sample of questions that is asked again and again: the same tasks at every step."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Mode, Prompter, Task
from pfgen_rs.questions.examples import Example, read_examples
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.training.checks import count, texts_of

__all__ = ["FixedSample", "choose_questions", "examples_of"]


@dataclass(frozen=True)
class FixedSample:
    """Tasks that do not change: some questions of a benchmark, so many trials of each.

    `questions`: their texts, in the order in which they are asked. The tasks are trial 1 of all questions,
    then trial 2, … Prompts are made once: O(trials · questions).
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
    ) -> FixedSample:
        """The sample that these settings name; raises `SettingsError`, or `InputError` for a question."""
        trials = count(trials, "trials")
        if benchmark.settings.unit == "token":
            raise SettingsError(
                "texts are evaluated, and the benchmark's answers are lists of tokens"
            )
        prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed)
        chosen = choose_questions(benchmark, prompter.questions, questions, seed)
        return cls(benchmark, prompter, chosen, trials)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """What is to be generated, in the order of the answers."""
        trials = range(1, self.trials + 1)
        return tuple(task for j in trials for task in self.prompter.tasks(j, self.questions))

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """The question of each task, for scoring: uint32, shape (tasks,)."""
        return self.benchmark.numbers.find(_native.Texts([task.question for task in self.tasks]))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the questions."""
        return tuple(self.benchmark.find(text).id for text in self.questions)

    @cached_property
    def description(self) -> dict[str, Any]:
        """What makes two steps comparable, fit for JSON."""
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
    """Texts of questions: all of `known`, so many of them, or these (texts or ids); in the order of `known`.

    So many are chosen by their hashes with the seed, and a larger number keeps what a smaller one had.
    """
    if wanted is None:
        chosen = set(known)
    elif isinstance(wanted, int):
        if not 1 <= wanted <= len(known):
            raise SettingsError(f"cannot choose {wanted} of {len(known)} questions")
        chosen = set(sorted(known, key=lambda text: _digest(seed, text))[:wanted])
    else:
        chosen = {benchmark.find(question).text for question in texts_of(wanted, "questions")}
    for text in chosen - set(known):
        raise InputError("no example answer to this question", question=text)
    if not chosen:
        raise SettingsError("no questions chosen")
    for text in chosen:
        benchmark.find(text)
    return tuple(text for text in known if text in chosen)


def examples_of(benchmark: QuestionSet) -> list[Example]:
    """The example answers that stand beside a benchmark's questions; raises `SettingsError`."""
    if benchmark.folder is None:
        raise SettingsError(
            "the benchmark was not read from files: pass its example answers as `examples`"
        )
    return read_examples(benchmark.folder)


def _digest(seed: str, question: str) -> str:
    return hashlib.sha1(f"{seed}::{question}".encode(), usedforsecurity=False).hexdigest()
