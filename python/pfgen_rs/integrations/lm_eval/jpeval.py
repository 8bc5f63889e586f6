"""The tasks of llm-jp-eval: their documents, and their values, aggregated as by `pfgen-rs llm-jp-eval`."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import datasets
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs.integrations import task_outputs
from pfgen_rs.integrations.lm_eval import choices, pfgen
from pfgen_rs.integrations.task_outputs import TaskOutput
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.llm_jp_eval import evaluation_files, measures, prompts, registry, scoring

SCORE = "score"
"""The main metric of every task that counts in AVR, under one name, so that groups can average it."""


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
    if names and names[0] not in measures.CORRELATIONS:
        values[SCORE] = values[names[0]]
    return values | {name + pfgen.STDERR: values[name] for name in names}


def _metrics_of(data: evaluation_files.TaskData) -> list[dict[str, Any]]:
    """Returns the metrics of a task, each with its standard error, and `score`."""
    names = task_outputs.computed(data)
    figures: dict[str, Any] = {name: partial(_figure, name) for name in names}
    errors = {name: partial(_error, name) for name in names}
    if names and names[0] not in measures.CORRELATIONS:
        figures[SCORE] = partial(_score, names[0])
    return pfgen.metric_list(figures, errors)


def _prediction(given: Sequence[str | None], doc: Mapping[str, Any]) -> pfgen.Text:
    text = unicode_text(pfgen.only(given, doc["id"]))
    response = TaskOutput.of(doc, text)
    made = pfgen.Text(response.prediction())
    made.response = response
    return made


def _value(name: str, predicted: pfgen.Text) -> pfgen.Value:
    output = predicted.response
    return pfgen.Value.of(output.value(name, str(predicted)), output)  # type: ignore[no-any-return]


def _figure(name: str, items: Sequence[pfgen.Value]) -> float:
    return task_outputs.figure(name, [item.response for item in items])


def _error(name: str, items: Sequence[pfgen.Value]) -> float | str:
    found = task_outputs.standard_error(name, [item.response for item in items])
    return pfgen.shown_error(found)


def _score(name: str, items: Sequence[pfgen.Value]) -> JpevalScore:
    made = JpevalScore(_figure(name, items))
    made.category = registry.find_task(items[0].response.task).category
    return made


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
            **task_outputs.document(data, index, chosen.profile),
            "prompt": prompts.filled(own, sample.input),
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
