"""The tasks of llm-jp-eval: their documents, and their values, aggregated as by `pfgen-rs llm-jp-eval`."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import datasets
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs.integrations.lm_eval import choices, pfgen
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.llm_jp_eval import (
    evaluation_files,
    measures,
    metrics,
    prompts,
    reading,
    registry,
    scoring,
)

SCORE = "score"
"""The main metric of every task that counts in AVR, under one name, so that groups can average it."""


class TaskOutput(NamedTuple):
    """An output with what it is compared with, and how it is read. `gold`: as it stands in the file."""

    task: str
    metrics: tuple[str, ...]
    gold: str
    output: str
    answer_pattern: str | None
    reading: tuple[str, ...]
    profile: str

    def data(self, golds: Iterable[str]) -> evaluation_files.TaskData:
        """Returns the data of its task with these golds, for scoring."""
        samples = tuple(evaluation_files.Sample("", gold) for gold in golds)
        return evaluation_files.TaskData(
            *(self.task, "", "", 1, self.metrics, samples, (), "", ""),
            answer_pattern=self.answer_pattern,
            reading=self.reading,
        )


class JpevalScore(float):
    """The main figure of a task, whose mean over tasks is that over the means of their categories.

    The harness averages all tasks in a group, those of subgroups included, as sum(figures · 1) / sum(1).
    Among the tasks of a single category that is the plain mean; among all tasks it is AVR.
    """

    category: str

    def __mul__(self, size: Any) -> Any:
        """Returns the figure alone, unless it is weighted."""
        return _Sum([self]) if size == 1 else float(self) * size


class _Sum:
    """Figures that are being added."""

    def __init__(self, figures: list[JpevalScore]) -> None:
        self._figures = figures

    def __radd__(self, other: Any) -> "_Sum":
        # `sum` begins with 0.
        return self if other == 0 else NotImplemented

    def __add__(self, other: "_Sum") -> "_Sum":
        return _Sum([*self._figures, *other._figures])

    def __truediv__(self, _: Any) -> float:
        by_category: dict[str, list[float]] = {}
        for figure in self._figures:
            by_category.setdefault(figure.category, []).append(float(figure))
        return measures.mean(list(map(measures.mean, by_category.values())))


@register_filter("llm_jp_eval")
class JpevalFilter(Filter):  # type: ignore[misc]
    """Makes predictions of a task's outputs."""

    def apply(
        self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
    ) -> list[list[pfgen.Text]]:
        """Returns, for each document, a list of its one prediction, made of its one output."""
        return [[_prediction(given, doc)] for given, doc in zip(resps, docs, strict=True)]


def jpeval_values(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, pfgen.Value]:
    """Returns the metrics of a document, and each again for its standard error.

    For correlations the value of a document is the number predicted.
    """
    predicted = pfgen.filtered(results)
    names = list(doc["metrics"])
    values = {name: _value(name, predicted) for name in names}
    if names[0] not in measures.CORRELATIONS:
        values[SCORE] = values[names[0]]
    return values | {name + pfgen.STDERR: values[name] for name in names}


def _metrics_of(data: evaluation_files.TaskData) -> list[dict[str, Any]]:
    """Returns the metrics of a task, each with its standard error, and `score`."""
    figures: dict[str, Any] = {name: partial(_figure, name) for name in data.metrics}
    errors = {name: partial(_error, name) for name in data.metrics}
    if data.metrics[0] not in measures.CORRELATIONS:
        figures[SCORE] = partial(_score, data.metrics[0])
    return pfgen.metric_list(figures, errors)


def _prediction(given: Sequence[str | None], doc: Mapping[str, Any]) -> pfgen.Text:
    text = unicode_text(pfgen.only(given, doc["id"]))
    response = TaskOutput(
        doc["task"],
        tuple(doc["metrics"]),
        doc["gold"],
        text,
        doc["answer_pattern"],
        tuple(doc["reading"]),
        doc["profile"],
    )
    made = pfgen.Text(*reading.predictions(response.data([]), [text], doc["profile"]))
    made.response = response
    return made


