"""Scores of outputs: of every sample, of tasks and categories, and if outputs were read leniently."""

import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.io import atomic, cleaning, run_files, source
from pfgen_rs.io.text import counted, plural
from pfgen_rs.lazy import np, pl
from pfgen_rs.llm_jp_eval import averaging, evaluation_files, measures, metric, reading, registry
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, template_digest

_SHOWN = 3
_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "task": pl.String,
    "index": pl.Int64,
    "input": pl.String,
    "output": pl.String,
    "pred": pl.String,
    "gold": pl.String,
    "value": pl.Float64,
    "exact": pl.Float64,
    "char_f1": pl.Float64,
}


class MissingOutputsError(InputError):
    """Outputs that are missing though that is not allowed."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The outcome of scoring outputs.

    `frame`: a row a sample, with the columns `task`, `index`, `input`, `output`, `pred` and `gold`
    (normalised), `value` (of the task's first metric; null for correlations), `exact` (1.0 where `pred` and
    `gold` are equal) and `char_f1` (0 to 1, of every task). `scores`: `{task}_{metric}` to the value, in the
    order of the tasks. `averages`: values of the categories, AVG and AVR. `missing`: number of samples
    without an output by task, which count as empty. `not_computed`: scores that the tasks have, but that
    cannot be computed here, with the reason; they are in no average.
    """

    frame: pl.DataFrame
    scores: dict[str, float]
    averages: dict[str, float]
    profile: str = "1.3.0"
    missing: dict[str, int] = field(default_factory=dict)
    not_computed: dict[str, str] = field(default_factory=dict)


def evaluate(
    datas: Sequence[evaluation_files.TaskData],
    outputs: Mapping[str, Sequence[str | None]],
    profile: str = "1.3.0",
    *,
    allow_missing: bool = False,
) -> Evaluation:
    """Score the outputs of tasks: of each the first samples of its file, as many as there are outputs.

    `None` stands for a missing output, which is an error unless `allow_missing` is set; then it counts as
    empty. Raises `MissingOutputsError`, `InputError` and `SettingsError`.
    """
    registry.find_profile(profile)
    names = [data.task for data in datas]
    if len(set(names)) < len(names):
        raise SettingsError("a task is named twice")
    missing = _missing(datas, outputs)
    if missing and not allow_missing:
        shown = ", ".join(each for _, each in missing[:_SHOWN]) + " …" * (len(missing) > _SHOWN)
        are = plural(len(missing), "is", "are")
        raise MissingOutputsError(f"{counted(len(missing), 'output')} {are} missing: {shown}")
    frames, scores = [], {}
    for data in datas:
        frame, found = _evaluated(data, outputs[data.task], profile)
        frames.append(frame)
        scores.update({f"{data.task}_{name}": value for name, value in found.items()})
    counts = Counter(task for task, _ in missing)
    whole = pl.concat(frames) if frames else pl.DataFrame(schema=_COLUMNS)
    lacking = {
        f"{data.task}_{name}": reason
        for data in datas
        for name in data.metrics
        if (reason := measures.unavailable(name))
    }
    means = averaging.averages(scores)
    return Evaluation(whole, scores, means, profile, dict(counts), lacking)


