"""Recognises how records are laid out, and converts those that are not flat to lines that are."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io import compression
from pfgen_rs.io.chunk import ADVICE, ADVICE_ON_BOTH, Options
from pfgen_rs.io.containers import json_blocks, rows_as_json
from pfgen_rs.io.layouts import (
    LAYOUTS,
    PLAIN,
    QUESTIONS,
    Record,
    at,
    exchanges,
    is_plain,
    recognised,
)
from pfgen_rs.io.lines import Block, parse_line
from pfgen_rs.io.messages import is_chat, role_of, spoken
from pfgen_rs.io.source import Source
from pfgen_rs.io.tables import first_row, table_rows, table_schema
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import pl

_MOST_BESIDE = 200  # files to look at
_LONGEST_REQUEST = 1 << 20
_UNKNOWN = object()
_OF_QUESTIONS = {*QUESTIONS, "question_id", "id", "category"}


def resolved(options: Options, record: Record | None) -> Options:
    """Returns options that say how records like this one are read."""
    if options.read_as is not None:
        return options
    chosen = options.question_field, options.answer_field
    found = None
    if record is not None and not options.tokens:
        found = recognised(record, options.layout, chosen)
        is_near = bool(set(options.fields) & set(record)) and not set(record) <= _OF_QUESTIONS
        if found is None and options.advice is ADVICE and not is_near:
            raise _unrecognised(record, options)
    question, answer = options.fields
    found = found or replace(PLAIN, question=question, answer=answer)
    if options.run is not None and options.run.key in (found.question, found.answer):
        raise InputError(f"{options.run.key!r} cannot name runs: it is the question or the answer")
    return replace(options, read_as=found)


class UnrecognisedError(InputError):
    """A record of which it is unknown where question and answer are."""


def _unrecognised(record: Record, options: Options) -> InputError:
    names = " and ".join(map(repr, options.fields))
    keys = ", ".join(shortened(repr(key)) for key in record) or "nothing"
    return UnrecognisedError(
        _known_problem(record) or f"missing {names}: found {keys}; {ADVICE_ON_BOTH}"
    )


def _known_problem(record: Record) -> str | None:
    """Returns what is wrong with a record without an answer, if that is plain."""
    if {"custom_id", "method", "body"} <= set(record):
        return "is a request of a batch: name the file of its outputs"
    if set(record) <= _OF_QUESTIONS:
        keys = ", ".join(map(repr, record))
        return f"has no answer, only {keys}: name the file with the answers"
    for key, value in record.items():
        if value and isinstance(value, list) and is_chat(value):
            if any(map(role_of, value)):
                return f"the chat in {key!r} has no answer of the assistant: name the file with the answers"
            if len(record) == 1:
                return f"has its records in {key!r}: write one per line (jq -c '.{key}[]'), or an array"
    return None


def schema_record(schema: pl.Schema, row: Record | None = None) -> Record:
    """Returns a record of a table with these columns, of which texts need not be known; `row`: its others."""
    texts = (pl.String, pl.Categorical, pl.Enum)
    known = {name: "" if name == "input" else "…" for name, kind in schema.items() if kind in texts}
    return {
        **dict.fromkeys(schema),
        **known,
        **{k: v for k, v in (row or {}).items() if v is not None},
    }


def recognised_table(source: Source, options: Options) -> tuple[Options, Iterator[Block] | None]:
    """Returns options that say how a table is read and, unless it is flat, its rows as lines of JSON."""
    schema = pl.Schema(table_schema(source))
    row = None if is_plain(schema) else first_row(source)
    options = resolved(options, schema_record(schema, row))
    if not has_nested(schema, options):
        return options, None
    read_as = replace(options.read_as or PLAIN, is_flat=False)
    options, rows = replace(options, read_as=read_as), table_rows(source, options.rows)
    return options, json_blocks((line for frame in rows for line in rows_as_json(frame)), "row")


def has_nested(schema: pl.Schema, options: Options) -> bool:
    """Whether what is read of a table with these columns stands within a column."""
    read_as = options.read_as or PLAIN
    paths = [*options.fields, *options.keys]
    if not read_as.is_flat or any(
        path not in schema and path.split(".")[0] in schema for path in paths
    ):
        return True
    if options.tokens or read_as.is_plain:
        return False
    return any(path in schema and schema[path].is_nested() for path in options.fields)


def recognised_blocks(
    blocks: Iterator[Block], path: str, options: Options
) -> tuple[Options, Iterator[Block]]:
    """Returns options that say how a file is read, and its lines, flat."""
    begin = next(blocks, None)
    if begin is None:
        return resolved(options, None), iter(())
    options = resolved_by(begin, path, options)
    if options.read_as is None or options.read_as.is_flat:
        return options, _again(begin, blocks)
    return options, map(Converter(path, options), _again(begin, blocks))


def _again(begin: Block, blocks: Iterator[Block]) -> Iterator[Block]:
    yield begin
    del begin  # before the next one is read
    yield from blocks


def resolved_by(block: Block, path: str, options: Options) -> Options:
    """Returns options that say how the records of a file are read that begins with these lines."""
    if options.read_as is not None:
        return options
    for number, line in enumerate(io.BytesIO(block.text), 1):
        if not line.strip():
            continue
        try:
            record = parse_line(line, replace_invalid=options.replace_invalid)
        except InputError:
            if options.skip_bad_lines:
                continue
            break  # which is told where lines are decoded
        try:
            return _flattened(_joined(resolved(options, record), record, path), record)
        except InputError as error:
            if isinstance(error, UnrecognisedError) and options.skip_bad_lines:
                continue
            raise InputError(error.problem, path=path, line=number, item=block.item) from None
    return resolved(options, None)


def _flattened(options: Options, record: Record) -> Options:
    """Returns options that say whether records like this one are read as they are."""
    read_as = options.read_as or PLAIN
    keys = [*options.keys, read_as.question, read_as.answer]
    is_nested = any("." in key and key not in record for key in keys)
    texts = (record.get(key, "") for key in keys[-2:])
    is_flat = read_as.is_plain or all(isinstance(text, str) for text in texts)
    is_flat = is_flat and not is_nested and read_as.requests is None
    return replace(options, read_as=replace(read_as, is_flat=is_flat))


class Converter:
    """Converts records to lines with the keys `question` and `answer`.

    A line may have several answers, and become as many.
    """

    def __init__(self, path: str, options: Options) -> None:
        self._path, self._options = path, options
        self._read_as = options.read_as or PLAIN
        self._start = 0
        self._same = LAYOUTS.get(self._read_as.layout).same
        self._first: Any = _UNKNOWN
        requests = self._read_as.requests
        self._questions = None if requests is None else _questions_of(Path(requests))

    def __call__(self, block: Block) -> Block:
        """Convert the lines of a block."""
        lines, numbers, problems, reasoned = [], [], [], 0
        for number, line in enumerate(block.text.removesuffix(b"\n").split(b"\n"), block.first):
            if not line.strip():
                continue
            try:
                for made, beside in self._made(line):
                    lines.append(made)
                    numbers.append(number)
                    reasoned += beside
            except InputError as error:
                problems.append(self._refused(error, number, block))
        ended = b"\n" if not block.text or block.text.endswith(b"\n") else b""
        text = b"\n".join(lines) + (ended if lines else b"")
        start = self._start
        self._start += len(text)
        return block._replace(
            start=start, text=text, lines=numbers, problems=problems, reasoned=reasoned
        )

    def _made(self, line: bytes) -> Iterator[tuple[bytes, bool]]:
        record = parse_line(line, replace_invalid=self._options.replace_invalid)
        if self._same is not None:
            self._check_same(record.get(self._same))
        kept = {key: _kept(record, key) for key in self._options.keys}
        for question, answer, reasoned in exchanges(record, self._read_as, self._questions):
            made = {**kept, "question": question, "answer": answer}
            yield json.dumps(made, ensure_ascii=False).encode(), reasoned

    def _check_same(self, value: Any) -> None:
        """Raise `InputError` unless a value is that of the first record."""
        if self._first is _UNKNOWN:
            self._first = value
        if value != self._first:
            choice = f"jq -c 'select(.{self._same} == …)'"
            raise InputError(
                f"the {self._same}s {self._first!r} and {value!r} repeat the same answers: keep the lines of "
                f"one of them ({choice})"
            )

    def _refused(self, error: InputError, number: int, block: Block) -> InputError:
        located = InputError(error.problem, path=self._path, line=number, item=block.item)
        if not self._options.skip_bad_lines:
            raise located
        return located


def _kept(record: Mapping[str, Any], key: str) -> Any:
    try:
        return at(record, key)
    except KeyError:
        return None


# Requests of batches, in a file of their own.


def _joined(options: Options, record: Record, path: str) -> Options:
    """Returns options that name the file of requests, if questions stand in one."""
    read_as = options.read_as
    if (
        read_as is None
        or not LAYOUTS.get(read_as.layout).is_joined
        or read_as.question != "custom_id"
    ):
        return options
    name = str(record["custom_id"])
    requests = options.requests or _requests_beside(path, name)
    return (
        options
        if requests is None
        else replace(options, read_as=replace(read_as, requests=requests))
    )


def _requests_beside(path: str, name: str) -> str | None:
    """Returns the one file in the same folder that has a request with this id."""
    place = Path(path)
    if path == "-" or "://" in path or not place.is_file():
        return None
    beside = sorted(
        each for each in place.parent.iterdir() if ".json" in each.name and each != place
    )
    found = [
        each for each in beside[:_MOST_BESIDE] if each.is_file() and _is_of_requests(each, name)
    ]
    if len(found) > 1:
        could = " or ".join(str(each) for each in found)
        raise InputError(
            f"the requests could be in {could}: choose with --requests (in Python: requests=)"
        )
    return str(found[0]) if found else None


def _is_of_requests(path: Path, name: str) -> bool:
    """Whether a file has requests, one with this id among them; no more is read than says so."""
    try:
        with path.open("rb") as file:
            for line in iter(partial(file.readline, _LONGEST_REQUEST), b""):
                found = _request(line) if line.strip() else ("", "")
                if found is None or found[0] == name:
                    return found is not None
    except OSError:
        pass
    return False


def _questions_of(path: Path) -> dict[str, str]:
    """Returns the prompts of requests by `custom_id`. Raises `InputError`."""
    try:
        lines = compression.read_whole(path).split(b"\n")
    except (OSError, compression.UnpackingError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        request = _request(line)
        if request is None:
            problem = "is not a request of a batch: expected custom_id with body or params"
            raise InputError(problem, path=path, line=number)
        if request[0] in found:
            raise InputError(
                f"duplicate custom_id {shortened(request[0])!r}", path=path, line=number
            )
        found[request[0]] = request[1]
    return found


def _request(line: bytes) -> tuple[str, str] | None:
    """Returns id and prompt of a request; `None` for anything else."""
    try:
        record = parse_line(line)
        name = record["custom_id"]
        body = next(record[key] for key in ("body", "params") if key in record)
        prompt = next(body[key] for key in ("messages", "prompt", "input") if key in body)
        return str(name), spoken(prompt, "user").text
    except (InputError, KeyError, StopIteration, TypeError):
        return None
