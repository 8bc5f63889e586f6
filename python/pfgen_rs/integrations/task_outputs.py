"""Outputs for samples of llm-jp-eval's tasks, with all that their figures need; for harnesses."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pfgen_rs.llm_jp_eval import evaluation_files, measures, metrics, reading, scoring


def computed(data: evaluation_files.TaskData) -> tuple[str, ...]:
    """Returns the metrics of a task that can be computed here."""
    return tuple(name for name in data.metrics if not measures.unavailable(name))


def document(data: evaluation_files.TaskData, index: int, profile: str) -> dict[str, Any]:
    """Returns what `TaskOutput` needs of a sample, and the sample's id and input, as JSON types."""
    sample = data.samples[index]
    return {
        "id": evaluation_files.item_id(data.task, data.split, index),
        "task": data.task,
        "input": sample.input,
        "gold": sample.output,
        "metrics": list(computed(data)),
        "answer_pattern": data.answer_pattern,
        "reading": list(data.reading),
        "profile": profile,
    }


class TaskOutput(NamedTuple):
    """An output with what it is compared with, and how it is read. `gold`: as it stands in the file."""

    task: str
    metrics: tuple[str, ...]
    input: str
    gold: str
    output: str
    answer_pattern: str | None
    reading: tuple[str, ...]
    profile: str

    @classmethod
    def of(cls, document: Mapping[str, Any], output: str) -> "TaskOutput":
        """Returns an output for a document."""
        kept = {name: document[name] for name in cls._fields if name != "output"}
        kept = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
        return cls(**kept, output=output)

    def data(self, outputs: "Iterable[TaskOutput]") -> evaluation_files.TaskData:
        """Returns the data of its task with the samples of outputs, for scoring."""
        samples = tuple(evaluation_files.Sample(one.input, one.gold) for one in outputs)
        return evaluation_files.TaskData(
            *("", 1, self.metrics, samples),
            task=self.task,
            split="",
            answer_pattern=self.answer_pattern,
            reading=self.reading,
        )

    def prediction(self) -> str:
        """Returns the prediction in the output."""
        [found] = reading.task_predictions(self.data([]), [self.output], self.profile)
        return found

    def value(self, metric: str, prediction: str) -> float:
        """Returns a metric of it: for correlations the number predicted, for other figures 1 if right."""
        if metric in measures.CORRELATIONS:
            return measures.parse_float(prediction)
        own = "exact_match" if metric in measures.task_metrics() else metric
        [value] = metrics.metric(own, [prediction], [self.gold])
        return float(value)


def figure(metric: str, outputs: Sequence[TaskOutput]) -> float:
    """Returns the figure of a task over all of its outputs."""
    return _evaluated(tuple(outputs)).scores[f"{outputs[0].task}_{metric}"]


def standard_error(metric: str, outputs: Sequence[TaskOutput]) -> float | None:
    """Returns the standard error of a figure, `None` where it has none."""
    found = scoring.standard_errors(_evaluated(tuple(outputs)))
    return found[f"{outputs[0].task}_{metric}"]


@lru_cache(maxsize=1)
def _evaluated(outputs: tuple[TaskOutput, ...]) -> scoring.Evaluation:
    """Score a task; cached, because all of its metrics need the same evaluation."""
    first = outputs[0]
    data = first.data(outputs)
    return scoring.evaluate([data], {first.task: [one.output for one in outputs]}, first.profile)
