"""Made-up runs of llm-jp-eval for reports: drawn values, and whole result files of other versions."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, find_task, tasks
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.llm_jp_eval.scoring import evaluated_predictions

ALL = find_profile(DEFAULT).tasks


def made_run(
    name: str, *, seed: int = 0, skill: float = 0.5, samples: int = 100, chosen: Sequence[str] = ALL
) -> ReportRun:
    """A run whose values have about the mean `skill` (0 to 1), half of it by luck.

    Samples are as hard for all runs with the same `seed`.
    """
    seeds = {task: (seed, ALL.index(task)) for task in chosen}
    frames = [_made_task(task, samples, skill, seeds[task], name) for task in chosen]
    return ReportRun(name, pl.concat(frames))


def _made_task(task: str, n: int, skill: float, seed: tuple[int, int], name: str) -> pl.DataFrame:
    hard = np.random.default_rng(seed).random(n)
    luck = np.random.default_rng([*seed, *name.encode()]).random(n)
    ease = skill + (0.5 - (0.5 * hard + 0.5 * luck))
    metric = tasks()[task].metrics[0]
    golds = [f"正解{i}" for i in range(n)]
    values: list[float | None]
    if metric == "exact_match":
        right = ease > 0.5
        values = right.astype(float).tolist()
        preds = [gold if ok else "ちがう" for gold, ok in zip(golds, right, strict=True)]
    elif metric == "pearson":
        truth = np.random.default_rng([*seed, 1]).integers(0, 26, n) / 5
        golds = [str(each) for each in truth.tolist()]
        said = truth * skill + (1 - skill) * 5 * luck
        preds = [f"{each:.1f}" for each in said.tolist()]
        values = [None] * n
    else:
        values = np.round(np.clip(ease, 0, 1), 2).tolist()
        preds = [f"{gold}のようなもの" for gold in golds]
    return pl.DataFrame(
        {
            "task": [task] * n,
            "index": list(range(n)),
            "input": [f"質問：{task}の{i}" for i in range(n)],
            "pred": preds,
            "gold": golds,
            "value": values,
        },
        schema_overrides={"value": pl.Float64, "index": pl.Int64},
    )


EXAMINED = {"jmmlu": "exact_match", "mmluen": "exact_match"}
TRANSLATED = ("alt-e-to-j", "alt-j-to-e", "wikicorpus-e-to-j", "wikicorpus-j-to-e")
_SAMPLES = 12


def result_of_1_3_0(path: Path, *, seed: int = 0, mmlu: str = "mmluen") -> dict[str, Any]:
    """Write a result of all 23 tasks of version 1.3.0; returns its content.

    `mmlu`: the name of the task in English. The scores of translations are of models that nobody has here.
    """
    made = random.Random(seed)
    values, outputs = _known_tasks(made)
    for task in ("jmmlu", mmlu):
        scores, outputs[task] = _task(task, ("exact_match",), made)
        values |= scores
    for task in TRANSLATED:
        outputs[task] = _samples(task, made)
        language = "ja" if task.endswith("j") else "en"
        for metric in (f"bert_score_{language}_f1", f"bleu_{language}", "comet_wmt22"):
            values[f"{task}_{metric}"] = made.uniform(0.2, 0.95)
    categories = {
        name: mean(values[each.replace("mmluen", mmlu)] for each in parts)
        for name, parts in find_profile("1.3.0").categories.items()
    }
    values |= {**categories, "AVG": mean(categories.values())}
    return _write(path, {k: f"{values[k]:.4f}" for k in sorted(values)}, outputs)


def result_of_2(path: Path, *, seed: int = 0) -> dict[str, Any]:
    """Write a result of a later version: other tasks and categories, and scores that are numbers."""
    made = random.Random(seed)
    values, outputs = _known_tasks(made)
    for task in ("aio", "kuci", "mmlu_en", "jmmlu"):
        scores, outputs[task] = _task(task, ("char_f1" if task == "aio" else "exact_match",), made)
        values |= scores
    # Equal formulas count, so a value does not follow from the texts; and code is run.
    values["mawps_mathematical_equivalence"] = values.pop("mawps_exact_match") + 0.125
    values |= {"mbpp_code_exec": made.random(), "mbpp_pylint_check": made.random()}
    outputs["mbpp"] = _samples("mbpp", made)
    parts = {
        **{name: find_profile("1.3.0").categories[name] for name in ("NLI", "RC", "EL", "FA")},
        "QA": ("jemhopqa_char_f1", "niilc_char_f1", "aio_char_f1"),
        "MC": ("jcommonsenseqa_exact_match", "kuci_exact_match"),
        "MR": ("mawps_mathematical_equivalence",),
        "HE-EN": ("mmlu_en_exact_match",),
        "HE-JA": ("jmmlu_exact_match",),
        "CG": ("mbpp_code_exec",),
    }
    categories = {name: mean(values[each] for each in own) for name, own in parts.items()}
    values |= {**categories, "AVG": mean(categories.values())}
    return _write(path, dict(sorted(values.items())), outputs)


def _known_tasks(made: random.Random) -> tuple[dict[str, float], dict[str, Any]]:
    values: dict[str, float] = {}
    outputs: dict[str, Any] = {}
    for task in ALL:
        scores, outputs[task] = _task(task, tasks()[task].metrics, made)
        values |= scores
    return values, outputs


def _task(
    task: str, metrics: tuple[str, ...], made: random.Random
) -> tuple[dict[str, float], list[dict[str, str]]]:
    """The scores of a task's predictions, and the predictions."""
    samples = _samples(task, made)
    columns = ([each[key] for each in samples] for key in ("pred", "gold", "input"))
    preds, golds, inputs = columns
    _, scores = evaluated_predictions(task, metrics, preds, golds, inputs=inputs)
    return {f"{task}_{metric}": value for metric, value in scores.items()}, samples


def _samples(task: str, made: random.Random) -> list[dict[str, str]]:
    number = task in tasks() and find_task(task).metrics[0] == "pearson"
    found = []
    for index in range(_SAMPLES):
        gold = f"{index % 6}.0" if number else f"こたえ{task}{index}"
        wrong = f"{made.randrange(6)}.0" if number else "ちがう答え"
        pred = gold if made.random() < 0.6 else wrong
        found.append({"prompt": "{input}", "input": f"{task}の{index}", "pred": pred, "gold": gold})
    return found


def _write(path: Path, scores: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
    content = {"scores": scores, "outputs": outputs, "config": {"model": {}}}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=4), "utf-8")
    return content
