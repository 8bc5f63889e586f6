"""What a build is told: its configuration, a TOML file that is checked key by key, and its questions."""

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from pfgen_rs.errors import BenchmarkError, ConfigError, SettingsError, meant, unreadable
from pfgen_rs.io.source import read_toml
from pfgen_rs.metrics.helpfulness import parse_rules
from pfgen_rs.metrics.languages import LANGUAGES, language_of
from pfgen_rs.metrics.settings import SKIPPED
from pfgen_rs.metrics.units import Unit
from pfgen_rs.questions import question
from pfgen_rs.references.consensus import Consensus
from pfgen_rs.references.filters import Duplicates, Singletons
from pfgen_rs.references.lengths import Length
from pfgen_rs.references.ranking import Ranking
from pfgen_rs.references.rules import Normalise, Rules
from pfgen_rs.references.selection import Select
from pfgen_rs.references.steps import Step

T = TypeVar("T")
Names = tuple[str, ...]
_LARGEST = 2**63 - 1

STEPS: dict[str, type[Step]] = {
    each.__name__.lower(): each
    for each in (Normalise, Rules, Ranking, Duplicates, Singletons, Length, Consensus, Select)
}
"""All steps by name, in the order in which a build takes them."""


DETAILS = ("licence", "source", "family", "generation")
"""What is known of a model that wrote candidates; `generation`, how it was asked, may be a table."""


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


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Imajo et al. 2025, section 3.2.
    "paper": {
        "steps": tuple(name for name in STEPS if name not in ("ranking", "consensus")),
        "duplicates": Duplicates(keep="all"),
        "singletons": Singletons(n=5, threshold=1, repeat=False, at_least=0),
        "length": Length(target=100, count=30_000, share=1.0, deviation=None),
        "select": Select(count=1_000, min_n=1, max_n=10),
    }
}
"""Named sets of defaults for `BuildConfig`."""
_UNSET: Any = ""
_DECIDED = ("unit", "skipped", "length.target", "normalise.style")
"""What the preset of a language decides."""


