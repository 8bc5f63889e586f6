"""Reports: every measure that is asked, as a table.

    PFGEN_DATA_DIR=FOLDER python benches/reporting.py [--json FILE] [--only-many]

Works on copies of a pfgen-bench checkout. The page of a thousand runs is measured in chromium, driven
by Playwright, where both are there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import choosing
import measures
import sorting
import timing
from measures import Measure
from pfgen_rs import Benchmark, load_benchmark, score_file
from pfgen_rs.checkout.entries import read_entries
from pfgen_rs.scoring.explain import window_counts

REPEATS = 5
SEARCHED = 2  # answers a question that are searched for plainly
QUESTIONS = 10
RUNS = 1000
MANY = 516


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    parser.add_argument(
        "--only-many", action="store_true", help="only what is measured on many runs"
    )
    options = parser.parse_args()
    checkout = Path(os.environ[measures.DATA], "pfgen-bench")
    measured = list(many_runs(checkout) if options.only_many else measure(checkout))
    print("\n".join(measures.lines(measured)))
    if options.json:
        runs = len(list((checkout / "result").rglob("trials.jsonl.xz")))
        measures.write_json(options.json, measures.as_json(measured, f"a checkout of {runs} runs"))


def measure(checkout: Path) -> Iterator[Measure]:
    """Every measure."""
    with _copy(checkout) as copy, tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as site:
        yield from reports(copy)
        yield from sites(copy, Path(site))
    yield from many_runs(checkout)
    yield from pages(checkout)
    yield from choosing.comparisons(checkout)
    yield highlighting(checkout)


@contextmanager
def _copy(checkout: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        copy = Path(name) / "checkout"
        shutil.copytree(checkout, copy, copy_function=shutil.copyfile)
        yield copy


@contextmanager
def _own_cache() -> Iterator[None]:
    before = os.environ.get("PFGEN_RS_CACHE")
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as cache:
        os.environ["PFGEN_RS_CACHE"] = cache
        try:
            yield
        finally:
            os.environ.pop("PFGEN_RS_CACHE")
            if before is not None:
                os.environ["PFGEN_RS_CACHE"] = before


@contextmanager
def _many(checkout: Path) -> Iterator[Path]:
    """A checkout of `MANY` runs: those of the other one again and again, under other names."""
    runs = sorted(path.parent for path in (checkout / "result").rglob("trials.jsonl.xz"))
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        copy = Path(name) / "checkout"
        skip = shutil.ignore_patterns("result", ".git")
        shutil.copytree(checkout, copy, copy_function=shutil.copyfile, ignore=skip)
        for i in range(MANY):
            run = runs[i % len(runs)]
            folder = copy / run.relative_to(checkout).with_name(f"{run.name}-{i}")
            shutil.copytree(run, folder, copy_function=shutil.copyfile)
        yield copy


def many_runs(checkout: Path) -> Iterator[Measure]:
    """Reports and scores of many runs, and of one, with the index in the cache."""
    with _own_cache(), _many(checkout) as many:
        one = next((many / "result").rglob("trials.jsonl.xz")).parent
        timing.process("-m", "pfgen_rs", "score", one, "-b", many)
        again = [timing.process("-m", "pfgen_rs", "score", one, "-b", many) for _ in range(REPEATS)]
        note = f"{min(done.cpu for done in again):.2f} s of CPU time; median of {REPEATS}"
        yield Measure("score_one", statistics.median(done.seconds for done in again), note)
        yield _many_measure("score_many", ["score", many / "result", "-b", many, "-f", "csv"])
        _make_stale(many)
        yield _many_measure("report_many_stale", ["report", many])
        timing.process("-m", "pfgen_rs", "report", many)  # the last files have just changed
        yield _many_measure("report_many_fresh", ["report", many])
        yield from many_pages(many)


def many_pages(many: Path) -> Iterator[Measure]:
    """The site of many runs in a checkout that is up to date: written, and written again without a change."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        site = Path(name) / "site"
        command = ("-m", "pfgen_rs", "site", many, "--out", site)
        done = timing.process(*command)
        yield Measure("site_many_time", done.seconds, f"{done.cpu:.0f} s of CPU time")
        yield Measure("site_many_memory", done.peak / 1e6, f"site of {MANY} runs")
        files = [path for path in site.rglob("*") if path.is_file()]
        own = [path for path in files if path.is_relative_to(site / "runs")]
        pages = [path for path in own if path.suffix == ".html"]
        size, of_pages = (sum(map(_size, group)) / 1e6 for group in (files, pages))
        note = f"{len(files)} files, the largest {max(map(_size, files)) / 1e6:.1f} MB"
        yield Measure("site_many_size", size, f"{note}; {of_pages:.0f} MB are pages of runs")
        yield Measure("site_many_files", len(own) / len(pages), f"{len(files)} in all")
        again = [timing.process(*command) for _ in range(REPEATS)]
        seconds = statistics.median(done.seconds for done in again)
        note = f"median of {REPEATS}, peak {again[0].peak / 1e6:.0f} MB"
        yield Measure("site_many_again", seconds, note)


