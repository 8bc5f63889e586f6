"""Scores of outputs: of every sample, of tasks and categories."""

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.io import atomic, run_files, source
from pfgen_rs.io.text import counted, plural
from pfgen_rs.lazy import np, pl
from pfgen_rs.llm_jp_eval import (
    averaging,
    board_averages,
    diagnosis,
    evaluation_files,
    measures,
    metric,
    profiles,
    reading,
    registry,
)
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, template_digest
from pfgen_rs.stats import shares

_SHOWN = 3
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "task": pl.String,
    "index": pl.Int64,
    **dict.fromkeys(("input", "output", "pred", "gold"), pl.String),
    **dict.fromkeys(("value", "exact", "char_f1"), pl.Float64),
    "finish_reason": pl.String,
}


class MissingOutputsError(InputError):
    """Outputs that are missing though that is not allowed."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The outcome of scoring outputs.

    `frame`: a row a sample, with the columns `task`, `index`, `input`, `output`, `pred` and `gold`
    (normalised), `value` (of the task's first metric; null for correlations), `exact` (1.0 where `pred` and
    `gold` are equal), `char_f1` (0 to 1, of every task) and `finish_reason` (why the output ended, such as
    `stop` or `length`; null where it is not known). Profiles that demand a form of predictions have `control`
    as well: 1.0 or 0.0, null without a demand. Where a profile asks with several numbers of examples, tasks
    are called `jamp@0`, `jamp@2`.

    `scores`: `{task}_{metric}` to the value, in the order of the tasks. `averages`: the profile's. `missing`:
    number of samples without an output by task, which count as empty. `out_of_label`: `{task}_ool` to the
    share of predictions that are none of the task's labels, of tasks that have labels; it is no score and in
    no average. `not_computed`: scores that the tasks have, but that cannot be computed here, with the reason;
    they are in no average. `partial`: averages some of whose parts are missing, so that they do not compare
    with published ones.
    """

    frame: pl.DataFrame
    scores: dict[str, float]
    averages: dict[str, float]
    profile: str = "1.3.0"
    missing: dict[str, int] = field(default_factory=dict)
    out_of_label: dict[str, float] = field(default_factory=dict)
    not_computed: dict[str, str] = field(default_factory=dict)
    partial: tuple[str, ...] = ()


def evaluate(
    datas: Sequence[evaluation_files.TaskData],
    outputs: Mapping[str, Sequence[str | None]],
    profile: str = "1.3.0",
    *,
    allow_missing: bool = False,
    finish_reasons: Mapping[str, Sequence[str | None]] | None = None,
) -> Evaluation:
    """Score the outputs of tasks: of each the first samples of its file, as many as there are outputs.

    `None` stands for a missing output, which is an error unless `allow_missing` is set; then it counts as
    empty. `finish_reasons`: why outputs ended, by task, at least as many as outputs. Raises
    `MissingOutputsError`, `InputError` and `SettingsError`.
    """
    board = registry.find_profile(profile)
    names = [data.task for data in datas]
    if len(set(names)) < len(names):
        raise SettingsError("a task is named twice")
    missing = _missing(datas, outputs)
    if missing and not allow_missing:
        shown = ", ".join(each for _, each in missing[:_SHOWN]) + " …" * (len(missing) > _SHOWN)
        are = plural(len(missing), "is", "are")
        raise MissingOutputsError(f"{counted(len(missing), 'output')} {are} missing: {shown}")
    frames, scores = [], {}
    out_of_label: dict[str, float] = {}
    for data in datas:
        frame, found = _evaluated(data, outputs[data.task], board)
        if reasons := (finish_reasons or {}).get(data.task):
            known = pl.Series("finish_reason", reasons[: len(frame)], pl.String)
            frame = frame.with_columns(known)
        frames.append(frame)
        if data.labels:
            labels = [measures.normalized_gold(label) for label in data.labels]
            labelled = int(frame["pred"].is_in(labels).sum())
            out_of_label[f"{data.task}_ool"] = 1 - labelled / len(frame)
        scores.update({f"{data.task}_{name}": value for name, value in found.items()})
    counts = Counter(task for task, _ in missing)
    whole = pl.concat(frames) if frames else pl.DataFrame(schema=_COLUMNS)
    lacking = {
        f"{data.task}_{name}": reason
        for data in datas
        for name in profiles.metrics_of(board, data)
        if (reason := measures.unavailable(name))
    }
    values = profiles.board_values(board, whole, scores) if frames else {"scores": {}}
    made = profiles.profile_averages(profile, values)
    means = {name: value for name, value in made.items() if type(value) is float}
    partial = tuple(board_averages.partial(board, values))
    return Evaluation(whole, scores, means, profile, dict(counts), out_of_label, lacking, partial)