@dataclass(frozen=True)
class BuildConfig:
    """A complete configuration; paths are absolute or relative to `folder`.

    `preset`: the name of other defaults (see `PRESETS`) for the steps and sections that are not given;
    `from_dict` also completes sections that are given in part. `questions`: the file or folder with the ids,
    texts, categories, notes and keywords of the questions (see `read_outlines`); without it, they
    get numbers in the order of their texts. `language`: its preset (see `pfgen_rs.metrics.languages`) decides
    `unit`, `skipped` (what Truthfulness skips), `length.target` and `normalise.style` where they are not
    given; the set states it, and `name`, `made_by`, `licence` and `citation`. `models`: what is known of
    models that wrote candidates, by name. `per_source`: apply the length filter and the selection to each
    source separately, so that each ends with `select.count` answers; otherwise there is only one source.
    """

    candidates: Names
    out: str
    questions: str = ""
    only: Names = ()
    name: str = ""
    seed: int = 0
    unit: Unit = _UNSET
    source: str = "X"
    per_source: bool = True
    allow_fewer: bool = False
    skip_bad_lines: bool = False
    examples: int = 3
    steps: Names = tuple(STEPS)
    preset: str = ""
    language: str = ""
    skipped: str = ""
    made_by: str = ""
    licence: str = ""
    citation: str = ""
    models: Mapping[str, Any] = field(default_factory=dict)
    fields: Fields = Fields()
    normalise: Normalise = field(default=Normalise())
    rules: Rules = field(default=Rules())
    ranking: Ranking = field(default=Ranking())
    duplicates: Duplicates = field(default=Duplicates())
    singletons: Singletons = field(default=Singletons())
    length: Length = field(default=Length())
    consensus: Consensus = field(default=Consensus())
    select: Select = field(default=Select())
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        self._apply_preset()
        if not self.candidates:
            raise ConfigError("candidates: name at least one file or glob")
        if not self.out or not self.source:
            raise ConfigError("out and source must not be empty")
        if self.examples < 0:
            raise ConfigError(f"examples must be at least 0, not {self.examples}")
        if not 0 <= self.seed <= _LARGEST:
            raise ConfigError(f"seed must be between 0 and {_LARGEST}, not {self.seed}")
        self._check_steps()
        self._check_models()

    def _apply_preset(self) -> None:
        given = [name for name in ("unit", "skipped") if getattr(self, name)]
        given += ["length.target"] * (self.length is not type(self).length)
        styled = "normalise" in self.steps and self.normalise is type(self).normalise
        preset = _preset(self.preset, self.language, [*given, *([] if styled else _DECIDED[-1:])])
        for each in fields(self):
            # The default object itself stands for "not given".
            if each.name in preset and getattr(self, each.name) is each.default:
                object.__setattr__(self, each.name, preset[each.name])

    def _check_steps(self) -> None:
        for name in self.steps:
            if name not in STEPS:
                raise ConfigError(f"steps must be some of {', '.join(STEPS)}, not {name!r}")
            if self.steps.count(name) > 1:
                raise ConfigError(f"steps: duplicate step {name!r}")
        if "normalise" in self.steps[1:] or "select" in self.steps[:-1]:
            raise ConfigError(
                "steps: normalise must come first, because it changes texts, and select must come last"
            )
        if self.unit == "token" and {"normalise", "rules"} & set(self.steps):
            raise ConfigError(
                "steps: normalise and rules need text: remove them or use another unit"
            )
        if self.unit == "token" and self.consensus.trusted:
            raise ConfigError("consensus.trusted needs text: leave it out or use another unit")

    def _check_models(self) -> None:
        tables = self.models.items() if isinstance(self.models, Mapping) else [("", self.models)]
        for name, own in tables:
            said = own.items() if isinstance(own, Mapping) else [("", own)]
            for key, value in said:
                kinds = (str, dict) if key == DETAILS[-1] else (str,)
                if key not in DETAILS or not isinstance(value, kinds) or not _is_json(value):
                    expected = f"expected texts called {', '.join(DETAILS)}"
                    found = f"{key} = {value!r}" if key else repr(value)
                    alike = "" if key in DETAILS else meant(key, DETAILS)
                    raise ConfigError(f"models.{name!r}: {expected}, not {found}{alike}")

    def step(self, name: str) -> Step:
        """Returns the step of this name with its settings."""
        found: Step = getattr(self, name)
        return found

    def prepared(self) -> dict[str, Any]:
        """Returns what is in the files that each step names.

        Raises `ConfigError` and `BenchmarkError` for unusable files. The style is needed by every build.
        """
        names = ("normalise", *(name for name in self.steps if name != "normalise"))
        return {name: self.step(name).prepared(self.path) for name in names}

    def needed_after(self, step: str) -> int:
        """Returns how many answers of a source must be left after `step` to end with `select.count`.

        0 without a selection.
        """
        needed = 0
        later = self.steps[self.steps.index(step) + 1 :] if step in self.steps else ()
        for name in reversed(later):
            needed = self.step(name).needs(needed)
        return needed

    @property
    def wanted(self) -> int:
        """The number of answers that each source should end with, at least: 1 without a selection."""
        return self.select.count if "select" in self.steps else 1

    def provenance(self) -> dict[str, Any]:
        """Returns all settings that affect the result, including defaults but without paths."""
        settings = asdict(self)
        for key in ("folder", "out", "candidates", "questions", "models"):
            del settings[key]
        return settings

    @classmethod
    def from_dict(cls, data: Mapping[str, object], folder: Path = Path()) -> Self:
        """Returns the configuration of a dict like that of a TOML file; sections may be given in part.

        What is not given has the value of the `preset`, if there is one, or the default. Raises
        `ConfigError`, naming the key.

        >>> given = {"preset": "paper", "length": {"target": 80}, "candidates": ["a.jsonl"], "out": "set"}
        >>> BuildConfig.from_dict(given).length
        Length(target=80, count=30000, share=1.0, deviation=None)
        """
        completed: dict[str, Any] = dict(data)
        given = [name for name in _DECIDED if _is_given(data, name)]
        preset = _preset(data.get("preset", ""), data.get("language", ""), given)
        for name, section in preset.items():
            if isinstance(data.get(name), dict):
                known = {key: value for key, value in vars(section).items() if value is not None}
                completed[name] = {**known, **completed[name]}
        models = completed.pop("models", {})
        return _table(cls, completed, "", folder=folder, models=models)

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
    data = read_toml(path)
    try:
        return BuildConfig.from_dict(data, path.resolve().parent)
    except ConfigError as error:
        raise ConfigError(error.problem, path=path) from None


def _preset(name: object, language: object, given: Collection[str]) -> Mapping[str, Any]:
    """Returns the defaults of a preset and of a language; `given`: what of `_DECIDED` is given."""
    if name and (not isinstance(name, str) or name not in PRESETS):
        raise ConfigError(f"unknown preset {name!r}: expected one of {', '.join(PRESETS)}")
    preset = PRESETS[name] if isinstance(name, str) and name else {}
    try:
        found = language_of(language, given, _DECIDED) if isinstance(language, str) else None
    except SettingsError as error:
        raise ConfigError(str(error)) from None
    if found is None:
        return {"unit": "character", "skipped": SKIPPED, **preset}
    tag = next(key for key, each in LANGUAGES.items() if each is found)
    return {
        **preset,
        "unit": found.unit,
        "skipped": found.skipped,
        "length": replace(preset.get("length", Length()), target=found.length),
        "normalise": Normalise(style=tag),
    }


