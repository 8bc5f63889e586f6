"""Print by how many bytes this process grows when it builds the indexes of a benchmark (Linux)."""

from __future__ import annotations

import dataclasses
import gc
import resource
import sys
from pathlib import Path

import pfgen_rs
from pfgen_rs.benchmark import Benchmark


def resident() -> int:
    """Bytes of this process in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def main() -> None:
    """Build the benchmark in the folder that the first argument names, without the cache."""
    read = pfgen_rs.load_benchmark(sys.argv[1])
    benchmark = Benchmark([dataclasses.replace(question) for question in read], read.metadata_hash)
    gc.collect()
    before = resident()
    benchmark.prepare()
    gc.collect()
    print(resident() - before)


if __name__ == "__main__":
    main()
