"""Made-up evaluated runs of llm-jp-eval: values drawn by task, with texts that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.report.runs import ReportRun

ALL = tuple(tasks())


def made_run(
    name: str,
    *,
    seed: int = 0,
    skill: float = 0.5,
    samples: int | Mapping[str, int] = 100,
    chosen: Sequence[str] = ALL,
    own: float = 0.5,
    **fields: Any,
) -> ReportRun:
    """A run whose values have about the mean `skill` (0 to 1).

    Samples are as hard for all runs with the same `seed`; `own` is the share of luck.
    """
    frames = []
    for task in chosen:
        n = samples if isinstance(samples, int) else samples[task]
        frames.append(_made_task(task, n, skill, own, (seed, ALL.index(task)), name))
    return ReportRun(name, pl.concat(frames), **fields)


def _made_task(
    task: str, n: int, skill: float, own: float, seed: tuple[int, int], name: str
) -> pl.DataFrame:
    hard = np.random.default_rng(seed).random(n)
    luck = np.random.default_rng([*seed, *name.encode()]).random(n)
    ease = skill + (0.5 - ((1 - own) * hard + own * luck))
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
