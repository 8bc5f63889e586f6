"""Scores as reward functions for reinforcement learning with TRL's trainers."""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any

from pfgen_rs import InputError, SettingsError, UnknownQuestionError, _native
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.io.cleaning import Mode, cleaned, default_stop
from pfgen_rs.io.messages import spoken
from pfgen_rs.io.text import visible
from pfgen_rs.llm_jp_eval import measures
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, item_id, read_task
from pfgen_rs.llm_jp_eval.reading import prediction, task_predictions
from pfgen_rs.llm_jp_eval.registry import find_profile, find_task
from pfgen_rs.metrics.settings import Metric
from pfgen_rs.questions import folder
from pfgen_rs.questions.asked import Asked, prompt_text
from pfgen_rs.training.checks import function

_COLUMNS = ("question", "questions")  # columns of a data set that name the question


def _check_reward(clean: Callable[[str], str] | None, unknown: float | None) -> None:
    if not isinstance(unknown, Real | None):
        raise SettingsError(f"`unknown` must be a number, not {unknown!r:.60}")
    if clean is not None:
        function(clean, "clean")


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
    ) -> None:
        self.benchmark = resolve(benchmark, None)
        _check_reward(clean, unknown)
        self.metric, self.clean, self.unknown = metric, clean, unknown
        self.__name__ = "pfgen" if metric == "average" else f"pfgen_{metric}"
        self._score = self.benchmark.scorer(metric)
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
        if self.unknown is None and None in found:
            raise UnknownQuestionError(
                "the prompt contains no question of the benchmark: name it in a column `question`, or set "
                "the reward of such prompts with `unknown`",
                question=_end(prompt_text(named[found.index(None)])),
            )
        asked = [each for each in found if each]
        if len(asked) < len(found):
            answers = [text for each, text in zip(found, answers, strict=True) if each]
        scores = iter(self._score(asked, answers).tolist())
        unknown = math.nan if self.unknown is None else self.unknown
        return [next(scores) if each else unknown for each in found]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor arguments, and of the benchmark where it is."""
        again = partial(Reward, clean=self.clean, unknown=self.unknown)
        return again, (folder.Placed(self.benchmark), self.metric)

    def _answers(self, prompts: Sequence[Any], completions: Sequence[Any]) -> list[str]:
        texts = _spoken_texts(completions)
        if self.clean is not None:
            return list(map(self.clean, texts))
        for row in _unclean_rows(texts):
            texts[row] = _cleaned(prompts[row], texts[row])
        return texts


_CUT = ("Q:", "A:", "\n\n")


def _spoken_texts(completions: Sequence[Any]) -> list[str]:
    return [one if type(one) is str else spoken(one, "assistant").text for one in completions]


def _cleaned(prompt: Any, text: str) -> str:
    open_end = isinstance(prompt, str) and prompt.endswith("A:")
    mode: Mode = "completion" if open_end else "chat"
    return cleaned(text, mode, default_stop(mode))


def _unclean_rows(texts: list[str]) -> Sequence[int]:
    """Returns the rows that cleaning could change; native code looks at all texts much faster."""
    try:
        return _native.unclean_rows(_native.Texts(texts, 1), _CUT)
    except InputError:  # a lone surrogate
        return range(len(texts))


def _end(text: str) -> str:
    """Returns the end of a prompt, to be shown in an error."""
    return visible(text if len(text) <= _SHOWN else "…" + text[-_SHOWN:])


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
    correlations, of which no sample has a value, so jsts needs a choice. `profile`: how predictions are made
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
        profile: str = "1.3.0",
        clean: Callable[[str], str] | None = None,
        unknown: float | None = None,
    ) -> None:
        self.data = data if isinstance(data, TaskData) else None
        # Data may be of a task that another process has made known.
        self.task = task if self.data and self.data.task == task else find_task(task).name
        if self.data is not None and self.data.task != task:
            raise SettingsError(f"the data are those of {self.data.task}, not {task}")
        if split is not None and not isinstance(data, TaskData):
            self.data = read_task(data, task, split)
        self.metric, self.profile = self._metric(metric), profile
        find_profile(profile)
        _check_reward(clean, unknown)
        self.clean, self.unknown = clean, unknown
        self.__name__ = f"llm_jp_eval_{task}"
        known, of = (self.data.samples, self.data.split) if self.data else ((), "")
        self._by_id = {item_id(task, of, n): sample.output for n, sample in enumerate(known)}
        self._by_input: dict[str, str | None] = {}  # `None`: there are several
        for sample in known:
            if self._by_input.setdefault(sample.input, sample.output) != sample.output:
                self._by_input[sample.input] = None

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        """Returns a reward for each completion, in order; other columns are ignored. See the class."""
        if len(prompts) != len(completions):
            raise InputError(f"{len(prompts)} prompts, but {len(completions)} completions")
        golds = self._golds(prompts, columns)
        texts = _spoken_texts(completions)
        if self.clean is not None:
            texts = list(map(self.clean, texts))
        # Sample by sample: threads of native code and polars do not survive a fork.
        value = measures.find_metric(self.metric).value
        unknown = math.nan if self.unknown is None else self.unknown
        read = [prediction(text, self.profile, self.task) for text in texts]
        if self.data is not None:
            read = task_predictions(self.data, texts, self.profile)
        return [
            unknown if gold is None else value(each, measures.normalized_gold(gold))
            for each, gold in zip(read, golds, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the rewards depend on."""
        how: dict[str, Any] = {name: getattr(self, name) for name in ("metric", "profile", "clean")}
        return partial(TaskReward, split=None, unknown=self.unknown, **how), (self.task, self.data)

    def _metric(self, name: str | None) -> str:
        if name is None:
            metrics = find_task(self.task).metrics if self.data is None else self.data.metrics
            if metrics[0] in measures.CORRELATIONS:
                raise SettingsError(
                    f"the metrics of {self.task} are correlations, of which single samples have no value: "
                    f"choose `metric` among {', '.join(measures.sample_metrics())}"
                )
            return metrics[0]
        return measures.find_metric(name).name

    def _golds(self, prompts: Sequence[Any], columns: dict[str, Any]) -> list[str | None]:
        """Returns the expected output for each prompt, `None` where it is unknown and has a reward."""
        golds, ids = columns.get("gold"), columns.get("id")
        if golds is not None:
            return [*_checked_column("gold", golds, prompts)]
        if self.data is None:
            raise InputError("the data set needs a column `gold` with the expected outputs")
        if ids is None:
            named, problem = [prompt_text(prompt) for prompt in prompts], "contains no input"
            found = [self._gold_of(prompt) for prompt in named]
        else:
            named, problem = _checked_column("id", ids, prompts), "is not the id of a sample"
            found = [self._by_id.get(one) for one in named]
        if self.unknown is None and None in found:
            raise InputError(
                f"{_end(named[found.index(None)])!r} {problem} of {self.task} ({self.data.split}): name the "
                "sample in a column `id`, its expected output in a column `gold`, or set the reward of such "
                "prompts with `unknown`"
            )
        return found

    def _gold_of(self, prompt: str) -> str | None:
        """Returns the expected output for the last input in a prompt, or for a prompt that is one."""
        text = prompt.rpartition(_INPUT)[2].partition(_RESPONSE)[0]
        if text not in self._by_input:
            text = prompt
        gold = self._by_input.get(text)
        if gold is None and text in self._by_input:
            raise InputError(
                f"several samples of {self.task} have this input and different outputs: name the sample in a "
                f"column `id`: {_end(text)}"
            )
        return gold


def _checked_column(name: str, values: Any, prompts: Sequence[Any]) -> list[str]:
    if len(values) != len(prompts):
        raise InputError(f"{len(prompts)} prompts, but {len(values)} values in the column `{name}`")
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"the column `{name}` must have texts, not {value!r:.60}")
    return list(values)
