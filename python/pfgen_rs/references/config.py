"""The configuration of `pfgen-rs build`: a TOML file, checked key by key."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, TypeVar, get_args, get_type_hints

from pfgen_rs.errors import ConfigError, unreadable
from pfgen_rs.metrics.units import UNITS, Unit

__all__ = [
    "STEPS",
    "BuildConfig",
    "Duplicates",
    "Fields",
    "Length",
    "Normalise",
    "Rules",
    "Select",
    "Singletons",
    "read_config",
]

T = TypeVar("T")
Names = tuple[str, ...]
STEPS: Names = ("normalise", "rules", "duplicates", "singletons", "length", "select")
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Fields:
    """Names of the candidates' keys or columns. `source` and `model` may be missing from the data."""

    question: str = "question"
    answer: str = "answer"
    source: str = "source"
    model: str = "model"

    def __post_init__(self) -> None:
        names = [self.question, self.answer, self.source, self.model]
        if len(set(names)) < len(names):
            raise ConfigError(f"duplicate field names: {', '.join(names)}")


@dataclass(frozen=True)
class Normalise:
    """Style: additional rule files, and names of rules to disable."""

    extra: Names = ()
    without: Names = ()


@dataclass(frozen=True)
class Rules:
    """A TOML file of expressions that answers must or must not match, by question id."""

    file: str = ""


@dataclass(frozen=True)
class Duplicates:
    """Equal answers: keep `all`, keep one (`once`), or keep one with their count as its `weight`."""

    keep: str = "all"

    def __post_init__(self) -> None:
        _check_config_choice("keep", self.keep, ("all", "once", "weight"))


@dataclass(frozen=True)
class Singletons:
    """Drop answers with an n-gram of `n` units that occurs at most `threshold` times.

    `repeat`: repeat with the remaining answers until nothing changes.
    """

    n: int = 5
    threshold: int = 1
    repeat: bool = False

    def __post_init__(self) -> None:
        _check_config_minimum(1, n=self.n)
        _check_config_minimum(0, threshold=self.threshold)


@dataclass(frozen=True)
class Length:
    """Keep the `count` answers whose length in units is nearest to `target`."""

    target: int = 100
    count: int = 30_000

    def __post_init__(self) -> None:
        _check_config_minimum(1, target=self.target, count=self.count)


@dataclass(frozen=True)
class Select:
    """Choose `count` answers by hill climbing; the budget is `proposals` or `seconds` per restart.

    `stratify`: `model` preserves the shares of models, `length` those of length deciles.
    """

    count: int = 1_000
    proposals: int | None = None
    seconds: float | None = None
    restarts: int = 1
    stratify: str = ""
    min_n: int = 1
    max_n: int = 10

    def __post_init__(self) -> None:
        _check_config_minimum(1, count=self.count, restarts=self.restarts, min_n=self.min_n)
        _check_config_minimum(self.min_n, max_n=self.max_n)
        _check_config_choice("stratify", self.stratify, ("", "model", "length"))
        if self.proposals is not None:
            _check_config_minimum(0, proposals=self.proposals)
            if self.seconds is not None:
                raise ConfigError("proposals and seconds are mutually exclusive")
        if self.seconds is not None and not self.seconds >= 0:
            raise ConfigError(f"seconds must be at least 0, not {self.seconds}")


