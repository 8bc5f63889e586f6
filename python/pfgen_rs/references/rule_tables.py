"""Tables of rules in TOML files, with errors that give the location of the problem."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pfgen_rs import _native
from pfgen_rs.errors import BenchmarkError

__all__ = ["NativeRule", "RuleTable", "compiled", "read_tables"]

# Name, kind, pattern, replacement.
NativeRule = tuple[str, str, str, str]


def read_tables(path: str | Path) -> dict[str, object]:
    """Read a TOML file; raises `BenchmarkError`, naming the file, if it cannot be read."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"cannot read rules: {error}", path=path) from error
    except tomllib.TOMLDecodeError as error:
        raise BenchmarkError(f"invalid TOML: {error}", path=path) from error


def compiled(rules: Iterable[NativeRule], path: str | Path | None = None) -> _native.Corrections:
    """Compile rules; raises `BenchmarkError`, naming the file and the rule, for an invalid rule."""
    try:
        return _native.Corrections(list(rules))
    except BenchmarkError as error:
        raise BenchmarkError(error.problem, path=path) from None


class RuleTable:
    """The table of one rule in a file; `where` describes its location until its name, at `key`, is known."""

    def __init__(
        self, data: object, path: str | Path | None, where: str, *, key: str = "name"
    ) -> None:
        self.path, self.where = path, where
        if not isinstance(data, Mapping):
            self.fail(f"expected a table, not {data!r}")
        self.data: Mapping[str, object] = data
        name = self.text(key)
        self.where = f"{where} {name!r}"

    def fail(self, problem: str) -> NoReturn:
        """Raise `BenchmarkError` with the location."""
        raise BenchmarkError(f"{self.where}: {problem}", path=self.path)

    def only(self, keys: Sequence[str]) -> None:
        """Raise `BenchmarkError` for any other key."""
        unknown = [key for key in self.data if key not in keys]
        if unknown:
            self.fail(f"unknown key {unknown[0]!r}: expected one of {', '.join(keys)}")

    def one_of(self, kinds: Sequence[str]) -> str:
        """Returns which one of these keys is present; raises `BenchmarkError` unless exactly one is."""
        present = [kind for kind in kinds if kind in self.data]
        if len(present) != 1:
            names = ", ".join(kinds)
            found = " and ".join(present) or "none"
            self.fail(f"expected exactly one of {names}, found {found}")
        return present[0]

    def text(self, key: str, default: str | None = None) -> str:
        """Returns a string value, which may only be empty if that is the default."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or (not value and default is None):
            self.fail(f"{key} must be a non-empty string, not {value!r}")
        return value

    def flag(self, key: str) -> bool:
        """Returns true or false; false if the key is missing."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"{key} must be true or false, not {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Returns a string or a list of strings as a tuple, empty if the key is missing."""
        value = self.data.get(key, ())
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            self.fail(f"{key} must be a string or a list of strings, not {value!r}")
        return tuple(values)
