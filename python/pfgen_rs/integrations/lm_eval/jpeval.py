"""The tasks of llm-jp-eval: their documents, and their values, aggregated as by `pfgen-rs llm-jp-eval`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import datasets
from lm_eval.api import task as tasks
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs.errors import InputError
from pfgen_rs.integrations.lm_eval.choices import jpeval_choices
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.llm_jp_eval.catalog import find_task
from pfgen_rs.llm_jp_eval.data import Sample, TaskData, item_id
from pfgen_rs.llm_jp_eval.metrics import CORRELATIONS, mean, metric, parse_float
from pfgen_rs.llm_jp_eval.metrics.samples import prediction
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled, template
from pfgen_rs.llm_jp_eval.results import ScoreSettings, signature
from pfgen_rs.llm_jp_eval.scoring import Evaluation, evaluate, standard_errors

SCORE = "score"
"""The main metric of every task that counts in AVR, under one name, so that groups can average it."""
_STDERR = "_stderr"
# 0.5 has a class for each type of task, 0.4 one for all.
_Base: Any = getattr(tasks, "GenerateTask", tasks.ConfigurableTask)


class TaskOutput(NamedTuple):
    """An output with what it is compared with. `gold`: as it stands in the file."""

    task: str
    metrics: tuple[str, ...]
    gold: str
    output: str


class JpevalPrediction(str):
    """A prediction, as shown in logs, with the output and the variant that it was made of."""

    response: TaskOutput
    variant: str


class JpevalValue(float):
    """A metric of one sample that refers to the output, because some metrics need all outputs at once."""

    response: TaskOutput
    variant: str


class JpevalScore(float):
    """The main figure of a task, whose mean over tasks is that over the means of their categories.

    The harness averages all tasks in a group, those of subgroups included, as sum(figures · 1) / sum(1).
    Among the tasks of a single category that is the plain mean; among all tasks it is AVR.
    """

    category: str

    def __mul__(self, size: Any) -> Any:
        """Returns the figure alone, unless it is weighted."""
        return _Sum({self.category: [float(self)]}) if size == 1 else float(self) * size


class _Sum:
    """Figures that are being added, by category."""

    def __init__(self, figures: Mapping[str, list[float]]) -> None:
        self._figures = figures

    def __radd__(self, other: Any) -> _Sum:
        # `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def __add__(self, other: _Sum) -> _Sum:
        names = dict.fromkeys([*self._figures, *other._figures])
        return _Sum(
            {name: [*self._figures.get(name, ()), *other._figures.get(name, ())] for name in names}
        )

    def __truediv__(self, _: Any) -> float:
        return mean([mean(figures) for figures in self._figures.values()])


@register_filter("llm_jp_eval")
class JpevalFilter(Filter):  # type: ignore[misc]
    """Makes predictions of a task's outputs."""

    def apply(
        self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
    ) -> list[list[JpevalPrediction]]:
        """Returns, for each document, a list of its one prediction. A missing output counts as empty.

        Raises `InputError` unless each document has exactly one output.
        """
        return [[_prediction(given, doc)] for given, doc in zip(resps, docs, strict=True)]


def jpeval_values(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, JpevalValue]:
    """Returns the metrics of a document, and each again for its standard error.

    For correlations the value of a document is the number predicted. `results`: the filter's result for the
    document; 0.4 passes it in a list, 0.5 without.
    """
    predicted = results[0][0] if isinstance(results[0], list) else results[0]
    names = list(doc["metrics"])
    values = {name: _value(name, predicted) for name in names}
    if names[0] not in CORRELATIONS:
        values[SCORE] = values[names[0]]
    return values | {name + _STDERR: values[name] for name in names}


def jpeval_metric_list(data: TaskData) -> list[dict[str, Any]]:
    """Returns the metrics for a task's configuration, each with its standard error, and `score`.

    As for pfgen's tasks, a metric named `X_stderr` is shown as the standard error of X.
    """
    entries = []
    for name in data.metrics:
        entries.append(_entry(name, partial(_figure, name), better=True))
        entries.append(_entry(name + _STDERR, partial(_error, name), better=False))
    if data.metrics[0] not in CORRELATIONS:
        main = partial(_score, data.metrics[0])
        entries.append(_entry(SCORE, main, better=True))
    return entries


