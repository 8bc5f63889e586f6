"""Scoring outputs: predictions, the values of every sample, and the scores of tasks and categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.llm_jp_eval.averages import averages
from pfgen_rs.llm_jp_eval.data import TaskData, item_id
from pfgen_rs.llm_jp_eval.metrics.correlations import CORRELATIONS, correlation
from pfgen_rs.llm_jp_eval.metrics.means import mean
from pfgen_rs.llm_jp_eval.metrics.values import metric
from pfgen_rs.llm_jp_eval.predictions import check_variant, normalized_gold, prediction

__all__ = ["Evaluation", "evaluate"]

_SHOWN = 3
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "task": pl.String,
    "index": pl.Int64,
    "input": pl.String,
    "output": pl.String,
    "pred": pl.String,
    "gold": pl.String,
    "value": pl.Float64,
    "exact": pl.Float64,
    "char_f1": pl.Float64,
}


@dataclass(frozen=True)
class Evaluation:
    """The outcome of scoring outputs.

    `frame`: a row a sample, with the columns `task`, `index`, `input`, `output`, `pred` and `gold`
    (normalised), `value` (of the task's first metric; null for correlations), `exact` (1.0 where `pred` and
    `gold` are equal) and `char_f1` (0 to 1, of every task). `scores`: `{task}_{metric}` to the value, in the
    order of the tasks. `averages`: values of the categories, AVG and AVR. `missing`: number of samples
    without an output by task, which count as empty.
    """

    frame: pl.DataFrame
    scores: dict[str, float]
    averages: dict[str, float]
    variant: str = "upstream"
    missing: dict[str, int] = field(default_factory=dict)


def evaluate(
    datas: Sequence[TaskData],
    outputs: Mapping[str, Sequence[str | None]],
    variant: str = "upstream",
    *,
    allow_missing: bool = False,
) -> Evaluation:
    """Score the outputs of tasks: of each the first samples of its file, as many as there are outputs.

    `None` stands for a missing output, which is an error unless `allow_missing` is set; then it counts as
    empty. Raises `InputError` for missing outputs, and `SettingsError`.
    """
    check_variant(variant)
    names = [data.task for data in datas]
    if len(set(names)) < len(names):
        raise SettingsError("a task is named twice")
    missing = _missing_outputs(datas, outputs)
    if missing and not allow_missing:
        raise InputError(_missing_outputs_message(missing))
    frames, scores = [], {}
    for data in datas:
        frame, found = _evaluated_task(data, outputs[data.task], variant)
        frames.append(frame)
        scores.update({f"{data.task}_{name}": value for name, value in found.items()})
    counts = Counter(task for task, _ in missing)
    whole = pl.concat(frames) if frames else pl.DataFrame(schema=_COLUMNS)
    return Evaluation(whole, scores, averages(scores), variant, dict(counts))


def _missing_outputs(
    datas: Sequence[TaskData], outputs: Mapping[str, Sequence[str | None]]
) -> list[tuple[str, str]]:
    """Returns tasks and ids of samples without an output."""
    found = []
    for data in datas:
        if data.task not in outputs:
            raise InputError(f"no outputs of the task {data.task}")
        own = outputs[data.task]
        if not 0 < len(own) <= len(data.samples):
            raise InputError(
                f"{data.task} has {len(data.samples)} samples, but there are {len(own)} outputs"
            )
        found += [
            (data.task, item_id(data.task, data.split, index))
            for index, output in enumerate(own)
            if output is None
        ]
    return found


def _missing_outputs_message(missing: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(each for _, each in missing[:_SHOWN])
    more = " …" if len(missing) > _SHOWN else ""
    count = "1 output is" if len(missing) == 1 else f"{len(missing):,} outputs are"
    return f"{count} missing: {shown}{more}"


def _evaluated_task(
    data: TaskData, given: Sequence[str | None], variant: str
) -> tuple[pl.DataFrame, dict[str, float]]:
    samples = data.samples[: len(given)]
    outputs = [output or "" for output in given]
    predictions = [prediction(output, variant) for output in outputs]
    golds = [sample.output for sample in samples]
    values = {
        name: metric(name, predictions, golds)
        for name in dict.fromkeys([*data.metrics, "char_f1"])
        if name not in CORRELATIONS
    }
    try:
        scores = {
            name: correlation(name, predictions, golds)
            if name in CORRELATIONS
            else mean(values[name])
            for name in data.metrics
        }
    except InputError as error:
        raise InputError(f"{data.task}: {error.problem}") from None
    normalised = [normalized_gold(gold) for gold in golds]
    main = data.metrics[0]
    columns = {
        "task": [data.task] * len(samples),
        "index": range(len(samples)),
        "input": [sample.input for sample in samples],
        "output": outputs,
        "pred": predictions,
        "gold": normalised,
        "value": [None] * len(samples) if main in CORRELATIONS else values[main],
        "exact": [float(p == g) for p, g in zip(predictions, normalised, strict=True)],
        "char_f1": values["char_f1"],
    }
    try:
        return pl.DataFrame(columns, schema=_COLUMNS), scores
    except UnicodeEncodeError:
        raise InputError(_surrogate_message(data, outputs)) from None


def _surrogate_message(data: TaskData, outputs: Sequence[str]) -> str:
    wrong = next(
        n for n, text in enumerate(outputs) if any("\ud800" <= c <= "\udfff" for c in text)
    )
    place = item_id(data.task, data.split, wrong)
    return f"the output of {place} contains a lone surrogate, which is not valid Unicode"
