"""What a model's own reference answers do to its score, before and after they are left out.

    python benches/own_models.py [--questions 10] [--repeats 8] [--json FILE]

Sets of 3, 5, 10 and 20 models, drawn at random from the candidates (PFGEN_DATA_DIR), with 1,000 reference
answers a question or as many as these models have. Each is compared with itself without one model
(`Benchmark.without_models`), over answers that are in no set:

- `others`: by how much scores of other organisations' models shift, mean over models left out and models
  scored; without rescaling in brackets, and the root mean square over models left out.
- `own`: how much higher the model stands above the mean of `others` than by a set of the same size in which
  another model, of another organisation, has its place; before and after. Its answers are not in the set.
- `rank`: by how many ranks among the published runs, likewise.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.questions.question import Question, question_of

DATA = Path(os.environ["PFGEN_DATA_DIR"])
SIZES = (3, 5, 10, 20)
WANTED, SCORED, LEFT = 1_000, 8, 5
"""Reference answers a question, answers scored a question and run, models left out of a set."""
FEWEST = 10
"""Answers a question of the published runs that are ranked."""

Answers = Mapping[str, Mapping[str, Sequence[str]]]
"""By model and question."""


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    paths = sorted((DATA / "candidates").glob("Q*.jsonl*"))
    paths = paths[:: max(1, len(paths) // options.questions)][: options.questions]
    pool = answers_of(row for path in paths for row in lines(path))
    asked = list(next(iter(pool.values())))
    published = published_runs(set(asked))
    random = np.random.default_rng(42)
    rows = [
        row
        for size in SIZES
        for _ in range(options.repeats)
        for row in measured(pool, published, asked, size, random)
    ]
    print("\n".join(table(rows)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def lines(path: Path) -> Iterator[dict[str, str]]:
    """The objects of a file of JSON lines."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def answers_of(rows: Iterable[Mapping[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Answers that are not empty, by model and question."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row["answer"].strip():
            own = found.setdefault(row["model"], {})
            own.setdefault(row["question"], []).append(row["answer"])
    return found


def published_runs(asked: set[str]) -> dict[str, dict[str, list[str]]]:
    """The published runs with enough answers."""
    results = DATA / "pfgen-bench" / "result"
    rows = (
        {**row, "model": "/".join(path.relative_to(results).parts[:2])}
        for path in sorted(results.glob("**/trials.jsonl.xz"))
        for row in lines(path)
        if row["question"] in asked
    )
    found = answers_of(rows)
    return {name: own for name, own in found.items() if min(map(len, own.values())) >= FEWEST}


def set_of(pool: Answers, models: Sequence[str], asked: Sequence[str]) -> Benchmark:
    """A set in which these models have as many reference answers each; the last `SCORED` are left."""
    each = WANTED // len(models)
    questions: list[Question] = []
    for number, text in enumerate(asked):
        own = [pool[model][text][:-SCORED][:each] for model in models]
        content = {
            "question_id": f"Q{number:02}",
            "question": text,
            "keywords": [],
            "models": list(models),
            "makers": {"X": [place for place, answers in enumerate(own) for _ in answers]},
            "answers": {"X": [answer for answers in own for answer in answers]},
        }
        questions.append(question_of(content))
    return Benchmark(questions, "0" * 40)


def measured(
    pool: Answers,
    published: Answers,
    asked: Sequence[str],
    size: int,
    random: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """Measures of some models of a random set."""
    order = [str(name) for name in random.permutation(sorted(pool))]
    models, spare = order[:size], order[size:]
    whole = set_of(pool, models, asked)
    known = {organisation(model) for model in models}
    runs = {f"published/{name}": last(own) for name, own in published.items()}
    runs |= {name: last(pool[name]) for name in order}
    held = [name for name in runs if organisation(name.removeprefix("published/")) not in known]
    before = scores(whole, runs)
    for model in models[:LEFT]:
        without = whole.without_models([model])
        after = scores(without, runs)
        plain = scores(unscaled(without), {name: runs[name] for name in held})
        other = next(name for name in spare if organisation(name) not in known)
        never = scores(set_of(pool, [*(m for m in models if m != model), other], asked), runs)
        spare = [name for name in spare if name != other]
        row: dict[str, Any] = {"models": size}
        for metric in before:
            row[f"shift {metric}"] = mean_shift(after[metric], before[metric], held)
            row[f"plain {metric}"] = mean_shift(plain[metric], before[metric], held)
        found = {"before": before, "after": after, "never": never}
        ranked = {name: rank(each["average"], model) for name, each in found.items()}
        others = [name for name in held if organisation(other) not in name]
        above = {name: excess(each["average"], model, others) for name, each in found.items()}
        for name in ("before", "after"):
            row[f"own {name}"] = above[name] - above["never"]
            row[f"rank {name}"] = ranked["never"] - ranked[name]
        yield row


def organisation(model: str) -> str:
    """The part of a model's name before the slash."""
    return model.split("/")[0]


def last(answers: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """The answers to score."""
    return {question: own[-SCORED:] for question, own in answers.items()}


def unscaled(benchmark: Benchmark) -> Benchmark:
    """The set without rescaling."""
    found = Benchmark(list(benchmark), benchmark.metadata_hash, benchmark.settings)
    found.left_out = None
    return found


def scores(benchmark: Benchmark, runs: Answers) -> dict[str, dict[str, float]]:
    """Means over questions by metric and run."""
    rows = [
        (name, question, answer)
        for name, own in runs.items()
        for question, answers in own.items()
        for answer in answers
    ]
    names, questions, answers = (list(column) for column in zip(*rows, strict=True))
    metrics = ("fluency", "truthfulness", "average")
    scored = benchmark.score_batch(questions, answers).with_columns(run=pl.Series(names))
    means = scored.group_by("run", "question_id").agg(pl.col(metrics).mean())
    table = means.group_by("run").agg(pl.col(metrics).mean())
    return {metric: dict(zip(table["run"], table[metric], strict=True)) for metric in metrics}


def mean_shift(
    after: Mapping[str, float], before: Mapping[str, float], runs: Sequence[str]
) -> float:
    """The mean of differences."""
    return statistics.fmean(after[name] - before[name] for name in runs)


def excess(found: Mapping[str, float], model: str, others: Sequence[str]) -> float:
    """By how much a model's score is above the mean of others."""
    return found[model] - statistics.fmean(found[name] for name in others)


def rank(found: Mapping[str, float], model: str) -> int:
    """The rank of a model among the published runs, from 1."""
    ranked = [value for name, value in found.items() if name.startswith("published/")]
    return 1 + sum(value > found[model] for value in ranked)


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a size."""
    yield "| models | Fluency | Truthfulness | average | own before | own after | ranks before | after |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for size in SIZES:
        of = [row for row in rows if row["models"] == size]

        def mean(key: str) -> float:
            return statistics.fmean(row[key] for row in of)  # noqa: B023

        shifts = [
            f"{mean(f'shift {metric}'):+.4f} ({mean(f'plain {metric}'):+.4f})"
            for metric in ("fluency", "truthfulness", "average")
        ]
        own = [f"{mean(f'own {name}'):+.4f}" for name in ("before", "after")]
        ranks = [f"{mean(f'rank {name}'):+.2f}" for name in ("before", "after")]
        yield f"| {' | '.join([str(size), *shifts, *own, *ranks])} |"


if __name__ == "__main__":
    main()
