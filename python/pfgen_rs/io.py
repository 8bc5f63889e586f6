r"""Reading responses and writing results, in every format; knows nothing of metrics.

Formats: JSON lines (plain or `.gz`, `.xz`, `.zst`), Parquet, Arrow IPC, CSV. Lines end at `\n` alone, so that
answers may hold U+2028, U+0085 and the like.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

from pfgen_rs import compression
from pfgen_rs.errors import InputError, OutputError

__all__ = ["Responses", "read_responses", "write_atomic", "write_frame"]

_RUN_FILES = ("trials.jsonl.xz", "trials.jsonl", "trials.jsonl.zst", "trials.jsonl.gz")
_FRAMES: dict[str, Callable[[io.BytesIO], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
    ".ipc": pl.read_ipc,
    # CSV has no way to tell an empty text from a missing one: an empty answer is an answer.
    ".csv": lambda source: pl.read_csv(source, infer_schema=False).fill_null(""),
}
# polars panics at some damaged files, and a panic is no Exception.
_FRAME_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_SHOWN = 60
_SURROGATE = "holds a lone surrogate (\\ud800…\\udfff), which is no Unicode text"


@dataclass
class Responses:
    """Responses of one file: columns of equal length, and where each came from.

    `lines`: line (or row) of each response, from 1. `problems`: what was skipped, if skipping was asked for.
    `input_hash`: SHA-1 of the file's bytes as they lie on disk. `config`: a neighbouring `config.json`.
    """

    path: str
    questions: list[str]
    answers: list[str]
    lines: list[int]
    input_hash: str
    config: dict[str, Any] | None = None
    problems: list[InputError] = field(default_factory=list)
    record: Callable[[int], dict[str, Any]] = field(default=lambda _: {}, repr=False)

    def located(self, error: InputError, row: int) -> InputError:
        """`error` with the file and line of response `row`."""
        kind = type(error)
        return kind(error.problem, path=self.path, line=self.lines[row], question=error.question)


def read_responses(
    path: str | os.PathLike[str],
    *,
    question_field: str = "question",
    answer_field: str = "answer",
    skip_bad_lines: bool = False,
) -> Responses:
    """Read a file of responses, a run's folder, or (`-`) standard input.

    Raises `InputError` naming file and line for what cannot be used, unless `skip_bad_lines`: then such
    lines are left out and listed in `problems`.
    """
    place, content = _content(path)
    reader = _FRAMES.get(Path(place).suffix.lower())
    fields = (question_field, answer_field)
    responses = Responses(
        place, [], [], [], hashlib.sha1(content, usedforsecurity=False).hexdigest()
    )
    responses.config = _config(place)
    try:
        if reader is None:
            _read_lines(responses, content, fields, skip_bad_lines)
        else:
            _read_frame(responses, reader, content, fields, skip_bad_lines)
    except InputError as error:
        raise type(error)(
            error.problem, path=place, line=error.line, question=error.question
        ) from None
    if not responses.answers:
        raise InputError(_nothing_left(responses), path=place)
    return responses


def _nothing_left(responses: Responses) -> str:
    if not responses.problems:
        return "there are no responses in it"
    first = responses.problems[0]
    return f"no line is usable; line {first.line}: {first.problem}"


def _content(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    if path == "-":
        return "-", sys.stdin.buffer.read()
    place = Path(path)
    if os.path.isdir(place):  # noqa: PTH112 - is_dir raises for names that no file can have
        place = _run_file(place)
    try:
        return str(place), place.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot be read: {reason}", path=place) from error


def _run_file(folder: Path) -> Path:
    for name in _RUN_FILES:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"the folder has none of {', '.join(_RUN_FILES)}", path=folder)


def _config(place: str) -> dict[str, Any] | None:
    """The run's `config.json`, where there is one beside the file."""
    path = Path(place).parent / "config.json"
    if place == "-" or not path.is_file():
        return None
    try:
        config = json.loads(path.read_bytes().decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", path=path) from None
    if not isinstance(config, dict):
        raise InputError("must hold an object", path=path)
    if _has_lone_surrogate(config):
        raise InputError(_SURROGATE, path=path)
    return config


def _read_lines(
    responses: Responses, content: bytes, fields: tuple[str, str], skip_bad_lines: bool
) -> None:
    lines, damage = _lines(content)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _parse_line(line)
            question, answer = (_text_field(record, key) for key in fields)
        except InputError as error:
            _report(responses, error.problem, number, skip_bad_lines)
            continue
        responses.questions.append(question)
        responses.answers.append(answer)
        responses.lines.append(number)
    if damage is not None:
        _report(responses, damage, len(lines) + 1, skip_bad_lines)
    responses.record = lambda row: _parse_line(lines[responses.lines[row] - 1])


def _lines(content: bytes) -> tuple[list[bytes], str | None]:
    """The lines and, where compressed data ends early, why: the line it ends in is left out."""
    damage = None
    try:
        data = compression.decompress(content)
    except compression.TruncatedError as error:
        data = error.partial
        damage = (
            f"the compressed data is damaged or cut short here ({error}): "
            "copy the file again, or skip bad lines"
        )
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    return (lines if damage is None else lines[:-1]), damage


def _report(responses: Responses, problem: str, line: int, skip_bad_lines: bool) -> None:
    located = InputError(problem, path=responses.path, line=line)
    if not skip_bad_lines:
        raise located
    responses.problems.append(located)


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        record = json.loads(text)
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}: {_shown(text)}") from None
    if not isinstance(record, dict):
        raise InputError(f"must hold an object, not {_shown(text)}")
    if "\\ud" in text.lower() and _has_lone_surrogate(record):
        raise InputError(_SURROGATE)
    return record


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _has_lone_surrogate(record: dict[str, Any]) -> bool:
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _text_field(record: dict[str, Any], key: str) -> str:
    if key not in record:
        keys = ", ".join(map(repr, record)) or "none"
        raise InputError(f"the key {key!r} is missing; there are: {keys}")
    value = record[key]
    if not isinstance(value, str):
        raise InputError(f"{key!r} must be text, not {_cut(json.dumps(value, ensure_ascii=False))}")
    return value


