"""The configuration of `pfgen-rs build`: a TOML file, checked key by key."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeVar, get_args, get_type_hints

from pfgen_rs.errors import ConfigError, unreadable
from pfgen_rs.metrics.units import UNITS, Unit

__all__ = [
    "LONGEST",
    "PRESETS",
    "STEPS",
    "BuildConfig",
    "Consensus",
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
STEPS: Names = (
    "normalise",
    "rules",
    "duplicates",
    "singletons",
    "length",
    "consensus",
    "select",
)
_PAPER_STEPS: Names = tuple(step for step in STEPS if step != "consensus")
_LARGEST = 2**63 - 1
LONGEST = 4_999
"""The largest target: scores read at most twice as many units as answers should have."""


def _check_config_choice(key: str, value: str, choices: Names) -> None:
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise ConfigError(f"{key} must be one of {shown}, not {value!r}")


def _check_config_minimum(least: int, **values: int) -> None:
    for key, value in values.items():
        if value < least:
            raise ConfigError(f"{key} must be at least {least}, not {value}")


def _check_config_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ConfigError(f"share must be greater than 0 and at most 1, not {share}")


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
    """Equal answers: keep one (`once`), keep one with their count as its `weight`, or keep `all`."""

    keep: str = "once"

    def __post_init__(self) -> None:
        _check_config_choice("keep", self.keep, ("all", "once", "weight"))


@dataclass(frozen=True)
class Singletons:
    """Drop answers with an n-gram of `n` units that occurs at most `threshold` times.

    `repeat`: repeat with the remaining answers until nothing changes. If fewer than `at_least` answers would
    be left (all sources together), the filter is not applied: among few answers almost everything is rare.
    """

    n: int = 5
    threshold: int = 1
    repeat: bool = False
    at_least: int = 2_000

    def __post_init__(self) -> None:
        _check_config_minimum(1, n=self.n)
        _check_config_minimum(0, threshold=self.threshold, at_least=self.at_least)


@dataclass(frozen=True)
class Length:
    """Keep the answers whose length in units is nearest to `target`, separately for each source.

    Of what the other filters leave: at most the nearest `share` (rounded up; 1 is no limit), only answers at
    most `deviation` units from the target (`None` is no limit), and at most `count`. `share` and `deviation`
    never leave fewer answers than the later steps need to end with `select.count` (or all, if there are
    fewer): then the nearest of them are kept.
    """

    target: int = 100
    count: int = 30_000
    share: float = 0.2
    deviation: int | None = None

    def __post_init__(self) -> None:
        _check_config_minimum(1, target=self.target, count=self.count)
        if self.target > LONGEST:
            raise ConfigError(f"target must be at most {LONGEST}, not {self.target}")
        _check_config_share(self.share)
        if self.deviation is not None:
            _check_config_minimum(0, deviation=self.deviation)


@dataclass(frozen=True)
class Consensus:
    """Keep the `share` (rounded up) of each source's answers that agree most with the others of the source.

    Agreement is Truthfulness, scored against all other answers: how common each character's surroundings
    are. Never fewer than `select.count` are left (or all, if there are fewer).
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        _check_config_share(self.share)


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


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Imajo et al. 2025, section 3.2.
    "paper": {
        "steps": _PAPER_STEPS,
        "duplicates": Duplicates(keep="all"),
        "singletons": Singletons(n=5, threshold=1, repeat=False, at_least=0),
        "length": Length(target=100, count=30_000, share=1.0, deviation=None),
        "select": Select(count=1_000, min_n=1, max_n=10),
    },
}
"""Named sets of defaults for `BuildConfig`."""


