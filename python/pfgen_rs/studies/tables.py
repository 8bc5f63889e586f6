"""Tables of other benchmarks: read from CSV, JSON, YAML and Parquet, none of them trusted.

Rows have columns that are addressed by name, and figures in their cells.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.extras import missing
from pfgen_rs.io.formats import HEAD, other_encoding, refuse_other_format
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.stats.checks import LARGEST
from pfgen_rs.studies.model_names import model_key

if TYPE_CHECKING:
    import polars as pl

KEYS = "(names)"
"""The column that holds the keys of a mapping of names to values."""
_MISSING = frozenset({"", "~", "-", "–", "—", "n/a", "na", "nan", "none", "null"})
_SHOWN = 12  # columns in an error
_DEEPEST = 20
LONGEST_NAME = 1_000
"""The most characters of a column's name, joined with dots."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Figures:
    """One column: the highest figure of each model by its key, and the name that it stands under.

    `missing`: rows whose cell is empty, or says that there is no figure, or that have no name.
    """

    column: str
    values: dict[str, float]
    names: dict[str, str]
    missing: int


@dataclass(frozen=True)
class BenchmarkTable:
    """The rows of a file, nested ones flattened: `{"results": {"ja": {"avg": 1}}}` is `results.ja.avg`.

    `columns`: names in the order in which they first occur. `lines`: where each row is in the file, for
    errors: line, row or element, counted from 1.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def known(self) -> str:
        """What columns there are, for messages."""
        return f"the table has {_listed_columns(self.columns)}"

    def find(self, wanted: str) -> str:
        """Returns the column with a name or, failing that, the one that ends in it after a dot.

        `ja_pre.NIILC` finds `results.ja_pre.NIILC`. Raises `InputError` for none and for several.
        """
        if wanted in self.columns:
            return wanted
        ending = [name for name in self.columns if name.endswith(f".{wanted}")]
        if len(ending) == 1:
            return ending[0]
        if ending:
            raise self._error(
                f"column {wanted!r} is ambiguous: it may be any of {_listed_columns(ending)}"
            )
        count = wanted.count(".") + 1
        endings = dict.fromkeys(".".join(name.split(".")[-count:]) for name in self.columns)
        near = get_close_matches(wanted, dict.fromkeys([*self.columns, *endings]), n=3, cutoff=0.7)
        advice = f"did you mean {' or '.join(map(repr, near))}?" if near else self.known
        raise self._error(f"no column {wanted!r}: {advice}")

    def find_all(self, pattern: str) -> list[str]:
        """Returns the column of a name, or all columns that match a pattern with `*` or `?`.

        A pattern may leave out what is before a dot, as a name may. Raises `InputError` for none.
        """
        if not self.is_pattern(pattern):
            return [self.find(pattern)]
        found = [
            name
            for name in self.columns
            if fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")
        ]
        if not found:
            raise self._error(f"no column matches {pattern!r}: {self.known}")
        return found

    def is_pattern(self, text: str) -> bool:
        """Whether a text stands for all columns that match it."""
        return text not in self.columns and bool(set("*?") & set(text))

    def short_name(self, column: str, pattern: str) -> str:
        """Returns a column without what the pattern that matches it left out, if that still finds it."""
        parts = column.split(".")
        for start in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[start:])
            ending = [other for other in self.columns if other.endswith(f".{name}")]
            if fnmatchcase(name, pattern) and ending == [column] and name not in self.columns:
                return name
        return column

    def figures(self, name_column: str, column: str, aliases: Mapping[str, str]) -> Figures:
        """Returns the figures of a column by model; of several rows of one model the highest.

        `aliases`: keys of this table's names with those to use instead. Raises `InputError`, with the row,
        for names that are not text, and for cells that are neither empty nor numbers from -1e70 to 1e70.
        """
        values: dict[str, float] = {}
        names: dict[str, str] = {}
        missing = 0
        for number, row in enumerate(self.rows, 1):
            name = self._name(row, number, name_column)
            key = model_key(name)
            value = self._number(row, number, column)
            if not key or value is None:
                missing += 1
            elif (key := aliases.get(key, key)) not in values or value > values[key]:
                values[key], names[key] = value, name
        return Figures(column, values, names, missing)

    def keys(self, name_column: str, aliases: Mapping[str, str]) -> dict[str, str]:
        """Returns the key of each model with a name that it stands under."""
        named: dict[str, str] = {}
        for number, row in enumerate(self.rows, 1):
            name = self._name(row, number, name_column)
            if key := model_key(name):
                named.setdefault(aliases.get(key, key), name)
        return named

    def is_numeric(self, column: str) -> bool:
        """Whether a column has figures, and nothing else."""
        try:
            found = [self._number(row, number, column) for number, row in enumerate(self.rows, 1)]
        except InputError:
            return False
        return any(value is not None for value in found)

    def name_in(self, number: int, column: str) -> str:
        """Returns the name in a row, counted from 1; empty if there is none. Raises `InputError`."""
        return self._name(self.rows[number - 1], number, column)

    def number_in(self, number: int, column: str) -> float | None:
        """Returns the figure in a row, counted from 1; `None` if there is none. Raises `InputError`."""
        return self._number(self.rows[number - 1], number, column)

    def _name(self, row: Row, number: int, column: str) -> str:
        value = row.get(column)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._error(
                f"{column!r} is {_shown_value(value)}: expected a model's name as text", number
            )
        return value

    def _number(self, row: Row, number: int, column: str) -> float | None:
        value = row.get(column)
        if value is None or (isinstance(value, str) and value.strip().casefold() in _MISSING):
            return None
        found = math.inf
        if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
            try:
                found = float(value)
            except (ValueError, OverflowError):
                found = math.inf
        if math.isnan(found):
            return None
        if math.isinf(found) or (isinstance(value, str) and "_" in value):
            raise self._error(f"{column!r} is {_shown_value(value)}: expected a number", number)
        if abs(found) > LARGEST:
            raise self._error(
                f"{column!r} is {_shown_value(value)}: expected a number from {-LARGEST:g} to {LARGEST:g}",
                number,
            )
        return found

    def _error(self, problem: str, row: int | None = None) -> InputError:
        return InputError(problem, path=self.path, line=row, item="row")


def flat_row(record: Mapping[Any, Any], path: str, number: int) -> dict[str, Any]:
    """Returns a row with nested mappings flattened, by names that are joined with dots.

    Raises `InputError` for two values of one name, for mappings that are nested too deeply, for names of more
    than 1,000 characters, and for text that is no Unicode (half a surrogate pair, which JSON can spell).
    """
    found: dict[str, Any] = {}
    try:
        for name, value in _flat_items(record, ()):
            if name in found:
                raise InputError(f"{shortened(name)!r} occurs twice")
            if isinstance(value, str):
                _check_unicode(value, f"{shortened(name)!r}")
            found[name] = value
    except InputError as error:
        raise InputError(error.problem, path=path, line=number, item="row") from None
    return found


def _flat_items(record: Mapping[Any, Any], above: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if len(above) > _DEEPEST:
        raise InputError("is nested too deeply")
    room = LONGEST_NAME - sum(len(name) + 1 for name in above)
    for key, value in record.items():
        name = str(key)
        _check_unicode(name, "the name of a column")
        if len(name) > room:  # before it is copied for each value below it
            raise InputError(
                f"the name of a column is longer than {LONGEST_NAME:,} characters: {shortened(name)!r}"
            )
        place = (*above, name)
        if isinstance(value, Mapping):
            yield from _flat_items(value, place)
        else:
            yield ".".join(place), value


def _check_unicode(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is no Unicode text: {shortened(text)!r}") from None


def _listed_columns(names: Sequence[str]) -> str:
    shown = ", ".join(repr(shortened(name)) for name in names[:_SHOWN])
    left = len(names) - _SHOWN
    return f"{shown} and {left:,} more" if left > 0 else shown


def _shown_value(value: object) -> str:
    if isinstance(value, Decimal):
        return shortened(str(value))
    if not isinstance(value, str | int | float):
        return type(value).__name__
    try:
        return shortened(repr(value))
    except ValueError:  # Python writes out no whole number of more than 4,300 digits
        return "a whole number that is too long to show"


_LARGEST = 16 << 20  # bytes of a file: leaderboards have a fiftieth
_MOST_ROWS, _MOST_CELLS = 100_000, 2_000_000
_DEEPEST_YAML = 50
_VALUE = "value"  # the column of a mapping of names to single values


def read_benchmark_table(path: str | os.PathLike[str]) -> BenchmarkTable:
    """Read a table of another benchmark, whole.

    CSV with a header; JSON or YAML: a list of rows, or a mapping of names to rows or to single values (the
    columns `(names)` and `value`); Parquet. Raises `InputError` for files that are not tables.
    """
    place = Path(path)
    read = _READERS.get(place.suffix.lower())
    if read is None:
        raise InputError(
            f"unknown format: expected a name ending in one of {', '.join(SUFFIXES)}", path=place
        )
    rows = read(place)
    if not rows:
        raise InputError("the table has no rows", path=place)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return BenchmarkTable(str(place), columns, tuple(rows))


def _table_bytes(path: Path) -> bytes:
    _check_table_size(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _check_table_size(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    if size > _LARGEST:
        raise InputError(f"is larger than {_LARGEST >> 20} MiB: remove what is no table", path=path)


def _table_text(path: Path) -> str:
    content = _table_bytes(path)
    try:
        refuse_other_format(content[:HEAD])
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}{other_encoding(content)}", path=path) from None


def _csv_table(path: Path) -> list[dict[str, Any]]:
    lines = csv.reader(io.StringIO(_table_text(path), newline=""), strict=True)
    try:
        header = next((_stripped(cells) for cells in lines if any(_stripped(cells))), None)
        if header is None:
            return []
        _check_header(header, path)
        return _bounded(_csv_rows(lines, header, path), path)
    except csv.Error as error:
        raise InputError(f"invalid CSV: {error}", path=path, line=lines.line_num) from None


def _stripped(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _check_header(header: Sequence[str], path: Path) -> None:
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise InputError(f"two columns are called {shortened(twice[0])!r}: rename one", path=path)
    for mark, what in (("\t", "tabs"), (";", "semicolons")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(f"columns are separated by {what}: expected commas", path=path)


def _csv_rows(
    lines: Iterator[Sequence[str]], header: Sequence[str], path: Path
) -> Iterator[dict[str, Any]]:
    for number, cells in enumerate(filter(None, lines), 1):
        if len(cells) != len(header):
            raise InputError(
                f"has {counted(len(cells), 'cell')}, but the header has {len(header)}",
                path=path,
                line=number,
                item="row",
            )
        yield {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _json_table(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(_table_text(path), object_pairs_hook=_json_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}", path=path) from None
    return _rows_of(found, path)


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _twice([key for key, _ in pairs])
    return found


def _twice(keys: Sequence[str]) -> ValueError:
    twice = next(name for name, count in Counter(keys).items() if count > 1)
    return ValueError(f"the key {shortened(twice)!r} occurs twice in an object")


def _yaml_table(path: Path) -> list[dict[str, Any]]:
    try:
        import yaml
    except ImportError as failed:
        raise missing("PyYAML, which reads .yml,", "studies", failed, InputError) from failed

    class Loader(yaml.CBaseLoader):  # type: ignore[misc] # makes texts, lists and mappings alone
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ARG002
            mapping = super().construct_mapping(node, deep=True)
            if len(mapping) < len(node.value):
                raise _twice([key.value for key, _ in node.value])
            return mapping

    text = _table_text(path)
    try:
        _check_events(yaml.parse(text, Loader=Loader))
        return _rows_of(yaml.load(text, Loader=Loader), path)  # noqa: S506
    except InputError as error:
        raise InputError(error.problem, path=path, line=error.line, item=error.item) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line = None if mark is None else mark.line + 1
        raise InputError(f"invalid YAML: {problem}", path=path, line=line) from None
    except ValueError as error:
        raise InputError(f"invalid YAML: {error}", path=path) from None


def _check_events(events: Iterable[Any]) -> None:
    """Raise `InputError` for aliases, which can make a small file huge, and for what is nested too deeply."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if kind == "AliasEvent" or depth > _DEEPEST_YAML:
            what = "an alias" if kind == "AliasEvent" else "values that are nested too deeply"
            raise InputError(f"has {what}", line=event.start_mark.line + 1)