def _is_given(data: Mapping[str, Any], name: str) -> bool:
    """Whether a configuration says what a language would decide: without a step, it has no style."""
    section, _, key = name.rpartition(".")
    found = data.get(section, {}) if section else data
    left_out = section == "normalise" and section not in data.get("steps", STEPS)
    return left_out or (isinstance(found, Mapping) and key in found)


def _table(kind: type[T], data: Mapping[str, object], where: str, **more: Any) -> T:
    """Convert a table to the dataclass `kind`, checking values against its annotations."""
    known = {each.name: each for each in fields(kind) if each.name not in more}  # type: ignore[arg-type]
    types = get_type_hints(kind)
    values = {}
    for key, value in data.items():
        if key not in known:
            listed = [*known, *(name for name in more if name != "folder")]
            names = f"{meant(key, listed)}: expected one of {', '.join(listed)}"
            raise ConfigError(f"{_place(where)}unknown key {key!r}{names}")
        values[key] = _value(types[key], value, f"{where}.{key}" if where else key)
    for key, each in known.items():
        if key not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{_place(where)}missing key {key!r}")
    try:
        return kind(**values, **more)
    except ConfigError as error:
        raise ConfigError(f"{_place(where)}{error.problem}") from None


def _value(kind: Any, value: object, where: str) -> Any:
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        if isinstance(value, dict):
            return _table(kind, value, where)
        wanted = "a table"
    elif kind == Names:
        if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            return tuple(value)
        wanted = "a list of strings"
    elif get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        wanted = f"one of {', '.join(map(repr, get_args(kind)))}"
    else:
        kinds = [each for each in get_args(kind) or (kind,) if each is not type(None)]
        given = float(value) if float in kinds and type(value) is int else value
        if type(given) in kinds:
            return given
        wanted = _WANTED[kinds[0]]
    raise ConfigError(f"{where}: expected {wanted}, not {value!r}")


def _is_json(value: object) -> bool:
    try:
        return bool(json.dumps(value))
    except TypeError:  # a date of TOML
        return False


_WANTED = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}


def _place(where: str) -> str:
    return f"[{where}]: " if where else ""


# Questions.


@dataclass(frozen=True)
class Outline:
    """A question without its reference answers."""

    question_id: str
    question: str
    category: str = ""
    note: str = ""
    keywords: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        if (problem := question.id_problem(self.question_id)) is not None:
            raise ConfigError(problem)


def read_outlines(path: Path) -> list[Outline]:
    """Read outlines from a folder of question files, JSON lines, or TOML with `[[question]]` tables.

    Raises `ConfigError`, naming the file and the entry, for unknown or missing keys, invalid keyword rules,
    and duplicate ids or texts.
    """
    if path.is_dir():
        questions, _ = question.read_folder(path)
        return [Outline(q.id, q.text, q.category, q.note, q.keywords) for q in questions]
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            records = tomllib.loads(text).get("question", [])
        else:
            records = [json.loads(line) for line in text.split("\n") if line.strip()]
    except OSError as error:
        raise ConfigError(unreadable(error), path=path) from error
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON lines"
        raise ConfigError(f"invalid {kind}: {error}", path=path) from None
    outlines = [
        _parse_outline(record, f"question {i}", path) for i, record in enumerate(records, 1)
    ]
    if not outlines:
        raise ConfigError("no questions", path=path)
    _reject_duplicate_outlines(outlines, path)
    return outlines


def _parse_outline(record: object, where: str, path: Path) -> Outline:
    if not isinstance(record, dict):
        raise ConfigError(f"{where}: expected an object, not {record!r}", path=path)
    keywords = record.pop("keywords", [])
    try:
        parse_rules(keywords)
        outline = _table(Outline, record, "", keywords=tuple(keywords))
        if not outline.question:
            raise ConfigError("question must not be empty")
        return outline
    except (BenchmarkError, ConfigError) as error:
        raise ConfigError(f"{where}: {error}", path=path) from None


def _reject_duplicate_outlines(outlines: Iterable[Outline], path: Path) -> None:
    seen: set[str] = set()
    for outline in outlines:
        folded = outline.question_id.casefold()  # names of files, whose cases may not differ
        for key, value in {folded: outline.question_id, outline.question: outline.question}.items():
            if key in seen:
                raise ConfigError(f"duplicate question {value!r}", path=path)
            seen.add(key)
