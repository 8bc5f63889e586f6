"""Results: the file of the published tool, our own scores, and the signature that makes them reproducible."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs import _native
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.llm_jp_eval import catalog, scoring
from pfgen_rs.llm_jp_eval.data import TaskData, raw_digest
from pfgen_rs.llm_jp_eval.metrics.samples import check_variant
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
