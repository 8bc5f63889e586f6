"""Building reference sets: every measure that is asked, as tables.

    python benches/building.py [--quick] [--pool-only] [--json FILE]

Pools are made from a bundled grammar; with PFGEN_DATA_DIR set, real answers are
measured beside them, and take part in the whole build. The largest pool is as large as that of the paper for
one question; `--pool-only` measures no more, and leaves the rest of FILE as it is.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import building_selection
import building_singletons
import measures
import timing
from measures import Measure

SEED = 20250613
MILLION = 1_000_000
CONFIG = """
candidates = ["candidates.jsonl"]
out = "set"
preset = "paper"
per_source = false
allow_fewer = true
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    parser.add_argument("--pool-only", action="store_true", help="only the largest pool")
    options = parser.parse_args()
    tables = {}
    if options.pool_only and options.json and options.json.exists():
        tables = json.loads(options.json.read_text(encoding="utf-8"))
    tables_of = largest_pool if options.pool_only else measure
    for what, measured in tables_of(quick=options.quick):
        print(f"\n{what}")
        print("\n".join(measures.lines(measured)), flush=True)
        tables[what] = measures.as_json(measured, what)
    if options.json:
        text = json.dumps(tables, ensure_ascii=False, indent=2) + "\n"
        options.json.write_text(text, encoding="utf-8")


def measure(*, quick: bool) -> Iterator[tuple[str, list[Measure]]]:
    """A table for each pool."""
    few, many, size = (10_000, 50_000, 2_000) if quick else (200_000, MILLION, 30_000)
    yield f"{many:,} made candidates", [whole_build("whole_build", many)]
    yield from largest_pool(quick=quick)
    folder = measures.public_data("candidates")
    pools = {"made": building_singletons.made(many)}
    if folder:
        pools["real"] = building_singletons.real(folder, many)
    for kind, pool in pools.items():
        speed = building_singletons.beside_plain(pool[:few], 3)
        memory = building_singletons.in_memory(pool, 1 << 30)
        yield f"Filter of seldom n-grams, {kind} answers", [speed, memory]
    for what, answers in building_selection.pools(size):
        count = min(building_selection.COUNT, len(answers) // 3)
        table = building_selection.measure(answers, count)
        yield f"Selecting {count:,} of {len(answers):,} {what}", table


def largest_pool(*, quick: bool) -> Iterator[tuple[str, list[Measure]]]:
    """A table for one question with as many candidates as the paper's."""
    count = 100_000 if quick else 3 * MILLION
    yield f"{count:,} made candidates", [whole_build("paper_pool", count)]


def whole_build(key: str, count: int) -> Measure:
    """The command from start to exit, on so many candidates for one question."""
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as name:
        folder = Path(name)
        write_candidates(folder / "candidates.jsonl", count)
        (folder / "set.toml").write_text(CONFIG, encoding="utf-8")
        size = (folder / "candidates.jsonl").stat().st_size
        done = timing.process(
            *("-m", "pfgen_rs", "build", folder / "set.toml", "--format", "json"),
            *("--memory", "1GB"),
        )
    [row] = json.loads(done.output)
    steps = ", ".join(f"{key} {row[key]:,}" for key in row if isinstance(row[key], int))
    note = (
        f"{size / 1e6:.0f} MB of JSON lines, peak {done.peak / 1e6:.0f} MB, "
        f"{done.cpu:.1f} s of CPU time; {steps}"
    )
    value = done.peak / 1e6 if key == "paper_pool" else done.seconds
    return Measure(key, value, note, {"peak": done.peak, "cpu": done.cpu})


def write_candidates(path: Path, count: int) -> None:
    """Answers of a grammar, a third of them with a slip, and real ones where they are at hand."""
    question = building_singletons.question()
    sources = list(question.sources.values())
    rng = random.Random(SEED)
    folder = measures.public_data("candidates")
    real = building_singletons.real(folder, 7_000) if folder else []
    with path.open("w", encoding="utf-8") as file:
        for i in range(count):
            if i < len(real):
                answer = real[i]
            else:
                answer = sources[i % len(sources)].sample(rng)
                if i % 3 == 0:
                    answer = building_singletons.slipped(answer, rng)
            row = {"question": question.question, "answer": answer}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
