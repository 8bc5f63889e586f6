"""How well home-made sets rank models: agreement with the published set, beside that of its sources.

    python benches/home_made.py [--splits dev|kept] [--data narrow|wide] [--set NAME ...] [--json FILE]

Models (in the candidates: files Qnn.jsonl*, and those of `wide`, which has more models and fewer questions)
and published runs (of PFGEN_DATA_DIR) are split by organisation: the answers of some organisations are the
candidates, the runs of all others are scored. Sets are built from the candidates without written rules, for
the questions that have three published sources: all 37 of them (`narrow`), and the 19 of `wide`.

Reported is Pearson's correlation over the scored runs of the mean of Fluency and Truthfulness with that of
the published set, over all runs, and over those above 0.5, with intervals over questions x organisations
(both drawn with replacement, 95 %). Beside it stands what one fresh source, three, and infinitely many would
reach: `pfgen_rs.references.check.against` has the estimate, from the mean covariance of two sources over runs
(the true variance) and what is left of their own variances (the error of one).

Sets: `default`, `before` (the default until models were ranked and notes used) and `paper`; the default
without notes; with notes replaced by a random published answer or one of the weakest tenth, and with some
published answers as `trusted` (`wide` alone); `before` and `default` of pools of 3, 5 and 10 random models
(`narrow` alone).

Settings were chosen on the splits `dev`; the splits `kept` were scored once, at the end.
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
from pfgen_rs.references.check.against import GOOD, RunScores
from pfgen_rs.references.config import PRESETS, BuildConfig, Outline, read_outlines
from pfgen_rs.references.consensus import Consensus
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.pipeline import build

DATA = Path(os.environ["PFGEN_DATA_DIR"])
OFFICIAL = DATA / "pfgen-bench" / "data"
SPLITS = {"dev": (1, 2, 3, 4), "kept": (101, 102, 103, 104, 105, 106)}
SOURCES = ("P", "S", "T")
SMALL = (3, 5, 10)
TRUSTED = (1, 5, 20)
CEILINGS = ("one_source", "three_sources", "infinitely_many")
# Models of another organisation that were made from one of this organisation's.
KIN = {
    "mlx-community": "pfnet",
    "mlx-community/Qwen2.5-72B-Instruct-4bit": "Qwen",
    "pfnet/nekomata-14b-pfn-qfin": "rinna",
    "pfnet/nekomata-14b-pfn-qfin-inst-merge": "rinna",
}
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
    parser.add_argument("--data", choices=("narrow", "wide"), help="this alone")
    parser.add_argument("--set", action="append", default=[], help="these alone")
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    published = load_benchmark(OFFICIAL)
    answers = with_published_scores(answers_of_models(), published)
    in_wide = answers.filter(pl.col("run").str.starts_with("wide/"))["question"].unique().implode()
    parts = {
        "narrow": answers.filter(~pl.col("run").str.starts_with("wide/")),
        "wide": answers.filter(pl.col("question").is_in(in_wide)),
    }
    rows: list[dict[str, Any]] = []
    for number in SPLITS[options.splits]:
        for data in [options.data] if options.data else parts:
            split = split_of(parts[data], number)
            for name, change, pool in variants(published, split, data):
                if not options.set or name in options.set:
                    found = measured(change, split._replace(pool=pool), parts[data])
                    rows.append({"split": number, "data": data, "set": name, **found})
                    print(json.dumps(rows[-1]), flush=True)
    print("\n".join(table(rows)))
    if options.json:
        lines = ",\n".join(json.dumps(row) for row in rows)
        options.json.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


Change = dict[str, Any]
"""What differs from the default: fields of `BuildConfig`, and perhaps `outlines` and `trusted` answers."""


def variants(
    published: Benchmark, split: Split, data: str
) -> Iterator[tuple[str, Change, list[str]]]:
    """Yield the sets that are compared: their names, what differs from the default, and their pools."""
    random = np.random.default_rng(split.number)
    steps = tuple(step for step in BuildConfig(("",), "set").steps if step != "ranking")
    before: Change = {
        "steps": steps,
        "length": Length(share=0.2),
        "consensus": Consensus(0.5, anchor=0.0),
    }
    yield "before", before, split.pool
    yield "paper", dict(PRESETS["paper"]), split.pool
    yield "default", {}, split.pool
    yield "no notes", {"consensus": Consensus(anchor=0.0)}, split.pool
    if data == "narrow":
        for count in SMALL:
            pool = random.permutation(split.pool)[:count].tolist()
            # Consensus did not apply where fewer answers were left than were wanted.
            whole = {**before, "consensus": Consensus(1.0, anchor=0.0)}
            yield f"{count} models, before", whole, pool
            yield f"{count} models, default", {}, pool
        return
    official = weakest_first(published)
    for name, share in (("another answer as the note", 1.0), ("a weak answer as the note", 0.1)):
        outlines = [
            replace(each, note=own[int(random.integers(max(1, int(share * len(own)))))])
            for each, own in zip(read_outlines(OFFICIAL), official, strict=True)
        ]
        yield name, {"outlines": outlines}, split.pool
    for count in TRUSTED:
        chosen = {
            question.id: random.permutation(own)[:count].tolist()
            for question, own in zip(published, official, strict=True)
        }
        yield f"{count} trusted", {"trusted": chosen}, split.pool


def weakest_first(published: Benchmark) -> list[list[str]]:
    """Returns the published answers to each question, by score."""
    found = []
    for question in published:
        own = sorted({answer for answers in question.answers.values() for answer in answers})
        scored = published.score_batch([question.id] * len(own), own)
        scored = scored.with_columns(answer=pl.Series(own))
        found.append(scored.sort(BOTH, "answer")["answer"].to_list())
    return found


def answers_of_models() -> pl.DataFrame:
    """Every answer: `question`, `answer`, `run`, `organisation`."""
    frames = [
        pl.DataFrame(list(rows)) for rows in (candidate_rows(), wide_rows(), published_rows())
    ]
    return pl.concat([f.select("question", "answer", "run", "organisation") for f in frames])


def candidate_rows() -> Iterator[dict[str, str]]:
    """Answers of the candidates' models."""
    for path in sorted((DATA / "candidates").glob("Q*.jsonl*")):
        for row in lines(path):
            yield row_of(row, f"candidates/{row['model']}", row["model"])


