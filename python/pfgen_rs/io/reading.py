"""Reads several files of responses concurrently, in chunks, ahead of their use, with the columns to keep."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.ahead import Ahead
from pfgen_rs.io.chunk import RUN_ADVICE, Chunk, Kept, Options
from pfgen_rs.io.cleaning import (
    Mode,
    clean_column,
    cleaning_mode,
    column_without_thoughts,
    count_unclean,
    stated_mode,
    thoughtful_rows,
)
from pfgen_rs.io.containers import container_blocks
from pfgen_rs.io.converted import recognised_blocks, recognised_table, resolved, resolved_by
from pfgen_rs.io.csv import csv_chunks, csv_schema
from pfgen_rs.io.layouts import PLAIN
from pfgen_rs.io.lines import Block, line_chunks, missing, parse_line, text_blocks
from pfgen_rs.io.source import DELIMITED, Source
from pfgen_rs.io.tables import table_chunks, table_schema
from pfgen_rs.lazy import pl

_AT_ONCE = 4  # maximum number of files decoded concurrently, given as many cores
_USED = 1  # files that are still used when the next one is asked for


class Reading:
    """One file being read.

    From the first chunk on, `config` is its `config.json`, and `clean` the mode for which its answers are
    cleaned. After the last chunk, `input_hash` is the SHA-1 of its bytes on disk.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.config: dict[str, Any] | None = None
        self.clean: Mode | None = None
        self.input_hash = ""
        self._ahead: Ahead[Chunk] | None = None

    def start(self) -> None:
        """Start reading in a thread."""
        self._ahead = Ahead(self.chunks, room_first=True)

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks in order, from the thread if it was started."""
        return self.chunks() if self._ahead is None else self._ahead

    def close(self) -> None:
        """Stop reading."""
        if self._ahead is not None:
            self._ahead.close()

    def chunks(self) -> Iterator[Chunk]:
        """Read in this thread."""
        if self.options.clean and self.options.tokens:
            raise SettingsError("cannot clean token ids: only text answers can be cleaned")
        for chunk in self._read():
            yield self._prepared(chunk)
            del chunk  # before the next one is read

    def _prepared(self, chunk: Chunk) -> Chunk:
        self.options = replace(self.options, read_as=chunk.read_as)
        chunk = self._reasoned(chunk)
        named = chunk if self.options.run is None else self._named(chunk, self.options.run)
        return named if self.options.tokens else self._cleaned(named)

    def _named(self, chunk: Chunk, run: Kept) -> Chunk:
        """Returns the responses that name their run."""
        names = cast("pl.DataFrame", chunk.kept).get_column(run.name).to_frame("name")
        named = names.select((pl.col("name") != "").fill_null(value=False)).to_series().to_numpy()
        for line in chunk.lines[~named].tolist():
            problem = f"missing value of {run.key!r}, which names the run; {RUN_ADVICE}"
            error = InputError(problem, path=self.source.path, line=line, item=chunk.item)
            if not self.options.skip_bad_lines:
                raise error
            chunk.problems.append(error)
        return chunk if named.all() else chunk.where(named)

    def _reasoned(self, chunk: Chunk) -> Chunk:
        """Returns a chunk without the reasoning that stands in its answers, unless that is to stay."""
        if not self.options.strips_reasoning or not (rows := thoughtful_rows(chunk.texts)):
            return chunk
        answers, identity = column_without_thoughts(chunk.answers, rows), chunk.identity
        return replace(
            chunk,
            answered=answers,
            reasoned=chunk.reasoned + len(rows),
            identity=lambda: f"{identity()}:strip",
        )

    def _cleaned(self, chunk: Chunk) -> Chunk:
        if self.options.check:
            mode = self.clean or stated_mode(self.config)
            chunk = replace(chunk, unclean=count_unclean(chunk.texts, mode))
        if self.clean is None:
            return chunk
        answers, identity = clean_column(chunk.answers, self.clean), chunk.identity
        return replace(chunk, answered=answers, identity=lambda: f"{identity()}:{self.clean}")

    def _read(self) -> Iterator[Chunk]:
        source = self.source
        try:
            self.config = source.config() if self.options.use_config else None
            self.clean = cleaning_mode(self.options.clean, self.config)
            blocks = container_blocks(source)
            if source.is_table or blocks is not None:
                try:
                    yield from self._rows(blocks)
                    with source.open() as raw:
                        self.input_hash = raw.drain()
                finally:
                    source.release()
                return
            with source.open() as raw:
                if source.suffix in DELIMITED:
                    yield from csv_chunks(source, raw, self.options)
                else:
                    with closing(text_blocks(raw, self.options.text_size)) as text:
                        yield from self._lines(text, lambda: raw.count)
                self.input_hash = raw.drain()
        except InputError as error:
            if error.path is not None:
                raise
            raise type(error)(
                error.problem,
                path=source.path,
                line=error.line,
                question=error.question,
                item=error.item,
            ) from None
        except OSError as error:
            raise InputError(unreadable(error), path=source.path) from error

    def _rows(self, blocks: Iterator[Block] | None) -> Iterator[Chunk]:
        """Read a table or a container of records."""
        source = self.source
        if blocks is None:
            self.options, blocks = recognised_table(source, self.options)
        if blocks is None:
            yield from table_chunks(source, self.options)
        else:
            yield from self._lines(blocks, lambda: source.size or 0)

    def _lines(self, blocks: Iterator[Block], read: Callable[[], int]) -> Iterator[Chunk]:
        self.options, lines = recognised_blocks(blocks, self.source.path, self.options)
        yield from line_chunks(self.source.path, lines, self.options, read)


def converted_text(source: Source, options: Options) -> Iterator[tuple[int, bytes]] | None:
    """Returns the text of a file as it is decoded, in pieces with their offsets; `None` if that is its own.

    `options`: those with which the file was read.
    """
    blocks = container_blocks(source)
    if blocks is None and source.is_table:
        blocks = recognised_table(source, options)[1]
    elif (
        blocks is None
        and source.suffix not in DELIMITED
        and not (options.read_as or PLAIN).is_plain
    ):
        blocks = _text(source, options)
    if blocks is None:
        return None
    _, lines = recognised_blocks(blocks, source.path, options)
    return ((block.start, block.text) for block in lines)


def _text(source: Source, options: Options) -> Iterator[Block]:
    with source.open() as raw, closing(text_blocks(raw, options.text_size)) as blocks:
        yield from blocks


@contextmanager
def read_ahead(sources: Sequence[Source], options: Options) -> Iterator[Iterator[Reading]]:
    """Yield a reading for each source, in order; the next ones are read while one is used.

    So may be the one after it, if it was asked for. Those before are closed.
    """
    started: deque[Reading] = deque()
    used: deque[Reading] = deque()
    waiting = deque(sources)
    at_once = max(1, min(_AT_ONCE, os.cpu_count() or 1))

    def readings() -> Iterator[Reading]:
        while waiting or started:
            while waiting and len(started) < at_once:
                started.append(Reading(waiting.popleft(), options))
                started[-1].start()
            used.append(started.popleft())
            yield used[-1]
            if len(used) > _USED:
                used.popleft().close()

    try:
        yield readings()
    finally:
        for reading in (*used, *started):
            reading.close()


# Additional columns of a file of responses that are copied beside the scores.


Keep = Literal["all", "none"] | Sequence[str] | None
"""Names of columns; `None`: all columns of tables, none of JSON; `"all"`: also the keys of JSON that occur at
the beginning of a file."""

_PREFIX = "input_"
_BEGIN = 1 << 18  # bytes of a file of records in which its keys are looked for
_ASKED_AT_ONCE = 8
MOST_RUNS = 1000
"""Maximum number of runs in a file: each takes memory, and a line of output."""


class _Input(NamedTuple):
    """The columns of a file, as far as they are `known`, and which of them are question and answer.

    `typed`: whether values are read as what they are, rather than as text.
    """

    kinds: Mapping[str, pl.DataType]
    fields: tuple[str, ...] = ()
    typed: bool = False
    known: bool = True


def kept_columns(
    sources: Sequence[Source], options: Options, keep: Keep, taken: Collection[str]
) -> tuple[Kept, ...]:
    """Returns the columns to keep, the same for all sources.

    Names that are in `taken` get the prefix `input_`. Columns whose type differs between files become text,
    as do those of JSON; those without a name are left out. Raises `InputError` for columns that are in none
    of the files.
    """
    if keep == "none" or keep == []:
        return ()
    keep = [keep] if isinstance(keep, str) and keep != "all" else keep
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:  # servers answer late
        inputs = list(pool.map(lambda source: _input_to_keep(source, options, keep), sources))
    kept: dict[str, Kept] = {}
    for key in _names_to_keep(inputs, keep):
        name = key
        while name in taken or name in kept:
            name = _PREFIX + name
        kept[name] = Kept(key, name, _column_kind_to_keep(key, inputs))
    return tuple(kept.values())


def _input_to_keep(source: Source, options: Options, keep: Keep) -> _Input:
    if source.is_table:
        options, blocks = recognised_table(source, options)
        kinds, typed = table_schema(source), blocks is None
        if not typed:  # rows are read as JSON, which has no bytes
            kinds = {name: pl.String() for name, kind in kinds.items() if kind != pl.Binary}
        return _Input(kinds, _fields_of(options), typed)
    if source.suffix in DELIMITED:
        kinds = csv_schema(source)
        whole = keep is None or keep == "all"
        fields = _fields_of(resolved(options, dict.fromkeys(kinds, "…"))) if whole else ()
        return _Input(kinds, fields, typed=True)
    return _keys_of_records(source, options) if keep == "all" else _Input({}, known=False)


def _fields_of(options: Options) -> tuple[str, ...]:
    read_as = options.read_as or PLAIN
    return read_as.question, read_as.answer


def _keys_of_records(source: Source, options: Options) -> _Input:
    """Returns the keys of the records at the beginning of a file."""
    with source.open() as raw:
        if raw.copied:  # a pipe is read to its end, so that it can be read again
            raw.drain()
    with source.open() as raw, closing(text_blocks(raw, _BEGIN)) as text:
        begin = next(container_blocks(source) or text, None)
    if begin is None:
        return _Input({})
    keys: dict[str, pl.DataType] = {}
    for line in filter(bytes.strip, begin.text.split(b"\n")):
        with suppress(InputError):  # which is told when it is read
            record = parse_line(line, replace_invalid=options.replace_invalid)
            keys.update(dict.fromkeys(record, pl.String()))
    return _Input(keys, _fields_of(resolved_by(begin, source.path, options)))


def _names_to_keep(inputs: Sequence[_Input], keep: Keep) -> list[str]:
    if keep is None or keep == "all":
        names = (name for each in inputs for name in each.kinds if name and name not in each.fields)
        return list(dict.fromkeys(names))
    there = dict.fromkeys(name for each in inputs for name in each.kinds)
    for name in keep:
        if name not in there and all(each.known for each in inputs):
            raise missing("column", name, there, None)
    return list(dict.fromkeys(keep))


def _column_kind_to_keep(key: str, inputs: Sequence[_Input]) -> pl.DataType:
    kinds = {str(each.kinds[key]): each.kinds[key] for each in inputs if key in each.kinds}
    kinds.pop("Null", None)
    if any(name.startswith("List(") for name in kinds if name != "List(Null)"):
        kinds.pop("List(Null)", None)  # of empty lists alone
    if len(kinds) != 1 or not all(each.typed for each in inputs):
        nested = [kind for kind in kinds.values() if kind.is_nested() or kind == pl.Binary]
        if nested:
            raise InputError(
                f"the column {key!r} has type {nested[0]} in one file and another type in others: name the "
                "columns to keep, without it (--keep, in Python: keep=)"
            )
        return pl.String()
    [kind] = kinds.values()
    return pl.String() if kind in (pl.Categorical, pl.Enum) else kind


def with_runs(options: Options, run_field: str | None, taken: Collection[str] = ()) -> Options:
    """Returns options that split files into runs by the key or column `run_field`, kept as text."""
    if run_field is None:
        return options
    if options.leave_out is not None:
        raise InputError(
            "the runs of a file are scored with the same reference answers: to leave out those of a model, "
            "score a file for each run, without --run-field (run_field=)"
        )
    others = [kept for kept in options.keep if kept.key != run_field]
    name = run_field
    while name in taken or any(name == kept.name for kept in others):
        name = _PREFIX + name
    run = Kept(run_field, name, pl.String())
    return replace(options, keep=(run, *others), run=run)


def too_many_runs(key: str) -> str:
    """Returns the message for a file with more than `MOST_RUNS` runs."""
    return f"more than {MOST_RUNS:,} values of {key!r}, which names the run: is it the right field?"
