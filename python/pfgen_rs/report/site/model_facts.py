"""Facts about models that results do not have: number of parameters, and date of release.

Some come with the package (`models.toml` beside this file), others from the `models.toml` of a checkout,
which come first. A fact has a source; what no source says is unknown, except for sizes that names state.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.errors import InputError, unreadable

FILE = "models.toml"
"""Name of the file with facts in a checkout."""

NAME = "name"
"""The source of sizes that are part of names."""

_VALUES = {
    "released": ("date", "a date from 1950 to 2100, such as 2024-05-13"),
    "parameters": ("billions", "a number, such as 7 or 0.5"),
}
# "8x7b" counts experts that share parameters, "a3b" active parameters and "e4b" effective ones.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)
_EXPERTS = re.compile(r"(?<![a-z0-9])\d+x\d", re.IGNORECASE)
_BILLIONS = {"b": 1.0, "m": 0.001}
_LARGEST = 1e6
_YEARS = range(1950, 2101)


class Fact(NamedTuple):
    """A number of parameters in billions or a date of release, and where it is stated."""

    value: Any
    source: str


@dataclass(frozen=True)
class ModelFacts:
    """Facts by name of the model (in lower case, with its organisation if the file has it)."""

    parameters: Mapping[str, Fact] = field(default_factory=dict)
    released: Mapping[str, Fact] = field(default_factory=dict)

    def parameters_of(self, *names: str) -> Fact | None:
        """Returns the parameters in billions of a model with these names, or `None`."""
        sizes = (parameters_in_name(name.rpartition("/")[2]) for name in names)
        in_name = (Fact(size, NAME) for size in sizes if size is not None)
        return _fact(self.parameters, names) or next(in_name, None)

    def released_of(self, *names: str) -> Fact | None:
        """Returns when a model with these names was released, or `None`."""
        return _fact(self.released, names)

    def over(self, others: "ModelFacts") -> "ModelFacts":
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
    file = Path(__file__).with_name(FILE)
    return _parsed(file.read_text(encoding="utf-8"), FILE)


def read_facts(folder: Path) -> ModelFacts:
    """Returns the facts of a checkout before those of the package.

    Raises `InputError` if its `models.toml` cannot be read, has other keys or values, or two for a model.
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
    for kind in data.keys() - _VALUES.keys():
        problem = f"unknown key {kind!r}: expected 'released' or 'parameters'"
        raise InputError(problem, path=path)
    return ModelFacts(**{kind: _facts(data[kind], kind, path) for kind in data})


def _facts(entries: Any, kind: str, path: str | Path) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    key, value = _VALUES[kind]
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
        place = f"[[{kind}]] {number}"
        if not _is_entry(entry, key):
            problem = f"expected '{key}', {value}, 'source', a text, and 'models', a list of names"
            raise InputError(f"{place}: {problem}", path=path)
        fact = Fact(entry[key], entry["source"].strip())
        for name in map(str.strip, entry["models"]):
            if name.casefold() in found:
                raise InputError(f"{place}: {name!r} has a value already", path=path)
            found[name.casefold()] = fact
    return found


def _is_entry(entry: Any, key: str) -> bool:
    if not isinstance(entry, dict) or entry.keys() != {key, "source", "models"}:
        return False
    if not isinstance(models := entry["models"], list):
        return False
    texts = [entry["source"], *models]
    is_right = _is_date if key == "date" else _is_size
    return is_right(entry[key]) and all(isinstance(text, str) and text.strip() for text in texts)


def _is_date(value: Any) -> bool:
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return is_day and value.year in _YEARS


def _is_size(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value <= _LARGEST


def _fact(facts: Mapping[str, Fact], names: Iterable[str]) -> Fact | None:
    """Returns the fact of the first name that has one, as it stands or without its organisation."""
    for name in map(str.casefold, names):
        found = facts.get(name) or facts.get(name.rpartition("/")[2])
        if found:
            return found
    return None
