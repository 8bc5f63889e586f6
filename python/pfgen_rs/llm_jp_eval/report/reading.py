"""Reads runs for a report: folders of runs and scores, and result files, also of the published tool."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.llm_jp_eval.catalog import same_score, split_score, tasks
from pfgen_rs.llm_jp_eval.data import read_json
from pfgen_rs.llm_jp_eval.metrics.samples import sample_metrics
from pfgen_rs.llm_jp_eval.report.runs import ReportRun
from pfgen_rs.llm_jp_eval.results import SAMPLES, SAMPLING, SCORES
from pfgen_rs.llm_jp_eval.scoring import evaluated_predictions

_USUAL = {"prompt": "default", "mode": "completion", "max_tokens": "default"}
"""What signatures leave out."""


def read_report_runs(paths: Sequence[str | os.PathLike[str]]) -> list[ReportRun]:
    """Read runs: folders with `scores.json` and `samples.parquet`, or with `result.json`, and result files.

    A run is named after its folder or file, with as many parents as necessary. Raises `InputError`.
    """
    files = [Path(path) for path in paths]
    return [_read_run(file, name) for file, name in zip(files, _names(files), strict=True)]


def _read_run(path: Path, name: str) -> ReportRun:
    if not path.exists():
        raise InputError("no such file or folder", path=path)
    if not path.is_dir():
        return read_result(path, name)
    if (path / SCORES).is_file() and (path / SAMPLES).is_file():
        return _of_folder(path, name)
    if (path / RESULT).is_file():
        return read_result(path / RESULT, name)
    expected = f"expected {SCORES} and {SAMPLES}, or {RESULT}"
    raise InputError(f"not a run of llm-jp-eval: {expected} (is the run complete?)", path=path)


def _of_folder(path: Path, name: str) -> ReportRun:
    record = _scores(path / SCORES)
    frame = _samples(path / SAMPLES)
    if (path / RESULT).is_file():
        inputs = read_result(path / RESULT).frame.select("task", "index", "input")
        frame = frame.join(inputs, on=["task", "index"], how="left", maintain_order="left")
    signature = record["signature"]
    scores = record["variants"][record["variant"]]["scores"]
    return ReportRun(name, frame, scores, _settings(signature), signature)


def _scores(path: Path) -> dict[str, Any]:
    record, _ = read_json(path)
    try:
        scores = record["variants"][record["variant"]]["scores"].values()
        if isinstance(record["signature"], str) and all(isinstance(v, float | int) for v in scores):
            return dict(record)
    except (KeyError, TypeError, AttributeError):
        pass
    problem = "is not a file of scores: expected 'signature', 'variant' and 'variants' with scores"
    raise InputError(problem, path=path)


def _samples(path: Path) -> pl.DataFrame:
    types: dict[Any, Any] = {
        **dict.fromkeys(("task", "pred", "gold"), pl.String),
        "index": pl.Int64,
        "value": pl.Float64,
    }
    try:
        frame = pl.read_parquet(path).cast(types)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except pl.exceptions.PolarsError as error:
        raise InputError(f"is not a table of samples: {error}", path=path) from None
    outside = frame.filter(~pl.col("value").is_between(0, 1))
    if not outside.is_empty():
        task, index, value = outside.select("task", "index", "value").row(0)
        problem = f"the value of sample {index} of {task} is {value}: expected 0 to 1"
        raise InputError(problem, path=path)
    return frame


def _settings(signature: str | None) -> dict[str, str]:
    """Returns the parts of a signature by name, the defaults that it leaves out, and what is not known."""
    if signature is None:
        return dict.fromkeys(("variant", "shots", *_USUAL, *SAMPLING), "unknown")
    parts = dict(part.partition(":")[::2] for part in signature.split("|") if ":" in part)
    return {**_USUAL, **dict.fromkeys(SAMPLING, "unknown"), **parts}


def _names(paths: Sequence[Path]) -> list[str]:
    parts = [_naming_parts(path) for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return ["/".join(part) for part in parts]


def _naming_parts(path: Path) -> tuple[str, ...]:
    whole = path.absolute()
    if path.is_dir():
        return Path(os.path.normpath(whole)).parts
    return whole.parent.parts if path.name == RESULT else whole.with_suffix("").parts


# Result files.


def read_result(path: str | os.PathLike[str], name: str = "") -> ReportRun:
    """Read a result file, `result.json` or that of the published tool, and score its predictions again.

    Scores are those of its predictions, and as the file states them where these have others or none: other
    versions have other metrics of the same name. Of tasks that the catalog does not have, samples have a
    value by the first metric that is known here. Raises `InputError`.
    """
    file = Path(path)
    record, _ = read_json(file)
    try:
        return _of_record(record, name or file.stem)
    except InputError as error:
        raise InputError(error.problem, path=file) from None
    except UnicodeEncodeError:
        problem = "contains a lone surrogate, which is not valid Unicode"
        raise InputError(problem, path=file) from None


def _of_record(record: Any, name: str) -> ReportRun:
    outputs = record.get("outputs") if isinstance(record, dict) else None
    if not isinstance(outputs, dict) or not isinstance(record.get("scores"), dict):
        raise InputError("is not a result file: expected an object with 'scores' and 'outputs'")
    stated = _numbers(record["scores"])
    parts = {score: split_score(score, {*outputs, *tasks()}) for score in stated}
    frames, found, metrics = [], {}, {}
    for task in sorted(outputs, key=[*tasks(), *outputs].index):
        own = tasks()[task].metrics if task in tasks() else _known_metric(task, parts)
        try:
            inputs, preds, golds = _columns(task, outputs[task])
        except InputError:
            if task in tasks():
                raise
            continue
        frame, values = evaluated_predictions(task, own, preds, golds, inputs=inputs)
        frames.append(frame)
        of_task = {f"{task}_{metric}": value for metric, value in values.items()}
        apart = {s for s, v in of_task.items() if s in stated and not same_score(v, stated[s])}
        metrics[task] = tuple(each for each in own if f"{task}_{each}" not in apart)
        found.update({score: v for score, v in of_task.items() if score not in apart})
    if not frames:
        raise InputError("is not a result file of these tasks: 'outputs' has none of them")
    config = record.get("config")
    signature = config.get("signature") if isinstance(config, dict) else None
    known = signature if isinstance(signature, str) else None
    others = {score: v for score, v in stated.items() if parts[score][1] and score not in found}
    of_file = {each: value for each, value in stated.items() if not parts[each][1]}
    frame, scores = pl.concat(frames), {**found, **others}
    return ReportRun(name, frame, scores, _settings(known), known, metrics, of_file)


def _known_metric(task: str, parts: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    known = [metric for own, metric in parts.values() if own == task and metric in sample_metrics()]
    return tuple(known[:1])


def _numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    """Returns the scores that are finite numbers, or texts of such."""
    found = {}
    for name, stated in scores.items():
        try:
            value = float(str(stated))
        except ValueError:
            continue
        if math.isfinite(value):
            found[name] = value
    return found


def _columns(task: str, samples: Any) -> tuple[list[str], list[str], list[str]]:
    if not isinstance(samples, list) or not samples:
        raise InputError(f"the outputs of {task} must be a list that is not empty")
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for index, sample in enumerate(samples):
        for column, key in zip(columns, ("input", "pred", "gold"), strict=True):
            value = sample.get(key) if isinstance(sample, dict) else None
            if not isinstance(value, str):
                raise InputError(f"{key!r} of sample {index} of {task} must be text")
            column.append(value)
    return columns
