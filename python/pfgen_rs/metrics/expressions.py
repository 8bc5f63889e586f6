r"""Regular expressions of rules: natively in linear time, and otherwise by Python with a time limit.

Rust's crate `regex` matches in time linear in the text. Python's own parser reads an expression; what has
the same meaning in both is written for the crate, and every other expression is left to Python:

| of Python's `re` | why it means the same |
| --- | --- |
| characters, however they are written | written as their code points |
| `.` | anything but a newline |
| `\d \w \s`, `\D \W \S` | the running Python's characters, written as ranges |
| `[…]`, `[^…]` of characters, ranges and the classes above | written as ranges |
| `(…)`, `(?:…)`, `(?P<name>…)`, `|` | both prefer the alternative on the left |
| `*`, `+`, `?`, `{m}`, `{m,}`, `{,n}`, `{m,n}`, also with `?` | both prefer more, or fewer with `?` |
| `^`, `\A`, `\Z` | start and end of the text |
| `$` with nothing behind it | the end, or before a newline that ends the text |

What it lacks: flags, lookaround, references to groups, atomic groups and possessive repetitions, `\b`,
surrogates, `$` before something else, and repetitions of what can be empty, which engines end in different
ways. Python's `re` cannot be interrupted by other threads, since it holds the interpreter's lock while it
searches. So it searches in a process of its own, one for all threads, which is started when first needed,
ends with this process, and is not shared with forks of it.
"""

from __future__ import annotations

import atexit
import marshal
import os
import re
import select
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from pfgen_rs._native import UNKNOWN
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import NDArray, np

T = TypeVar("T")
LONGEST = 10_000
"""Characters of an expression; of longer ones neither reading nor compiling takes a bounded time."""
_MOST_RANGES = 200_000
r"""Ranges of classes such as `\w`, which has hundreds: more take seconds to compile, and gigabytes."""

_Ranges = tuple[tuple[int, int], ...]

_DEEPEST = 50
_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_NEWLINE = (ord("\n"), ord("\n"))
_ANCHORS = {"AT_BEGINNING": r"\A", "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z"}
_CLASSES = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
_CLASSES |= {f"NOT_{name}": letter.upper() for name, letter in _CLASSES.items()}
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
DOLLAR = r"(?:\z|(\n\z))"
"""How `$` is written: the group ends the match before the newline (`Expression` in native code)."""


if TYPE_CHECKING:
    Answer = tuple[NDArray[np.int64], bytes]
    """Ends of matches, or sizes of texts and those texts in UTF-8."""


class _OutsideTableError(Exception):
    """An expression for Python."""


def linear_expression(pattern: str) -> str | None:
    """Returns a valid expression of Python in the crate's syntax; `None` for long ones and others."""
    parser = getattr(re, "_parser", None)  # not public, so perhaps not in every Python
    if len(pattern) > LONGEST or parser is None:
        return None
    try:
        read = quietly(parser.parse, pattern)
        if read.state.flags & ~re.UNICODE:
            return None
        return _Writer().sequence(read, is_last=True)
    except (_OutsideTableError, RecursionError):
        return None


def quietly(read: Callable[[str], T], pattern: str) -> T:
    """Read an expression without warnings of sets that another Python might take as nested."""
    if not any(doubled in pattern for doubled in ("[[", "--", "&&", "~~", "||")):
        return read(pattern)  # what follows concerns all threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return read(pattern)


