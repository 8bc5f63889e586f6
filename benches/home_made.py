"""Agreement of home-made sets of reference answers with the published one.

    python benches/home_made.py [--question Q01 ...] [--json FILE]

Sets of up to 300 answers a question are built from real answers of many models (PFGEN_CANDIDATES_DIR:
files Qnn.jsonl*), without written rules. The published runs (PFGEN_BENCH_DIR) are then scored with each
set and with the published one, on the questions for which at least 100 answers were left. Told is
Pearson's correlation over runs of the mean of Fluency and Truthfulness.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.references.config import (
    BuildConfig,
    Duplicates,
    Length,
    Normalise,
    Select,
    Singletons,
)
from pfgen_rs.references.pipeline import Built, build

COUNT, FEWEST = 300, 100
GOOD = 0.5
RUNS_TOLD = 24
Scores = dict[str, dict[str, float]]  # by run, by question


def main() -> None:
    """Build, score and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--question", action="append", default=[], help="this question alone")
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    candidates = Path(os.environ["PFGEN_CANDIDATES_DIR"])
    published = load_benchmark(Path(os.environ["PFGEN_BENCH_DIR"], "data"))
    responses = published_responses(Path(os.environ["PFGEN_BENCH_DIR"]))
    rows = []
    for name, config in variants(candidates, options.question).items():
        with tempfile.TemporaryDirectory() as folder:
            built = build(replace(config, folder=Path(folder)), threads=None)
            rows.append({"set": name, **agreement(built, published, responses, name)})
            print(json.dumps(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def variants(candidates: Path, only: Sequence[str]) -> dict[str, BuildConfig]:
    """The settings that are compared."""
    whole = BuildConfig(
        candidates=(str(candidates / "Q*.jsonl*"),),
        questions=str(Path(os.environ["PFGEN_BENCH_DIR"], "data")),
        only=tuple(only),
        out="set",
        per_source=False,
        allow_fewer=True,
        steps=("normalise", "duplicates", "singletons", "length", "select"),
        duplicates=Duplicates("once"),
        length=Length(100, 3_000, share=1.0),
        select=Select(count=COUNT),
    )
    unfiltered = tuple(step for step in whole.steps if step != "singletons")
    return {
        "whole": whole,
        "random": replace(whole, steps=whole.steps[:-1], length=Length(100, 3_000, share=1.0)),
        "no singleton filter": replace(whole, steps=unfiltered),
        "no singleton filter, random": replace(whole, steps=unfiltered[:-1]),
        "duplicates kept": replace(whole, duplicates=Duplicates("all")),
        "repeated": replace(whole, singletons=Singletons(repeat=True)),
        "threshold 2": replace(whole, singletons=Singletons(threshold=2)),
        "no normalisation": replace(whole, steps=whole.steps[1:], normalise=Normalise()),
    }


def published_responses(folder: Path) -> dict[str, pl.DataFrame]:
    """Question and answer of every published run."""
    paths = sorted((folder / "result").glob("**/trials.jsonl.xz"))
    return {str(path.parent.relative_to(folder)): read(path) for path in paths}


def read(path: Path) -> pl.DataFrame:
    """A run's questions and answers."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return pl.DataFrame(
        {"question": [row["question"] for row in rows], "answer": [row["answer"] for row in rows]}
    )


def agreement(
    built: Built, published: Benchmark, responses: Mapping[str, pl.DataFrame], name: str
) -> dict[str, Any]:
    """Measures of one set."""
    own = load_benchmark(subset(built, name))
    asked = [question.id for question in own]
    home, official = scores(own, responses, asked), scores(published, responses, asked)
    runs = sorted(home)
    pairs = np.array([[mean(home[run], asked), mean(official[run], asked)] for run in runs])
    good = pairs[pairs[:, 1] > GOOD]
    left = [sum(map(len, each.answers.values())) for each in built.questions]
    return {
        "questions": len(asked),
        "answers": statistics.median(left),
        "all_runs": len(runs),
        "pearson": float(np.corrcoef(pairs.T)[0, 1]),
        "good_runs": len(good),
        "pearson_good": float(np.corrcoef(good.T)[0, 1]),
    }


def subset(built: Built, name: str) -> Path:
    """A folder with the questions that kept enough, cut at random where nothing was selected."""
    folder = built.folder / "enough"
    folder.mkdir()
    for question in built.questions:
        [answers] = [list(each) for each in question.answers.values()]
        if len(answers) < FEWEST:
            continue
        random.Random(f"{name}{question.outline.question_id}").shuffle(answers)
        content = question.outline.to_dict({"X": answers[:COUNT]})
        target = folder / f"{question.outline.question_id}.json"
        target.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder


def scores(
    benchmark: Benchmark, responses: Mapping[str, pl.DataFrame], asked: Sequence[str]
) -> Scores:
    """By run and question, the mean of Fluency and Truthfulness."""
    texts = [benchmark[question_id].text for question_id in asked]
    found: Scores = {}
    for run, frame in responses.items():
        scored = benchmark.score_batch(frame.filter(pl.col("question").is_in(texts)))
        both = (pl.col("fluency") + pl.col("truthfulness")) / 2
        means = scored.group_by("question_id").agg(both.mean().alias("mean"))
        found[run] = dict(means.iter_rows())
    return found


def mean(by_question: Mapping[str, float], asked: Sequence[str]) -> float:
    """A run's score over the questions."""
    return statistics.fmean(by_question[question_id] for question_id in asked)


if __name__ == "__main__":
    main()
