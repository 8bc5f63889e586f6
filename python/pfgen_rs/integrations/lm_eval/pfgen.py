"""The tasks of pfgen-bench: their documents, and their scores, aggregated as `score_file` does."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import datasets
from lm_eval.api import task as tasks
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs import Benchmark, InputError, Result, Settings, SettingsError, load_benchmark, stats
from pfgen_rs.generate import Mode
from pfgen_rs.generate.config import asked
from pfgen_rs.integrations.lm_eval.choices import choices
from pfgen_rs.io.cleaning import cleaned, default_stop

# Names in the harness, and our names.
METRICS = {
    "score": "average",
    "fluency": "fluency",
    "truthfulness": "truthfulness",
    "helpfulness": "helpfulness",
}
STDERR = "_stderr"
# 0.5 has a class for each type of task, 0.4 one for all.
_Base: Any = getattr(tasks, "GenerateTask", tasks.ConfigurableTask)


# What the tasks of llm-jp-eval have in common with these.


class Text(str):
    """What a filter makes of an answer, as shown in logs, with the answer and what scores need of it."""

    response: Any


class Value(float):
    """A metric of one answer that refers to the answer, because a run's figures need all answers at once."""

    response: Any

    @classmethod
    def of(cls, value: float, response: Any) -> Any:
        """Returns a value that refers to an answer."""
        made = cls(value)
        made.response = response
        return made


def only(given: Sequence[str | None], document: str) -> str:
    """Returns the one answer to a document, empty if it is missing; raises `InputError` for several."""
    if len(given) != 1:
        raise InputError(
            f"{len(given)} answers to one document: use more trials instead of repeats",
            question=document,
        )
    return given[0] or ""


def filtered(results: Sequence[Any]) -> Any:
    """Returns the filter's result for a document; 0.4 passes it in a list, 0.5 without."""
    return results[0][0] if isinstance(results[0], list) else results[0]


