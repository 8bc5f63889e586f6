"""pfgen-bench in lighteval: tasks and their four metrics.

Use `lighteval … pfgen_completion --custom-tasks pfgen_rs.integrations.lighteval`. For other benchmarks,
trials or seeds, write a file of two lines with `TASKS_TABLE = tasks(…)`. Written for lighteval 0.13.0.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.errors import PfgenError
from pfgen_rs.extras import missing
from pfgen_rs.generate import Mode, Prompter, read_examples
from pfgen_rs.integrations.common import prepared
from pfgen_rs.io import write_atomic
from pfgen_rs.io.cleaning import Think, cleaned, default_stop
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.metrics.settings import check_metric

try:
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.lighteval_task import LightevalTaskConfig
    from lighteval.tasks.requests import Doc, SamplingMethod
except ImportError as error:
    raise missing("lighteval", "lighteval", error, PfgenError) from error

_MODES: tuple[Mode, ...] = ("completion", "qa")
_SCORES = {
    "pfgen": "average",
    "pfgen_fluency": "fluency",
    "pfgen_truthfulness": "truthfulness",
    "pfgen_helpfulness": "helpfulness",
}


def __getattr__(name: str) -> Any:
    """Create `TASKS_TABLE` only when lighteval reads it, because creating tasks loads the questions."""
    if name == "TASKS_TABLE":
        return tasks()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def tasks(
    benchmark: str | None = None,
    trials: int = 10,
    num_examples: int = 20,
    seed: str = "",
    prefix: str = "",
    think: Think = "keep",
) -> list[LightevalTaskConfig]:
    """Returns `pfgen_completion` for base models and `pfgen_qa` for chat models: all questions of each trial.

    The prompts are written to the cache folder, because lighteval reads tasks from datasets. Mode `chat` is
    not supported, because lighteval has one system message for all prompts. Set temperature and top-p in the
    model's arguments.
    """
    examples = read_examples(benchmark)
    answers = dict(examples)
    configs = []
    for mode in _MODES:
        prompter = Prompter(examples, mode, num_examples=num_examples, seed=seed, prefix=prefix)
        asked = [task for trial in range(1, trials + 1) for task in prompter.tasks(trial)]
        rows = [
            {
                "question": t.question,
                "trial": t.trial,
                "prompt": t.prompt,
                "answer": answers[t.question],
            }
            for t in asked
        ]
        configs.append(_config(mode, _dataset(rows), pfgen_metrics(benchmark, mode, think)))
    return configs


def _config(mode: Mode, dataset: Path, metrics: list[SampleLevelMetric]) -> LightevalTaskConfig:
    return LightevalTaskConfig(
        name=f"pfgen_{mode}",
        prompt_function=_doc,
        hf_repo=str(dataset),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=metrics,
        generation_size=300,
        stop_sequence=list(default_stop(mode)),
    )


def _dataset(rows: list[dict[str, Any]]) -> Path:
    """Write a dataset. Returns its folder, named by its content: lighteval caches answers by dataset name."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    folder = cache_folder() / "lighteval" / hashlib.sha256(lines).hexdigest()[:16]
    if not (folder / "test.jsonl").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / "test.jsonl", lines)
    return folder


def _doc(row: dict[str, Any], task_name: str) -> Doc:
    return Doc(
        query=row["prompt"],
        choices=[row["answer"]],
        gold_index=0,
        task_name=task_name,
        specific={"question": row["question"], "trial": row["trial"]},
    )


def pfgen_metrics(
    benchmark: str | None = None, mode: Mode | None = None, think: Think = "keep"
) -> list[SampleLevelMetric]:
    """Returns `pfgen` (the average) and its three parts, for any task; all answers are scored once.

    See `PfgenScore`. lighteval's standard errors are too small: they treat all answers as independent, which
    answers to the same question are not.
    """
    return [
        SampleLevelMetric(
            metric_name=name,
            higher_is_better=True,
            category=SamplingMethod.GENERATIVE,
            sample_level_fn=PfgenScore(metric, benchmark, mode, think),
            corpus_level_fn=np.mean,
            batched_compute=True,
        )
        for name, metric in _SCORES.items()
    ]


class PfgenScore(SampleLevelComputation):
    """One score of every answer, as in `score_file`: `average` or one of the three metrics.

    A document's question is `specific["question"]` (text or id), or else its query. `mode`: how to clean a
    text before scoring (see `pfgen_rs.io.cleaning.cleaned`); without it, it is scored unchanged. An
    empty text scores 0; several texts for a document are averaged.
    """

    # Only plain settings: lighteval copies and prints this object, and derives cache names from it.
    def __init__(
        self,
        metric: str,
        benchmark: str | None = None,
        mode: Mode | None = None,
        think: Think = "keep",
    ) -> None:
        check_metric(metric, _SCORES.values())
        self.metric = metric
        self.benchmark = benchmark
        self.mode = mode
        self.think = think

    def compute(self, responses: list[ModelResponse], docs: list[Doc], **_: Any) -> list[float]:
        """Returns the score of every document, for metrics with `batched_compute`."""
        texts = [response.final_text or [""] for response in responses]
        questions = [(doc.specific or {}).get("question", doc.query) for doc in docs]
        answers = [(q, self._answer(t)) for q, ts in zip(questions, texts, strict=True) for t in ts]
        values = iter(_scores(self.benchmark, tuple(answers)).get_column(self.metric).to_list())
        return [sum(next(values) for _ in several) / len(several) for several in texts]

    def _answer(self, text: str) -> str:
        if self.mode is None:
            return text
        return cleaned(text, self.mode, default_stop(self.mode), think=self.think)


@lru_cache(maxsize=1)
def _scores(benchmark: str | None, answers: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """Score answers once for the four metrics of a task, which are computed one after another."""
    questions, texts = zip(*answers, strict=True)
    return prepared(benchmark).score_batch(list(questions), list(texts))