def standard_errors(evaluation: Evaluation) -> dict[str, float | None]:
    """Returns the standard error of each score; `None` where it has a single sample, or no finite one.

    Of means, that of the samples' values; of correlations, that of the jackknife; over clusters, where a task
    has them (`registry.cluster_of`). If a task has several means, the values of its first metric alone are
    known: the others have `None`.
    """
    rows = {str(task): frame for (task,), frame in evaluation.frame.group_by("task")}
    found: dict[str, float | None] = {}
    seen: set[str] = set()
    for name in evaluation.scores:
        task, kind = averaging.split_score(name, rows)
        own = rows[task].sort("index")
        if kind in measures.CORRELATIONS:
            values = measures.correlation_values(kind, own["pred"], own["gold"])
        else:
            values = np.array([]) if task in seen else own["value"].to_numpy()
            seen.add(task)
        groups = [clusters_of(task, own["input"])]
        error = shares.weighted_mean([values], [1.0], groups).se if len(values) else None
        found[name] = error if error is not None and np.isfinite(error) else None
    return found


def clusters_of(task: str, inputs: Iterable[str]) -> shares.Clusters:
    """Returns the number of each sample's cluster, from 0; `None` if each sample has its own."""
    numbers: dict[str | int, int] = {}
    found = [
        numbers.setdefault(row if name is None else name, len(numbers))
        for row, name in enumerate(registry.cluster_of(task, text) for text in inputs)
    ]
    return np.array(found) if len(numbers) < len(found) else None


def _missing(
    datas: Sequence[evaluation_files.TaskData], outputs: Mapping[str, Sequence[str | None]]
) -> list[tuple[str, str]]:
    """Returns tasks and ids of samples without an output."""
    for data in datas:
        if not 0 < (count := len(outputs.get(data.task, ()))) <= len(data.samples):
            raise InputError(
                f"{data.task} has {len(data.samples)} samples, but there are {count} outputs"
            )
    return [
        (data.task, evaluation_files.item_id(data.task, data.split, index))
        for data in datas
        for index, output in enumerate(outputs[data.task])
        if output is None
    ]


def _evaluated(
    data: evaluation_files.TaskData, given: Sequence[str | None], profile: registry.Profile
) -> tuple[pl.DataFrame, dict[str, float]]:
    samples = data.samples[: len(given)]
    outputs = [output or "" for output in given]
    named = profiles.metrics_of(profile, data)
    computed = {profiles.computed_as(profile, name): name for name in named}
    try:
        predictions = reading.task_predictions(data, outputs, profile.name)
        frame, scores = evaluated_predictions(
            data.task,
            list(computed),
            predictions,
            [sample.output for sample in samples],
            inputs=[sample.input for sample in samples],
            outputs=outputs,
            mean=board_averages.MEANS[profile.mean],
        )
        if profile.control:
            forms = [profiles.controlled(profile.name, data.task, each) for each in predictions]
            frame = frame.with_columns(pl.Series("control", forms, pl.Boolean).cast(pl.Float64))
        return frame, {computed[name]: value for name, value in scores.items()}
    except UnicodeEncodeError:
        wrong = next(n for n, text in enumerate(outputs) if source.has_lone_surrogate(text))
        place = evaluation_files.item_id(data.task, data.split, wrong)
        problem = f"the output of {place} contains a lone surrogate, which is not valid Unicode"
        raise InputError(problem) from None