def standard_errors(evaluation: Evaluation) -> dict[str, float | None]:
    """Returns the standard error of each score; `None` where it has a single sample, or no finite one.

    Of means, that of the samples' values; of correlations, that of the jackknife. If a task has several
    means, the values of its first metric alone are known: the others have `None`.
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
        error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        found[name] = error if np.isfinite(error) else None
    return found


def _missing(
    datas: Sequence[evaluation_files.TaskData], outputs: Mapping[str, Sequence[str | None]]
) -> list[tuple[str, str]]:
    """Returns tasks and ids of samples without an output."""
    found = []
    for data in datas:
        if data.task not in outputs:
            raise InputError(f"no outputs of the task {data.task}")
        own = outputs[data.task]
        if not 0 < len(own) <= len(data.samples):
            raise InputError(
                f"{data.task} has {len(data.samples)} samples, but there are {len(own)} outputs"
            )
        found += [
            (data.task, evaluation_files.item_id(data.task, data.split, index))
            for index, output in enumerate(own)
            if output is None
        ]
    return found


def _evaluated(
    data: evaluation_files.TaskData, given: Sequence[str | None], profile: str
) -> tuple[pl.DataFrame, dict[str, float]]:
    samples = data.samples[: len(given)]
    outputs = [output or "" for output in given]
    try:
        return evaluated_predictions(
            data.task,
            data.metrics,
            [reading.prediction(output, profile) for output in outputs],
            [sample.output for sample in samples],
            inputs=[sample.input for sample in samples],
            outputs=outputs,
        )
    except UnicodeEncodeError:
        wrong = next(n for n, text in enumerate(outputs) if source.has_lone_surrogate(text))
        place = evaluation_files.item_id(data.task, data.split, wrong)
        problem = f"the output of {place} contains a lone surrogate, which is not valid Unicode"
        raise InputError(problem) from None


def evaluate_profiles(
    datas: Sequence[evaluation_files.TaskData],
    outputs: Mapping[str, Sequence[str | None]],
    *,
    allow_missing: bool = False,
) -> dict[str, Evaluation]:
    """Returns the evaluations of both profiles by name (see `evaluate`)."""
    return {
        profile: evaluate(datas, outputs, profile, allow_missing=allow_missing)
        for profile in ("1.3.0", "swallow")
    }


def evaluated_predictions(
    task: str,
    metrics: Sequence[str],
    predictions: Sequence[str],
    golds: Sequence[str],
    *,
    inputs: Sequence[str],
    outputs: Sequence[str] | None = None,
) -> tuple[pl.DataFrame, dict[str, float]]:
    """Returns the rows of `Evaluation.frame` and the scores by metric of a task with these predictions.

    `outputs`: what predictions were made from, if it is known. Without metrics, values are null; metrics
    that cannot be computed here are left out. Raises `InputError` for golds that are not numbers where a
    metric needs them.
    """
    known = [name for name in metrics if not measures.unavailable(name)]
    figures = measures.task_metrics()
    values = {
        name: _sample_values(name, predictions, golds, inputs)
        for name in dict.fromkeys([*known, "char_f1"])
        if name not in figures
    }
    try:
        scores = {
            name: measures.task_figure(name, predictions, golds)
            if name in figures
            else measures.mean(values[name])
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
    }
    return pl.DataFrame(columns, schema=_COLUMNS), scores


def _sample_values(
    name: str, predictions: Sequence[str], golds: Sequence[str], inputs: Sequence[str]
) -> Sequence[float]:
    with_inputs = measures.find_metric(name).with_inputs
    return (
        with_inputs(inputs, predictions, golds) if with_inputs else metric(name, predictions, golds)
    )


# How many answers are wrong only for their form: blanks, thoughts, quotation marks, capitals.


LENIENT = ("stripped", "without_thoughts", "unquoted", "lower_cased", "all")
"""Ways to read outputs; each strips them as well."""
_QUOTES = ('""', "''", "``", "「」", "『』", "“”", "‘’", "«»")

Pair = tuple[str, str]


def leniently(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Returns what would be if outputs were read leniently, by the names of `LENIENT`.

    Of each, by task, how many more outputs are `right` (their value is 1, or where a task has correlations,
    they are the number expected), and the `averages` that would follow. `evaluation`: with outputs.
    """
    scores = {way: dict(evaluation.scores) for way in LENIENT}
    right: dict[str, dict[str, int]] = {way: {} for way in LENIENT}
    names = evaluation.frame["task"].unique().to_list()
    main: dict[str, str] = {}
    for score in evaluation.scores:
        task, name = averaging.split_score(score, names)
        main.setdefault(task, name)
    for (key,), frame in evaluation.frame.group_by("task", maintain_order=True):
        task, name = str(key), main[str(key)]
        pairs = list(zip(frame["pred"], frame["gold"], strict=True))
        before = _values(name, pairs)
        for way in LENIENT:
            read = [_read(way, *each) for each in zip(frame["output"], frame["gold"], strict=True)]
            values = _values(name, read)
            if more := sum(v == 1 != b for v, b in zip(values, before, strict=True)):
                right[way][task] = more
            if name not in measures.CORRELATIONS:
                scores[way][f"{task}_{name}"] = measures.mean(values)
    return {
        way: {"right": right[way], "averages": averaging.averages(scores[way])} for way in LENIENT
    }


def _values(name: str, pairs: Sequence[Pair]) -> list[float]:
    preds, golds = [pred for pred, _ in pairs], [gold for _, gold in pairs]
    if name not in measures.CORRELATIONS:
        return list(metric(name, preds, golds))
    return [float(measures.parse_float(pred) == float(gold)) for pred, gold in pairs]


def _read(way: str, text: str, gold: str) -> Pair:
    """Returns the prediction in an output that is read in this way, and the gold answer to compare."""
    if way in ("without_thoughts", "all"):
        text = cleaning.without_thoughts(text)
    pred = reading.prediction(text.strip(), "swallow")
    if way in ("unquoted", "all"):
        pred = _unquoted(pred, gold)
    return (pred.lower(), gold.lower()) if way in ("lower_cased", "all") else (pred, gold)


