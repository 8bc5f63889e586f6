"""Measures of this package by itself, without files of responses."""

from __future__ import annotations

import functools
import itertools
import os
import statistics
from collections.abc import Iterable
from pathlib import Path

import timing
from measures import Measure
from responses import World

INDEX_SIZE = Path(__file__).resolve().parent / "index_size.py"
CALLS = 5_000


def measure(world: World, count: int, repeats: int) -> list[Measure]:
    """All of them; `count` responses are drawn for the threads."""
    world.benchmark.prepare()
    return [
        two_threads(world, count, repeats),
        opening(world, repeats),
        index_memory(world),
        one_answer(world, repeats),
    ]


def two_threads(world: World, count: int, repeats: int) -> Measure:
    """Seconds with one thread through seconds with two."""
    frame = world.drawn(count)
    scored = (
        lambda: world.benchmark.score_batch(frame, threads=1),
        lambda: world.benchmark.score_batch(frame, threads=2),
    )
    rounds = timing.interleaved(scored, repeats)
    one, two = timing.medians(rounds)
    note = (
        f"{len(frame):,} responses drawn with replacement: {one:.2f} s and {two:.2f} s; "
        f"{os.cpu_count()} cores, {repeats} repeats"
    )
    return Measure("two_threads", timing.median_ratio(rounds), note, {"one_s": one, "two_s": two})


def opening(world: World, repeats: int) -> Measure:
    """Milliseconds until the cache is open; beside them, until all its scorers are in memory."""
    benchmark = world.benchmark
    times, used = [], []
    for _ in range(repeats):
        # Not `with_settings`, which shares the scorers.
        fresh = type(benchmark)(list(benchmark), benchmark.metadata_hash, benchmark.settings)
        times.append(timing.seconds(fresh.prepare) * 1e3)
        read = functools.partial(fresh._batches, list(fresh))
        used.append(timing.seconds(read) * 1e3)
    note = (
        f"{len(benchmark)} questions, file in the page cache; reading question files not counted; scorers "
        f"are read on first use, all of them in {statistics.median(used):.0f} ms"
    )
    return Measure("opening", statistics.median(times), note, {"all_ms": times, "used_ms": used})


def index_memory(world: World) -> Measure:
    """Bytes of all tables; beside them what a process grows by when it builds them."""
    tables = sum(world.benchmark._native_scorer(question).size for question in world.benchmark)
    grown = int(timing.process(INDEX_SIZE, world.folder).output)
    note = (
        f"tables of {len(world.benchmark)} questions; a process that builds them grows by "
        f"{grown / 1e6:.0f} MB"
    )
    return Measure("index_memory", tables / 1e6, note, {"tables": tables, "resident": grown})


def one_answer(world: World, repeats: int) -> Measure:
    """Microseconds of a call with one real answer to the text of its question."""
    scorer = world.benchmark.scorer()
    varied = list(itertools.islice(itertools.cycle(world.frame.iter_rows()), CALLS))

    def calls(pairs: Iterable[tuple[str, str]]) -> None:
        for question, answer in pairs:
            scorer(question, [answer])

    by_question = sorted(varied)
    same = [varied[0]] * CALLS
    works = [lambda p=pairs: calls(p) for pairs in (varied, by_question, same)]
    found = timing.medians(timing.interleaved(works, repeats))
    random, ordered, equal = (1e6 / CALLS * each for each in found)
    note = (
        f"mean of {CALLS:,} calls, each with another real answer, questions at random (question by "
        f"question {ordered:.1f} us, one and the same answer {equal:.1f} us); {repeats} repeats"
    )
    details = {"random_us": random, "by_question_us": ordered, "same_us": equal}
    return Measure("one_answer", random, note, details)
