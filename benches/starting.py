"""CPU time of starting: importing the package, and command lines that score nothing.

    python benches/starting.py [--runs 11]

Each is a process of its own; all take turns, and the table has medians. Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

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
}
BOUNDS = {"pfgen-rs --version": 0.35, "pfgen-rs --help": 0.35, "import pfgen_rs": 0.8}
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
    turns = [
        {name: cpu_seconds(arguments) for name, arguments in PROGRAMS.items()}
        for _ in range(parser.parse_args().runs)
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
