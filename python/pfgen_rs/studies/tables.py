"""Tables of other benchmarks, read from CSV and JSON, neither of them trusted; and names of models there.

Rows have columns that are addressed by name, and figures in their cells.
"""

import csv
import io
import json
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs.errors import ConfigError, InputError, unreadable
from pfgen_rs.io import formats, source
from pfgen_rs.io.text import counted, shortened
from pfgen_rs.lazy import pl
from pfgen_rs.questions.left_out import model_key
from pfgen_rs.stats.checks import LARGEST, shown_value

KEYS = "(names)"
"""The column that holds the keys of a mapping of names to values."""
_VALUE = "value"  # the column of a mapping of names to single values
MISSING = frozenset({"", "~", "-", "–", "—", "n/a", "na", "nan", "none", "null"})
"""What cells without a value say, in lower case."""
_SHOWN = 12  # columns in an error
_DEEPEST = 20
_LONGEST_NAME = 1_000  # characters of a column's name, joined with dots
_LARGEST = 4 << 20  # bytes of a file: leaderboards have a tenth

Row = Mapping[str, Any]


@dataclass(frozen=True)
class BenchmarkTable:
    """The rows of a file, nested ones flattened: `{"results": {"ja": {"avg": 1}}}` is `results.ja.avg`.

    `columns`: names in the order in which they first occur.
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def known(self) -> str:
        """What columns there are, for messages."""
        return f"the table has {_listed(self.columns)}"

    def find(self, wanted: str) -> str:
        """Returns the column with a name or, failing that, the one that ends in it after a dot.

        `ja_pre.NIILC` finds `results.ja_pre.NIILC`. Raises `InputError` for none and for several.
        """
        if wanted in self.columns:
            return wanted
        ending = self._ending_in(wanted)
        if len(ending) == 1:
            return ending[0]
        if ending:
            raise self._error(f"column {wanted!r} is ambiguous: it may be any of {_listed(ending)}")
        near = get_close_matches(wanted, self.columns, n=3, cutoff=0.7)
        advice = f"did you mean {' or '.join(map(repr, near))}?" if near else self.known
        raise self._error(f"no column {wanted!r}: {advice}")

    def _ending_in(self, name: str) -> list[str]:
        return [column for column in self.columns if column.endswith(f".{name}")]

    def matching(self, pattern: str) -> dict[str, str]:
        """Returns the columns that match a pattern with `*` or `?`, by the names to show them with.

        A pattern may leave out what is before a dot, as a name may; so does the name to show, if it still
        finds the column. Raises `InputError` for none.
        """
        found = {
            self._short_name(name, pattern): name
            for name in self.columns
            if fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")
        }
        if not found:
            raise self._error(f"no column matches {pattern!r}: {self.known}")
        return found

    def _short_name(self, column: str, pattern: str) -> str:
        parts = column.split(".")
        for start in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[start:])
            is_clear = self._ending_in(name) == [column] and name not in self.columns
            if is_clear and fnmatchcase(name, pattern):
                return name
        return column

    def is_pattern(self, text: str) -> bool:
        """Whether a text stands for all columns that match it."""
        return text not in self.columns and bool(set("*?") & set(text))

    def figures(
        self, name_column: str, column: str, aliases: Mapping[str, str]
    ) -> tuple[pl.DataFrame, int]:
        """Returns `key`, `name` and figure (`value`) of each model in a column, and how many rows lack one.

        Of several rows of a model the highest counts. Rows lack a figure whose cell is empty, or says so, and
        those without a name. `aliases`: keys of this table's names with those to use instead. Raises
        `InputError`, with the row, for names that are not text, and for cells that are neither empty nor
        numbers from -1e70 to 1e70.
        """
        found: dict[str, tuple[str, float]] = {}
        missing = 0
        for name, value in zip(self.names(name_column), self.numbers(column), strict=True):
            key = model_key(name)
            if not key or value is None:
                missing += 1
            elif (key := aliases.get(key, key)) not in found or value > found[key][1]:
                found[key] = name, value
        rows = [(key, *each) for key, each in found.items()]
        schema = {"key": pl.String, "name": pl.String, "value": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row"), missing

    def values(
        self, name_column: str, column: str, aliases: Mapping[str, str]
    ) -> dict[str, float] | dict[str, str]:
        """Returns each model's figure by key, or its first text in a column that has others than numbers."""
        try:
            figures, _ = self.figures(name_column, column, aliases)
            return dict(figures.select("key", "value").iter_rows())
        except InputError:
            found: dict[str, str] = {}
            for name, row in zip(self.names(name_column), self.rows, strict=True):
                key, text = model_key(name), str(row.get(column, "")).strip()
                if key and text.casefold() not in MISSING:
                    found.setdefault(aliases.get(key, key), text)
            return found

    def keys(self, name_column: str, aliases: Mapping[str, str]) -> dict[str, str]:
        """Returns the key of each model with a name that it stands under."""
        named: dict[str, str] = {}
        for name in self.names(name_column):
            if key := model_key(name):
                named.setdefault(aliases.get(key, key), name)
        return named

    def names(self, column: str) -> list[str]:
        """Returns the name in each row; empty if there is none. Raises `InputError`, with the row."""
        found = [row.get(column) for row in self.rows]
        for number, value in enumerate(found, 1):
            if not (value is None or isinstance(value, str)):
                expected = "expected a model's name as text"
                raise self._error(f"{column!r} is {shown_value(value)}: {expected}", number)
        return [name or "" for name in found]

    def numbers(self, column: str) -> list[float | None]:
        """Returns the figure in each row; `None` if there is none. Raises `InputError`, with the row."""
        return [self._number(row.get(column), column, at) for at, row in enumerate(self.rows, 1)]

    def _number(self, value: object, column: str, row: int) -> float | None:
        if value is None or (isinstance(value, str) and value.strip().casefold() in MISSING):
            return None
        found = math.inf
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                found = float(value)
        if math.isnan(found):
            return None
        if abs(found) <= LARGEST and not (isinstance(value, str) and "_" in value):
            return found
        expected = f"a number from {-LARGEST:g} to {LARGEST:g}"
        raise self._error(f"{column!r} is {shown_value(value)}: expected {expected}", row)

    def _error(self, problem: str, row: int | None = None) -> InputError:
        return InputError(problem, path=self.path, line=row, item="row")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(shortened(name)) for name in names[:_SHOWN])
    left = len(names) - _SHOWN
    return f"{shown} and {left:,} more" if left > 0 else shown


