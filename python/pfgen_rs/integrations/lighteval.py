"""pfgen-bench in lighteval: tasks, and the four metrics they are scored with.

`lighteval … pfgen_completion --custom-tasks pfgen_rs.integrations.lighteval`. Other benchmarks, trials or
seeds take a file of two lines, `TASKS_TABLE = tasks(…)`. Written against lighteval 0.13.0.
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
from pfgen_rs.generate.answers import Think, cleaned, default_stop
from pfgen_rs.integrations.common import prepared
from pfgen_rs.io import write_atomic
from pfgen_rs.io.cache_folder import cache_folder
from pfgen_rs.metrics.names import check_metric

try:
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import SampleLevelMetric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.lighteval_task import LightevalTaskConfig
    from lighteval.tasks.requests import Doc, SamplingMethod
except ImportError as error:
    raise missing("lighteval", "lighteval", error, PfgenError) from error

__all__ = ["PfgenScore", "pfgen_metrics", "tasks"]

_MODES: tuple[Mode, ...] = ("completion", "qa")
_SCORES = {
    "pfgen": "average",
    "pfgen_fluency": "fluency",
    "pfgen_truthfulness": "truthfulness",
    "pfgen_helpfulness": "helpfulness",
}


def __getattr__(name: str) -> Any:
    """`TASKS_TABLE`, where lighteval looks for it: making the tasks needs the questions."""
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
    """`pfgen_completion` for base models and `pfgen_qa` for chat models: every question of every trial.

    The prompts are written into the cache folder, since lighteval reads its tasks from data sets. There is no
    mode `chat`, as lighteval has one system message for all prompts. How to sample, temperature and top-p,
    is for the model's arguments to say.
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
    """A data set's folder, named by its content: lighteval keeps answers by the name of their data set."""
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
    """`pfgen` (the average) and its three parts, for any task; all answers are scored once, together.

    See `PfgenScore`. lighteval's standard errors take all answers for independent, which answers to the same
    question are not: they come out too small.
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
    """One score of every answer, as `score_file` has it: `average` or one of the three metrics.

    A document's question is `specific["question"]` (text or id), else its query. `mode`: what is made of a
    text before it is scored, as `pfgen_rs.generate.answers.cleaned` does it; without one it is scored as it
    is. An empty text scores 0; several texts for a document are averaged.
    """

    # Only what says what it is: lighteval copies this, prints it, and names its cache after it.
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
        """The score of every document, for metrics with `batched_compute`."""
        texts = [response.final_text or [""] for response in responses]
        questions = [(doc.specific or {}).get("question", doc.query) for doc in docs]
        answers = [(q, self._answer(t)) for q, ts in zip(questions, texts, strict=True) for t in ts]
        values = iter(_scored(self.benchmark, tuple(answers)).get_column(self.metric).to_list())
        return [sum(next(values) for _ in several) / len(several) for several in texts]

    def _answer(self, text: str) -> str:
        if self.mode is None:
            return text
        return cleaned(text, self.mode, default_stop(self.mode), think=self.think)


@lru_cache(maxsize=1)
def _scored(benchmark: str | None, answers: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """The four metrics of a task come one after the other, with the same answers."""
    questions, texts = zip(*answers, strict=True)
    return prepared(benchmark).score_batch(list(questions), list(texts))
