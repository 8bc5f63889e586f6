"""Prompts as in pfgen-bench: an instruction, example answers to other questions, and the question.

The trial and a seed determine which examples are shown, their order, and the seed for sampling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from pfgen_rs.ask.protocol import SEEDS, Task
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.cleaning import MODES, Mode
from pfgen_rs.questions.examples import Example, read_examples

_TITLE = "## 回答例\n"
_SYSTEM = f"例と同様の文体及び文字数で、ユーザの質問に1行で答えてください。\n\n{_TITLE}"
_INSTRUCTION = f"例と同様の文体及び文字数で、質問に1行で答えてください。\n\n{_TITLE}"


def asked(
    benchmark: str | None, mode: Mode, trials: int, num_examples: int, seed: str, prefix: str
) -> Iterator[tuple[Task, str]]:
    """Yield the tasks of all trials, trial by trial, with the example answers to their questions.

    `mode`, `num_examples`, `seed` and `prefix` are those of `Prompter`.
    """
    examples = read_examples(benchmark)
    prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed, prefix=prefix)
    for trial in range(1, trials + 1):
        for task, example in zip(prompter.tasks(trial), examples, strict=True):
            yield task, example.answer


class Prompter:
    """Creates prompts from example answers.

    `seed`: any text; empty for the published runs. `prefix` is put in front of the system message, or of the
    prompt if there is none. Raises `SettingsError` for an unknown mode or a negative `num_examples`.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        mode: Mode = "completion",
        *,
        num_examples: int = 20,
        seed: str = "",
        prefix: str = "",
    ) -> None:
        if mode not in MODES:
            raise SettingsError(f"unknown mode {mode!r}: expected one of {', '.join(MODES)}")
        if num_examples < 0:
            raise SettingsError(f"num_examples must be at least 0, not {num_examples}")
        self.examples = examples
        self.mode: Mode = mode
        self.num_examples = num_examples
        self.seed = seed
        self.prefix = prefix
        self._shown = {e.question: f"Q: {e.question}\nA: {e.answer}\n\n" for e in examples}
        self._last: tuple[int, list[str]] = 0, []  # the last trial and its order

    @property
    def questions(self) -> list[str]:
        """All questions with example answers, in order."""
        return list(self._shown)

    def tasks(self, trial: int, questions: Iterable[str] | None = None) -> list[Task]:
        """Returns the tasks of a trial (from 1), for all questions or the given ones.

        Computes one hash per question and sorts them. Raises `InputError` for an unknown question or a
        `trial` below 1.
        """
        if trial < 1:
            raise InputError(f"trial must be at least 1, not {trial}")
        last, order = self._last
        if trial != last:
            order = sorted(self._shown, key=lambda question: self._digest(trial, question))
            self._last = trial, order
        return [
            self._task(trial, question, order)
            for question in (self._shown if questions is None else questions)
        ]

    def _task(self, trial: int, question: str, order: list[str]) -> Task:
        if question not in self._shown:
            raise InputError("no example answer to this question", question=question)
        # One more than needed, since the question itself is not shown.
        nearest = [text for text in order[: self.num_examples + 1] if text != question]
        shown = "".join(self._shown[text] for text in nearest[: self.num_examples])
        system, prompt = self._texts(question, shown)
        return Task(question, trial, self.mode, prompt, self.sampling_seed(trial), system)

    def _texts(self, question: str, shown: str) -> tuple[str | None, str]:
        asked = f"Q: {question}"
        if self.mode == "chat":
            return self.prefix + (_SYSTEM + shown).strip(), asked
        if self.mode == "qa":
            return None, f"{self.prefix}{(_INSTRUCTION + shown).strip()}\n\n## 質問\n{asked}"
        return None, f"{self.prefix}{(_TITLE + shown).strip()}\n\n{asked}\nA:"

    def sampling_seed(self, trial: int) -> int:
        """Returns the seed for sampling a trial's answers."""
        return int(_sha1(f"{self.seed}::{trial}"), 16) % SEEDS

    def _digest(self, trial: int, question: str) -> str:
        return _sha1(f"{self.seed}::{trial}::{question}")


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
