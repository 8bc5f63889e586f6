"""Run a command and print its seconds, CPU seconds and peak memory (bytes) as a last line of JSON."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

BYTES = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    """Run the arguments."""
    start = time.perf_counter()
    child = subprocess.Popen(sys.argv[1:])
    child.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - start
    measured = {
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * BYTES,
    }
    sys.stdout.write(json.dumps(measured) + "\n")
    sys.exit(os.EX_SOFTWARE if child.returncode else 0)


if __name__ == "__main__":
    main()
