"""Matches regular expressions in a process of its own, which ends when one match takes too long.

Run as a script, without the package: `python -I -S expression_worker.py`. `expressions` talks to
it. A request is its size (8 bytes, little-endian) and a `marshal` of time limit (seconds), pattern and texts;
the answer is the end of the first match in each text as int64, or -1. Exit status 1: out of
time.
"""

import faulthandler
import marshal
import os
import re
import signal
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

# A watchdog is a thread, which costs more than most matches: after this share of its time it is set anew.
_SHARE = 0.1


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        while size := requests.read(8):
            limit, pattern, texts = marshal.loads(requests.read(int.from_bytes(size, "little")))  # noqa: S302 (sent by the package)
            ends = array("q", _watched_ends(limit, pattern, texts, nowhere))
            faulthandler.cancel_dump_traceback_later()
            answers.write(ends.tobytes())
            answers.flush()


def _watched_ends(limit: float, pattern: str, texts: list[str], nowhere: TextIO) -> Iterator[int]:
    due = 0.0
    search = None
    for text in texts:
        now = time.monotonic()
        if now >= due:
            # Not a signal: those are not to be had everywhere. It needs no lock of the interpreter.
            faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
            due = now + _SHARE * limit
        if search is None:
            search = re.compile(pattern).search
        found = search(text)
        yield -1 if found is None else found.end()


if __name__ == "__main__":
    try:
        _main()
    except BaseException:
        os._exit(2)
