"""Prints lines to standard error during long operations."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pfgen_rs.cli import output

__all__ = ["logged", "told_at_times"]


@contextmanager
def logged(name: str, say: Callable[[str], None] = output.remark) -> Iterator[None]:
    """Print this logger's warnings, each on one line, instead of passing them to other handlers."""
    logger = logging.getLogger(name)
    handler, passed_on = _ProgressLogHandler(say), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = passed_on


class _ProgressLogHandler(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def told_at_times(line: Callable[[], str], every: float) -> Iterator[None]:
    """Print the result of `line`, unless it is empty, every `every` seconds if there is no terminal."""
    if sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def tell() -> None:
        while not over.wait(every):
            if shown := line():
                output.remark(shown)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
