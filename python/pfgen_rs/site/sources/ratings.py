"""Ratings of answers by judges, and rankings by Bradley–Terry, as the `judge` commands leave them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import json_lines, run_files
from pfgen_rs.judge import grading, requests as asking
from pfgen_rs.judge.dialogues import fastchat_files, grading as dialogue_grading
from pfgen_rs.lazy import np, pl
from pfgen_rs.report.site.board import Cell, Column, Contribution, Value
from pfgen_rs.site.sources import Given, json_keys, site_source
from pfgen_rs.stats import from_summary

_RATINGS = "ratings.jsonl"
_RANKING = {"rule", "models", "head_to_head", "level"}
_ABOUT = (
    "評価の平均（質問ごとの平均の平均、95%区間は質問間のt分布による）。",
    "Mean rating: of the means of questions, with Student's interval over these (95 %).",
)
_OF_RANKINGS = {
    "strength": (
        "Bradley–Terryの強さ（対数オッズ、平均0）",
        "Bradley–Terry strength (log odds, mean 0)",
    ),
    "win_rate": ("勝率（引き分けは半勝）", "Win rate (a tie is half a win)"),
}


def _is_judged(path: Path) -> bool:
    """Whether a file has ratings in FastChat's format."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    try:
        first = next(islice(json_lines.lines(path), 1), None)
    except InputError:
        return False
    return first is not None and {"judge", "score", "turn"} <= first.record.keys()


def _recognises(path: Path) -> bool:
    if path.is_dir():
        return (path / _RATINGS).is_file() or dialogue_grading.is_grade_folder(path)
    return _is_judged(path) or (json_keys(path) or frozenset()) >= _RANKING


@site_source(
    "ratings",
    about="folders of judge grade and judge dialogues grade, FastChat's judgments (.jsonl), and what "
    "judge rank --format json prints (.json)",
    recognises=_recognises,
)
def read_ratings(given: Sequence[Given]) -> Iterator[tuple[str, Contribution]]:
    """Yield the mean ratings of each judge, or the strengths and win rates of a ranking."""
    paths = [each.path for each in given]
    names = run_files.output_names([str(path.absolute()) for path in paths])
    for path, name in zip(paths, names, strict=True):
        make = _ranked if path.suffix.lower() == ".json" else _rated
        yield f"ratings in {path}", make(path, name)


def _rated(path: Path, name: str) -> Contribution:
    frame = _ratings(path)
    known = frame.drop_nulls(["score", "model", "question_id"])
    columns, rows = [], dict[str, dict[str, Cell]]()
    for judge in known["judge"].unique(maintain_order=True):
        key, label = f"judge:{judge} ({name})", f"{judge} ({name})"
        columns.append(Column(key, "judges", "number", (label, label), 2, 1, _ABOUT))
        means = (
            known.filter(pl.col("judge") == judge)
            .group_by("model", "question_id", maintain_order=True)
            .agg(pl.col("score").mean())
        )
        for (model,), own in means.group_by("model", maintain_order=True):
            found = from_summary(own["score"].to_numpy(), np.zeros(len(own)), 1)
            rows.setdefault(str(model), {})[key] = Value(found.mean, found.low, found.high)
    return Contribution(columns, rows)


def _ratings(path: Path) -> pl.DataFrame:
    """Returns `judge`, `model`, `question_id` and `score` of each rating."""
    if not path.is_dir():
        return fastchat_files.read_ratings([path]).frame
    if dialogue_grading.is_grade_folder(path):
        return dialogue_grading.ratings_of_folder(path).frame
    found = grading.read_ratings(path)
    config = asking.folder_config(path).get("judge")
    judge = config.get("model") if isinstance(config, Mapping) else None
    name = judge if isinstance(judge, str) else path.name
    return found.select("model", "question_id", judge=pl.lit(name), score="rating")


def _ranked(path: Path, name: str) -> Contribution:
    """Returns what a ranking says; raises `InputError` for one that is damaged."""
    found = json.loads(path.read_bytes())
    rows: dict[str, dict[str, Cell]] = {}
    try:
        for row in found["models"]:
            values = {key: _value(row, key) for key in _OF_RANKINGS if row[key] is not None}
            rows[str(row["model"])] = {f"judge:{name}:{key}": own for key, own in values.items()}
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"is a damaged ranking: {error!r:.200}", path=path) from None
    columns = [
        Column(f"judge:{name}:{key}", "judges", "number", (f"{name} {key}",) * 2, 3, 1, about)
        for key, about in _OF_RANKINGS.items()
        if any(f"judge:{name}:{key}" in row for row in rows.values())
    ]
    return Contribution(columns, rows)


def _value(row: Mapping[str, Any], key: str) -> Value:
    value, low, high = (row[f"{key}{end}"] for end in ("", "_low", "_high"))
    bounds = [None if bound is None else _finite(bound) for bound in (low, high)]
    return Value(_finite(value), *bounds)


def _finite(value: Any) -> float:
    """Returns a finite number; raises `ValueError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.80} is no finite number")
    return float(value)