class _Writer:
    """Writes what Python's parser has read: pairs of an operation and its value."""

    def __init__(self) -> None:
        self._ranges = self._depth = 0

    def sequence(self, items: Any, *, is_last: bool) -> str:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _OutsideTableError
        written = [
            self._item(str(operation), value, is_last=is_last and place == len(items))
            for place, (operation, value) in enumerate(items, 1)
        ]
        self._depth -= 1
        return "".join(written)

    def _item(self, operation: str, value: Any, *, is_last: bool) -> str:
        if operation == "LITERAL":
            return f"\\x{{{_code_point(value):X}}}"
        if operation == "AT":
            return self._anchor(str(value), is_last=is_last)
        if operation == "BRANCH":
            branches = (self.sequence(each, is_last=is_last) for each in value[1])
            return f"(?:{'|'.join(branches)})"
        if operation == "SUBPATTERN":
            _, added, removed, items = value
            if added or removed:  # flags
                raise _OutsideTableError
            return f"(?:{self.sequence(items, is_last=is_last)})"
        if operation in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeated(*value) + "?" * (operation == "MIN_REPEAT")
        return self._class(operation, value)

    def _anchor(self, name: str, *, is_last: bool) -> str:
        if name == "AT_END" and is_last:
            return DOLLAR
        if name not in _ANCHORS:
            raise _OutsideTableError
        return _ANCHORS[name]

    def _repeated(self, least: int, most: Any, items: Any) -> str:
        if items.getwidth()[0] == 0:  # it can be empty
            raise _OutsideTableError
        end = "" if str(most) == "MAXREPEAT" else int(most)
        return f"(?:{self.sequence(items, is_last=False)}){{{int(least)},{end}}}"

    def _class(self, operation: str, value: Any) -> str:
        if operation == "ANY":
            return _written_class(_opposite([_NEWLINE]))
        if operation == "NOT_LITERAL":
            return _written_class(_opposite([(_code_point(value),) * 2]))
        if operation != "IN":
            raise _OutsideTableError
        negated = str(value[0][0]) == "NEGATE"
        ranges = [each for member in value[negated:] for each in self._member(*member)]
        return _written_class(_opposite(ranges) if negated else ranges)

    def _member(self, operation: Any, value: Any) -> _Ranges:
        if str(operation) == "CATEGORY":
            found = _class_ranges(_CLASSES[str(value).removeprefix("CATEGORY_")])
            self._ranges += len(found)
            if self._ranges > _MOST_RANGES:
                raise _OutsideTableError
            return found
        first, last = value if str(operation) == "RANGE" else (value, value)
        return ((_code_point(first), _code_point(last)),)


def _code_point(number: int) -> int:
    if number in _SURROGATES:
        raise _OutsideTableError
    return number


def _written_class(ranges: Iterable[tuple[int, int]]) -> str:
    written = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in ranges)
    return f"[{written}]" if written else _NOTHING


