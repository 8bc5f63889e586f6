"""Matches regular expressions in a process of its own, which ends when one match takes too long.

Run as a script, without the package: `python -I -S expression_worker.py`. `expressions` talks to
it. A request is its size (8 bytes, little-endian) and a `marshal` of time limit (seconds), pattern, flags and
texts. Without flags, the answer is the end of the first match in each text as int64, or -1. With flags, it is
the sizes of the joined groups of each first match as int64, and then those in UTF-8. Exit status 1: out of
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
            limit, pattern, flags, texts = marshal.loads(  # noqa: S302 (sent by the package)
                requests.read(int.from_bytes(size, "little"))
            )
            found = _watched_matches(limit, pattern, flags, texts, nowhere)
            if flags:
                groups = [_joined_groups(match) for match in found]
                sent = array("q", map(len, groups)).tobytes() + b"".join(groups)
            else:
                ends = [-1 if match is None else match.end() for match in found]
                sent = array("q", ends).tobytes()
            faulthandler.cancel_dump_traceback_later()
            answers.write(sent)
            answers.flush()


def _joined_groups(match: re.Match[str] | None) -> bytes:
    groups = match.groups("") if match else ()
    return "".join(groups).encode("utf-8", "surrogatepass")


def _watched_matches(
    limit: float, pattern: str, flags: int, texts: list[str], nowhere: TextIO
) -> Iterator[re.Match[str] | None]:
    due = 0.0
    search = None
    for text in texts:
        now = time.monotonic()
        if now >= due:
            # Not a signal: those are not to be had everywhere. It needs no lock of the interpreter.
            faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
            due = now + _SHARE * limit
        if search is None:
            search = re.compile(pattern, flags).search
        yield search(text)


if __name__ == "__main__":
    try:
        _main()
    except BaseException:
        os._exit(2)
