"""Results: the file of the published tool, our own scores, and the signature that makes them reproducible."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs import _native
from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.llm_jp_eval import catalog, scoring
from pfgen_rs.llm_jp_eval.data import TaskData, raw_digest, read_json
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant, sample_metrics
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, template_digest

SCORES, SAMPLES = "scores.json", "samples.parquet"
SAMPLING = ("temperature", "seed", "top_p")
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are made. Raises `SettingsError`.

    `n`: number of samples a task, `None` for all. `all_tasks`: all tasks were asked for, even if some have no
    data; the result file then has averages. `sampling`: what is known of `temperature`, `seed` and `top_p`;
    `None` as a value leaves one to the engine. If nothing is known, not even that outputs had the maximum
    lengths of `prompts`, it is `None`.
    """

    variant: str = "upstream"
    n: int | None = None
    prompts: PromptSettings = field(default_factory=PromptSettings)
    all_tasks: bool = False
    sampling: Mapping[str, float | None] | None = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_variant(self.variant)


def signature(datas: Sequence[TaskData], settings: ScoreSettings | None = None) -> str:
    """Returns one line that says how scores were made: `llm-jp-eval|v:…|variant:upstream|split:test|…`.

    `raw` is the digest of the evaluation files of the tasks (see `data.raw_digest`). What is not known is
    `unknown`, and what was left to the engine `default`.
    """
    chosen = settings or ScoreSettings()
    made = chosen.prompts
    parts = [
        "llm-jp-eval",
        f"v:{_native.__version__}",
        f"variant:{chosen.variant}",
        f"split:{datas[0].split}",
        f"n:{'all' if chosen.n is None else chosen.n}",
        f"shots:{_UNKNOWN if made.shots is None else made.shots}",
        "avg:AVR",
        f"raw:{raw_digest(datas)}",
    ]
    parts += [f"{name}:{_sampled_text(chosen.sampling, name)}" for name in SAMPLING]
    if chosen.sampling is None and made.max_tokens is None:
        parts.append(f"max_tokens:{_UNKNOWN}")
    digest = template_digest(made.prompt, made.fewshots)
    parts += [] if digest is None else [f"prompt:{digest}"]
    parts += ["mode:chat"] if made.chat else []
    parts += [] if made.max_tokens is None else [f"max_tokens:{made.max_tokens}"]
    return "|".join(parts)


def _sampled_text(sampling: Mapping[str, float | None] | None, name: str) -> str:
    if sampling is None or name not in sampling:
        return _UNKNOWN
    value = sampling[name]
    return "default" if value is None else f"{value:.12g}"


def scores_record(
    datas: Sequence[TaskData],
    evaluations: Mapping[str, scoring.Evaluation],
    settings: ScoreSettings,
) -> dict[str, Any]:
    """Returns what `scores.json` says: the signature, and of each variant scores, standard errors, averages.

    `evaluations` by variant; that of the settings is the one that the signature names, and of which it is
    told how many answers are wrong only for their form.
    """
    chosen = evaluations[settings.variant]
    counts = dict(chosen.frame.group_by("task", maintain_order=True).len().rows())
    return {
        "kind": "llm-jp-eval",
        "signature": signature(datas, settings),
        "variant": settings.variant,
        "average": "AVR",
        "split": datas[0].split,
        "samples": counts,
        "missing": chosen.missing,
        "lacking": {
            name: catalog.lacking_categories(name, chosen.scores) for name in catalog.AVERAGES
        },
        "variants": {
            name: {
                "scores": found.scores,
                "standard_errors": scoring.standard_errors(found),
                "averages": found.averages,
            }
            for name, found in evaluations.items()
        },
        "lenient": {way: found.to_dict() for way, found in scoring.leniently(chosen).items()},
    }


def score_config(datas: Sequence[TaskData], settings: ScoreSettings) -> dict[str, Any]:
    """Returns what result files say about how outputs made elsewhere were scored."""
    return {
        "kind": "llm-jp-eval",
        "signature": signature(datas, settings),
        "tasks": [data.task for data in datas],
        "split": datas[0].split,
        "variant": settings.variant,
        "n": settings.n,
        **settings.prompts.record(),
    }


def result_content(
    evaluation: scoring.Evaluation,
    templates: Mapping[str, str],
    config: Mapping[str, Any],
    *,
    with_averages: bool = False,
) -> bytes:
    """Returns the result file of the published tool.

    `templates`: of each task. `with_averages`: adds the categories and AVG, as is done if all tasks are
    asked for.
    """
    outputs: dict[str, list[dict[str, str]]] = {}
    columns = evaluation.frame.select("task", "input", "pred", "gold")
    for task, text, pred, gold in columns.iter_rows():
        sample = {"prompt": str(templates[task]), "input": text, "pred": pred, "gold": gold}
        outputs.setdefault(task, []).append(sample)
    content = {
        "scores": catalog.score_texts(evaluation.scores, with_averages=with_averages),
        "outputs": outputs,
        "config": config,
    }
    return json.dumps(content, ensure_ascii=False, indent=4).encode()