def evaluated_predictions(
    task: str,
    metrics: Sequence[str],
    predictions: Sequence[str],
    golds: Sequence[str],
    *,
    inputs: Sequence[str],
    outputs: Sequence[str] | None = None,
    mean: Callable[[Sequence[float]], float] = measures.mean,
) -> tuple[pl.DataFrame, dict[str, float]]:
    """Returns the rows of `Evaluation.frame` and the scores by metric of a task with these predictions.

    `outputs`: what predictions were made from, if it is known. `mean`: of values. Without metrics, values are
    null; metrics that cannot be computed here are left out. Raises `InputError` for golds that are not
    numbers where a metric needs them.
    """
    known = [name for name in metrics if not measures.unavailable(name)]
    figures = measures.task_metrics()
    values = {
        name: of(inputs, predictions, golds)
        if (of := measures.find_metric(name).with_inputs)
        else metric(name, predictions, golds)
        for name in {*known, "char_f1"}.difference(figures)
    }
    try:
        scores = {
            name: measures.task_figure(name, predictions, golds)
            if name in figures
            else mean(values[name])
            for name in known
        }
    except InputError as error:
        raise InputError(f"{task}: {error.problem}") from None
    normalised = [measures.normalized_gold(gold) for gold in golds]
    nothing = [None] * len(golds)
    columns = {
        "task": [task] * len(golds),
        "index": range(len(golds)),
        "input": inputs,
        "output": nothing if outputs is None else outputs,
        "pred": predictions,
        "gold": normalised,
        "value": values.get(metrics[0], nothing) if metrics else nothing,
        "exact": [float(p == g) for p, g in zip(predictions, normalised, strict=True)],
        "char_f1": values["char_f1"],
        "finish_reason": nothing,
    }
    return pl.DataFrame(columns, schema=_COLUMNS), scores


def diagnosed(
    evaluation: Evaluation, datas: Sequence[evaluation_files.TaskData]
) -> dict[str, diagnosis.Diagnosis]:
    """Returns what the answers to each task lost to form (see `diagnosis.Diagnosis`)."""
    board = registry.find_profile(evaluation.profile)
    known = {data.task: data for data in datas}
    metrics = {data.task: profiles.metrics_of(board, data)[0] for data in datas}
    return diagnosis.diagnosed(
        evaluation.frame,
        {task: profiles.computed_as(board, name) for task, name in metrics.items()},
        lambda task, texts: reading.task_predictions(known[task], texts, evaluation.profile),
        {data.task: data.labels for data in datas},
        {data.task for data in datas if data.answer_pattern},
    )


# Results: the file of the published tool, our own scores, and the signature that makes them reproducible.


SCORES, SAMPLES = "scores.json", "samples.parquet"
SAMPLING = ("temperature", "seed", "top_p")
ELSEWHERE = ("reasoning_parser", "output_length_delta", "system_prompt")
"""What signatures say of inference made elsewhere, if it is known."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are made. Raises `SettingsError`.

    `n`: number of samples a task, `None` for all. `all_tasks`: all tasks were asked for, even if some have no
    data; the result file then has averages. `sampling`: what is known of `temperature`, `seed` and `top_p`;
    `None` as a value leaves one to the engine. If nothing is known, not even that outputs had the maximum
    lengths of `prompts`, it is `None`. `runs`: numbers of examples, if tasks are asked with several.
    `inference`: what else is known of inference made elsewhere.
    """

    profile: str = "1.3.0"
    n: int | None = None
    prompts: PromptSettings = field(default_factory=PromptSettings)
    all_tasks: bool = False
    sampling: Mapping[str, float | None] | None = field(default_factory=dict)
    runs: tuple[int, ...] = ()
    inference: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        registry.find_profile(self.profile)