@dataclass(frozen=True)
class BuildConfig:
    """A complete configuration; paths are absolute or relative to `folder`.

    `questions`: the file or folder with the ids, texts, categories, notes and keywords of the questions
    (see `outlines.read_outlines`); without it, questions are numbered in order of appearance. `per_source`:
    apply the length filter and the selection to each source separately, so that each ends with
    `select.count` answers; otherwise all answers belong to one source.
    """

    candidates: Names
    out: str
    questions: str = ""
    only: Names = ()
    name: str = ""
    seed: int = 0
    unit: Unit = "character"
    source: str = "X"
    per_source: bool = True
    allow_fewer: bool = False
    skip_bad_lines: bool = False
    examples: int = 3
    steps: Names = STEPS
    fields: Fields = field(default_factory=Fields)
    normalise: Normalise = field(default_factory=Normalise)
    rules: Rules = field(default_factory=Rules)
    duplicates: Duplicates = field(default_factory=Duplicates)
    singletons: Singletons = field(default_factory=Singletons)
    length: Length = field(default_factory=Length)
    select: Select = field(default_factory=Select)
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ConfigError("candidates: name at least one file or glob")
        if not self.out or not self.source:
            raise ConfigError("out and source must not be empty")
        _check_config_choice("unit", self.unit, UNITS)
        _check_config_minimum(0, examples=self.examples)
        if not 0 <= self.seed <= _LARGEST:
            raise ConfigError(f"seed must be between 0 and {_LARGEST}, not {self.seed}")
        self._check_steps()

    def _check_steps(self) -> None:
        for step in self.steps:
            _check_config_choice("steps", step, STEPS)
        for step in self.steps:
            if self.steps.count(step) > 1:
                raise ConfigError(f"steps: duplicate step {step!r}")
        if "normalise" in self.steps[1:] or "select" in self.steps[:-1]:
            raise ConfigError(
                "steps: normalise must come first, because it changes texts, and select must come last"
            )
        if self.unit == "token" and {"normalise", "rules"} & set(self.steps):
            raise ConfigError(
                "steps: normalise and rules need text: remove them or use another unit"
            )

    def path(self, name: str) -> Path:
        """Returns a configured path, resolved against `folder`."""
        return self.folder / name

    def with_changes(self, **changes: Any) -> Self:
        """Returns a copy with some values replaced; `None` leaves a value unchanged."""
        return replace(self, **{key: v for key, v in changes.items() if v is not None})


def read_config(path: str | Path) -> BuildConfig:
    """Read a configuration file.

    Raises `ConfigError`, naming the file and the offending key.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"invalid TOML: {error}", path=path) from None
    try:
        return _config_table(BuildConfig, data, "", folder=path.resolve().parent)
    except ConfigError as error:
        raise ConfigError(error.problem, path=path) from None


def _config_table(kind: type[T], data: Mapping[str, object], where: str, **more: Any) -> T:
    """Convert a table to the dataclass `kind`, checking values against its annotations."""
    known = {each.name: each for each in fields(kind) if each.name not in more}  # type: ignore[arg-type]
    types = get_type_hints(kind)
    values = {}
    for key, value in data.items():
        if key not in known:
            raise ConfigError(
                f"{_config_place(where)}unknown key {key!r}{_config_key_hint(key, known)}"
            )
        values[key] = _config_value(types[key], value, f"{where}.{key}" if where else key)
    for key, each in known.items():
        if key not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{_config_place(where)}missing key {key!r}")
    try:
        return kind(**values, **more)
    except ConfigError as error:
        raise ConfigError(f"{_config_place(where)}{error.problem}") from None


def _config_value(kind: Any, value: object, where: str) -> Any:
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: expected a table, not {value!r}")
        return _config_table(kind, value, where)
    if kind == Names:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ConfigError(f"{where}: expected a list of strings, not {value!r}")
        return tuple(value)
    if kind == Unit:
        kind = str
    kinds = [each for each in get_args(kind) or (kind,) if each is not type(None)]
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) not in kinds:
        wanted = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
        raise ConfigError(f"{where}: expected {wanted[kinds[0]]}, not {value!r}")
    return value


def _config_place(where: str) -> str:
    return f"[{where}]: " if where else ""


def _config_key_hint(key: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    similar = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{similar}: expected one of {', '.join(known)}"


def _check_config_choice(key: str, value: str, choices: Names) -> None:
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise ConfigError(f"{key} must be one of {shown}, not {value!r}")


def _check_config_minimum(least: int, **values: int) -> None:
    for key, value in values.items():
        if value < least:
            raise ConfigError(f"{key} must be at least {least}, not {value}")
