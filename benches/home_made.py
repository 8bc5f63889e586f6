"""How well home-made sets rank models: agreement with the published set, beside that of one of its sources.

    python benches/home_made.py [--splits dev|kept] [--variant NAME ...] [--json FILE]

Models (files Qnn.jsonl* in candidates) and published runs (of PFGEN_DATA_DIR) are split by
organisation: the answers of some organisations are the candidates, the runs of all others are scored. Sets
are built from the candidates without written rules, for the questions that have three published sources.
Reported is Pearson's correlation over the scored runs of the mean of Fluency and Truthfulness, with the
published set for home-made sets, and with the mean of the other two sources for each published source: over
all runs, and over those above 0.5. Intervals: questions drawn with replacement (2.5 and 97.5 %). `beats`:
the share of random choices of 12 questions on which a home-made set is better than one source (the mean of
the three, the best of them) both over all and above 0.5.

Settings were chosen on the splits `dev`; the splits `kept` were scored once, at the end. In the split
`published` all models of the candidates are the pool and the published runs are scored,
some of which are of the same organisations.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.benchmark import Benchmark, load_benchmark
from pfgen_rs.references.built import Built
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.consensus import Consensus
from pfgen_rs.references.filters import Singletons
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select

DATA = Path(os.environ["PFGEN_DATA_DIR"])
SPLITS = {"dev": (1, 2, 3, 4), "kept": (101, 102, 103, 104, 105, 106), "published": (0,)}
SOURCES = ("P", "S", "T")
GOOD = 0.5
CHOSEN, CHOICES, RESAMPLED = 12, 200, 1_000
# Models of another organisation that were made from one of this organisation's.
KIN = {"mlx-community": "pfnet", "pfnet/nekomata-14b-pfn-qfin-inst-merge": "rinna"}
Floats = NDArray[np.float64]
BOTH = (pl.col("fluency") + pl.col("truthfulness")) / 2


class Split(NamedTuple):
    """The runs whose answers are candidates, and those that are scored."""

    number: int
    pool: list[str]
    runs: list[str]


def main() -> None:
    """Build, score and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", choices=SPLITS, default="dev")
    parser.add_argument("--variant", action="append", default=[], help="these alone")
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    answers = answers_of_models()
    published = load_benchmark(DATA / "pfgen-bench" / "data")
    answers = with_published_scores(answers, published)
    rows: list[dict[str, Any]] = []
    for number in SPLITS[options.splits]:
        split = split_of(answers, number)
        for name, config in variants().items():
            if not options.variant or name in options.variant:
                rows.append(measured(name, config, split, answers, published))
                print(json.dumps(rows[-1]), flush=True)
    print("\n".join(table(rows)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def variants() -> dict[str, BuildConfig]:
    """The settings that are compared."""
    default = BuildConfig(
        candidates=("candidates.parquet",),
        questions=str(DATA / "pfgen-bench" / "data"),
        out="set",
        per_source=False,
        allow_fewer=True,
    )
    without = {step: tuple(s for s in default.steps if s != step) for step in default.steps}
    paper = replace(
        BuildConfig(default.candidates, "set", preset="paper"), questions=default.questions
    )
    paper = replace(paper, per_source=False, allow_fewer=True)
    return {
        "default": default,
        "paper": paper,
        "no consensus": replace(default, steps=without["consensus"]),
        "no length": replace(default, steps=without["length"]),
        "singletons always": replace(default, singletons=Singletons(at_least=0)),
        "no normalising": replace(default, steps=without["normalise"]),
        "consensus 0.25": replace(default, consensus=Consensus(0.25)),
        "consensus 0.75": replace(default, consensus=Consensus(0.75)),
        "300 answers": replace(default, select=Select(300)),
        "longest share 1": replace(default, length=Length(share=1.0)),
    }


def answers_of_models() -> pl.DataFrame:
    """Every answer: `question`, `answer`, `run`, `organisation`."""
    frames = [pl.DataFrame(list(rows)) for rows in (candidate_rows(), published_rows())]
    frame = pl.concat([f.select("question", "answer", "run", "organisation") for f in frames])
    return frame.with_row_index("row")


def candidate_rows() -> Iterator[dict[str, str]]:
    """Answers of the candidates' models."""
    for path in sorted((DATA / "candidates").glob("Q*.jsonl*")):
        for row in lines(path):
            yield row_of(row, f"candidates/{row['model']}", row["model"])


def published_rows() -> Iterator[dict[str, str]]:
    """Answers of the published runs."""
    results = DATA / "pfgen-bench" / "result"
    for path in sorted(results.glob("**/trials.jsonl.xz")):
        model = "/".join(path.relative_to(results).parts[:2])
        for row in lines(path):
            yield row_of(row, f"runs/{model}", model)


def row_of(row: Mapping[str, str], run: str, model: str) -> dict[str, str]:
    """One answer."""
    organisation = model.split("/")[0]
    kin = KIN.get(model, KIN.get(organisation, organisation))
    answer = {"question": row["question"], "answer": row["answer"]}
    return {**answer, "run": run, "organisation": kin}


def lines(path: Path) -> Iterator[dict[str, str]]:
    """The objects of a file of JSON lines."""
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def with_published_scores(answers: pl.DataFrame, published: Benchmark) -> pl.DataFrame:
    """The answers to questions of three sources, with the published score and that of each source."""
    asked = [q for q in published if set(SOURCES) <= set(q.answers)]
    answers = answers.filter(pl.col("question").is_in([question.text for question in asked]))
    columns = [scores(published, answers).alias("published")]
    for source in SOURCES:
        alone = [replace(q, answers={source: q.answers[source]}) for q in asked]
        columns.append(scores(Benchmark(alone, source), answers).alias(source))
    return answers.with_columns(columns)


def scores(benchmark: Benchmark, answers: pl.DataFrame) -> pl.Series:
    """The mean of Fluency and Truthfulness of each answer."""
    return benchmark.score_batch(answers["question"], answers["answer"]).select(BOTH).to_series()


def split_of(answers: pl.DataFrame, number: int) -> Split:
    """Organisations in a random order are candidates until they have about six tenths of the runs."""
    runs = answers.select("run", "organisation").unique().sort("run")
    if number == 0:
        names = runs.get_column("run").to_list()
        return Split(
            0, *([n for n in names if n.startswith(kind)] for kind in ("candidates/", "runs/"))
        )
    sizes = dict(runs.group_by("organisation").len().iter_rows())
    order = sorted(sizes)
    np.random.default_rng(number).shuffle(order)
    pool: set[str] = set()
    held = 0
    for organisation in order:
        if held < 0.45 * runs.height or held + sizes[organisation] <= 0.62 * runs.height:
            pool.add(organisation)
            held += sizes[organisation]
    in_pool = runs.get_column("organisation").is_in(sorted(pool))
    return Split(number, *(runs.filter(mask)["run"].to_list() for mask in (in_pool, ~in_pool)))


def measured(
    name: str, config: BuildConfig, split: Split, answers: pl.DataFrame, published: Benchmark
) -> dict[str, Any]:
    """Measures of one set on one split."""
    with tempfile.TemporaryDirectory() as folder:
        candidates = answers.filter(pl.col("run").is_in(split.pool))
        candidates.select("question", "answer", model="run").write_parquet(
            Path(folder, "candidates.parquet")
        )
        asked = candidates.get_column("question").unique()
        only = tuple(question.id for question in published if question.text in asked)
        built = build(replace(config, folder=Path(folder), only=only))
        home = load_benchmark(built.folder)
        scored = answers.filter(pl.col("run").is_in(split.runs))
        found = means(scored.with_columns(home=scores(home, scored)))
    return {"split": split.number, "set": name, **sizes_of(built), **compared(found)}


def sizes_of(built: Built) -> dict[str, Any]:
    """Medians over questions: reference answers and the spread of their lengths."""
    sets = [[len(a) for a in answers] for q in built.questions for answers in q.answers.values()]
    return {
        "questions": len(built.questions),
        "answers": statistics.median(map(len, sets)),
        "length_std": round(statistics.median(map(statistics.pstdev, sets)), 1),
    }


def means(scored: pl.DataFrame) -> dict[str, Floats]:
    """By column, means of answers: float64, shape (questions, runs)."""
    columns = ("home", "published", *SOURCES)
    table = scored.group_by("question", "run").agg(pl.col(columns).mean()).sort("question", "run")
    shape = table["question"].n_unique(), table["run"].n_unique()
    return {name: table[name].to_numpy().reshape(shape) for name in columns}


def compared(found: Mapping[str, Floats]) -> dict[str, Any]:
    """Correlations over all questions with their intervals, and who wins on choices of 12 questions."""
    count = len(found["home"])
    random = np.random.default_rng(12)
    whole = correlations(found, np.arange(count))
    resampled = np.array(
        [correlations(found, random.integers(count, size=count)) for _ in range(RESAMPLED)]
    )
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    choices = np.array(
        [correlations(found, random.permutation(count)[:CHOSEN]) for _ in range(CHOICES)]
    )
    rows = {"all": 0, "good": 1}
    result: dict[str, Any] = {"runs": found["home"].shape[1]}
    result["good_runs"] = int(np.count_nonzero(found["published"].mean(axis=0) > GOOD))
    for name, at in rows.items():
        result[name] = [rounded(value[at]) for value in (whole, low, high)]
        result[f"{name}_sources"] = [rounded(value) for value in whole[2 + at :: 2]]
        result[f"{name}_of_12"] = rounded(np.median(choices[:, at]))
        result[f"{name}_of_12_sources"] = rounded(np.median(choices[:, 2 + at :: 2].mean(axis=1)))
    for name, reduce in (("mean", np.mean), ("best", np.max)):
        rivals = [reduce(choices[:, 2 + at :: 2], axis=1) for at in (0, 1)]
        won = (choices[:, 0] > rivals[0]) & (choices[:, 1] > rivals[1])
        result[f"beats_{name}"] = round(float(won.mean()), 3)
    return result


def correlations(found: Mapping[str, Floats], questions: NDArray[np.int64]) -> list[float]:
    """Of the home-made set with the published one, then of each source with the others: all, good."""
    values = {name: matrix[questions].mean(axis=0) for name, matrix in found.items()}
    pairs = [(values["home"], values["published"])]
    for source in SOURCES:
        others = [values[other] for other in SOURCES if other != source]
        pairs.append((values[source], (others[0] + others[1]) / 2))
    return [r for own, other in pairs for r in (pearson(own, other), pearson_of_good(own, other))]


def pearson(one: Floats, other: Floats) -> float:
    """Pearson's correlation."""
    return float(np.corrcoef(one, other)[0, 1])


def pearson_of_good(one: Floats, other: Floats) -> float:
    """Pearson's correlation of the runs for which the second is above `GOOD`."""
    good = other > GOOD
    return pearson(one[good], other[good])


def rounded(value: float) -> float:
    """Five decimals."""
    return round(float(value), 5)


def table(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Means over splits, a line a set."""
    yield "set                        answers  ±length     all    good  of 12:  all    good  beats mean  best"
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]

        def average(key: str, at: int | None = None) -> float:
            return statistics.fmean(row[key] if at is None else row[key][at] for row in own)  # noqa: B023

        yield (
            f"{name:26} {average('answers'):7.0f} {average('length_std'):8.1f} {average('all', 0):.5f} "
            f"{average('good', 0):.5f}  {average('all_of_12'):.5f} {average('good_of_12'):.5f}  "
            f"{average('beats_mean'):.2f} {average('beats_best'):.2f}"
        )


if __name__ == "__main__":
    main()
