"""The filter of seldom n-grams: beside a plain Python counter, and its memory at a million answers.

    python benches/building_singletons.py [--quick]

Answers are made from a bundled grammar, some with slips. With PFGEN_DATA_DIR set (files `*.jsonl.xz`
with `answer`), real ones are measured beside them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import measures
import timing
from measures import Measure
from pfgen_rs.references.filters import singletons

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data"))
import grammar

GRAMMAR = Path(__file__).resolve().parent.parent / "data" / "mini" / "grammar" / "Q01.toml"
SEED, N = 20250613, 5
SLIPS = 0.5
"""How often an answer has a character in place of which another stands."""
KANJI = range(0x4E00, 0x5600)
BATCH = 50_000
MEMORIES = (256 << 20, 1 << 30)


def main() -> None:
    """Measure and print; with a folder of batches and a size of memory, filter those and no more."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--filter", nargs=2, metavar=("FOLDER", "MEMORY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.filter:
        filter_alone(Path(options.filter[0]), int(options.filter[1]))
        return
    few, many = (10_000, 50_000) if options.quick else (200_000, 1_000_000)
    pools = {"made": made(many)}
    if folder := measures.public_data("candidates"):
        pools["real"] = real(folder, many)
    for kind, pool in pools.items():
        mean = sum(map(len, pool)) / len(pool)
        print(f"\n{len(pool):,} {kind} answers, {mean:.0f} characters at the mean")
        measured = [beside_plain(pool[:few], 1 if options.quick else 3)]
        measured += [in_memory(pool, memory) for memory in MEMORIES]
        print("\n".join(measures.lines(measured)), flush=True)


def question() -> grammar.QuestionGrammar:
    """A question of the bundled set, with the grammars of its authors."""
    return grammar.load(GRAMMAR)


def made(count: int) -> list[str]:
    """Answers of a grammar's sources, half of them with a slip."""
    rng = random.Random(SEED)
    sources = list(question().sources.values())
    drawn = [source.sample(rng) for source in sources for _ in range(count // 10)]
    return [slipped(rng.choice(drawn), rng) for _ in range(count)]


def slipped(answer: str, rng: random.Random) -> str:
    """The answer, or with some kanji at any place in it."""
    if rng.random() >= SLIPS:
        return answer
    at = rng.randrange(len(answer))
    return answer[:at] + chr(rng.choice(KANJI)) + answer[at + 1 :]


def real(folder: Path, count: int) -> list[str]:
    """The answers of as many files as are needed, one after another."""
    answers: list[str] = []
    for path in sorted(folder.glob("*.jsonl.xz")):
        if len(answers) >= count:
            break
        with lzma.open(path, "rt", encoding="utf-8") as file:
            answers.extend(json.loads(line)["answer"] for line in file)
    return answers[:count]


def plain(answers: list[str]) -> list[bool]:
    """Which answers stay, the obvious way."""
    counts: Counter[str] = Counter()
    for answer in answers:
        counts.update(answer[i : i + N] for i in range(len(answer) - N + 1))
    return [
        all(counts[answer[i : i + N]] > 1 for i in range(len(answer) - N + 1)) for answer in answers
    ]


def beside_plain(answers: list[str], repeats: int) -> Measure:
    """Seconds of the plain way through ours, on one thread."""
    column = pl.Series(answers)
    found = singletons(column, n=N, threads=1)
    if found.kept.tolist() != plain(answers):
        raise SystemExit("both ways must keep the same answers")
    rounds = timing.interleaved(
        (lambda: plain(answers), lambda: singletons(column, n=N, threads=1)), repeats
    )
    theirs, ours = timing.medians(rounds)
    note = (
        f"{len(answers):,} answers, {len(answers) / theirs:,.0f}/s and {len(answers) / ours:,.0f}/s; "
        f"{found.kept.sum():,} stay"
    )
    return Measure("singletons_speed", timing.median_ratio(rounds), note)


def in_memory(answers: list[str], memory: int) -> Measure:
    """Peak memory of a process that reads the answers from files and filters them."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        for start in range(0, len(answers), BATCH):
            part = pl.DataFrame({"answer": answers[start : start + BATCH]})
            part.write_parquet(Path(folder, f"{start:09}.parquet"))
        done = timing.process(__file__, "--filter", folder, str(memory))
    note = (
        f"{len(answers):,} answers, {memory >> 20} MiB to work with, all cores: {done.seconds:.1f} s; "
        f"{done.output.strip()}"
    )
    return Measure("singletons_memory", done.peak / 1e6, note)


def filter_alone(folder: Path, memory: int) -> None:
    """Filter the batches of a folder; print how many answers stay and how often they were read."""
    readings = 0

    def batches() -> Iterator[pl.Series]:
        nonlocal readings
        readings += 1
        for path in sorted(folder.iterdir()):
            yield pl.read_parquet(path).get_column("answer")

    found = singletons(batches, n=N, memory=memory)
    sys.stdout.write(f"{found.kept.sum():,} stay, {readings} readings\n")


if __name__ == "__main__":
    main()