def _many_measure(key: str, arguments: list[str | Path]) -> Measure:
    done = timing.process("-m", "pfgen_rs", *arguments)
    note = f"{done.cpu:.1f} s of CPU time, peak {done.peak / 1e6:.0f} MB"
    return Measure(key, done.seconds, f"{MANY} runs; {note}")


def reports(checkout: Path) -> Iterator[Measure]:
    """`pfgen-rs report` from start to exit: all results stale, and none."""
    seconds = {}
    with _own_cache():
        for state in ("without a cached index", "with one"):
            _make_stale(checkout)
            seconds[state] = timing.process("-m", "pfgen_rs", "report", checkout)
    first, second = seconds.values()
    note = f"{first.output}; {second.seconds:.2f} s with the index cached, peak {first.peak / 1e6:.0f} MB"
    yield Measure("report_stale", first.seconds, note)
    fresh = [timing.process("-m", "pfgen_rs", "report", checkout) for _ in range(REPEATS)]
    note = f"{fresh[0].output}; median of {REPEATS}"
    yield Measure("report_fresh", statistics.median(done.seconds for done in fresh), note)


def _make_stale(checkout: Path) -> None:
    """Results of runs and everything that is made of them go; results without answers stay."""
    for path in checkout.rglob("README.md"):
        if path.parent != checkout:
            path.unlink()
    for path in (checkout / "result").rglob("result.json"):
        path.unlink()
    (checkout / "data" / "result.json").unlink()
    for path in checkout.glob("leaderboard.*"):
        path.unlink()


def sites(checkout: Path, site: Path) -> Iterator[Measure]:
    """The HTML site of a checkout in which nothing is stale."""
    done = timing.process("-m", "pfgen_rs", "report", checkout, "--html", site)
    files = [path for path in site.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    note = f"{len(files)} files; peak {done.peak / 1e6:.0f} MB"
    yield Measure("site_time", done.seconds, note)
    yield Measure("site_size", size / 1e6, f"the largest {max(map(_size, files)) / 1e6:.1f} MB")


def _size(path: Path) -> int:
    return path.stat().st_size


def pages(checkout: Path) -> Iterator[Measure]:
    """A leaderboard page of a thousand runs: the entries of the checkout again and again."""
    entries, _ = read_entries(checkout)
    many = [
        replace(entries[i % len(entries)], run=f"result/{i}", score=(i * 7919 % RUNS) / RUNS)
        for i in range(RUNS)
    ]
    times = sorting.milliseconds(many)
    if times:
        note = f"by {', '.join(times)}; slowest of {len(times)}, until the next frame"
        yield Measure("sorting", max(times.values()), note)


def highlighting(checkout: Path) -> Measure:
    """Counts of all windows of an answer, beside a search in the reference answers; both must agree."""
    benchmark = load_benchmark(checkout / "data").prepare()
    run = score_file(next((checkout / "result").rglob("trials.jsonl.xz")), benchmark)
    rows = run.frame.group_by("question_id").agg("answer").sort("question_id").head(QUESTIONS)
    plain = native = 0.0
    for question, answers in rows.iter_rows():
        began = time.perf_counter()
        expected = [
            count for text in answers[:SEARCHED] for count in searched(benchmark, question, text)
        ]
        plain += (time.perf_counter() - began) / SEARCHED
        took = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            counts, _ = window_counts(benchmark, question, answers, threads=1)
            took.append((time.perf_counter() - began) / len(answers))
        native += statistics.median(took)
        if counts[: len(expected)].sum(axis=1).tolist() != expected:
            raise SystemExit(f"{question}: the counts differ")
    note = f"{plain / QUESTIONS * 1e3:.1f} ms and {native / QUESTIONS * 1e6:.1f} us an answer, one thread"
    return Measure("highlighting", plain / native, note)


def searched(benchmark: Benchmark, question: str, answer: str) -> list[int]:
    """Reference answers that contain each window of an answer, by substring search."""
    text = f"^{answer}$"
    references = [text for texts in benchmark[question].answers.values() for text in texts]
    windows = (text[i : i + 3] for i in range(len(text) - 2))
    return [sum(window in reference for reference in references) for window in windows]


if __name__ == "__main__":
    main()