def _rows_of(found: object, path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a list of mappings, or of a mapping of names."""
    if isinstance(found, Mapping):
        if any(isinstance(value, list | tuple) for value in found.values()):
            listed = next(name for name, value in found.items() if isinstance(value, list | tuple))
            raise InputError(
                f"expected a list of rows, or a mapping of names to rows: {shortened(str(listed))!r} is a "
                "list (if it is the table, save it alone)",
                path=path,
            )
        found = [
            {KEYS: name, **(value if isinstance(value, Mapping) else {_VALUE: value})}
            for name, value in found.items()
        ]
    if not isinstance(found, list):
        raise InputError("expected a list of rows, or a mapping of names to rows", path=path)
    return _bounded(_flat_rows(found, path), path)


def _flat_rows(found: Sequence[object], path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            raise InputError(
                f"expected an object with columns, not {type(row).__name__}",
                path=path,
                line=number,
                item="row",
            )
        yield flat_row(row, str(path), number)


def _bounded(rows: Iterable[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Returns the rows; raises `InputError` as soon as they are too many."""
    found: list[dict[str, Any]] = []
    cells = 0
    for row in rows:
        found.append(row)
        cells += len(row)
        _check_count(len(found), cells, path)
    return found


def _check_count(rows: int, cells: int, path: Path) -> None:
    if rows > _MOST_ROWS or cells > _MOST_CELLS:
        raise InputError(
            f"has more than {_MOST_ROWS:,} rows or {_MOST_CELLS:,} cells: remove what is no table",
            path=path,
        )


def _parquet_table(path: Path) -> list[dict[str, Any]]:
    import polars as pl
    from polars import selectors

    from pfgen_rs.io.tables import table_errors

    _check_table_size(path)
    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except table_errors() as error:
        reason = str(error).split("\n\n")[0]  # the rest is advice on polars' own options
        raise InputError(f"cannot be read as .parquet: {reason}", path=path) from None
    frame = _unnested(frame, path)
    frame = frame.select(~(selectors.nested() | selectors.binary() | selectors.object()))
    _check_count(len(frame), frame.width * len(frame), path)
    # A file may store a long text once for all rows; Python would not.
    texts = selectors.string() | selectors.categorical() | selectors.enum()
    sizes = frame.select(texts.cast(pl.String).str.len_bytes().cast(pl.UInt64).sum())
    if sizes.width and sum(sizes.row(0)) > _LARGEST:
        raise InputError(
            f"has more than {_LARGEST >> 20} MiB of text: remove what is no table", path=path
        )
    return _rows_of(frame.to_dicts(), path)


def _unnested(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Returns a table with the fields of structs as columns, by names that are joined with dots."""
    from polars import selectors
    from polars.exceptions import DuplicateError

    for _ in range(_DEEPEST):
        structs = selectors.expand_selector(frame, selectors.struct())
        if not structs:
            return frame
        try:
            frame = frame.unnest(structs, separator=".")
        except DuplicateError as error:
            name = re.search(r"'([^']*)'", str(error))
            said = shortened(name[1]) if name else "the same"
            raise InputError(f"two columns are called {said!r}: rename one", path=path) from None
        for column in frame.columns:
            if len(column) > LONGEST_NAME:
                raise InputError(
                    f"the name of a column is longer than {LONGEST_NAME:,} characters: "
                    f"{shortened(column)!r}",
                    path=path,
                )
    raise InputError("has values that are nested too deeply", path=path)


_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".csv": _csv_table,
    ".json": _json_table,
    ".yml": _yaml_table,
    ".yaml": _yaml_table,
    ".parquet": _parquet_table,
}
SUFFIXES = tuple(_READERS)
