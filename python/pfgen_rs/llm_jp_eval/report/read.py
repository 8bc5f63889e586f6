"""Reading runs for a report: folders of runs and scores, and result files, also of the published tool."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.llm_jp_eval.report.runs import ReportRun, distinctly_named
from pfgen_rs.llm_jp_eval.results import SAMPLES, SAMPLING, SCORES, read_result

__all__ = ["read_report_runs"]

_INPUTS = ("task", "index", "input")
_USUAL = {"prompt": "default", "mode": "completion", "max_tokens": "default"}
"""What signatures leave out."""


def read_report_runs(paths: Sequence[str | os.PathLike[str]]) -> list[ReportRun]:
    """Read runs: folders with `scores.json` and `samples.parquet`, or with `result.json`, and result files.

    A run is named after its folder or file, with as many parents as necessary. Raises `InputError`.
    """
    files = [Path(path) for path in paths]
    names = _names_of_runs(files)
    runs = [_read_report_run(file, name) for file, name in zip(files, names, strict=True)]
    return distinctly_named(runs)


def _read_report_run(path: Path, name: str) -> ReportRun:
    if not path.exists():
        raise InputError("no such file or folder", path=path)
    if not path.is_dir():
        return _run_of_result_file(path, name)
    if (path / SCORES).is_file() and (path / SAMPLES).is_file():
        return _run_of_folder(path, name)
    if (path / RESULT).is_file():
        return _run_of_result_file(path / RESULT, name)
    expected = f"expected {SCORES} and {SAMPLES}, or {RESULT}"
    raise InputError(f"not a run of llm-jp-eval: {expected} (is the run complete?)", path=path)


def _run_of_result_file(path: Path, name: str) -> ReportRun:
    found = read_result(path)
    signature = found.config.get("signature")
    known = signature if isinstance(signature, str) else None
    # What the file states decides: other versions have other metrics of the same name.
    stated = {name: float(found.recorded[name]) for name in found.differing}
    metrics = {
        task: tuple(each for each in own if f"{task}_{each}" not in stated)
        for task, own in found.metrics.items()
    }
    return ReportRun(
        name,
        found.frame,
        {**found.scores, **stated},
        _settings_of_signature(known),
        known,
        metrics,
        found.stated,
    )


def _run_of_folder(path: Path, name: str) -> ReportRun:
    record = _scores_of_folder(path / SCORES)
    frame = _samples_of_folder(path / SAMPLES)
    if (path / RESULT).is_file():
        inputs = read_result(path / RESULT).frame.select(_INPUTS)
        frame = frame.join(inputs, on=["task", "index"], how="left", maintain_order="left")
    signature = record["signature"]
    scores = record["variants"][record["variant"]]["scores"]
    return ReportRun(name, frame, scores, _settings_of_signature(signature), signature)


def _scores_of_folder(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
        scores = record["variants"][record["variant"]]["scores"]
        if not isinstance(record["signature"], str) or not all(
            isinstance(value, float | int) for value in scores.values()
        ):
            raise TypeError
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", path=path) from None
    except (KeyError, TypeError, AttributeError):
        problem = (
            "is not a file of scores: expected 'signature', 'variant' and 'variants' with scores"
        )
        raise InputError(problem, path=path) from None
    return dict(record)


def _samples_of_folder(path: Path) -> pl.DataFrame:
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


def _settings_of_signature(signature: str | None) -> dict[str, str]:
    """Returns the parts of a signature by name, the defaults that it leaves out, and what is not known."""
    if signature is None:
        return dict.fromkeys(("variant", "shots", *_USUAL, *SAMPLING), "unknown")
    parts = dict(part.partition(":")[::2] for part in signature.split("|") if ":" in part)
    return {**_USUAL, **dict.fromkeys(SAMPLING, "unknown"), **parts}


def _names_of_runs(paths: Sequence[Path]) -> list[str]:
    parts = [_naming_parts_of_run(path) for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(set(parts)):
            return names
    return ["/".join(part) for part in parts]


def _naming_parts_of_run(path: Path) -> tuple[str, ...]:
    whole = path.absolute()
    if path.is_dir():
        return Path(os.path.normpath(whole)).parts
    return whole.parent.parts if path.name == RESULT else whole.with_suffix("").parts