class Plan(NamedTuple):
    """What a profile asks for: its tasks, and how."""

    datas: Sequence[evaluation_files.TaskData]
    settings: ScoreSettings


def signature(
    datas: Sequence[evaluation_files.TaskData], settings: ScoreSettings | None = None
) -> str:
    """Returns one line that says how scores were made: `llm-jp-eval|v:…|profile:1.3.0|split:test|…`.

    `raw` is the digest of the evaluation files of the tasks (see `data.raw_digest`). What is not known is
    `unknown`, and what was left to the engine `default`.
    """
    chosen = settings or ScoreSettings()
    made = chosen.prompts
    is_unknown = chosen.sampling is None and made.max_tokens is None
    parts = [
        ("v", _native.__version__),
        ("profile", _profile_text(chosen.profile)),
        ("split", datas[0].split),
        ("n", _limits_text(datas, chosen)),
        ("shots", _shots_text(datas, chosen)),
        ("avg", registry.find_profile(chosen.profile).average or "none"),
        ("raw", evaluation_files.raw_digest(datas)),
        *((name, _sampled_text(chosen.sampling, name)) for name in SAMPLING),
        ("max_tokens", _UNKNOWN if is_unknown else None),
        ("prompt", template_digest(made.prompt, made.fewshots)),
        ("mode", "chat" if made.mode == "chat" else None),
        ("max_tokens", made.max_tokens),
        *((name, chosen.inference.get(name)) for name in ELSEWHERE),
    ]
    return "|".join(["llm-jp-eval", *(f"{key}:{of}" for key, of in parts if of is not None)])


def _profile_text(name: str) -> str:
    """Returns the name of a profile, with a digest of its file if it is not one of this package."""
    board = registry.find_profile(name)
    is_own = registry.is_own(board.path)
    return f"{name}@{hashlib.sha256(board.path.read_bytes()).hexdigest()[:8]}" if is_own else name


def _limits_text(datas: Sequence[evaluation_files.TaskData], settings: ScoreSettings) -> str:
    """Returns the number of samples of each task, and those of tasks that the profile limits otherwise."""
    board, limits = registry.find_profile(settings.profile), {}
    for data in datas if settings.n == board.limit else ():
        limit = registry.of_task(board.task_limits, data.task, None)
        if limit is not None and len(data.samples) <= limit:
            limits[registry.plain_name(data.task)] = limit
    return _with_own("all" if settings.n is None else settings.n, limits)


def _with_own(number: int | str, own: Mapping[str, int]) -> str:
    return f"{number}{''.join(f',{task}={of}' for task, of in own.items() if of != number)}"


def _shots_text(datas: Sequence[evaluation_files.TaskData], settings: ScoreSettings) -> str:
    """Returns the number of examples, and those of tasks with a number of their own."""
    shots = settings.prompts.shots
    if shots is None:
        return _UNKNOWN
    if settings.runs:
        return "+".join(map(str, settings.runs))
    numbers = {each.task: each.number_of_shots(shots) for each in datas}
    return _with_own(shots, numbers)


def _sampled_text(sampling: Mapping[str, float | None] | None, name: str) -> str:
    if sampling is None or name not in sampling:
        return _UNKNOWN
    value = sampling[name]
    return "default" if value is None else f"{value:.12g}"


