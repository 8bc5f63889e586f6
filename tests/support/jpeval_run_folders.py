"""Folders of scores of llm-jp-eval, made up: as `score --out` and `run` write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jpeval_data import Pairs, write_data
from pfgen_rs.llm_jp_eval.catalog import read_tasks, tasks
from pfgen_rs.llm_jp_eval.scoring import (
    ScoreSettings,
    evaluate_variants,
    score_config,
    write_results,
)

WRONG = "ちがう答え"


def made_data(folder: Path, samples: int = 30, chosen: Sequence[str] = tuple(tasks())) -> Path:
    """Evaluation files with made-up samples."""
    pairs = {task: _pairs(task, samples) for task in chosen}
    return write_data(folder, pairs, {task: own[:5] for task, own in pairs.items()})


def made_scores(
    folder: Path,
    data: Path,
    *,
    right: float,
    chosen: Sequence[str] = tuple(tasks()),
    seed: int = 0,
    **settings: Any,
) -> Path:
    """Write the scores of outputs of which a share `right` is the gold; returns the folder."""
    random = np.random.default_rng([seed, int(right * 1000)])
    datas = read_tasks(data, chosen)
    outputs = {
        each.task: [sample.output if random.random() < right else WRONG for sample in each.samples]
        for each in datas
    }
    made = ScoreSettings(**settings)
    evaluations = evaluate_variants(datas, outputs)
    write_results(folder, datas, evaluations, score_config(datas, made), made)
    return folder


def _pairs(task: str, samples: int) -> Pairs:
    if task == "jsts":
        return [(f"文1：甲{i}\n文2：乙", f"{i % 26 / 5}") for i in range(samples)]
    return [(f"質問：{task}の{i}番は何？", f"こたえ{task}{i}") for i in range(samples)]
