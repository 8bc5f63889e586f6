"""Tables for studies, and correlations once more with the statistics module alone."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import statistics
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml


def key_of(name: str) -> str:
    """The rule, character by character."""
    folded = unicodedata.normalize("NFKC", name).casefold().split("/")[-1]
    kept = "".join(c if c.isalnum() else " " for c in folded)
    return "-".join(kept.split())


def pearson_of(x: Sequence[float], y: Sequence[float]) -> float:
    return statistics.correlation(x, y)


def spearman_of(x: Sequence[float], y: Sequence[float]) -> float:
    return statistics.correlation(_ranks(x), _ranks(y))


def _ranks(values: Sequence[float]) -> list[float]:
    """The mean of the places that equal values share."""
    ordered = sorted(values)
    return [statistics.fmean(i for i, v in enumerate(ordered) if v == value) for value in values]


def fisher_of(r: float, n: int) -> tuple[float, float]:
    reach = statistics.NormalDist().inv_cdf(0.975) / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def residuals_of(x: Sequence[float], y: Sequence[float]) -> list[float]:
    line = statistics.linear_regression(x, y)
    apart = [b - (line.intercept + line.slope * a) for a, b in zip(x, y, strict=True)]
    return [value / math.sqrt(sum(a * a for a in apart) / (len(x) - 2)) for value in apart]


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


SCORES = {
    "org/Alpha-7B": 0.9,
    "org/Beta_13b": 0.7,
    "Gamma 2.0": 0.6,
    "org/Delta": 0.4,
    "ガンマ／モデル３": 0.2,
}


def write_leaderboard(folder: Path, scores: Mapping[str, float] = SCORES) -> Path:
    """A leaderboard with two modes of each model, of which `completion` is the better."""
    rows: list[tuple[str, str, float]] = []
    for model, score in scores.items():
        rows += [(model, "qa", round(score / 2, 3)), (model, "completion", score)]
    return write_csv(folder / "ours.csv", ["model", "mode", "score"], rows)


def public_table(name: str, studies_dir: Path, folder: Path) -> Path:
    """A public table; as JSON, as `yq -o json` writes it, what is published as YAML."""
    if not name.endswith(".json"):
        return studies_dir / name
    rows = yaml.safe_load((studies_dir / name).with_suffix(".yml").read_text(encoding="utf-8"))
    path = folder / name
    path.write_text(json.dumps(rows, default=str), encoding="utf-8")
    return path


def write_published(path: Path, studies_dir: Path) -> Path:
    """The published figures of all runs with their metrics, whose parts by question are summed up."""
    parts = ("fluency", "truthfulness")
    more = ("helpfulness", "length", "score_std", "num_trials")
    with (studies_dir / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            [
                *(row[name] for name in ("model", "mode", "score")),
                *(round(sum(ast.literal_eval(row[name]).values()), 5) for name in parts),
                *(row[name] for name in more),
            ]
            for row in csv.DictReader(file)
        ]
    return write_csv(path, ["model", "mode", "score", *parts, *more], rows)


OTHERS = [
    ("alpha_7b", "1", "9"),
    ("BETA 13B", "3", "-2"),
    ("x/gamma-2-0", "2", "4"),
    ("delta", "5", "1"),
    ("モデル3", "4", "0"),
]
"""Models of another benchmark, with figures `a` and `b`."""
