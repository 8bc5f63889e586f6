"""Small evaluation files of llm-jp-eval and folders of scores, made up; running its commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from pfgen_rs import PfgenError
from pfgen_rs.cli.app import app
from pfgen_rs.llm_jp_eval.evaluation_files import read_tasks
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, find_task
from pfgen_rs.llm_jp_eval.scoring import (
    ScoreSettings,
    evaluate,
    score_config,
    write_results,
)

RUNNER = CliRunner()
PUBLISHED = find_profile(DEFAULT).tasks
Pairs = Sequence[tuple[str, str]]

SHOTS: dict[str, Pairs] = {
    "jamp": [(f"前提：例{n}\n仮説：文{n}", "neutral") for n in range(5)],
    "jsquad": [(f"文章：例{n}\n質問：何？", f"答え{n}") for n in range(5)],
    "jsts": [(f"文1：例{n}\n文2：文", f"{n}.0") for n in range(5)],
    "chabsa": [(f"文章：例{n}", "売上 positive\n利益 negative") for n in range(5)],
}
SAMPLES: dict[str, Pairs] = {
    "jamp": [("前提：雨\n仮説：水", "entailment"), ("前提：火\n仮説：水", "contradiction")],
    "jsquad": [("文章：空は青い\n質問：色は？", "青"), ("文章：ＡＢＣ\n質問：字は？", "ＡＢＣ")],
    "jsts": [(f"文1：甲{n}\n文2：乙", value) for n, value in enumerate(("0.2", "3.0", "4.5"))],
    "chabsa": [("文章：甲", "売上 positive"), ("文章：乙", "利益 neutral\n利益 neutral")],
}


def evaluation_file(task: str, pairs: Iterable[tuple[str, str]], **changes: Any) -> dict[str, Any]:
    info = find_task(task)
    return {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
        "samples": [{"input": i, "output": o} for i, o in pairs],
        **changes,
    }


def write_file(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")


def write_data(
    folder: Path,
    samples: Mapping[str, Pairs] = SAMPLES,
    shots: Mapping[str, Pairs] = SHOTS,
    split: str = "test",
) -> Path:
    """Write evaluation files of some tasks; returns the folder."""
    for task, pairs in samples.items():
        write_file(folder / "evaluation" / split / f"{task}.json", evaluation_file(task, pairs))
    for task, pairs in shots.items():
        write_file(folder / "evaluation" / "train" / f"{task}.json", evaluation_file(task, pairs))
    return folder


def jp_eval(*arguments: object) -> Result:
    """Run a subcommand of `pfgen-rs llm-jp-eval` in this process; errors become lines of `stderr`."""
    done = RUNNER.invoke(app, ["llm-jp-eval", *map(str, arguments)], env={"COLUMNS": "200"})
    if isinstance(done.exception, PfgenError):
        done.stderr_bytes = (done.stderr_bytes or b"") + f"error: {done.exception}\n".encode()
        done.exit_code = 2
    elif done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def jp_json(*arguments: object) -> Any:
    """What a subcommand that succeeds prints as JSON."""
    done = jp_eval(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


WRONG = "ちがう答え"


def made_data(folder: Path, samples: int = 30, chosen: Sequence[str] = PUBLISHED) -> Path:
    """Evaluation files with made-up samples."""
    pairs = {task: _pairs(task, samples) for task in chosen}
    return write_data(folder, pairs, {task: own[:5] for task, own in pairs.items()})


def made_scores(
    folder: Path,
    data: Path,
    *,
    right: float,
    chosen: Sequence[str] = PUBLISHED,
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
    evaluations = {made.profile: evaluate(datas, outputs, made.profile)}
    write_results(folder, datas, evaluations, score_config(datas, made), made)
    return folder


def _pairs(task: str, samples: int) -> Pairs:
    if task == "jsts":
        return [(f"文1：甲{i}\n文2：乙", f"{i % 26 / 5}") for i in range(samples)]
    return [(f"質問：{task}の{i}番は何？", f"こたえ{task}{i}") for i in range(samples)]
