"""The filters over shards of one question's candidates: the same answers, and what is sent between tasks.

    python benches/building_shards.py [--quick] [--count 1000000]

With PFGEN_DATA_DIR set, all real answers are taken, and the rest are
put together from beginnings and ends of two of them; half of these have up to ten slips. Otherwise answers
are made from a bundled grammar. They are in random order. A process with one thread filters all shards.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import building_singletons
import launcher
import measures
import timing
from pfgen_rs import _native
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.distributed import ExecutorTasks
from pfgen_rs.references.distributed.shard_frames import ShardSettings, all_rows
from pfgen_rs.references.distributed.survivors import Examine, ShardFilter, ShardRows
from pfgen_rs.references.finishing import configured_style
from pfgen_rs.references.lengths import nearest_length
from pfgen_rs.references.singletons import singletons

SHARDS, EXAMINED = (1, 4, 16), ("all", "needed")
N, KEY = 5, 16
MEMORY = 1 << 30
SLIPS, MOST_SLIPS = 0.5, 10
HERE = Path(__file__).resolve()


@dataclass
class Counted(ExecutorTasks):
    """Counts the bytes of sketches, n-grams and places that tasks get; rows and masks stay where they are."""

    executor: Any
    sent: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__(self.executor)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a call and count what it needs from others."""
        for value in self.results(arguments):
            self.sent[function.__name__] += size(value)
        return super().run(function, *arguments)


