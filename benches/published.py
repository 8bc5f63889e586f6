"""The published scorer beside this package, on a small sample.

The checkout of pfgen-bench that PFGEN_BENCH_CHECKOUT names is copied, without its runs, to a temporary
folder. Its README says how runs are evaluated: `make`. This is run there, as a process of its own, for a run
of few responses and for the same run with more; the difference is the time of responses without starting.
"""

from __future__ import annotations

import itertools
import json
import lzma
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import timing
from pfgen_rs.benchmark import Benchmark, load_benchmark

VARIABLE = "PFGEN_BENCH_CHECKOUT"
COUNTS = 100, 600
"""Responses of the two runs."""
REPEATS = 5
_LEFT_OUT = {"result", ".git"}
_HOW = (
    f"the published scorer beside ours: set {VARIABLE} to a checkout of pfgen-bench with its "
    "Makefile and scripts"
)


class PublishedError(Exception):
    """The published scorer cannot be run; says why."""


def lines(counts: tuple[int, int] = COUNTS) -> list[str]:
    """What to print: how both compare, why they cannot be compared, or how to get there."""
    given = os.environ.get(VARIABLE)
    if not given:
        return [_HOW]
    try:
        return [compare(Path(given).resolve(), counts)]
    except (PublishedError, OSError, lzma.LZMAError) as error:
        return [f"the published scorer in {given} cannot be measured: {error}"]


def compare(checkout: Path, counts: tuple[int, int] = COUNTS) -> str:
    """Seconds of both for a response, as a line. Raises `PublishedError`."""
    run = _first_run(checkout)
    responses = _responses(run, counts[1])
    few = min(counts[0], len(responses) // 2)
    if not few:
        raise PublishedError(f"{run} has fewer than two responses")
    benchmark = load_benchmark(checkout / "data").prepare()
    short, long = (_seconds_of_make(checkout, run, responses[:n]) for n in (few, len(responses)))
    theirs = (long - short) / (len(responses) - few)
    ours = _seconds_of_ours(benchmark, responses)
    ratio = f"{theirs / ours:,.0f} x" if theirs > 0 else "too close to starting to tell"
    return (
        f"the published scorer (`make` in a copy of {checkout}): {long:.2f} s for {len(responses):,} "
        f"responses, start to exit; {theirs * 1e6:,.0f} us for each more, score_batch with one thread "
        f"{ours * 1e6:.2f} us: {ratio}"
    )


def _first_run(checkout: Path) -> Path:
    """The folder of the first run with responses."""
    if not (checkout / "Makefile").is_file():
        raise PublishedError("there is no Makefile: expected a whole checkout, with its scripts")
    found = sorted(checkout.glob("result/**/trials.jsonl.xz"))
    if not found:
        raise PublishedError("there is no run: expected result/…/trials.jsonl.xz")
    return found[0].parent


def _responses(run: Path, count: int) -> list[bytes]:
    with lzma.open(run / "trials.jsonl.xz") as file:
        return list(itertools.islice(file, count))


def _seconds_of_make(checkout: Path, run: Path, responses: Sequence[bytes]) -> float:
    """Seconds of `make` in a copy of the checkout with this run alone, and these responses."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        copy = Path(name, "checkout")
        shutil.copytree(
            checkout,
            copy,
            ignore=lambda folder, _: _LEFT_OUT if Path(folder) == checkout else (),
        )
        own = copy / run.relative_to(checkout)
        own.mkdir(parents=True)
        shutil.copyfile(run / "config.json", own / "config.json")
        (own / "trials.jsonl.xz").write_bytes(lzma.compress(b"".join(responses)))
        return timing.seconds(lambda: _make(copy, own / "result.json"))


def _make(folder: Path, result: Path) -> None:
    make = shutil.which("make")
    if make is None:
        raise PublishedError("`make` is not installed")
    done = subprocess.run(
        [make],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise PublishedError(
            f"`make` failed: {said[-1] if said else f'exit code {done.returncode}'}"
        )
    if not result.is_file():
        raise PublishedError("`make` wrote no result.json for the sample")


def _seconds_of_ours(benchmark: Benchmark, responses: Sequence[bytes]) -> float:
    """Seconds of `score_batch` for each of the same responses."""
    rows = [json.loads(line) for line in responses]
    columns = [row["question"] for row in rows], [row["answer"] for row in rows]
    times = [
        timing.seconds(lambda: benchmark.score_batch(*columns, threads=1)) for _ in range(REPEATS)
    ]
    return min(times) / len(rows)
