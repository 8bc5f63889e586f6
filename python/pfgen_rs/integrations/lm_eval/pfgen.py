"""The tasks of pfgen-bench: their documents, and their scores, aggregated as `score_file` does."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import datasets
from lm_eval.api import task as tasks
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from pfgen_rs import stats
from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.generate import Mode, Task
from pfgen_rs.integrations.common import asked
from pfgen_rs.integrations.lm_eval.choices import Choices, choices
from pfgen_rs.io.cleaning import cleaned, default_stop
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.sample import sample_of

# Names in the harness, and our names.
METRICS = {
    "score": "average",
    "fluency": "fluency",
    "truthfulness": "truthfulness",
    "helpfulness": "helpfulness",
}
_STDERR = "_stderr"
# 0.5 has a class for each type of task, 0.4 one for all.
_Base: Any = getattr(tasks, "GenerateTask", tasks.ConfigurableTask)


class Response(NamedTuple):
    """An answer with its question and the name of the benchmark."""

    benchmark: str
    question_id: str
    answer: str


class Answered(str):
    """An answer after post-processing, as shown in logs, with its scores by metric."""

    response: Response
    scores: dict[str, float]


class DocumentScore(float):
    """A metric of one answer that refers to the answer, because a run's scores need all answers at once."""

    response: Response


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
    """Returns the answers with their scores, in order.

    A missing answer (`None`) counts as empty. Raises `InputError` unless each document has exactly one
    answer.
    """
    answers = [_cleaned(given, doc) for given, doc in zip(resps, docs, strict=True)]
    if not answers:
        return []
    bench = _benchmark(docs[0]["benchmark"])
    frame = bench.score_batch([doc["question_id"] for doc in docs], answers)
    rows = frame.select(METRICS.values()).iter_rows(named=True)
    return list(map(_answered, docs, answers, rows))


def _cleaned(given: Sequence[str | None], doc: Mapping[str, Any]) -> str:
    if len(given) != 1:
        raise InputError(
            f"{len(given)} answers to one document: use more trials instead of repeats",
            question=doc["question"],
        )
    return cleaned(given[0] or "", doc["mode"], default_stop(doc["mode"]), think=doc["think"])


def _answered(doc: Mapping[str, Any], text: str, row: dict[str, float]) -> Answered:
    answer = Answered(text)
    answer.response = Response(doc["benchmark"], doc["question_id"], text)
    answer.scores = {name: row[metric] for name, metric in METRICS.items()}
    return answer


def document_scores(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, DocumentScore]:
    """Returns the metrics of a document, and each again for its standard error.

    `results`: the filter's result for the document; 0.4 passes it in a list, 0.5 without.
    """
    del doc
    answer = results[0][0] if isinstance(results[0], list) else results[0]
    made = {name: _document_score(answer, name) for name in METRICS}
    return made | {name + _STDERR: made[name] for name in METRICS}


def _document_score(answer: Answered, name: str) -> DocumentScore:
    made = DocumentScore(answer.scores[name])
    made.response = answer.response
    return made


def metric_list() -> list[dict[str, Any]]:
    """Returns the metrics for a task's configuration.

    The harness does not support errors clustered by question, but results and tables show a metric named
    `X_stderr` as the standard error of X; it follows X here and so replaces the harness's own.
    """
    return [
        *(_metric_entry(name, _mean_score, name, higher_is_better=True) for name in METRICS),
        *(
            _metric_entry(name + _STDERR, _clustered_error, name, higher_is_better=False)
            for name in METRICS
        ),
    ]


def _metric_entry(
    called: str, function: Any, name: str, *, higher_is_better: bool
) -> dict[str, Any]:
    aggregation = partial(function, name)
    return {"metric": called, "aggregation": aggregation, "higher_is_better": higher_is_better}


def _mean_score(name: str, items: Sequence[DocumentScore]) -> float:
    """Returns the run's score, rounded as by `score_file`."""
    return float(getattr(_task_result(_responses(items)), name))


def _clustered_error(name: str, items: Sequence[DocumentScore]) -> float | str:
    """Returns the standard error clustered by question, or the harness's text for a missing one."""
    sample = sample_of(_task_result(_responses(items)), "run")
    # The error does not need resampling, so use the minimum.
    error = stats.estimate(sample, METRICS[name], resamples=100).question_se
    return "N/A" if error is None else error


def _responses(items: Sequence[DocumentScore]) -> tuple[Response, ...]:
    return tuple(item.response for item in items)


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
    chosen_prompts = (chosen.trials, chosen.num_examples, chosen.seed, chosen.prefix)
    rows = [
        {"question_id": bench.find(task.question).id, "sample": answer}
        | _document_row(task, chosen)
        for task, answer in asked(chosen.benchmark, pfgen_mode, *chosen_prompts)
    ]
    return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})


def _document_row(task: Task, chosen: Choices) -> dict[str, Any]:
    return {
        "question": task.question,
        "trial": task.trial,
        "mode": task.mode,
        "seed": task.seed,
        "system": task.system or "",
        "prompt": task.prompt,
        "benchmark": chosen.benchmark,
        "think": chosen.think,
    }


class PfgenTask(_Base):  # type: ignore[misc]
    """A harness task in one of the three modes."""

    def __init__(self, config: dict[str, Any]) -> None:
        ours = {"metric_list": metric_list(), "process_results": document_scores}
        super().__init__(config={k: v for k, v in config.items() if k != "class"} | ours)
        chosen = choices(self.config.metadata)
        self._send_seeds = chosen.send_seeds
        # Part of the results' "configs": what makes the scores reproducible.
        self.config.metadata["signature"] = load_benchmark(chosen.benchmark).signature

    def build_all_requests(self, **options: Any) -> Any:
        """Reject prompts that would differ from ours, and bypass the cache, which ignores trials."""
        _check_template(self.config.dataset_kwargs["pfgen_mode"], options["apply_chat_template"])
        return super().build_all_requests(**options | {"cache_requests": False})

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **more: Any) -> Any:
        """Returns the request for a document, with its trial's seed if `send_seeds` is set."""
        made = super().construct_requests(doc, ctx, **more)
        if self._send_seeds:
            for request in made if isinstance(made, list) else [made]:
                request.arguments[1]["seed"] = doc["seed"]
        return made

    def aggregate(self, bootstrap_iters: int | None = None) -> Any:
        """Returns the results of a run, without 0.5's bootstrap over answers."""
        del bootstrap_iters
        return super().aggregate(bootstrap_iters=0)


def _check_template(mode: str, applied: bool) -> None:
    if mode == "chat" and not applied:
        raise SettingsError("pfgen_chat has a system message: add --apply_chat_template")
    if mode == "completion" and applied:
        raise SettingsError(
            "pfgen asks the model to continue a text, which a chat template would wrap: omit "
            "--apply_chat_template, or use pfgen_qa or pfgen_chat"
        )