def wide_rows() -> Iterator[dict[str, str]]:
    """Answers of more models, to fewer questions."""
    for path in sorted((DATA / "candidates" / "wide").glob("Q*.jsonl*")):
        for row in lines(path):
            yield row_of(row, f"wide/{row['model']}", row["model"].rpartition("/")[0])


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


def measured(change: Change, split: Split, answers: pl.DataFrame) -> dict[str, Any]:
    """Measures of one set on one split."""
    change = {**change}
    outlines: list[Outline] = change.pop("outlines", read_outlines(OFFICIAL))
    trusted: dict[str, list[str]] = change.pop("trusted", {})
    with tempfile.TemporaryDirectory() as folder:
        candidates = answers.filter(pl.col("run").is_in(split.pool))
        model = pl.col("run").str.splitn("/", 2).struct[1]
        candidates.select("question", "answer", model=model).write_parquet(
            Path(folder, "candidates.parquet")
        )
        asked = candidates["question"].unique()
        only = tuple(each.question_id for each in outlines if each.question in asked)
        if trusted:
            rows = [{"question": q, "answer": answer} for q in only for answer in trusted[q]]
            pl.DataFrame(rows).write_parquet(Path(folder, "trusted.parquet"))
            change["consensus"] = Consensus(trusted="trusted.parquet")
        config = BuildConfig(
            ("candidates.parquet",), "set", only=only, per_source=False, allow_fewer=True
        )
        built = build(replace(config, folder=Path(folder), **change), outlines=outlines)
        home = load_benchmark(built.folder)
        scored = answers.filter(pl.col("run").is_in(split.runs))
        found, organisations = means(scored.with_columns(home=scores(home, scored)))
    return {**sizes_of(built), **compared(found, organisations)}


def sizes_of(built: Built) -> dict[str, Any]:
    """Medians over questions: reference answers and the spread of their lengths."""
    sets = [[len(a) for a in answers] for q in built.questions for answers in q.answers.values()]
    return {
        "questions": len(built.questions),
        "answers": statistics.median(map(len, sets)),
        "length_std": round(statistics.median(map(statistics.pstdev, sets)), 1),
    }


def means(scored: pl.DataFrame) -> tuple[dict[str, Floats], list[str]]:
    """By column, means of answers: float64, shape (runs, questions); and the runs' organisations."""
    columns = ("home", *SOURCES)
    table = scored.group_by("run", "organisation", "question").agg(pl.col(columns).mean())
    table = table.sort("run", "question")
    shape = table["run"].n_unique(), table["question"].n_unique()
    organisations = table["organisation"].to_list()[:: shape[1]]
    return {name: table[name].to_numpy().reshape(shape) for name in columns}, organisations


def compared(found: Mapping[str, Floats], organisations: Sequence[str]) -> dict[str, Any]:
    """Correlations with their intervals, and what fresh sources would reach: over all runs, and good ones."""
    count = found["home"].shape[1]
    by_source = np.hstack([found[source] for source in SOURCES])
    numbers = np.tile(np.arange(count), 3), np.repeat(np.arange(3), count)
    above = by_source.mean(axis=1) > GOOD
    result: dict[str, Any] = {}
    for name, chosen in (("all", np.ones_like(above)), ("good", above)):
        runs = RunScores(found["home"][chosen], by_source[chosen], *numbers)
        figures = runs.figures(np.array(organisations)[chosen].tolist())
        own = {key: round(float(figures[key]), 5) for key in ("pearson", "low", "high", *CEILINGS)}
        result[name] = {"runs": int(chosen.sum()), **own}
    return result


def table(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Means over splits and the worst split, a line a set, below what fresh sources would reach."""
    for data in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == data]
        yield f"{data:28} all (95 %)                   worst    above 0.5 (95 %)             worst"
        lines = [(key, here[0]["set"], key) for key in CEILINGS]
        lines += [(name, name, "pearson") for name in dict.fromkeys(row["set"] for row in here)]
        for shown, name, key in lines:
            own = [row for row in here if row["set"] == name]
            line = f"{shown:28}"
            for which in ("all", "good"):
                values = {each: [row[which][each] for row in own] for each in (key, "low", "high")}
                value, low, high = (statistics.fmean(each) for each in values.values())
                between = f"({low:.5f} to {high:.5f})" if key == "pearson" else ""
                line += f" {value:.5f} {between:20} {min(values[key]):.5f}"
            yield line


if __name__ == "__main__":
    main()
