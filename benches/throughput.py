"""Responses per second: this package beside the plain-Python oracle, on the same real responses.

    python benches/throughput.py [--questions N] [--responses N] [--json FILE]

Both sides score the same responses in the same process; compare ratios, not absolute figures, since
machines differ and are noisy. With PFGEN_BENCH_DIR set the responses are those of the published runs,
otherwise those of the bundled sample runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

import pfgen_rs
from pfgen_rs.benchmark import Benchmark, Question, bundled_path
from pfgen_rs.io import Options, Reading, Source

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import oracle

REPEATS = 5


@dataclass(frozen=True)
class Row:
    """One line of the table: responses per second, and how many times the oracle's that is."""

    what: str
    responses: int
    per_second: float
    ratio: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--questions", type=int, default=6, help="questions the oracle is built for"
    )
    parser.add_argument("--responses", type=int, default=300, help="responses the oracle scores")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()

    benchmark, runs = real_data()
    chosen = spread(list(benchmark), options.questions)
    responses = real_responses(chosen, runs)
    sample = spread(responses, options.responses)
    rows = measure(benchmark, chosen, responses, sample)
    print(f"{pfgen_rs.__version__}, {len(chosen)} questions, {os.cpu_count()} cores")
    print(f"{'':<28}{'responses':>10}{'per second':>14}{'x oracle':>10}")
    for row in rows:
        print(f"{row.what:<28}{row.responses:>10,}{row.per_second:>14,.0f}{row.ratio:>10,.0f}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def real_data() -> tuple[Benchmark, list[Path]]:
    """The benchmark and the run folders with real responses to it."""
    published = os.environ.get("PFGEN_BENCH_DIR")
    if published:
        runs = sorted(path.parent for path in Path(published, "result").rglob("trials.jsonl.xz"))
        return pfgen_rs.load_benchmark(Path(published, "data")), runs
    print("PFGEN_BENCH_DIR is not set: measuring on the bundled sample runs")
    runs = sorted(path.parent for path in (bundled_path() / "runs").rglob("trials.jsonl.xz"))
    return pfgen_rs.load_benchmark("mini"), runs


def spread(items: Sequence, count: int) -> list:  # type: ignore[type-arg]
    """`count` items evenly spread over all."""
    count = min(count, len(items))
    return [items[i * len(items) // count] for i in range(count)]


def real_responses(questions: Sequence[Question], runs: Sequence[Path]) -> list[tuple[str, str]]:
    """Question and answer of all responses to `questions`, shuffled reproducibly."""
    wanted = {question.text for question in questions}
    pairs = []
    for run in runs:
        for chunk in Reading(Source(run), Options()).chunks():
            both = zip(chunk.questions, chunk.answers, strict=True)
            pairs += [pair for pair in both if pair[0] in wanted]
    random.Random(0).shuffle(pairs)
    return pairs


def measure(
    benchmark: Benchmark,
    questions: Sequence[Question],
    responses: Sequence[tuple[str, str]],
    sample: Sequence[tuple[str, str]],
) -> list[Row]:
    """Time both sides; the scores of the sample must be the same."""
    oracles = {question.text: as_oracle(question) for question in questions}
    benchmark.prepare(questions)
    frame = pl.DataFrame(responses, schema=["question", "answer"], orient="row")
    slow, expected = timed(lambda: [oracles[q].score(a)["average"] for q, a in sample], repeats=1)
    small = pl.DataFrame(sample, schema=["question", "answer"], orient="row")
    if benchmark.score_batch(small)["average"].to_list() != expected:
        raise SystemExit("the two sides do not agree: there is nothing to compare")
    base = len(sample) / slow
    rows = [Row("oracle, one thread", len(sample), base, 1.0)]
    for what, threads in (("pfgen_rs, one thread", 1), ("pfgen_rs, all cores", None)):
        seconds, _ = timed(lambda t=threads: benchmark.score_batch(frame, threads=t))  # type: ignore[misc]
        rate = len(frame) / seconds
        rows.append(Row(what, len(frame), rate, rate / base))
    return rows


def as_oracle(question: Question) -> oracle.Question:
    """The oracle for a question, its tables built."""
    answers = {source: list(texts) for source, texts in question.answers.items()}
    prepared = oracle.Question({"keywords": question.keywords, "answers": answers})
    prepared.score("")
    return prepared


def timed(work: Callable[[], object], repeats: int = REPEATS) -> tuple[float, object]:
    """Median seconds of `repeats` runs, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


if __name__ == "__main__":
    main()
