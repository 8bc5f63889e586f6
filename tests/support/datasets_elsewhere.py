"""Digests that `datasets` takes of scorers, and scores from two processes.

Run as a program, which forks while it is young: it prints both as JSON.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Mapping
from typing import Any

import datasets
from datasets.fingerprint import Hasher

from pfgen_rs import Settings, load_benchmark, score_file
from pfgen_rs.integrations.datasets import scorer


def digests() -> Mapping[str, Any]:
    """By name; `again` is that of a copy."""
    bench = load_benchmark("mini")
    plain = scorer(bench)
    made = {
        "plain": plain,
        "again": pickle.loads(pickle.dumps(plain)),
        "paper": scorer(bench.with_settings(Settings(variant="paper"))),
        "metric": scorer(bench, metrics=["average"]),
        "field": scorer(bench, answer_field="text"),
    }
    return {name: Hasher.hash(each) for name, each in made.items()}


def scored_by_two(run: str) -> dict[str, list[float]]:
    """The metrics of a run's answers, in order, each process scoring half of them."""
    answers = score_file(run, "mini").frame.select("question_id", "answer")
    score = scorer("mini", question_field="question_id", threads=None)
    found = datasets.Dataset.from_polars(answers).map(score, batched=True, num_proc=2)
    return {metric: found[metric][:] for metric in score.metrics}


if __name__ == "__main__":
    datasets.disable_progress_bars()
    print(json.dumps([digests(), scored_by_two(sys.argv[1])]))
