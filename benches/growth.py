"""How time and memory grow: with responses, with reference answers, with threads.

    python benches/growth.py [--full] [--quick] [--json FILE]

`--full` adds 10 million responses (needs about 13 GB of disk). `benches/report.py` draws what is found.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import files
import measures
import timing
from pfgen_rs import load_benchmark
from responses import World, decoded, real_world

REFERENCES = Path(__file__).resolve().parent / "references.py"
RESPONSES = 20_000
Point = dict[str, Any]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to 10 million responses")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the scripts")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("growth.json"))
    options = parser.parse_args()
    quick = options.quick
    largest = 10_000 if quick else 10_000_000 if options.full else 1_000_000
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        os.environ["PFGEN_RS_CACHE"] = str(Path(folder, "cache"))
        world = real_world()
        world.benchmark.prepare()
        found = {
            "machine": measures.machine(),
            "data": world.what,
            "threads": with_threads(world, min(largest, files.MILLION), 3),
            "references": with_references(world, Path(folder), 1_000 if quick else 100_000),
            "stages": stages(world, Path(folder), min(largest, files.MILLION)),
            "responses": with_responses(world, Path(folder), largest),
        }
    measures.write_json(options.json, found)


def with_responses(world: World, folder: Path, largest: int) -> list[Point]:
    """The command at 10^3 … `largest` responses in one file: seconds and peak memory."""
    points = []
    count = 1_000
    while count <= largest:
        drawn = min(count, files.MILLION)
        path = world.write(folder / "responses.jsonl", drawn)
        if count > drawn:
            path = files.repeated(path, count // drawn)
        done = files.score(world, path)
        path.unlink()
        points.append({"responses": count, "seconds": done.seconds, "peak": done.peak})
        told(points)
        count *= 10
    return points


def with_references(world: World, folder: Path, largest: int) -> list[Point]:
    """One question with 100 … `largest` reference answers, each in a process of its own."""
    points: list[Point] = []
    pool = world.pooled_answers()
    count = 100
    while count <= min(largest, len(pool)):
        place = Path(folder, str(count))
        write_question(world, pool[:count], place)
        done = timing.process(REFERENCES, place)
        points.append({**json.loads(done.output), "peak": done.peak})
        told(points)
        count *= 10
    return points


def write_question(world: World, answers: list[str], folder: Path) -> None:
    """A question with these reference answers, and the first real responses, whatever they were asked."""
    first = next(iter(world.benchmark))
    question = {
        "question_id": first.id,
        "question": first.text,
        "category": first.category,
        "note": first.note,
        "keywords": first.keywords,
        "answers": {"pooled": answers},
    }
    folder.mkdir()
    (folder / "Q01.json").write_text(json.dumps(question), encoding="utf-8")
    texts = world.frame.get_column("answer").head(RESPONSES)
    pl.DataFrame({"answer": texts}).with_columns(question=pl.lit(first.text)).write_ndjson(
        folder / "responses.jsonl"
    )


def with_threads(world: World, count: int, repeats: int) -> list[Point]:
    """`score_batch` with 1 … 8 threads, turn by turn."""
    frame = world.drawn(count)
    numbers = range(1, 9)
    works = [lambda t=threads: world.benchmark.score_batch(frame, threads=t) for threads in numbers]
    found = timing.medians(timing.interleaved(works, repeats))
    points = [
        {"threads": threads, "per_second": count / seconds}
        for threads, seconds in zip(numbers, found, strict=True)
    ]
    told(points)
    return points


def stages(world: World, folder: Path, count: int) -> Point:
    """Where the CPU seconds of `pfgen-rs score` go: parts that can run alone, and what the rest takes."""
    path = world.write(folder / "responses.jsonl", count)
    fresh = world.benchmark.with_settings(world.benchmark.settings)
    chunks = list(decoded(path))
    parts = {
        "starting Python and importing": timing.process("-m", "pfgen_rs", "--version").cpu,
        "reading the question files": timing.cpu_seconds(lambda: load_benchmark(world.folder)),
        "opening the cached index": timing.cpu_seconds(fresh.prepare),
        "decoding the lines": timing.cpu_seconds(lambda: sum(map(len, decoded(path)))),
        "scoring": timing.cpu_seconds(
            lambda: [fresh.score_batch(chunk.questions, chunk.answers) for chunk in chunks]
        ),
    }
    whole = files.score(world, path)
    path.unlink()
    rest = whole.cpu - sum(parts.values())
    return {
        "responses": count,
        "whole_s": whole.seconds,
        "cpu_s": whole.cpu,
        "parts_s": {**parts, "the rest: summarising, writing": rest},
    }


def told(points: list[Point]) -> None:
    """Say how it goes on: the larger sizes take minutes."""
    print(points[-1], flush=True)


if __name__ == "__main__":
    main()