def _unquoted(pred: str, gold: str) -> str:
    """Remove the quotation marks around a prediction, unless the answer is expected in some."""
    quoted = len(pred) > 1 and pred[0] + pred[-1] in _QUOTES
    return pred[1:-1].strip() if quoted and gold[:1] + gold[-1:] not in _QUOTES else pred


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
    lengths of `prompts`, it is `None`. `inference`: what else is known of inference made elsewhere.
    """

    profile: str = "1.3.0"
    n: int | None = None
    prompts: PromptSettings = field(default_factory=PromptSettings)
    all_tasks: bool = False
    sampling: Mapping[str, float | None] | None = field(default_factory=dict)
    inference: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        registry.find_profile(self.profile)


def signature(
    datas: Sequence[evaluation_files.TaskData], settings: ScoreSettings | None = None
) -> str:
    """Returns one line that says how scores were made: `llm-jp-eval|v:…|profile:1.3.0|split:test|…`.

    `raw` is the digest of the evaluation files of the tasks (see `data.raw_digest`). What is not known is
    `unknown`, and what was left to the engine `default`.
    """
    chosen = settings or ScoreSettings()
    made = chosen.prompts
    parts = [
        "llm-jp-eval",
        f"v:{_native.__version__}",
        f"profile:{chosen.profile}",
        f"split:{datas[0].split}",
        f"n:{'all' if chosen.n is None else chosen.n}",
        f"shots:{_UNKNOWN if made.shots is None else made.shots}",
        "avg:AVR",
        f"raw:{evaluation_files.raw_digest(datas)}",
    ]
    parts += [f"{name}:{_sampled_text(chosen.sampling, name)}" for name in SAMPLING]
    if chosen.sampling is None and made.max_tokens is None:
        parts.append(f"max_tokens:{_UNKNOWN}")
    digest = template_digest(made.prompt, made.fewshots)
    parts += [] if digest is None else [f"prompt:{digest}"]
    parts += ["mode:chat"] if made.chat else []
    parts += [] if made.max_tokens is None else [f"max_tokens:{made.max_tokens}"]
    parts += [f"{name}:{chosen.inference[name]}" for name in ELSEWHERE if name in chosen.inference]
    return "|".join(parts)


def _sampled_text(sampling: Mapping[str, float | None] | None, name: str) -> str:
    if sampling is None or name not in sampling:
        return _UNKNOWN
    value = sampling[name]
    return "default" if value is None else f"{value:.12g}"


def scores_record(
    datas: Sequence[evaluation_files.TaskData],
    evaluations: Mapping[str, Evaluation],
    settings: ScoreSettings,
) -> dict[str, Any]:
    """Returns what `scores.json` says: the signature, and of each profile scores, standard errors, averages.

    `evaluations` by profile; that of the settings is the one that the signature names, and of which it is
    told how many answers are wrong only for their form.
    """
    chosen = evaluations[settings.profile]
    counts = dict(chosen.frame.group_by("task", maintain_order=True).len().rows())
    return {
        "kind": "llm-jp-eval",
        "signature": signature(datas, settings),
        "profile": settings.profile,
        "average": "AVR",
        "split": datas[0].split,
        "samples": counts,
        "missing": chosen.missing,
        "lacking": {
            name: averaging.lacking_categories(name, chosen.scores) for name in averaging.AVERAGES
        },
        "profiles": {
            name: {
                "scores": found.scores,
                "standard_errors": standard_errors(found),
                "averages": found.averages,
                "not_computed": found.not_computed,
            }
            for name, found in evaluations.items()
        },
        "lenient": leniently(chosen),
        **_inference(settings),
    }


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
        "scores": averaging.score_texts(evaluation.scores, with_averages=with_averages),
        "outputs": outputs,
        "config": config,
    }
    return json.dumps(content, ensure_ascii=False, indent=4).encode()


def write_results(
    folder: str | os.PathLike[str],
    datas: Sequence[evaluation_files.TaskData],
    evaluations: Mapping[str, Evaluation],
    config: Mapping[str, Any],
    settings: ScoreSettings,
) -> dict[str, Any]:
    """Write `result.json`, `samples.parquet` and `scores.json`; returns the content of `scores.json`.

    `evaluations` by profile. The result file, which has `config`, and the samples are those of the settings'
    profile; the result file has averages if all tasks were asked for or are there. Raises `OutputError`.
    """
    chosen, place = evaluations[settings.profile], Path(folder)
    record = scores_record(datas, evaluations, settings)
    templates = {data.task: settings.prompts.template(data) for data in datas}
    every = settings.all_tasks or registry.tasks().keys() <= templates.keys()
    result = result_content(chosen, templates, config, with_averages=every)
    samples = io.BytesIO()
    chosen.frame.drop("input").write_parquet(samples)
    atomic.write_atomic(place / run_files.RESULT, result)
    atomic.write_atomic(place / SAMPLES, samples.getvalue())
    text = json.dumps(record, ensure_ascii=False, indent=1)
    atomic.write_atomic(place / SCORES, text.encode() + b"\n")
    return record