def write_results(
    folder: str | os.PathLike[str],
    datas: Sequence[TaskData],
    evaluations: Mapping[str, scoring.Evaluation],
    config: Mapping[str, Any],
    settings: ScoreSettings,
) -> dict[str, Any]:
    """Write `result.json`, `samples.parquet` and `scores.json`; returns the content of `scores.json`.

    `evaluations` by variant. The result file, which has `config`, and the samples are those of the settings'
    variant; the result file has averages if all tasks were asked for or are there. Raises `OutputError`.
    """
    chosen, place = evaluations[settings.variant], Path(folder)
    record = scores_record(datas, evaluations, settings)
    templates = {data.task: settings.prompts.template(data) for data in datas}
    every = settings.all_tasks or catalog.tasks().keys() <= templates.keys()
    result = result_content(chosen, templates, config, with_averages=every)
    samples = io.BytesIO()
    chosen.frame.drop("input").write_parquet(samples)
    write_atomic(place / RESULT, result)
    write_atomic(place / SAMPLES, samples.getvalue())
    text = json.dumps(record, ensure_ascii=False, indent=1)
    write_atomic(place / SCORES, text.encode() + b"\n")
    return record


@dataclass(frozen=True, eq=False)
class ReadResult(scoring.Evaluation):
    """A result file that was read: an evaluation of its predictions, without the raw outputs.

    `scores`, `averages`: those of its predictions, and as the file states them what these do not give: scores
    by other metrics, categories of other tasks, averages over other categories. `recorded`: the scores that
    the file states, as text; `stated`: its averages and categories as numbers. `metrics`: by task, those that
    the predictions have. `config`: what the file says about the run.
    """

    recorded: Mapping[str, str] = field(default_factory=dict)
    stated: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def differing(self) -> list[str]:
        """The stated scores that the file's predictions do not have."""
        stated = _numbers(self.recorded)
        names = self.scores.keys() & stated.keys()
        return sorted(
            name for name in names if not catalog.same_score(self.scores[name], stated[name])
        )


def read_result(path: str | os.PathLike[str]) -> ReadResult:
    """Read a result file, `result.json` or that of the published tool, and score its predictions again.

    Of tasks that the catalog does not have, samples have a value by the first metric that is known here. The
    variant is `unknown`. Raises `InputError`.
    """
    file = Path(path)
    record, _ = read_json(file)
    try:
        return _result(record)
    except InputError as error:
        raise InputError(error.problem, path=file) from None
    except UnicodeEncodeError:
        problem = "contains a lone surrogate, which is not valid Unicode"
        raise InputError(problem, path=file) from None


def _result(record: Any) -> ReadResult:
    outputs = record.get("outputs") if isinstance(record, dict) else None
    if not isinstance(outputs, dict) or not isinstance(record.get("scores"), dict):
        raise InputError("is not a result file: expected an object with 'scores' and 'outputs'")
    recorded = {name: str(value) for name, value in record["scores"].items()}
    parts = {name: catalog.split_score(name, {*outputs, *catalog.tasks()}) for name in recorded}
    metrics = {task: info.metrics for task, info in catalog.tasks().items() if task in outputs}
    for task in outputs.keys() - catalog.tasks().keys():
        if _has_columns(outputs[task]):
            known = [
                name for own, name in parts.values() if own == task and name in sample_metrics()
            ]
            metrics[task] = tuple(known[:1])
    frames, scores = [], {}
    for task in sorted(metrics, key=[*catalog.tasks(), *outputs].index):
        inputs, preds, golds = _columns(task, outputs[task])
        frame, found = scoring.evaluated_predictions(
            task, metrics[task], preds, golds, inputs=inputs
        )
        frames.append(frame)
        scores.update({f"{task}_{metric}": value for metric, value in found.items()})
    stated = _numbers(recorded)
    scores |= {name: stated[name] for name in stated if parts[name][1] and name not in scores}
    if not frames:
        raise InputError("is not a result file of these tasks: 'outputs' has none of them")
    config = record.get("config")
    of_file = {name: value for name, value in stated.items() if not parts[name][1]}
    return ReadResult(
        pl.concat(frames),
        scores,
        _with_stated(catalog.averages(scores), of_file),
        "unknown",
        recorded=recorded,
        stated=of_file,
        metrics=metrics,
        config=config if isinstance(config, dict) else {},
    )


def _numbers(recorded: Mapping[str, str]) -> dict[str, float]:
    """Returns the scores that are finite numbers."""
    found = {}
    for name, text in recorded.items():
        try:
            value = float(text)
        except ValueError:
            continue
        if math.isfinite(value):
            found[name] = value
    return found


def _with_stated(ours: Mapping[str, float], stated: Mapping[str, float]) -> dict[str, float]:
    """Returns averages, as they are stated where they are others."""
    other = {
        name: value
        for name, value in stated.items()
        if name not in ours or not catalog.same_score(ours[name], value)
    }
    return {**ours, **other}


def _has_columns(samples: Any) -> bool:
    try:
        _columns("", samples)
    except InputError:
        return False
    return True


def _columns(task: str, samples: Any) -> tuple[list[str], list[str], list[str]]:
    if not isinstance(samples, list) or not samples:
        raise InputError(f"the outputs of {task} must be a list that is not empty")
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for index, sample in enumerate(samples):
        for column, key in zip(columns, ("input", "pred", "gold"), strict=True):
            value = sample.get(key) if isinstance(sample, dict) else None
            if not isinstance(value, str):
                raise InputError(f"{key!r} of sample {index} of {task} must be text")
            column.append(value)
    return columns