def read_benchmark_table(path: str | os.PathLike[str] | BenchmarkTable) -> BenchmarkTable:
    """Read a table of another benchmark, whole; returns one that has been read.

    CSV with a header; JSON: a list of rows, or a mapping of names to rows or to single values (the columns
    `(names)` and `value`). Raises `InputError` for files that are not tables.
    """
    if isinstance(path, BenchmarkTable):
        return path
    place = Path(path)
    read = {".csv": _csv_rows, ".json": _json_rows}.get(place.suffix.lower())
    if read is None:
        raise InputError("unknown format: expected a name ending in .csv or .json", path=place)
    try:
        rows = list(read(_text(place)))
    except OSError as error:
        raise InputError(unreadable(error), path=place) from error
    except InputError as error:
        raise InputError(error.problem, path=place, line=error.line, item=error.item) from None
    if not rows:
        raise InputError("the table has no rows", path=place)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return BenchmarkTable(str(place), columns, tuple(rows))


def _text(path: Path) -> str:
    if path.stat().st_size > _LARGEST:
        raise InputError(f"is larger than {_LARGEST >> 20} MiB: remove what is no table")
    content = path.read_bytes()
    formats.refuse_other_format(content[: formats.HEAD])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error}{formats.other_encoding(content)}") from None


def _csv_rows(text: str) -> Iterator[Row]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = ([cell.strip() for cell in cells] for cells in lines)
        header = next(filter(any, rows), [])
        _check_header(header)
        for number, cells in enumerate(filter(None, lines), 1):
            if len(cells) != len(header):
                problem = f"has {counted(len(cells), 'cell')}, but the header has {len(header)}"
                raise InputError(problem, line=number, item="row")
            yield {name: cell for name, cell in zip(header, cells, strict=True) if name}
    except csv.Error as error:
        raise InputError(f"invalid CSV: {error}", line=lines.line_num) from None