def metric_list(figures: Mapping[str, Any], errors: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the metrics for a task's configuration, by functions of all values.

    The harness does not support errors clustered by question, but results and tables show a metric named
    `X_stderr` as the standard error of X; it follows X here and so replaces the harness's own.
    """
    named = [*figures.items(), *((name + STDERR, function) for name, function in errors.items())]
    return [
        {"metric": n, "aggregation": function, "higher_is_better": not n.endswith(STDERR)}
        for n, function in named
    ]


def shown_error(error: float | None) -> float | str:
    """Returns a standard error, or the harness's text for a missing one."""
    return "N/A" if error is None else error


class HarnessTask(_Base):  # type: ignore[misc]
    """A harness task with metrics of ours."""

    def __init__(self, config: dict[str, Any], ours: dict[str, Any]) -> None:
        super().__init__(config={k: v for k, v in config.items() if k != "class"} | ours)

    def build_all_requests(self, **options: Any) -> Any:
        """Bypass the cache, which ignores settings and data."""
        return super().build_all_requests(**options | {"cache_requests": False})

    def aggregate(self, bootstrap_iters: int | None = None) -> Any:
        """Returns the results of a run, without 0.5's bootstrap over documents."""
        del bootstrap_iters
        return super().aggregate(bootstrap_iters=0)


class Response(NamedTuple):
    """An answer with its question and the name of the benchmark."""

    benchmark: str
    question_id: str
    answer: str


class Answered(Text):
    """An answer after post-processing, with its scores by metric."""

    scores: dict[str, float]


@register_filter("pfgen")
class PfgenFilter(Filter):  # type: ignore[misc]
    """Scores all answers of a task in one batch."""

    def apply(
        self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
    ) -> list[list[Answered]]:
        """Returns, for each document, a list of its one scored answer; see `scored`."""
        return [[answer] for answer in scored(list(resps), docs)]


def scored(
    resps: Sequence[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]
) -> list[Answered]:
    """Returns the answers with their scores, in order; raises `InputError` for several to a document."""
    texts = [
        cleaned(only(given, d["question"]), d["mode"], default_stop(d["mode"]), think=d["think"])
        for given, d in zip(resps, docs, strict=True)
    ]
    if not texts:
        return []
    frame = _benchmark(docs[0]["benchmark"]).score_batch([d["question_id"] for d in docs], texts)
    answers = []
    for doc, text, row in zip(docs, texts, frame.iter_rows(named=True), strict=True):
        answer = Answered(text)
        answer.response = Response(doc["benchmark"], doc["question_id"], text)
        answer.scores = {name: row[metric] for name, metric in METRICS.items()}
        answers.append(answer)
    return answers


def document_scores(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Value]:
    """Returns the metrics of a document, and each again for its standard error."""
    del doc
    answer = filtered(results)
    made = {name: Value.of(answer.scores[name], answer.response) for name in METRICS}
    return made | {name + STDERR: made[name] for name in METRICS}


def _mean_score(name: str, items: Sequence[Value]) -> float:
    """Returns the run's score, rounded as by `score_file`."""
    return float(getattr(_task_result(tuple(item.response for item in items)), name))


def _clustered_error(name: str, items: Sequence[Value]) -> float | str:
    """Returns the standard error clustered by question."""
    sample = _task_result(tuple(item.response for item in items)).sample("run")
    # The error does not need resampling, so use the minimum.
    return shown_error(stats.estimate(sample, METRICS[name], resamples=100).question_se)


@lru_cache(maxsize=1)
def _task_result(responses: tuple[Response, ...]) -> Result:
    """Score a task's answers as a run; cached, because all metrics need the same run."""
    bench = _benchmark(responses[0].benchmark)
    return bench.evaluate([r.question_id for r in responses], [r.answer for r in responses])


@cache
def _benchmark(name: str) -> Benchmark:
    return load_benchmark(name)


def documents(pfgen_mode: Mode, **metadata: Any) -> datasets.DatasetDict:
    """Returns the split `test`: one trial after another, so that `--limit` drops trials before questions.

    The harness calls this with `dataset_kwargs` and metadata. Raises `PfgenError` for an unusable benchmark
    or invalid settings.
    """
    chosen = choices(metadata)
    bench = load_benchmark(chosen.benchmark)
    prompts = (chosen.trials, chosen.num_examples, chosen.seed, chosen.prefix)
    rows = [
        {
            "question_id": bench.find(task.question).id,
            "sample": answer,
            "question": task.question,
            "trial": task.trial,
            "mode": task.mode,
            "seed": task.seed,
            "system": task.system or "",
            "prompt": task.prompt,
            "benchmark": chosen.benchmark,
            "think": chosen.think,
        }
        for task, answer in asked(chosen.benchmark, pfgen_mode, *prompts)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})


class PfgenTask(HarnessTask):
    """A harness task in one of the three modes."""

    def __init__(self, config: dict[str, Any]) -> None:
        figures = {name: partial(_mean_score, name) for name in METRICS}
        errors = {name: partial(_clustered_error, name) for name in METRICS}
        ours = {"metric_list": metric_list(figures, errors), "process_results": document_scores}
        super().__init__(config, ours)
        chosen = choices(self.config.metadata)
        self._send_seeds = chosen.send_seeds
        # Part of the results' "configs": what makes the scores reproducible.
        bench = load_benchmark(chosen.benchmark)
        self.config.metadata["signature"] = bench.signature
        sampling = self.config.generation_kwargs
        if sampling.get("max_gen_toks") == Settings().answer_tokens:  # by default
            sampling["max_gen_toks"] = bench.settings.answer_tokens

    def build_all_requests(self, **options: Any) -> Any:
        """Reject prompts that would differ from ours."""
        mode, applied = self.config.dataset_kwargs["pfgen_mode"], options["apply_chat_template"]
        if mode == "chat" and not applied:
            raise SettingsError("pfgen_chat has a system message: add --apply_chat_template")
        if mode == "completion" and applied:
            raise SettingsError(
                "pfgen asks the model to continue a text, which a chat template would wrap: omit "
                "--apply_chat_template, or use pfgen_qa or pfgen_chat"
            )
        return super().build_all_requests(**options)

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **more: Any) -> Any:
        """Returns the request for a document, with its trial's seed if `send_seeds` is set."""
        made = super().construct_requests(doc, ctx, **more)
        if self._send_seeds:
            for request in made if isinstance(made, list) else [made]:
                request.arguments[1]["seed"] = doc["seed"]
        return made