def _value(name: str, predicted: pfgen.Text) -> pfgen.Value:
    if name in measures.CORRELATIONS:
        value = measures.parse_float(predicted)
    else:
        [value] = metrics.metric(name, [str(predicted)], [predicted.response.gold])
    return pfgen.Value.of(value, predicted.response)  # type: ignore[no-any-return]


def _figure(name: str, items: Sequence[pfgen.Value]) -> float:
    """Returns the figure of a task, over all of its outputs."""
    return _evaluated(items).scores[f"{items[0].response.task}_{name}"]


def _error(name: str, items: Sequence[pfgen.Value]) -> float | str:
    """Returns the standard error of a figure."""
    return pfgen.shown_error(
        scoring.standard_errors(_evaluated(items))[f"{items[0].response.task}_{name}"]
    )


def _score(name: str, items: Sequence[pfgen.Value]) -> JpevalScore:
    made = JpevalScore(_figure(name, items))
    made.category = registry.find_task(items[0].response.task).category
    return made


def _evaluated(items: Sequence[pfgen.Value]) -> scoring.Evaluation:
    return _evaluation(tuple(item.response for item in items))


@lru_cache(maxsize=1)
def _evaluation(outputs: tuple[TaskOutput, ...]) -> scoring.Evaluation:
    """Score a task; cached, because all of its metrics need the same evaluation."""
    first = outputs[0]
    data = first.data(one.gold for one in outputs)
    return scoring.evaluate([data], {first.task: [one.output for one in outputs]}, first.profile)


def jpeval_documents(
    jpeval_task: str, jpeval_folder: str | None = None, **metadata: Any
) -> datasets.DatasetDict:
    """Returns the split `test` with the samples of the chosen split, in file order.

    The harness calls this with `dataset_kwargs` and metadata; `JpevalTask` has added the folder. Raises
    `InputError` for missing or invalid files, and `SettingsError` for invalid settings.
    """
    del jpeval_folder
    chosen = choices.jpeval_choices(metadata)
    data = chosen.read(jpeval_task)
    own = chosen.prompts().template(data)
    rows = [
        {
            "id": evaluation_files.item_id(data.task, data.split, index),
            "task": data.task,
            "input": sample.input,
            "gold": sample.output,
            "prompt": prompts.filled(own, sample.input),
            "metrics": list(data.metrics),
            "answer_pattern": data.answer_pattern,
            "reading": list(data.reading),
            "profile": chosen.profile,
        }
        for index, sample in enumerate(data.samples)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})


class JpevalTask(pfgen.HarnessTask):
    """A harness task that is one of the tasks of llm-jp-eval."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._chosen = choices.jpeval_choices(config.get("metadata") or {})
        asked = config["dataset_kwargs"]
        if "jpeval_folder" in asked:  # of tasks of one's own
            registry.add_folder(asked["jpeval_folder"])
        self._data = self._chosen.read(asked["jpeval_task"])
        ours = {
            "generation_kwargs": {
                "max_gen_toks": self._data.output_length,
                **config["generation_kwargs"],
            },
            "metric_list": _metrics_of(self._data),
            "process_results": jpeval_values,
        }
        super().__init__(config, ours)

    def build_all_requests(self, **options: Any) -> Any:
        """Note the signature, part of the results' "configs": what makes the scores reproducible."""
        limit = options.get("limit")
        chat = bool(options.get("apply_chat_template"))
        asked = self._chosen.prompts(chat=chat)
        n = None if limit is None else int(limit)
        settings = scoring.ScoreSettings(self._chosen.profile, n=n, prompts=asked)
        self.config.metadata["signature"] = scoring.signature([self._data], settings)
        return super().build_all_requests(**options)
