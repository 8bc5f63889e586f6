"""Results rewritten with their sums computed as in the files that they replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.checkout.published import published
from pfgen_rs.errors import InputError
from pfgen_rs.metrics.names import BY_SOURCE
from pfgen_rs.metrics.settings import SUMMATIONS, Settings, Summation
from pfgen_rs.metrics.signature import has_helpfulness
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.runs.result import Result, result_content
from pfgen_rs.verify import best_reading

__all__ = ["Rewritten", "rewritten"]


class Rewritten(NamedTuple):
    """The new content of a `result.json`, and the object that it holds."""

    content: bytes
    result: dict[str, Any]


def rewritten(path: Path, result: Result) -> Rewritten:
    """The new content of the `result.json` at `path`, in the reading of Python's `sum` that the old one has.

    With the same answers and questions, that is the reading closer to the old file. Otherwise the averages of
    its samples, sums of their own parts, decide; where they fit both readings, sums are plain.
    """
    new = _written_for_summation(result)
    try:
        before = path.read_bytes()
        if before == new.content:
            return new
        old = published(before, path, "").result
    except (OSError, InputError):  # missing or damaged: there is nothing to keep
        return new
    if (old.get("input_hash"), old["metadata_hash"]) == _hashes_for_summation(result):
        return _written_for_summation(best_reading(old, result).result)
    summation = _summation_of_samples(old)
    return new if summation == "plain" else _written_for_summation(result.with_summation(summation))


def _written_for_summation(result: Result) -> Rewritten:
    found = result.to_dict()
    return Rewritten(result_content(found), found)


def _hashes_for_summation(result: Result) -> tuple[str | None, str]:
    return result.input_hash, result.benchmark.metadata_hash


def _summation_of_samples(old: Mapping[str, Any]) -> Summation:
    """Returns the reading that gives more of the samples' averages; about 1 in 1,000 depends on it."""
    helpfulness = has_helpfulness(old)
    readings = [Settings(summation=each, helpfulness=helpfulness) for each in SUMMATIONS]
    right = dict.fromkeys(SUMMATIONS, 0)
    for scores in _samples_for_summation(old):
        for settings in readings:
            right[settings.summation] += scores["average"] == _average_of_sample(scores, settings)
    return "compensated" if right["compensated"] > right["plain"] else "plain"


def _samples_for_summation(old: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in old["questions"].values():
        for sample in entry["samples"]:
            yield sample["scores"]


def _average_of_sample(scores: Mapping[str, Any], settings: Settings) -> float:
    fluency, truthfulness = (
        left_sum(scores[metric].values(), compensated=settings.compensated) for metric in BY_SOURCE
    )
    return round(float(settings.average(fluency, truthfulness, scores["helpfulness"])), 5)
