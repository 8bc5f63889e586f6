"""Additional columns of a file of responses that are copied beside the scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pfgen_rs import lazy
from pfgen_rs.errors import InputError
from pfgen_rs.io.chunk import Kept, Options
from pfgen_rs.io.csv import csv_schema
from pfgen_rs.io.lines import missing
from pfgen_rs.io.source import DELIMITED, Source
from pfgen_rs.io.tables import is_table, table_schema

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

Keep = Literal["all", "none"] | Sequence[str] | None
"""Names of columns; `None`: all columns of tables, none of JSON, whose records may have different keys."""

_PREFIX = "input_"
MOST_RUNS = 1000
"""Maximum number of runs in a file: each takes memory, and a line of output."""


def kept_columns(
    sources: Sequence[Source], options: Options, keep: Keep, taken: Collection[str]
) -> tuple[Kept, ...]:
    """Returns the columns to keep, the same for all sources.

    Names that are in `taken` get the prefix `input_`. Columns whose type differs between files become text.
    Raises `InputError` for columns that are in none of the files.
    """
    if keep == "none" or keep == []:
        return ()
    schemas = [_schema_to_keep(source) for source in sources]
    names = _names_to_keep(schemas, sources, keep, options)
    kept: dict[str, Kept] = {}
    for key in names:
        name = key
        while name in taken or name in kept:
            name = _PREFIX + name
        kept[name] = Kept(key, name, _column_kind_to_keep(key, schemas))
    return tuple(kept.values())


def _schema_to_keep(source: Source) -> dict[str, pl.DataType] | None:
    """Returns the columns of a table; `None` for JSON."""
    if is_table(source):
        return table_schema(source)
    return csv_schema(source) if source.suffix in DELIMITED else None


def _names_to_keep(
    schemas: Sequence[dict[str, Any] | None],
    sources: Sequence[Source],
    keep: Keep,
    options: Options,
) -> list[str]:
    there = dict.fromkeys(name for schema in schemas for name in schema or ())
    if keep == "all" and None in schemas:
        raise InputError(
            "cannot keep all keys of JSON records, which may differ: name the keys to keep",
            path=sources[schemas.index(None)].path,
        )
    if keep is None or keep == "all":
        return [name for name in there if name not in options.fields]
    for name in keep:
        if name not in there and None not in schemas:
            raise missing("column", name, there, None)
    return list(dict.fromkeys(keep))


def _column_kind_to_keep(key: str, schemas: Sequence[dict[str, pl.DataType] | None]) -> pl.DataType:
    kinds = {str(schema[key]): schema[key] for schema in schemas if schema and key in schema}
    kinds.pop("Null", None)
    if len(kinds) != 1 or None in schemas:
        nested = [kind for kind in kinds.values() if kind.is_nested()]
        if nested:
            raise InputError(
                f"the column {key!r} has type {nested[0]} in one file and another type in others"
            )
        return pl.String()
    [kind] = kinds.values()
    return pl.String() if kind in (pl.Categorical, pl.Enum) else kind


def with_runs(options: Options, run_field: str | None, taken: Collection[str] = ()) -> Options:
    """Returns options that split files into runs by the key or column `run_field`, kept as text."""
    if run_field is None:
        return options
    if run_field in options.fields:
        raise InputError(f"{run_field!r} cannot name runs: it is the question or the answer")
    others = [kept for kept in options.keep if kept.key != run_field]
    name = run_field
    while name in taken or any(name == kept.name for kept in others):
        name = _PREFIX + name
    run = Kept(run_field, name, pl.String())
    return replace(options, keep=(run, *others), run=run)


def too_many_runs(key: str) -> str:
    """Returns the message for a file with more than `MOST_RUNS` runs."""
    return f"more than {MOST_RUNS:,} values of {key!r}, which names the run: is it the right field?"
