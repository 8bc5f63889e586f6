"""Facts about models that results do not have: number of parameters, and date of release.

Some come with the package (`models.toml` beside this file), others from the `models.toml` of a checkout,
which come first. A fact has a source; what no source says is unknown, except for sizes that names state.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable

FILE = "models.toml"
"""Name of the file with facts in a checkout."""

NAME = "name"
"""The source of sizes that are part of names."""

_VALUES = {"released": "date", "parameters": "billions"}
# "8x7b" counts experts that share parameters, "a3b" active parameters and "e4b" effective ones.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)
_EXPERTS = re.compile(r"(?<![a-z0-9])\d+x\d", re.IGNORECASE)
_BILLIONS = {"b": 1.0, "m": 0.001}
_LARGEST = 1e6
_YEARS = range(1950, 2101)

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """A number of parameters in billions or a date of release, and where it is stated."""

    value: float | date
    source: str


@dataclass(frozen=True)
class ModelFacts:
    """Facts by name of the model (in lower case, with its organisation if the file has it)."""

    parameters: Mapping[str, Fact] = field(default_factory=dict)
    released: Mapping[str, Fact] = field(default_factory=dict)

    def parameters_of(self, *names: str) -> tuple[float, str] | None:
        """Returns the parameters in billions of a model with these names, and the source, or `None`."""
        found = _fact(self.parameters, names)
        if found is not None and not isinstance(found.value, date):
            return found.value, found.source
        sizes = (parameters_in_name(name.rpartition("/")[2]) for name in names)
        known = next((size for size in sizes if size is not None), None)
        return None if known is None else (known, NAME)

    def released_of(self, *names: str) -> tuple[date, str] | None:
        """Returns when a model with these names was released, and the source, or `None`."""
        found = _fact(self.released, names)
        return (found.value, found.source) if found and isinstance(found.value, date) else None

    def over(self, others: ModelFacts) -> ModelFacts:
        """Returns these facts, and the others where these say nothing."""
        return ModelFacts(
            {**others.parameters, **self.parameters}, {**others.released, **self.released}
        )


def parameters_in_name(name: str) -> float | None:
    """Returns the parameters in billions that a model's name states, or `None`.

    Names with two sizes say nothing certain, and neither do those of mixtures of experts ("8x7b") and of
    active ("a3b") or effective parameters ("e4b") alone. No model has 0 parameters, or more than 10^15.

    >>> parameters_in_name("llm-jp-3-1.8b-instruct"), parameters_in_name("Qwen3-30B-A3B")
    (1.8, 30.0)
    >>> parameters_in_name("Mixtral-8x7B-v0.1") is None
    True
    """
    if _EXPERTS.search(name):
        return None
    found = {float(number) * _BILLIONS[unit.lower()] for number, unit in _SIZE.findall(name)}
    size = found.pop() if len(found) == 1 else 0.0
    return size if 0 < size <= _LARGEST else None


def bundled_facts() -> ModelFacts:
    """Returns the facts that come with the package."""
    file = resources.files("pfgen_rs.report.site") / FILE
    return _parsed(file.read_text(encoding="utf-8"), FILE)


def read_facts(folder: Path) -> ModelFacts:
    """Returns the facts of a checkout before those of the package.

    Raises `InputError` if its `models.toml` cannot be read or is wrong: unknown keys, wrong types, invalid
    dates, missing sources, or two values for a model.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return bundled_facts()
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error}", path=path) from None
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return _parsed(text, path).over(bundled_facts())


def _parsed(text: str, path: str | Path) -> ModelFacts:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"invalid TOML: {error}", path=path) from None
    unknown = sorted(data.keys() - _VALUES.keys())
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}: expected {_or_of(_VALUES)}", path=path)
    found = {}
    for kind, key in _VALUES.items():
        entries = data.get(kind, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InputError(f"'{kind}' must be an array of tables ([[{kind}]])", path=path)
        found[kind] = _facts(entries, kind, key, path)
    return ModelFacts(found["parameters"], found["released"])


def _facts(entries: Iterable[Raw], kind: str, key: str, path: str | Path) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for number, entry in enumerate(entries, 1):
        place = f"[[{kind}]] {number}"
        for name, fact in _entry_facts(entry, key, place, path):
            if name.casefold() in found:
                raise InputError(f"{place}: {name!r} has a value already", path=path)
            found[name.casefold()] = fact
    return found


def _entry_facts(entry: Raw, key: str, place: str, path: str | Path) -> Iterator[tuple[str, Fact]]:
    expected = (key, "source", "models")
    for name in sorted(entry.keys() - set(expected)):
        raise InputError(f"{place}: unknown key {name!r}: expected {_or_of(expected)}", path=path)
    for name in expected:
        if name not in entry:
            raise InputError(f"{place}: {name!r} is missing", path=path)
    value, source, models = (entry[name] for name in expected)
    problem = _problem(key, value)
    if problem:
        raise InputError(f"{place}: {problem}", path=path)
    if not isinstance(source, str) or not source.strip():
        raise InputError(
            f"{place}: 'source' must be a text that says where it is stated", path=path
        )
    if not isinstance(models, list) or not all(isinstance(m, str) and m.strip() for m in models):
        raise InputError(f"{place}: 'models' must be a list of names", path=path)
    for name in models:
        yield name.strip(), Fact(value if key == "date" else float(value), source.strip())


def _problem(key: str, value: object) -> str:
    """Returns what is wrong with a value, or nothing."""
    if key == "date":
        if not isinstance(value, date) or isinstance(value, datetime):
            return f"invalid date {value!r}: expected a date such as 2024-05-13"
        if value.year not in _YEARS:
            return f"invalid date {value}: expected a year from {_YEARS[0]} to {_YEARS[-1]}"
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 0 < value <= _LARGEST:  # type: ignore[operator]
        return ""
    return f"invalid number of parameters {value!r}: expected billions, such as 7 or 0.5"


def _fact(facts: Mapping[str, Fact], names: Iterable[str]) -> Fact | None:
    """Returns the fact of the first name that has one, as it stands or without its organisation."""
    for name in map(str.casefold, names):
        found = facts.get(name) or facts.get(name.rpartition("/")[2])
        if found:
            return found
    return None


def _or_of(names: Iterable[str]) -> str:
    *most, last = (f"'{name}'" for name in names)
    return f"{', '.join(most)} or {last}"
