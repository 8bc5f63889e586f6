"""Measures of `pfgen-rs score FILE`, from the start of the process to its exit."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

import polars as pl

import timing
from measures import Measure
from pfgen_rs.benchmark import Benchmark
from responses import World, decoded

MILLION = 1_000_000
TOGETHER = 3
"""Chunks of lines that the command scores at once."""
SPARE = 2.5
"""Times the size of a file that must be free on disk: the file, the scores, and room to breathe."""


def measure(world: World, folder: Path, count: int, largest: int, repeats: int) -> list[Measure]:
    """Time at `count` responses, peak memory at `largest`; files are made in `folder`."""
    world.benchmark.prepare()  # so that the cache has the index
    path = world.write(folder / "responses.jsonl", count)
    share = share_outside(world, path, count, repeats)
    path = repeated(path, max(1, largest // count))
    done = score(world, path)
    path.unlink()
    note = f"{largest:,} responses from one file with per-response Parquet, in {done.seconds:.0f} s"
    details = {"responses": largest, "seconds": done.seconds}
    return [share, Measure("peak_memory", done.peak / 1e6, note, details)]


def score(world: World, path: Path) -> timing.Process:
    """The command, with per-response Parquet and all cores."""
    target = path.with_suffix(".parquet")
    done = timing.process(
        *("-m", "pfgen_rs", "score", path, "--benchmark", world.folder),
        *("--per-response", target, "--format", "json"),
    )
    target.unlink()
    return done


def decode_and_score(benchmark: Benchmark, path: Path, together: int) -> None:
    """What the command cannot do without: the file's responses decoded, and scored, with all cores.

    `together`: chunks that are scored at once.
    """
    chunks = list(decoded(path))
    for start in range(0, len(chunks), together):
        some = chunks[start : start + together]
        questions, answers = (
            pl.concat([getattr(chunk, name) for chunk in some]) for name in ("questions", "answers")
        )
        benchmark.score_batch(questions, answers)


def share_outside(world: World, path: Path, count: int, repeats: int) -> Measure:
    """Share of the command's time spent outside decoding + scoring, in percent.

    1 - (decoding + scoring) / whole, where the whole is the process from start to exit, and decoding +
    scoring the same file in the same chunks, in this process, one after the other, with as many threads and
    the index ready: what is left out is start-up, opening the benchmark, summarising, and writing. The
    command scores several chunks at once, which takes less than one after the other; the note has both.
    """
    works = (
        lambda: decode_and_score(world.benchmark, path, 1),
        lambda: decode_and_score(world.benchmark, path, TOGETHER),
        lambda: score(world, path),
    )
    rounds = timing.interleaved(works, repeats)
    inside, together, whole = timing.medians(rounds)
    value, beside = (
        statistics.median(100 * (1 - times[place] / times[-1]) for times in rounds)
        for place in (0, 1)
    )
    note = (
        f"{count:,} responses ({path.stat().st_size / 1e6:.0f} MB of JSON lines) in {whole:.2f} s; "
        f"decoding + scoring alone {inside:.2f} s chunk by chunk, and {together:.2f} s with {TOGETHER} "
        f"chunks scored at once, as the command does: {beside:.1f} %"
    )
    details = {"inside_s": inside, "together_s": together, "whole_s": whole}
    return Measure("share_outside", value, note, details)


def repeated(path: Path, times: int) -> Path:
    """A file with the content so many times; the smaller one is gone afterwards."""
    size = path.stat().st_size * times
    if shutil.disk_usage(path.parent).free < size * SPARE:
        raise SystemExit(f"{path.parent}: {size * SPARE / 1e9:.1f} GB must be free; set TMPDIR")
    target = path.with_name(f"{times}-times.jsonl")
    with target.open("wb") as whole:
        for _ in range(times):
            with path.open("rb") as part:
                shutil.copyfileobj(part, whole, 1 << 22)
    path.unlink()
    return target
