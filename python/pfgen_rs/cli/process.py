"""The process of a command: signals and Ctrl-C, exit codes, and what it says on the standard streams."""

from __future__ import annotations

import codecs
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn, cast

from pfgen_rs.errors import OutputError, PfgenError
from pfgen_rs.io.atomic import is_reader_gone, remove_temporary_files
from pfgen_rs.io.text import cell_text, escaped_json, visible

_POLARS_HEAP = "_RJEM_MALLOC_CONF"  # jemalloc's, to which polars adds its own when it is loaded
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def end_tidily() -> None:
    """Make signals that end the process unwind the stack, so that unfinished files are removed.

    They are SIGTERM and, where the system has it, SIGHUP (a closed terminal), unless `nohup` has it ignored.
    """
    signal.signal(signal.SIGTERM, _end_by_signal)
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) == signal.SIG_DFL:
        signal.signal(hang_up, _end_by_signal)


def restrain_libraries() -> None:
    """Keep libraries that are loaded from now on from memory and threads that scoring has no use for.

    The heap of polars has four parts for each core, which keep what is freed there; numpy's OpenBLAS
    starts a thread for each core, and they spin at first. Variables that the user has set are respected.
    """
    heap = os.environ.get(_POLARS_HEAP, "")  # in a process started by one with polars, that one's
    if "narenas" not in heap:
        os.environ[_POLARS_HEAP] = ",".join(filter(None, [heap, "narenas:1"]))
    os.environ.setdefault(_BLAS_THREADS, "1")


def interrupt_reads() -> None:
    """Let Ctrl-C interrupt a blocking read, such as from standard input.

    Must be called before every such read: polars installs its own handler on first use, after which
    interrupted reads are restarted.
    """
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def _end_by_signal(signum: int, _: FrameType | None) -> None:
    sys.exit(128 + signum)


def leave(code: int) -> NoReturn:
    """End the process immediately, even if threads are blocked in a read or in native code."""
    if any(thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        remove_temporary_files()
        os._exit(code)
    sys.exit(code)


# Writes results, remarks and errors to the standard streams, without rich.


BAD_INPUT = 2
_SPELLED = "pfgen_rs.spelled"
_MARKS = {"–": "-", "·": "/"}
_BROKEN_PIPE = 141  # the shell's exit code for a process ended by SIGPIPE


@contextmanager
def errors_reported() -> Iterator[None]:
    """Report the package's exceptions as one line on standard error, with exit code 2."""
    _open_missing_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _StandardOutput.of(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELLED)
    try:
        yield
    except PfgenError as error:
        print_error(error)
        sys.exit(BAD_INPUT)


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """Spell characters that a stream lacks: marks of this package as others, the rest as their codes.

    On Windows, streams to files and pipes have the code page of the system: a Japanese one has cp932.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_MARKS.get(each, _code(each)) for each in lacking), error.end


def _code(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


codecs.register_error(_SPELLED, _spelled)


def _open_missing_streams() -> None:
    """Replace standard streams that were closed before the start with the null device.

    Their descriptors would otherwise be those of the next files opened. Writing to standard output fails, as
    it does for a closed descriptor.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            access = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            stream = open(os.open(os.devnull, access), mode, encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)


class _StandardOutput(io.TextIOWrapper):
    """Standard output whose failures end the command, also while typer prints help."""

    _stream: io.TextIOWrapper  # which would close the buffer if nothing referred to it

    @classmethod
    def of(cls, stream: io.TextIOWrapper) -> _StandardOutput:
        """Returns a stream that writes to the same buffer."""
        buffer, encoding = cast("BinaryIO", stream.buffer), stream.encoding
        found = cls(buffer, encoding=encoding, line_buffering=stream.line_buffering)
        found._stream = stream
        return found

    def write(self, text: str) -> int:
        """Write text, possibly later."""
        with _ending_command():
            return super().write(text)

    def flush(self) -> None:
        """Write everything that was not written yet."""
        with _ending_command():
            super().flush()


def print_error(error: PfgenError) -> None:
    """Print `error: …` on one line."""
    remark(f"error: {error}")


def warn(message: str) -> None:
    """Print `warning: …` on one line."""
    remark(f"warning: {message}")


def remark(line: str) -> None:
    """Print one line to standard error."""
    print(visible(line), file=sys.stderr, flush=True)


@contextmanager
def resumable(
    kept: Callable[[], Path | None], doing: str, how: str, *, after_errors: str | None = None
) -> Iterator[None]:
    """Print where finished work is kept and how to continue if an interruption or external cause ends it.

    External causes are e.g. a full disk or too little memory. Other errors would occur again with the same
    command, and say what to change; `after_errors` is how to continue after these, if possible.
    """
    try:
        yield
    except BaseException as error:
        repeats = isinstance(error, Exception) and not isinstance(error, OSError | MemoryError)
        advice = after_errors if repeats else how
        if advice is not None and (folder := kept()) is not None:
            warn(f"everything {doing} so far is kept in {folder}: {advice}")
        raise


def emit(text: str) -> None:
    """Write text to standard output and flush it; ends quietly if its reader has closed it."""
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def _ending_command() -> Iterator[None]:
    """End the command if standard output cannot be written, quietly if its reader has closed it."""
    try:
        yield
    except OSError as error:
        _discard_output()
        if is_reader_gone(error):
            fail(_BROKEN_PIPE)
        raise OutputError(f"standard output: cannot be written: {error.strerror}") from error


def _discard_output() -> None:
    """Discard buffered output, so that the interpreter does not report an error at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def emit_json(data: Any) -> None:
    """Write one JSON document."""
    unicode = sys.stdout.encoding.lower().startswith("utf")
    emit(escaped_json(json.dumps(data, ensure_ascii=not unicode, indent=2)) + "\n")


def emit_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV with a header; nothing without rows, whose keys are unknown."""
    import csv

    if not rows:
        return
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: cell_text(v) if isinstance(v, str) else v for k, v in row.items()})
    emit(buffer.getvalue())


def fail(code: int) -> NoReturn:
    """End the command with this exit code."""
    import typer  # whose own exception it is, so that it is closed like any other command

    raise typer.Exit(code)
