"""Scores as reward functions for reinforcement learning with TRL's trainers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate.prompts import Mode
from pfgen_rs.io.cleaning import cleaned, default_stop
from pfgen_rs.metrics.names import Metric
from pfgen_rs.questions.placed import Placed
from pfgen_rs.training.checks import function
from pfgen_rs.training.prompt_matching import Asked, completion_text, unknown_question

__all__ = ["Reward", "reward"]

_COLUMNS = ("question", "questions")  # columns of a data set that name the question


class Reward:
    """A reward function: `Reward("mini")(prompts, completions)` returns a score for each completion.

        trainer = GRPOTrainer(model, reward_funcs=[Reward("pfgen-bench")], train_dataset=data, …)

    `prompts` are strings, lists of messages, or the questions themselves (texts or ids); `completions` are
    strings or lists of messages. If the data set has a column `question` (or `questions`), it names the
    question; otherwise the question is found in the prompt: the last `Q: …`, or the known question that
    occurs last.

    `metric`: `average`, `fluency`, `truthfulness` or `helpfulness`. `clean` turns a completion into an
    answer; by default this is done as in runs: the text is truncated at stop strings, and everything up to
    `A:` is removed unless the prompt ends with it. `unknown`: the reward for prompts without a known question
    (NaN means no reward in TRL); by default they raise `UnknownQuestionError`.

    The benchmark is prepared on construction, so calls need no set-up. Thread-safe; does not use polars, so
    it is safe in processes created by `os.fork`; picklable if `clean` is, in some hundred bytes: the process
    that unpickles it reads the benchmark by its name or folder, and raises `BenchmarkError` if that has other
    questions there. TRL logs it under its `__name__`.
    """

    def __init__(
        self,
        benchmark: Benchmark | str | os.PathLike[str] | None = None,
        metric: Metric = "average",
        *,
        clean: Callable[[str], str] | None = None,
        unknown: float | None = None,
        threads: int | None = 1,
    ) -> None:
        self.benchmark = (
            benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
        )
        if not isinstance(unknown, Real | None):
            raise SettingsError(f"`unknown` must be a number, not {unknown!r:.60}")
        if clean is not None:
            function(clean, "clean")
        self.metric, self.clean, self.unknown, self.threads = metric, clean, unknown, threads
        self.__name__ = "pfgen" if metric == "average" else f"pfgen_{metric}"
        self._score = self.benchmark.scorer(metric, threads=threads)
        self._asked = Asked(self.benchmark)

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        """Returns a reward for each completion, in order; other columns are ignored. See the class."""
        named = next((columns[name] for name in _COLUMNS if columns.get(name) is not None), prompts)
        if not len(named) == len(prompts) == len(completions):
            raise InputError(
                f"{len(prompts)} prompts, {len(named)} questions, but {len(completions)} completions"
            )
        found = self._asked.ids(named)
        answers = self._answers(prompts, completions)
        known = [question for question in found if question is not None]
        if len(known) == len(found):
            return list(self._score(known, answers).tolist())
        return self._with_unknown(named, found, known, answers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor arguments, and of the benchmark where it is."""
        return _reward_again, (
            Placed(self.benchmark),
            self.metric,
            self.clean,
            self.unknown,
            self.threads,
        )

    def __repr__(self) -> str:
        """Show the benchmark and the metric."""
        return f"Reward({self.benchmark.signature!r}, {self.metric!r})"

    def _answers(self, prompts: Sequence[Any], completions: Sequence[Any]) -> list[str]:
        texts = list(map(completion_text, completions))
        if self.clean is not None:
            return list(map(self.clean, texts))
        for row in _unclean_for_reward(texts):
            texts[row] = _cleaned_for_reward(prompts[row], texts[row])
        return texts

    def _with_unknown(
        self,
        named: Sequence[Any],
        found: Sequence[str | None],
        known: Sequence[str],
        answers: Sequence[str],
    ) -> list[float]:
        if self.unknown is None:
            raise unknown_question(named[found.index(None)])
        rows = [row for row, question in enumerate(found) if question is not None]
        rewards = [self.unknown] * len(found)
        scores = self._score(known, [answers[row] for row in rows])
        for row, score in zip(rows, scores.tolist(), strict=True):
            rewards[row] = score
        return rewards


_STOPS = {mode: default_stop(mode) for mode in ("completion", "chat")}
_CUT = ("Q:", "A:", "\n\n")
_default: Reward | None = None
_making = threading.Lock()


def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
    """Returns the average score of each completion with the default benchmark: `load_benchmark()`.

    Uses a `Reward` that is created on first use, once per process; see there for the arguments.

    >>> reward(["Q02", "Q14"], ["光合成", "風呂敷"])
    [0.34292, 0.34693]
    """
    return _default_reward()(prompts, completions, **columns)


def _cleaned_for_reward(prompt: Any, text: str) -> str:
    open_end = isinstance(prompt, str) and prompt.endswith("A:")
    mode: Mode = "completion" if open_end else "chat"
    return cleaned(text, mode, _STOPS[mode])


def _unclean_for_reward(texts: list[str]) -> Sequence[int]:
    """Returns the rows that cleaning could change; native code looks at all texts much faster."""
    try:
        return _native.unclean_rows(_native.Texts(texts, 1), _CUT)
    except InputError:  # a lone surrogate
        return range(len(texts))


def _default_reward() -> Reward:
    global _default
    if _default is None:
        with _making:
            if _default is None:
                _default = Reward()
    return _default


def _reward_again(
    benchmark: Benchmark,
    metric: Metric,
    clean: Callable[[str], str] | None,
    unknown: float | None,
    threads: int | None,
) -> Reward:
    return Reward(benchmark, metric, clean=clean, unknown=unknown, threads=threads)