def _prediction(given: Sequence[str | None], doc: Mapping[str, Any]) -> JpevalPrediction:
    if len(given) != 1:
        raise InputError(f"{len(given)} outputs for {doc['id']}: leave out repeats")
    text = unicode_text(given[0] or "")
    made = JpevalPrediction(prediction(text, doc["variant"]))
    made.response = TaskOutput(doc["task"], tuple(doc["metrics"]), doc["gold"], text)
    made.variant = doc["variant"]
    return made


def _value(name: str, predicted: JpevalPrediction) -> JpevalValue:
    if name in CORRELATIONS:
        made = JpevalValue(parse_float(predicted))
    else:
        made = JpevalValue(metric(name, [str(predicted)], [predicted.response.gold])[0])
    made.response, made.variant = predicted.response, predicted.variant
    return made


def _entry(called: str, aggregation: Any, *, better: bool) -> dict[str, Any]:
    return {"metric": called, "aggregation": aggregation, "higher_is_better": better}


def _figure(name: str, items: Sequence[JpevalValue]) -> float:
    """Returns the figure of a task, over all of its outputs."""
    found = _evaluated(items)
    return found.scores[f"{items[0].response.task}_{name}"]


def _error(name: str, items: Sequence[JpevalValue]) -> float | str:
    """Returns the standard error of a figure, or the harness's text for a missing one."""
    found = _evaluated(items)
    error = standard_errors(found)[f"{items[0].response.task}_{name}"]
    return "N/A" if error is None else error


def _score(name: str, items: Sequence[JpevalValue]) -> JpevalScore:
    made = JpevalScore(_figure(name, items))
    made.category = find_task(items[0].response.task).category
    return made


def _evaluated(items: Sequence[JpevalValue]) -> Evaluation:
    return _evaluation(tuple(item.response for item in items), items[0].variant)


@lru_cache(maxsize=1)
def _evaluation(outputs: tuple[TaskOutput, ...], variant: str) -> Evaluation:
    """Score a task; cached, because all of its metrics need the same evaluation."""
    task, metrics = outputs[0].task, outputs[0].metrics
    samples = tuple(Sample("", one.gold) for one in outputs)
    data = TaskData(task, "", "", 1, metrics, samples, (), "", "")
    return evaluate([data], {task: [one.output for one in outputs]}, variant)


def jpeval_documents(jpeval_task: str, **metadata: Any) -> datasets.DatasetDict:
    """Returns the split `test` with the samples of the chosen split, in file order.

    The harness calls this with `dataset_kwargs` and metadata. Raises `InputError` for missing or invalid
    files, and `SettingsError` for invalid settings.
    """
    chosen = jpeval_choices(metadata)
    data = chosen.read(jpeval_task)
    own = template(data, chosen.shots)
    rows = [
        {
            "id": item_id(data.task, data.split, index),
            "task": data.task,
            "input": sample.input,
            "gold": sample.output,
            "prompt": filled(own, sample.input),
            "metrics": list(data.metrics),
            "variant": chosen.variant,
        }
        for index, sample in enumerate(data.samples)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})


class JpevalTask(_Base):  # type: ignore[misc]
    """A harness task that is one of the tasks of llm-jp-eval."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._chosen = jpeval_choices(config.get("metadata") or {})
        self._data = self._chosen.read(config["dataset_kwargs"]["jpeval_task"])
        sampling = {"max_gen_toks": self._data.output_length, **config["generation_kwargs"]}
        ours = {
            "generation_kwargs": sampling,
            "metric_list": jpeval_metric_list(self._data),
            "process_results": jpeval_values,
        }
        super().__init__(config={k: v for k, v in config.items() if k != "class"} | ours)

    def build_all_requests(self, **options: Any) -> Any:
        """Note the signature, and bypass the cache, which ignores settings and data."""
        limit = options.get("limit")
        prompts = PromptSettings(self._chosen.shots, chat=bool(options.get("apply_chat_template")))
        settings = ScoreSettings(
            self._chosen.variant, n=None if limit is None else int(limit), prompts=prompts
        )
        # Part of the results' "configs": what makes the scores reproducible.
        self.config.metadata["signature"] = signature([self._data], settings)
        return super().build_all_requests(**options | {"cache_requests": False})

    def aggregate(self, bootstrap_iters: int | None = None) -> Any:
        """Returns the results of a run, without 0.5's bootstrap over documents."""
        del bootstrap_iters
        return super().aggregate(bootstrap_iters=0)
