"""Results rewritten with their sums computed as in the files that they replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pfgen_rs.checkout.published import published
from pfgen_rs.errors import InputError
from pfgen_rs.metrics.names import BY_SOURCE
from pfgen_rs.metrics.settings import SUMMATIONS, Summation
from pfgen_rs.runs.result import Result
from pfgen_rs.stats.sums import left_sum
from pfgen_rs.verify import best_reading

__all__ = ["rewritten"]


def rewritten(path: Path, result: Result) -> bytes:
    """The new content of the `result.json` at `path`, in the reading of Python's `sum` that the old one has.

    With the same answers and questions, that is the reading closer to the old file. Otherwise the averages of
    its samples, sums of their own parts, decide; where they fit both readings, sums are plain.
    """
    content = result.to_bytes()
    try:
        before = path.read_bytes()
        if before == content:
            return content
        old = published(before, path, "").result
    except (OSError, InputError):  # missing or damaged: there is nothing to keep
        return content
    if (old.get("input_hash"), old["metadata_hash"]) == _hashes_for_summation(result):
        return best_reading(old, result).content
    summation = _summation_of_samples(old)
    return content if summation == "plain" else result.with_summation(summation).to_bytes()


def _hashes_for_summation(result: Result) -> tuple[str | None, str]:
    return result.input_hash, result.benchmark.metadata_hash


def _summation_of_samples(old: Mapping[str, Any]) -> Summation:
    """Returns the reading that gives more of the samples' averages; about 1 in 1,000 depends on it."""
    right = dict.fromkeys(SUMMATIONS, 0)
    for scores in _samples_for_summation(old):
        for summation in SUMMATIONS:
            right[summation] += scores["average"] == _average_under_summation(scores, summation)
    return "compensated" if right["compensated"] > right["plain"] else "plain"


def _samples_for_summation(old: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in old["questions"].values():
        for sample in entry["samples"]:
            yield sample["scores"]


def _average_under_summation(scores: Mapping[str, Any], summation: Summation) -> float:
    fluency, truthfulness = (
        left_sum(scores[metric].values(), compensated=summation == "compensated")
        for metric in BY_SOURCE
    )
    return round(float(fluency + truthfulness + scores["helpfulness"]) / 3, 5)