def _check_header(header: Sequence[str]) -> None:
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise InputError(f"two columns are called {shortened(twice[0])!r}: rename one")
    for mark, what in (("\t", "tabs"), (";", "semicolons")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(f"columns are separated by {what}: expected commas")


def _json_rows(text: str) -> Iterator[Row]:
    try:
        found = json.loads(text, object_pairs_hook=_json_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON: {error}") from None
    expected = "expected a list of rows, or a mapping of names to rows"
    if isinstance(found, dict):
        listed = [name for name, value in found.items() if isinstance(value, list)]
        if listed:
            said = f"{shortened(listed[0])!r} is a list (if it is the table, save it alone)"
            raise InputError(f"{expected}: {said}")
        found = [
            {KEYS: name, **(value if isinstance(value, dict) else {_VALUE: value})}
            for name, value in found.items()
        ]
    if not isinstance(found, list):
        raise InputError(expected)
    for number, row in enumerate(found, 1):
        try:
            yield _flat_row(row)
        except InputError as error:
            raise InputError(error.problem, line=number, item="row") from None


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(n for n, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {shortened(twice)!r} occurs twice in an object")
    return found


def _flat_row(row: object) -> Row:
    """Returns a row with nested mappings flattened, by names that are joined with dots.

    Raises `InputError` for two values of one name, for mappings that are nested too deeply, for names of more
    than 1,000 characters, and for text that is no Unicode (half a surrogate pair, which JSON can spell).
    """
    if not isinstance(row, dict):
        raise InputError(f"expected an object with columns, not {type(row).__name__}")
    found: dict[str, Any] = {}
    for name, value in _flat_items(row, ()):
        if name in found:
            raise InputError(f"{shortened(name)!r} occurs twice")
        if isinstance(value, str):
            _check_unicode(value, f"{shortened(name)!r}")
        found[name] = value
    return found


def _flat_items(record: Row, above: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if len(above) > _DEEPEST:
        raise InputError("is nested too deeply")
    room = _LONGEST_NAME - sum(len(name) + 1 for name in above)
    for name, value in record.items():
        _check_unicode(name, "the name of a column")
        if len(name) > room:  # before it is copied for each value below it
            raise InputError(
                f"the name of a column is longer than {_LONGEST_NAME:,} characters: {shortened(name)!r}"
            )
        place = (*above, name)
        if isinstance(value, dict):
            yield from _flat_items(value, place)
        else:
            yield ".".join(place), value


def _check_unicode(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is no Unicode text: {shortened(text)!r}") from None


# Names of models in different tables: the key that they share, aliases, and near misses.


_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_ALIKE = 0.85  # of two names with the same digits
_LONGEST = 100  # characters of a name for which near misses are sought
_MOST = 5_000  # names of theirs for which they are


def read_aliases(path: Path, same: Callable[[str], Hashable] = model_key) -> dict[str, str]:
    """Returns the model that each name means, from a TOML file: `"model" = ["its name elsewhere", …]`.

    Each model means itself, too. `same`: gives what spellings of a name have in common. Raises `ConfigError`
    for a file that cannot be read, other values, and names that mean two models.
    """
    found: dict[str, str] = {}
    meant: dict[Hashable, str] = {}
    for key, value in source.read_toml(path).items():
        # Earlier versions had "its name elsewhere" = "model".
        model, names = (value, [key]) if isinstance(value, str) else (key, value)
        every: list[str] = [model, *names] if isinstance(names, list) else [""]
        if not all(isinstance(name, str) and model_key(name) for name in every):
            problem = 'expected a list of names, as in "model" = ["its name elsewhere"]'
            raise ConfigError(f"{shortened(key)!r}: {problem}", path=path)
        for name in every:
            if (other := meant.setdefault(same(name), model)) != model:
                both = f"{shortened(other)!r} and {shortened(model)!r}"
                raise ConfigError(f"{shortened(name)!r} means two models, {both}", path=path)
            found[name] = model
    return found


def near_misses(theirs: Iterable[str], ours: Collection[str]) -> dict[str, str]:
    """Returns keys that differ little from one of ours, with the most similar one of ours.

    Only keys with the same numbers can be near, since 7b is not 70b. O(theirs x ours) at worst, for names
    with the same numbers; only the first 5,000 of theirs are compared.
    """
    by_digits: Mapping[tuple[str, ...], list[str]] = defaultdict(list)
    for key in sorted(ours):
        if len(key) <= _LONGEST:
            by_digits[_digits(key)].append(key)
    found = {}
    for key in islice(theirs, _MOST):
        others = by_digits.get(_digits(key), ()) if len(key) <= _LONGEST else ()
        if near := get_close_matches(key, others, n=1, cutoff=_ALIKE):
            found[key] = near[0]
    return found


def _digits(key: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\d+", key))
