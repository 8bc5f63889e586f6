"""Facts about models that results do not have: size, release, family, kind, licence, weights, maker, price.

Some come with the package (`models.toml` beside this file), others from the `models.toml` of a checkout,
which come first. A fact has a source; what no source says is unknown, except for what names state.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs.errors import ConfigError, InputError
from pfgen_rs.io import source

FILE = "models.toml"
"""Name of the file with facts in a checkout."""

NAME = "name"
"""The source of facts that are part of names."""

# "8x7b" counts experts that share parameters, "a3b" active parameters and "e4b" effective ones.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)
_EXPERTS = re.compile(r"(?<![a-z0-9])\d+x\d", re.IGNORECASE)
_BILLIONS = {"b": 1.0, "m": 0.001}
_LARGEST = 1e6
_YEARS = range(1950, 2101)
_LONGEST = 200  # characters of a text

_WORD = re.compile(r"[^\W\d_]+\d*|\d+")
_KINDS = {
    "base": (re.compile("base"), "pt"),
    "instruct": (re.compile(r"inst|instruct\d*|instruction|chat|sft|dpo"), "it"),
    "reasoning": (re.compile("reasoning|thinking|think"), ""),
}
"""Words in names that state a kind anywhere, and one that does at the end alone."""


class Price(NamedTuple):
    """What a million tokens of output cost, in which currency and since when."""

    amount: float
    currency: str
    date: date


class Fact(NamedTuple):
    """A value, and where it is stated: the parameters in billions, a date, a text, a `Price`."""

    value: Any
    source: str


def _is_date(value: Any) -> bool:
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return is_day and value.year in _YEARS


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST


class _Kind(NamedTuple):
    """The keys of a kind of facts with what each must be, and that in words."""

    keys: Mapping[str, Callable[[Any], bool]]
    expected: str


def _texts(key: str, *known: str) -> _Kind:
    said = f"one of {', '.join(known)}" if known else f"a text of up to {_LONGEST} characters"
    return _Kind(
        {key: lambda value: _is_text(value) and value in (known or [value])}, f"{key!r}, {said}"
    )


_FACTS = {
    "released": _Kind({"date": _is_date}, "'date', a date from 1950 to 2100, such as 2024-05-13"),
    "parameters": _Kind(
        {"billions": lambda value: _is_number(value) and 0 < value <= _LARGEST},
        "'billions', a number, such as 7 or 0.5",
    ),
    "organisation": _texts("organisation"),
    "family": _texts("family"),
    "kind": _texts("kind", *_KINDS),
    "licence": _texts("licence"),
    "weights": _texts("weights", "open", "closed"),
    "price": _Kind(
        {
            "per_million": lambda value: _is_number(value) and 0 <= value <= _LARGEST,
            "currency": lambda value: _is_text(value) and bool(re.fullmatch("[A-Z]{3}", value)),
            "date": _is_date,
        },
        "'per_million', what a million tokens of output cost, 'currency', such as 'USD', 'date', since when",
    ),
}


@dataclass(frozen=True)
class ModelFacts:
    """Facts by kind, then by name of the model in lower case, with its organisation if the file has it."""

    known: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)

    def of(self, *names: str) -> dict[str, Fact]:
        """Returns what is known by kind of a model with these names, its file before its names."""
        own = [name.rpartition("/")[2] for name in names]
        stated: dict[str, Iterable[Any]] = {
            "parameters": map(parameters_in_name, own),
            "kind": map(kind_in_name, own),
            "family": map(family_in_name, own),
        }
        in_names = {
            kind: next((Fact(each, NAME) for each in found if each is not None), None)
            for kind, found in stated.items()
        }
        found = {k: _fact(self.known.get(k, {}), names) or in_names.get(k) for k in _FACTS}
        return {kind: fact for kind, fact in found.items() if fact is not None}

    def over(self, others: "ModelFacts") -> "ModelFacts":
        """Returns these facts, and the others where these say nothing."""
        kinds = {**others.known, **self.known}
        return ModelFacts(
            {kind: {**others.known.get(kind, {}), **self.known.get(kind, {})} for kind in kinds}
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


def kind_in_name(name: str) -> str | None:
    """Returns the kind that a model's name states: `base`, `instruct` or `reasoning`; `None` for none or two.

    >>> kind_in_name("gemma-2-2b-jpn-it"), kind_in_name("llm-jp-3-13b-instruct3"), kind_in_name("Qwen3-8B")
    ('instruct', 'instruct', None)
    """
    words = _WORD.findall(name.casefold())
    last = words[-1:]
    found = {
        kind
        for kind, (anywhere, at_end) in _KINDS.items()
        if any(map(anywhere.fullmatch, words)) or last == [at_end]
    }
    return found.pop() if len(found) == 1 else None


def family_in_name(name: str) -> str | None:
    """Returns what the names of models of one family share: the part before the one size that it states.

    >>> family_in_name("llm-jp-3-1.8b-instruct2"), family_in_name("Qwen2.5-7B"), family_in_name("gpt-4o")
    ('llm-jp-3', 'Qwen2.5', None)
    """
    found = None if parameters_in_name(name) is None else _SIZE.search(name)
    return name[: found.start()].strip("-_. ") or None if found else None


def bundled_facts() -> ModelFacts:
    """Returns the facts that come with the package."""
    return _parsed(source.read_toml(Path(__file__).with_name(FILE)), FILE)


def read_facts(path: Path) -> ModelFacts:
    """Returns the facts of a file, if it is there, before those of the package.

    Raises `InputError` if it cannot be read, has other keys or values, or two for a model.
    """
    if not path.exists():
        return bundled_facts()
    try:
        data = source.read_toml(path)
    except ConfigError as error:
        raise InputError(error.problem, path=path) from error
    return _parsed(data, path).over(bundled_facts())


def _parsed(data: Mapping[str, Any], path: str | Path) -> ModelFacts:
    for kind in data.keys() - _FACTS.keys():
        problem = f"unknown key {kind!r}: expected one of {', '.join(_FACTS)}"
        raise InputError(problem, path=path)
    return ModelFacts({kind: _facts(data[kind], kind, path) for kind in data})


def _facts(entries: Any, kind: str, path: str | Path) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    keys, expected = _FACTS[kind]
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
        place = f"[[{kind}]] {number}"
        if not _is_entry(entry, keys):
            problem = f"expected {expected}, 'source', a text, and 'models', a list of names"
            raise InputError(f"{place}: {problem}", path=path)
        values = [entry[key] for key in keys]
        fact = Fact(values[0] if len(values) == 1 else Price(*values), entry["source"].strip())
        for name in map(str.strip, entry["models"]):
            if name.casefold() in found:
                raise InputError(f"{place}: {name!r} has a value already", path=path)
            found[name.casefold()] = fact
    return found


def _is_entry(entry: Any, keys: Mapping[str, Callable[[Any], bool]]) -> bool:
    if not isinstance(entry, dict) or entry.keys() != {*keys, "source", "models"}:
        return False
    if not isinstance(models := entry["models"], list):
        return False
    texts = [entry["source"], *models]
    is_right = all(is_value(entry[key]) for key, is_value in keys.items())
    return is_right and all(isinstance(text, str) and text.strip() for text in texts)


def _fact(facts: Mapping[str, Fact], names: Iterable[str]) -> Fact | None:
    """Returns the fact of the first name that has one, as it stands or without its organisation."""
    for name in map(str.casefold, names):
        found = facts.get(name) or facts.get(name.rpartition("/")[2])
        if found:
            return found
    return None
