"""Values of samples of llm-jp-eval as reward functions for reinforcement learning with TRL's trainers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.safe_text import visible
from pfgen_rs.llm_jp_eval.catalog import find_task
from pfgen_rs.llm_jp_eval.data import TaskData, item_id, read_task
from pfgen_rs.llm_jp_eval.metrics import CORRELATIONS, METRICS, metric
from pfgen_rs.llm_jp_eval.metrics.samples import SAMPLE_METRICS
from pfgen_rs.llm_jp_eval.predictions import check_variant, normalized_gold, prediction
from pfgen_rs.training.checks import function
from pfgen_rs.training.prompt_matching import completion_text, prompt_text

__all__ = ["TaskReward"]

_INPUT, _RESPONSE = "### 入力:\n", "\n\n### 応答:"
_SHOWN = 200  # characters of a prompt


class TaskReward:
    """A reward function: the value of each completion as an output for a sample of a task, from 0 to 1.

        reward = TaskReward("jcommonsenseqa")
        trainer = GRPOTrainer(model, reward_funcs=[reward], train_dataset=data, …)

    `data`: a folder of converted files (default: the installed ones), from which the samples of `split` are
    read, or a `TaskData`. `prompts` and `completions` are strings or lists of messages. If the data set has a
    column `gold`, it has the expected outputs; a column `id` names samples, such as `jcommonsenseqa/train/0`;
    otherwise the sample is found by the input in the prompt, where the published template has it, or by a
    prompt that is the input itself. With `split=None`, no files are read, and a column `gold` is required.

    `metric`: `exact_match`, `char_f1` or `set_f1` (default: the task's main metric). The metrics of jsts are
    correlations, of which no sample has a value, so jsts needs a choice. `variant`: how predictions are made
    of completions, see `pfgen_rs.llm_jp_eval.prediction`; `clean` is applied to completions before that, for
    example to remove reasoning. `unknown`: the reward for prompts without a known input (NaN means no reward
    in TRL); by default they raise `InputError`.

    Everything is read on construction. Thread-safe; does not use polars, so it is safe in processes created
    by `os.fork`; picklable with its samples if `clean` is. TRL logs it under its `__name__`,
    `llm_jp_eval_TASK`. Raises `SettingsError`, and `InputError` for missing or invalid files.
    """

    def __init__(
        self,
        task: str,
        data: TaskData | str | os.PathLike[str] | None = None,
        *,
        split: str | None = "train",
        metric: str | None = None,
        variant: str = "upstream",
        clean: Callable[[str], str] | None = None,
        unknown: float | None = None,
    ) -> None:
        self.task = find_task(task).name
        self.data = _rewarded_data(task, data, split)
        self.metric, self.variant = self._metric(metric), variant
        check_variant(variant)
        if not isinstance(unknown, Real | None):
            raise SettingsError(f"`unknown` must be a number, not {unknown!r:.60}")
        if clean is not None:
            function(clean, "clean")
        self.clean, self.unknown = clean, unknown
        self.__name__ = f"llm_jp_eval_{task}"
        samples = () if self.data is None else self.data.samples
        of = "" if self.data is None else self.data.split
        self._by_id = {item_id(task, of, n): sample.output for n, sample in enumerate(samples)}
        self._by_input: dict[str, str | None] = {}  # `None`: there are several
        for sample in samples:
            known = self._by_input.setdefault(sample.input, sample.output)
            if known != sample.output:
                self._by_input[sample.input] = None

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        """Returns a reward for each completion, in order; other columns are ignored. See the class."""
        if len(prompts) != len(completions):
            raise InputError(f"{len(prompts)} prompts, but {len(completions)} completions")
        golds = self._golds(prompts, columns)
        texts = map(completion_text, completions)
        if self.clean is not None:
            texts = map(self.clean, texts)
        # Sample by sample: threads of native code and polars do not survive a fork.
        value = SAMPLE_METRICS[self.metric]
        unknown = math.nan if self.unknown is None else self.unknown
        return [
            unknown
            if gold is None
            else value(prediction(text, self.variant), normalized_gold(gold))
            for text, gold in zip(texts, golds, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the rewards depend on."""
        settings = (self.metric, self.variant, self.clean, self.unknown)
        return _task_reward_again, (self.task, self.data, *settings)

    def __repr__(self) -> str:
        """Show the task, the split and the metric."""
        split = None if self.data is None else self.data.split
        return f"TaskReward({self.task!r}, split={split!r}, metric={self.metric!r})"

    def _metric(self, name: str | None) -> str:
        if name is None:
            metrics = find_task(self.task).metrics if self.data is None else self.data.metrics
            if metrics[0] in CORRELATIONS:
                raise SettingsError(
                    f"the metrics of {self.task} are correlations, of which single samples have no value: "
                    f"choose `metric` among {', '.join(METRICS)}"
                )
            return metrics[0]
        metric(name, (), ())  # raises for unknown names
        return name

    def _golds(self, prompts: Sequence[Any], columns: dict[str, Any]) -> list[str | None]:
        """Returns the expected output for each prompt, `None` where it is unknown and has a reward."""
        golds = columns.get("gold")
        if golds is not None:
            return list(_checked_reward_column("gold", golds, prompts))
        if self.data is None:
            raise InputError("the data set needs a column `gold` with the expected outputs")
        ids = columns.get("id")
        if ids is not None:
            found = [self._by_id.get(one) for one in _checked_reward_column("id", ids, prompts)]
            return self._all_known(found, ids, "is not the id of a sample")
        found = [self._gold_of(prompt_text(prompt)) for prompt in prompts]
        return self._all_known(found, prompts, "contains no input")

    def _gold_of(self, prompt: str) -> str | None:
        begin = prompt.rfind(_INPUT)
        if begin >= 0:
            text, marked, _ = prompt[begin + len(_INPUT) :].partition(_RESPONSE)
            if marked and text in self._by_input:
                return self._only(text)
        return self._only(prompt) if prompt in self._by_input else None

    def _only(self, text: str) -> str:
        gold = self._by_input[text]
        if gold is None:
            raise InputError(
                f"several samples of {self.task} have this input and different outputs: name the sample in a "
                f"column `id`: {_end_of_prompt(text)}"
            )
        return gold

    def _all_known(
        self, golds: list[str | None], named: Sequence[Any], problem: str
    ) -> list[str | None]:
        if self.unknown is None and None in golds:
            shown = _end_of_prompt(prompt_text(named[golds.index(None)]))
            split = None if self.data is None else self.data.split
            raise InputError(
                f"{shown!r} {problem} of {self.task} ({split}): name the sample in a column `id`, its "
                "expected output in a column `gold`, or set the reward of such prompts with `unknown`"
            )
        return golds


def _rewarded_data(
    task: str, data: TaskData | str | os.PathLike[str] | None, split: str | None
) -> TaskData | None:
    if isinstance(data, TaskData):
        if data.task != task:
            raise SettingsError(f"the data are those of {data.task}, not {task}")
        return data
    return None if split is None else read_task(data, task, split)


def _checked_reward_column(name: str, values: Any, prompts: Sequence[Any]) -> Sequence[str]:
    if len(values) != len(prompts):
        raise InputError(f"{len(prompts)} prompts, but {len(values)} values in the column `{name}`")
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"the column `{name}` must have texts, not {value!r:.60}")
    return list(values)


def _end_of_prompt(text: str) -> str:
    return visible(text if len(text) <= _SHOWN else "…" + text[-_SHOWN:])


def _task_reward_again(
    task: str,
    data: TaskData | None,
    metric: str,
    variant: str,
    clean: Callable[[str], str] | None,
    unknown: float | None,
) -> TaskReward:
    settings: dict[str, Any] = {"metric": metric, "variant": variant, "clean": clean}
    return TaskReward(task, data, split=None, unknown=unknown, **settings)