def _opposite(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield all other characters.

    The crate's own `[^…]` goes wrong around surrogates: it has both U+D7FF and U+E000 if they are excluded.
    """
    free = 0
    around = (_SURROGATES.start, _SURROGATES.stop - 1)
    for first, last in sorted([*ranges, around, (_LAST + 1, _LAST + 1)]):
        if free < first:
            yield free, first - 1
        free = max(free, last + 1)


@cache
def _class_ranges(letter: str) -> _Ranges:
    """Returns the characters of a class, such as `d`, in the running Python."""
    runs = re.compile(f"\\{letter}+")
    found = []
    for start, stop in ((0, _SURROGATES.start), (_SURROGATES.stop, _LAST + 1)):
        text = np.arange(start, stop, dtype="<u4").tobytes().decode("utf-32-le")
        spans = (match.span() for match in runs.finditer(text))
        found += [(start + first, start + end - 1) for first, end in spans]
    return tuple(found)


# Searches by Python, with a time limit.


TIME_LIMIT = 5.0
"""Seconds that compiling and the search of one text may take; they end a tenth later or earlier."""

_SCRIPT = Path(__file__).with_name("expression_worker.py")
_OUT_OF_TIME = 1
_SLICE = 1024  # texts in one request


class OutOfTimeError(Exception):
    """Compiling or a search took longer than the limit."""


class _EndedError(Exception):
    """The other process has ended."""


class _Searching:
    """The other process, if it runs, and the lock around it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def answer(self, pattern: str, flags: int, texts: Sequence[str]) -> Answer:
        with self._lock:
            if self.process is not None:
                # It may have been killed since it was last used.
                with suppress(_EndedError):
                    return self._asked(self.process, pattern, flags, texts)
            try:
                started = subprocess.Popen(  # noqa: S603 (our own script)
                    [sys.executable, "-I", "-S", str(_SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,  # a fork must not write what is left in a buffer
                )
                return self._asked(started, pattern, flags, texts)
            except (_EndedError, OSError) as error:
                raise BenchmarkError(
                    f"cannot match the regular expression {shortened(repr(pattern))}: the Python process "
                    f"that matches it ({sys.executable}) failed: {error}"
                ) from None

    def close(self) -> None:
        with self._lock:
            if self.process is not None:
                _closed(self.process)
                self.process = None

    def forget(self) -> None:
        """Start anew in a forked process, and leave the other one to the one that has forked this one."""
        self._lock = threading.Lock()
        if self.process is not None:
            for pipe in _pipes(self.process):
                pipe.close()
            self.process.returncode = 0
            self.process = None

    def _asked(
        self, process: subprocess.Popen[bytes], pattern: str, flags: int, texts: Sequence[str]
    ) -> Answer:
        self.process = None
        requests, answers = _pipes(process)
        request = marshal.dumps((TIME_LIMIT, pattern, flags, list(texts)))
        started = time.monotonic()
        try:
            unsent = memoryview(len(request).to_bytes(8, "little") + request)
            while unsent:
                unsent = unsent[requests.write(unsent) :]
            numbers = np.frombuffer(_received(answers, 8 * len(texts)), np.int64)
            rest = _received(answers, int(numbers.sum())) if flags else b""
        except OSError:
            status = _closed(process)
            # Python exits with the same status if it cannot start.
            if status == _OUT_OF_TIME and time.monotonic() - started > TIME_LIMIT / 2:
                raise OutOfTimeError from None
            raise _EndedError(f"exit status {status}") from None
        except BaseException:  # Ctrl-C between request and answer
            process.kill()
            _closed(process)
            raise
        self.process = process
        return numbers, rest


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)


def _received(answers: IO[bytes], size: int) -> bytes:
    content = b""
    while len(content) < size:
        if os.name == "posix":
            # Reading goes on after Ctrl-C where a library has set a handler of its own, polling does not.
            polling = select.poll()
            polling.register(answers, select.POLLIN)
            polling.poll()
        part = answers.read(size - len(content))
        if not part:
            raise BrokenPipeError
        content += part
    return content


def _closed(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of the process, which has no more requests, and return its exit status."""
    requests, answers = _pipes(process)
    requests.close()
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
    answers.close()
    return process.wait()


_searching = _Searching()
atexit.register(_searching.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_searching.forget)


def limited_ends(pattern: str, texts: Sequence[str]) -> NDArray[np.uint32]:
    """Returns the end of the first match in each text in code points, or `UNKNOWN`; uint32, shape (texts,).

    Raises `OutOfTimeError` if the search of one text takes longer than `TIME_LIMIT`, and `BenchmarkError` in
    programs that embed Python or are frozen, which have no interpreter to start.
    """
    found = np.concatenate(
        [np.empty(0, np.int64), *(numbers for numbers, _ in _answers(pattern, 0, texts))]
    )
    return np.where(found < 0, UNKNOWN, found).astype(np.uint32)


def limited_groups(pattern: str, texts: Sequence[str], flags: int) -> list[str]:
    """Returns the groups of the first match in each text, joined; nothing without a match.

    `flags`: of `re`, at least one. Raises what `limited_ends` does.
    """
    found: list[str] = []
    for sizes, content in _answers(pattern, int(flags), texts):
        start = 0
        for end in np.cumsum(sizes).tolist():
            found.append(content[start:end].decode("utf-8", "surrogatepass"))
            start = end
    return found


def _answers(pattern: str, flags: int, texts: Sequence[str]) -> Iterator[Answer]:
    if "python" not in Path(sys.executable or "").name.lower() or getattr(sys, "frozen", False):
        raise BenchmarkError(
            f"cannot match the regular expression {shortened(repr(pattern))}: this needs a process of its "
            f"own, but {sys.executable!r} is not a Python interpreter: write it without flags, "
            "lookaround, \\b and backreferences"
        )
    for start in range(0, len(texts), _SLICE):
        yield _searching.answer(pattern, flags, texts[start : start + _SLICE])
