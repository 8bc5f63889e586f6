"""CPU time of starting: importing the package, and command lines that score nothing, or a bundled run.

    python benches/starting.py [--runs 11]

Each is a process of its own; all take turns, and the table has medians. The run is scored with what an
earlier process has left in a cache. Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from pfgen_rs import sample_runs

LIBRARIES = "import polars, numpy"
PROGRAMS = {
    "python -c pass": ["-c", "pass"],
    LIBRARIES: ["-c", LIBRARIES],
    "import polars": ["-c", "import polars"],
    "import pfgen_rs": ["-c", "import pfgen_rs"],
    "pfgen-rs --version": ["-m", "pfgen_rs", "--version"],
    "pfgen-rs --help": ["-m", "pfgen_rs", "--help"],
    "pfgen-rs score --help": ["-m", "pfgen_rs", "score", "--help"],
    "pfgen-rs data list": ["-m", "pfgen_rs", "data", "list"],
    "pfgen-rs data where mini": ["-m", "pfgen_rs", "data", "where", "mini"],
    "pfgen-rs score RUN": ["-m", "pfgen_rs", "score", str(sample_runs()["faithful"])],
}
BOUNDS = {
    "pfgen-rs --version": 0.35,
    "pfgen-rs --help": 0.35,
    "import pfgen_rs": 0.8,
    "pfgen-rs score RUN": 0.7,
}
"""CPU time at most, in that which importing polars and numpy adds to a bare interpreter."""


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, and say whether the bounds hold."""
    parser = argparse.ArgumentParser(description="Measure the CPU time of starting.")
    parser.add_argument("--runs", type=int, default=11, help="repeats of each")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as cache:
        os.environ["PFGEN_RS_CACHE"] = cache
        cpu_seconds(PROGRAMS["pfgen-rs score RUN"])
        turns = [
            {name: cpu_seconds(arguments) for name, arguments in PROGRAMS.items()}
            for _ in range(runs)
        ]
    medians = {name: statistics.median(turn[name] for turn in turns) for name in PROGRAMS}
    libraries = medians[LIBRARIES] - medians["python -c pass"]
    print(
        "| program | CPU time | of what polars and numpy add | at most |\n| --- | --- | --- | --- |"
    )
    for name, seconds in medians.items():
        bound = BOUNDS.get(name, "")
        print(f"| `{name}` | {seconds * 1000:.0f} ms | {seconds / libraries:.2f} | {bound} |")
    return int(any(medians[name] / libraries > bound for name, bound in BOUNDS.items()))


if __name__ == "__main__":
    sys.exit(main())
