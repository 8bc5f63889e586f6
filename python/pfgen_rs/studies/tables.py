"""Tables of other benchmarks: rows with columns addressed by name, and figures in their cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.safe_text import shortened
from pfgen_rs.stats.checks import LARGEST
from pfgen_rs.studies.model_names import model_key

__all__ = ["KEYS", "LONGEST_NAME", "BenchmarkTable", "Figures", "flat_row"]

KEYS = "(names)"
"""The column that holds the keys of a mapping of names to values."""
_MISSING = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null"})
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
