"""Every measure that is asked of this package, as a table.

    python benches/run.py [--full] [--quick] [--json FILE]

Both sides of a ratio are measured in this process, turn by turn, and must give the same scores first. Trust
ratios more than rates: machines differ and are noisy. With PFGEN_DATA_DIR set the responses are those of
the published runs, otherwise those of the bundled sample runs. With PFGEN_BENCH_CHECKOUT set to a checkout
that has its scripts, the published scorer itself is measured, too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import beside_oracle
import files
import in_memory
import measures
import published
from responses import World, real_world

MILLION = files.MILLION


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="peak memory at 10 million responses")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the scripts")
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        os.environ["PFGEN_RS_CACHE"] = str(Path(folder, "cache"))
        world = real_world()
        print(world.what)
        print(", ".join(f"{key}: {value}" for key, value in measures.machine().items()) + "\n")
        measured = measure(world, Path(folder), quick=options.quick, full=options.full)
    print("\n".join(measures.lines(measured)))
    print("\n".join(published.lines()))
    if options.json:
        measures.write_json(options.json, measures.as_json(measured, world.what))


def measure(world: World, folder: Path, *, quick: bool, full: bool) -> list[measures.Measure]:
    """All measures in the order of `measures.ASKED`."""
    count = 20_000 if quick else MILLION
    largest = 10 * count if full else count
    effort = beside_oracle.Effort(1, 40, 3) if quick else beside_oracle.Effort(4, 400, 5)
    measured = [
        *in_memory.measure(world, count, 3 if quick else 5),
        *files.measure(world, folder, count, largest, 3),
        *beside_oracle.measure(world, effort),
    ]
    order = list(measures.ASKED)
    return sorted(measured, key=lambda measure: order.index(measure.key))


if __name__ == "__main__":
    main()