def size(value: object) -> int:
    """Bytes of what is sent: `bytes`, and the columns of places."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(size(each) for each in value.values())
    if isinstance(value, tuple):
        return sum(each.nbytes for each in value if isinstance(each, np.ndarray))
    return 0


def main() -> None:
    """Measure and print; with a folder and a number, filter its candidates and no more."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small size, to try the script")
    parser.add_argument("--count", type=int, default=1_000_000, help="candidates")
    parser.add_argument("--here", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument(
        "--shards", nargs=3, metavar=("FOLDER", "COUNT", "EXAMINE"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.here:
        filter_here(Path(options.here))
    elif options.shards:
        folder, count, examine = options.shards
        filter_shards(Path(folder), int(count), examine)
    else:
        measure(20_000 if options.quick else options.count)


def measure(count: int) -> None:
    """Filter candidates on one machine and in shards, in processes of their own, and print a table."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        folder = Path(name)
        answers = candidates(count)
        characters = sum(map(len, answers))
        pl.DataFrame({"answer": answers}).write_parquet(folder / "all.parquet")
        print(
            f"{len(answers):,} candidates, {characters / len(answers):.0f} characters at the mean"
        )
        del answers
        done = timing.process(HERE, "--here", name)
        print(
            f"one machine: {done.seconds:.0f} s, {done.peak / 1e6:,.0f} MB at most; {done.output.strip()}",
            flush=True,
        )
        for shards in SHARDS:
            for examine in EXAMINED:
                done = timing.process(HERE, "--shards", name, str(shards), examine)
                print(f"{done.output.strip()}; {done.seconds:.0f} s", flush=True)


def candidates(count: int) -> list[str]:
    """Candidates in random order."""
    rng = random.Random(building_singletons.SEED)
    if folder := measures.public_data("candidates"):
        real = building_singletons.real(folder, count)
        answers = [*real, *(mixed(real, rng) for _ in range(count - len(real)))]
    else:
        answers = building_singletons.made(count)
    rng.shuffle(answers)
    return answers


def mixed(answers: Sequence[str], rng: random.Random) -> str:
    """The beginning of an answer and the end of one near it, which is to the same question as a rule."""
    place = rng.randrange(len(answers))
    first, second = answers[place], answers[(place + rng.randrange(3_000)) % len(answers)]
    cut = first.find("。", len(first) // 3) + 1
    answer = first[:cut] + second[second.find("。") + 1 :]
    for _ in range(rng.randint(1, MOST_SLIPS) if answer and rng.random() < SLIPS else 0):
        at = rng.randrange(len(answer))
        answer = answer[:at] + chr(rng.choice(building_singletons.KANJI)) + answer[at + 1 :]
    return answer


def configured() -> BuildConfig:
    """The papers' filters."""
    return BuildConfig(candidates=("-",), out="set", preset="paper")


def filter_here(folder: Path) -> None:
    """Filter all candidates and keep which are left."""
    config = configured()
    answers = pl.read_parquet(folder / "all.parquet").get_column("answer")
    start = time.perf_counter()
    survivors = singletons(answers, n=N, memory=MEMORY, threads=1).kept
    found = nearest_length(
        answers.filter(pl.Series(survivors)), count=config.length.count, threads=1
    ).kept
    seconds = time.perf_counter() - start
    kept = survivors.copy()
    kept[survivors] = found
    np.save(folder / "survivors.npy", survivors)
    np.save(folder / "kept.npy", kept)
    sys.stdout.write(
        f"{survivors.sum():,} survive, {kept.sum():,} kept, {seconds:.1f} s with one thread\n"
    )


def filter_shards(folder: Path, count: int, examine: Examine) -> None:
    """Filter candidates in shards, compare the result, and print what was sent."""
    frame = pl.read_parquet(folder / "all.parquet").with_columns(
        source=pl.lit("X"), model=pl.lit("")
    )
    bounds = [frame.height * part // count for part in range(count + 1)]
    parts = [frame[low:high] for low, high in pairwise(bounds)]
    config = configured()
    settings = ShardSettings(config, "Q01", configured_style(config), {})
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        tasks = Counted(executor)
        rows = [
            ShardRows(low, part.height, part, all_rows(part.height), None)
            for low, part in zip(bounds, parts, strict=False)
        ]
        start = time.perf_counter()
        filters = ShardFilter(tasks, settings, rows, MEMORY)
        found = filters.filtered(examine)
        numbers = {source: number for source, (number, _) in found.lengths.items()}
        kept = np.concatenate(tasks.results(filters.nearest(found.masks, numbers)))
        seconds = time.perf_counter() - start
        peak = executor.submit(peak_memory).result()
        known = np.concatenate(tasks.results(found.known))
    check(folder, known, kept, examine)
    keys, occurrences = shuffled(parts)
    sent = {name: f"{size / 1e6:.1f}" for name, size in tasks.sent.items() if size}
    sys.stdout.write(
        f"{count} shards, {examine}: equal; {known.sum():,} not dropped, {found.unexamined:,} unexamined; "
        f"sent {sum(tasks.sent.values()) / 1e6:,.0f} MB {sent}; a task {peak / 1e6:,.0f} MB at most; "
        f"{seconds:.0f} s; exact: {occurrences:,} n-grams, {keys:,} distinct in a shard: "
        f"{occurrences * KEY / 1e6:,.0f} MB or {keys * KEY / 1e6:,.0f} MB\n"
    )


def check(
    folder: Path, known: np.ndarray[Any, Any], kept: np.ndarray[Any, Any], examine: str
) -> None:
    """Exit unless the answers are those of one machine."""
    survivors = np.load(folder / "survivors.npy")
    same = (known == survivors).all() if examine == "all" else (known | ~survivors).all()
    if not (same and (kept == np.load(folder / "kept.npy")).all()):
        raise SystemExit("both ways must keep the same answers")


def shuffled(parts: Iterable[pl.DataFrame]) -> tuple[int, int]:
    """Returns the n-grams that a shuffle sends: distinct ones of each shard, and all occurrences."""
    keys = occurrences = 0
    for part in parts:
        texts = _native.Texts(part.get_column("answer"))
        occurrences += int(np.maximum(texts.lengths() - N + 1, 0).sum())
        keys += len(_native.NgramKeys.of(texts, None, N))
    return keys, occurrences


def peak_memory() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * launcher.BYTES


if __name__ == "__main__":
    main()