def _read_frame(
    responses: Responses,
    reader: Callable[[io.BytesIO], pl.DataFrame],
    content: bytes,
    fields: tuple[str, str],
    skip_bad_lines: bool,
) -> None:
    if not content:
        raise InputError("the file is empty")
    try:
        frame = reader(io.BytesIO(content))
    except (*_FRAME_ERRORS, OSError, ValueError) as error:
        reason = str(error).split("\n\n")[0]  # advice on polars' own options would follow
        raise InputError(f"cannot be read as {Path(responses.path).suffix}: {reason}") from None
    for key in fields:
        _check_column(frame, key)
    missing = frame.select(pl.any_horizontal(pl.col(*fields).is_null())).to_series()
    for row in missing.arg_true().to_list():
        _report(responses, "question or answer is null", row + 1, skip_bad_lines)
    rows = (~missing).arg_true().to_list()
    kept = frame.filter(~missing)
    responses.questions = kept.get_column(fields[0]).cast(pl.String).to_list()
    responses.answers = kept.get_column(fields[1]).cast(pl.String).to_list()
    responses.lines = [row + 1 for row in rows]
    responses.record = lambda row: frame.row(rows[row], named=True)


def _check_column(frame: pl.DataFrame, key: str) -> None:
    if key not in frame.columns:
        raise InputError(f"the column {key!r} is missing; there are: {', '.join(frame.columns)}")
    kind = frame.schema[key]
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise InputError(f"the column {key!r} must be text, not {kind}")


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all went well, and vanishes otherwise."""
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened here rather than by `tempfile`, so that the umask applies: asking for it means changing it
        # for all threads.
        file = temporary.open("xb")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all; `OutputError` where that fails, leaving what was there."""
    with _replacing(Path(path)) as file:
        file.write(content)


def write_frame(path: str | os.PathLike[str], frame: pl.DataFrame) -> None:
    """Write a table as `.parquet`, `.jsonl`, `.csv` or `.arrow`, whole or not at all."""
    writers: dict[str, Callable[[IO[bytes]], Any]] = {
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
        ".csv": frame.write_csv,
        ".arrow": frame.write_ipc,
    }
    target = Path(path)
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise OutputError(f"{target}: unknown format; use one of {', '.join(writers)}")
    buffer = io.BytesIO()
    writer(buffer)
    write_atomic(target, buffer.getvalue())