def scores_record(
    datas: Sequence[evaluation_files.TaskData],
    evaluations: Mapping[str, Evaluation],
    settings: ScoreSettings,
    further: Sequence[Plan] = (),
) -> dict[str, Any]:
    """Returns what `scores.json` says: of each profile its signature, scores, standard errors and averages.

    `evaluations` by profile; that of the settings is the main one, whose wrong answers are diagnosed (see
    `diagnosis`). `further`: the plans of other profiles.
    """
    chosen = evaluations[settings.profile]
    plans = {plan.settings.profile: plan for plan in (Plan(datas, settings), *further)}
    board = registry.find_profile(settings.profile)
    return {
        "kind": "llm-jp-eval",
        "signature": signature(datas, settings),
        "profile": settings.profile,
        "average": board.average,
        "split": datas[0].split,
        "samples": _counts(chosen),
        "missing": chosen.missing,
        "lacking": {
            name: averaging.lacking_categories(name, chosen.scores, board.name)
            for name in board.averages
            if board.averaging == "means"
        },
        "profiles": {
            name: {
                "signature": signature(*plans[name]),
                "scores": found.scores,
                "standard_errors": standard_errors(found),
                "averages": found.averages,
                "out_of_label": found.out_of_label,
                "not_computed": found.not_computed,
                "partial": list(found.partial),
                "samples": _counts(found),
                "missing": found.missing,
            }
            for name, found in evaluations.items()
        },
        **_inference(settings),
        "diagnosis": {task: asdict(own) for task, own in diagnosed(chosen, datas).items()},
    }


def _counts(evaluation: Evaluation) -> dict[str, int]:
    return dict(evaluation.frame.group_by("task", maintain_order=True).len().rows())


def score_config(
    datas: Sequence[evaluation_files.TaskData], settings: ScoreSettings
) -> dict[str, Any]:
    """Returns what result files say about how outputs made elsewhere were scored."""
    return {
        "kind": "llm-jp-eval",
        "signature": signature(datas, settings),
        "tasks": [data.task for data in datas],
        "split": datas[0].split,
        "profile": settings.profile,
        "n": settings.n,
        **asdict(settings.prompts),
        **_inference(settings),
    }


def _inference(settings: ScoreSettings) -> dict[str, Any]:
    return {"inference": dict(settings.inference)} if settings.inference else {}


def result_content(
    evaluation: Evaluation,
    templates: Mapping[str, str],
    config: Mapping[str, Any],
    averages: Mapping[str, float] | None = None,
) -> bytes:
    """Returns the result file of the published tool.

    `templates`: of each task. `averages`: the categories and AVG, which it has if all tasks are asked for.
    """
    outputs: dict[str, list[dict[str, str]]] = {}
    columns = evaluation.frame.select("task", "input", "pred", "gold")
    for task, text, pred, gold in columns.iter_rows():
        sample = {"prompt": str(templates[task]), "input": text, "pred": pred, "gold": gold}
        outputs.setdefault(task, []).append(sample)
    scores = averaging.score_texts(evaluation.scores, averages)
    content = {"scores": scores, "outputs": outputs, "config": config}
    return json.dumps(content, ensure_ascii=False, indent=4).encode()


def write_results(
    folder: str | os.PathLike[str],
    datas: Sequence[evaluation_files.TaskData],
    evaluations: Mapping[str, Evaluation],
    config: Mapping[str, Any],
    settings: ScoreSettings,
    further: Sequence[Plan] = (),
) -> dict[str, Any]:
    """Write `result.json`, `samples.parquet` and `scores.json`; returns the content of `scores.json`.

    `evaluations` by profile. The result file, which has `config`, and the samples are those of the settings'
    profile; the result file has averages if all tasks were asked for or are there. Raises `OutputError`.
    """
    chosen, place = evaluations[settings.profile], Path(folder)
    record = scores_record(datas, evaluations, settings, further)
    templates = {data.task: settings.prompts.template(data) for data in datas}
    board = registry.find_profile(settings.profile)
    every = settings.all_tasks or {*board.tasks} <= templates.keys()
    means = chosen.averages if every and board.averaging == "means" else None  # others do elsewhere
    result = result_content(chosen, templates, config, means)
    samples = io.BytesIO()
    chosen.frame.drop("input").write_parquet(samples)
    record["result_sha256"] = hashlib.sha256(result).hexdigest()
    atomic.write_atomic(place / run_files.RESULT, result)
    atomic.write_atomic(place / SAMPLES, samples.getvalue())
    text = json.dumps(record, ensure_ascii=False, indent=1)
    atomic.write_atomic(place / SCORES, text.encode() + b"\n")
    return record
