"""The command line on disks that are full or slow, as programs for `python -c`."""

from __future__ import annotations

__all__ = ["FULL_DISK", "SLOW_DISK"]

# The command line in a process whose files cannot grow beyond 100 bytes: a disk that is full.
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from pfgen_rs.cli import main
main()
"""
# The command line that says so and waits when its n-th file is complete but not yet in place.
SLOW_DISK = """
import os, sys, time
left = int(sys.argv.pop(1))
def fsync(_):
    global left
    left -= 1
    if left == 0:
        os.write(1, b"writing")
        time.sleep(60)
os.fsync = fsync
from pfgen_rs.cli import main
from pfgen_rs.io import known_files
known_files._TICK = 10**18  # no file counts as settled, so nothing is written into the cache
main()
"""
