"""Ratios to the plain-Python oracle of the tests: one process, turn by turn, equal results."""

from __future__ import annotations

import dataclasses
import functools
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import timing
from measures import Measure
from pfgen_rs import _native
from pfgen_rs.benchmark import Benchmark
from pfgen_rs.questions.question import Question
from responses import World, spread

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import oracle

PASSES = 3
"""How often this package scores its responses while the oracle scores its own once."""
Oracles = dict[str, oracle.Question]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How many questions of a kind the oracle is built for, responses it scores, and repeats."""

    questions: int
    responses: int
    repeats: int


def measure(world: World, effort: Effort) -> list[Measure]:
    """The four measures that are ratios to the oracle."""
    most = max(len(question.sources) for question in world.benchmark)
    several = spread(world.with_sources(most), effort.questions)
    single = spread(world.with_sources(1), effort.questions)
    chosen = [*several, *single]
    oracles = {question.text: as_oracle(question) for question in chosen}
    built = cold_build(world.benchmark, chosen, oracles)
    # As many with one source as there are among all questions.
    share = len(world.with_sources(1)) / len(world.with_sources(most))
    mixed = [*several, *single[: max(1, round(share * len(several)))]]
    return [
        two_metrics("three_sources", world, several, oracles, effort),
        two_metrics("one_source", world, single, oracles, effort),
        all_metrics(world, mixed, oracles, effort),
        built,
    ]


def as_oracle(question: Question) -> oracle.Question:
    """The oracle for a question; its tables are built when its baselines are first asked for."""
    answers = {source: list(texts) for source, texts in question.answers.items()}
    return oracle.Question({"keywords": question.keywords, "answers": answers})


def two_metrics(
    key: str, world: World, questions: Sequence[Question], oracles: Oracles, effort: Effort
) -> Measure:
    """Fluency and Truthfulness alone, one thread."""
    frame = world.answers_to(questions)
    sample = frame.head(effort.responses)
    batches = without_rules(world.benchmark, questions)
    numbers = {question.text: number for number, question in enumerate(questions)}

    def ours(table: pl.DataFrame, codes: _native.Codes) -> list[Any]:
        texts = _native.Texts(table.get_column("answer"))
        return batches.score(codes, texts, 0, len(table), [], False, 1).columns

    def theirs() -> list[list[float]]:
        return [fluency_and_truthfulness(oracles[q], answer) for q, answer in sample.iter_rows()]

    codes = codes_of(frame, numbers)
    shares = ours(sample, codes)[4:]  # behind the metrics: sources of each question
    refuse_unless([list(row) for row in zip(*shares, strict=True)] == theirs())
    return ratio(key, frame, sample, lambda: ours(frame, codes), theirs, effort, questions)


def without_rules(benchmark: Benchmark, questions: Sequence[Question]) -> _native.Batches:
    """What scores responses to these questions, which leaves Helpfulness nothing to do."""
    benchmark.prepare(questions)
    rules = _native.Rules(_native.Texts([]), 0, [])
    sources = len(questions[0].sources)
    entries = [(benchmark._native_scorer(q), rules, range(sources)) for q in questions]
    return _native.Batches(entries, sources)


def codes_of(frame: pl.DataFrame, numbers: dict[str, int]) -> _native.Codes:
    """The number of each response's question."""
    column = frame.get_column("question").replace_strict(numbers, return_dtype=pl.UInt32)
    return _native.Codes(column.to_numpy())


def fluency_and_truthfulness(question: oracle.Question, answer: str) -> list[float]:
    """Both metrics' shares of all sources, as the oracle's `score` has them."""
    count = len(question.sources)
    fluency = [round(question.fluency(s, answer)[0] / count, 6) for s in question.sources]
    truth = [round(question.truthfulness(s, answer) / count, 6) for s in question.sources]
    return fluency + truth


def all_metrics(
    world: World, questions: Sequence[Question], oracles: Oracles, effort: Effort
) -> Measure:
    """All three metrics and `average`, from a table to a table, one thread."""
    world.benchmark.prepare()
    frame = world.answers_to(questions)
    sample = frame.head(effort.responses)

    def theirs() -> list[dict[str, Any]]:
        return [oracles[question].score(answer) for question, answer in sample.iter_rows()]

    expected = theirs()
    got = world.benchmark.score_batch(sample)
    for metric in ("helpfulness", "average"):
        refuse_unless(got[metric].to_list() == [scores[metric] for scores in expected])
    for metric in ("fluency", "truthfulness"):
        for row, scores in zip(got.iter_rows(named=True), expected, strict=True):
            refuse_unless(all(row[f"{metric}_{s}"] == v for s, v in scores[metric].items()))

    def ours() -> object:
        return world.benchmark.score_batch(frame, threads=1)

    return ratio("all_metrics", frame, sample, ours, theirs, effort, questions)


def refuse_unless(equal: bool) -> None:
    """Stop where the two sides do not agree."""
    if not equal:
        raise SystemExit("the two sides do not agree: there is nothing to compare")


def ratio(
    key: str,
    frame: pl.DataFrame,
    sample: pl.DataFrame,
    ours: timing.Work,
    theirs: timing.Work,
    effort: Effort,
    questions: Sequence[Question],
) -> Measure:
    """How many times the oracle's responses per second this package's are: median of the repeats."""

    def passes() -> None:
        for _ in range(PASSES):
            ours()

    rounds = timing.interleaved((theirs, passes), effort.repeats)
    slow, fast = timing.medians(rounds)
    per_response = {"oracle": slow / len(sample), "ours": fast / PASSES / len(frame)}
    value = timing.median_ratio(rounds) * PASSES * len(frame) / len(sample)
    note = (
        f"{per_response['oracle'] * 1e6:,.0f} us a response over {len(sample):,}, "
        f"here {per_response['ours'] * 1e6:.2f} us over {len(frame):,}; "
        f"{len(questions)} questions of {sources_of(questions)} sources, {effort.repeats} repeats"
    )
    return Measure(key, value, note, {"seconds_a_response": per_response})


def sources_of(questions: Sequence[Question]) -> str:
    """The numbers of sources that occur."""
    return " or ".join(map(str, sorted({len(question.sources) for question in questions})))


def cold_build(benchmark: Benchmark, chosen: Sequence[Question], oracles: Oracles) -> Measure:
    """All questions made ready without a cache, all cores, against the oracle in one process.

    The oracle builds some of the questions, and this package all of them after each; the oracle's time for
    all is scaled by characters of reference answers.
    """
    # Copies do not know their files, and so have no place in the cache.
    copies = [dataclasses.replace(question) for question in benchmark]

    def build() -> None:
        Benchmark(copies, benchmark.metadata_hash).prepare()

    rounds = []
    for question in chosen:
        first_use = functools.partial(getattr, oracles[question.text], "baselines")
        rounds.append((timing.seconds(first_use), timing.seconds(build)))
    slow = sum(theirs for theirs, _ in rounds)
    fast = statistics.median(ours for _, ours in rounds)
    share = sum(map(characters, chosen)) / sum(map(characters, benchmark))
    note = (
        f"{fast:.2f} s with {os.cpu_count()} cores; the oracle {slow:.1f} s for {len(chosen)} of "
        f"{len(benchmark)} questions, which have {share:.1%} of the characters: {slow / share:.0f} s"
    )
    details = {"ours_s": fast, "oracle_s": slow, "oracle_share": share}
    return Measure("cold_build", slow / share / fast, note, details)


def characters(question: Question) -> int:
    """Characters of all reference answers."""
    return sum(len(answer) for texts in question.answers.values() for answer in texts)