@dataclass(frozen=True)
class BuildConfig:
    """A complete configuration; paths are absolute or relative to `folder`.

    `preset`: the name of other defaults (see `PRESETS`) for the steps and sections that are not given;
    `from_dict` also completes sections that are given in part. `questions`: the file or folder with the ids,
    texts, categories, notes and keywords of the questions (see `outlines.read_outlines`); without it, they
    get numbers in order of appearance. `per_source`: apply the length filter and the selection to each
    source separately, so that each ends with `select.count` answers; otherwise there is only one source.
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
    preset: str = ""
    fields: Fields = Fields()
    normalise: Normalise = Normalise()
    rules: Rules = Rules()
    duplicates: Duplicates = Duplicates()
    singletons: Singletons = Singletons()
    length: Length = Length()
    consensus: Consensus = Consensus()
    select: Select = Select()
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        self._apply_preset()
        if not self.candidates:
            raise ConfigError("candidates: name at least one file or glob")
        if not self.out or not self.source:
            raise ConfigError("out and source must not be empty")
        _check_config_choice("unit", self.unit, UNITS)
        _check_config_minimum(0, examples=self.examples)
        if not 0 <= self.seed <= _LARGEST:
            raise ConfigError(f"seed must be between 0 and {_LARGEST}, not {self.seed}")
        self._check_steps()

    def _apply_preset(self) -> None:
        preset = _config_preset(self.preset)
        for each in fields(self):
            # The default object itself stands for "not given".
            if each.name in preset and getattr(self, each.name) is each.default:
                object.__setattr__(self, each.name, preset[each.name])

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

    def needed_after(self, step: str) -> int:
        """Returns how many answers of a source must be left after `step` to end with `select.count`.

        0 without a selection.
        """
        if "select" not in self.steps:
            return 0
        later = self.steps[self.steps.index(step) + 1 :]
        share = Fraction(repr(self.consensus.share)) if "consensus" in later else 1
        return math.ceil(self.select.count / share)

    @property
    def wanted(self) -> int:
        """The number of answers that each source should end with, at least: 1 without a selection."""
        return self.select.count if "select" in self.steps else 1

    @classmethod
    def from_dict(cls, data: Mapping[str, object], folder: Path = Path()) -> Self:
        """Returns the configuration of a dict like that of a TOML file; sections may be given in part.

        What is not given has the value of the `preset`, if there is one, or the default. Raises
        `ConfigError`, naming the key.

        >>> given = {"preset": "paper", "length": {"target": 80}, "candidates": ["a.jsonl"], "out": "set"}
        >>> BuildConfig.from_dict(given).length
        Length(target=80, count=30000, share=1.0, deviation=None)
        """
        preset = _config_preset(data.get("preset", ""))
        return _config_table(cls, data, "", preset, folder=folder)

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
        return BuildConfig.from_dict(data, path.resolve().parent)
    except ConfigError as error:
        raise ConfigError(error.problem, path=path) from None


def _config_preset(name: object) -> Mapping[str, Any]:
    if not name:
        return {}
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}: expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _config_table(
    kind: type[T], data: Mapping[str, object], where: str, others: Mapping[str, Any], **more: Any
) -> T:
    """Convert a table to the dataclass `kind`, checking values against its annotations.

    `others`: values that replace the defaults.
    """
    known = {each.name: each for each in fields(kind) if each.name not in more}  # type: ignore[arg-type]
    types = get_type_hints(kind)
    values = {}
    for key, value in data.items():
        if key not in known:
            raise ConfigError(
                f"{_config_place(where)}unknown key {key!r}{_config_key_hint(key, known)}"
            )
        values[key] = _config_value(
            types[key], value, f"{where}.{key}" if where else key, others.get(key)
        )
    for key, each in known.items():
        if key not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{_config_place(where)}missing key {key!r}")
    try:
        return kind(**{**others, **values}, **more)
    except ConfigError as error:
        raise ConfigError(f"{_config_place(where)}{error.problem}") from None


def _config_value(kind: Any, value: object, where: str, other: object = None) -> Any:
    """Convert a value to `kind`; `other`: the section that replaces the default one, if any."""
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: expected a table, not {value!r}")
        return _config_table(kind, value, where, vars(other) if other is not None else {})
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
