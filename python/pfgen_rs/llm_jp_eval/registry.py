"""Tasks and profiles as data: TOML files of this package, of other packages, and of folders of your own.

A task says what is asked and how it is scored; a profile is a list of tasks with the way in which a board
reads outputs and averages scores. Files are found in this package, in the folders of modules that packages
name as entry points of the group `pfgen_rs.llm_jp_eval_tasks`, and in the folders that `PFGEN_RS_TASKS` lists
(separated as in `PATH`) or `add_folder` adds. A file with the key `tasks` is a profile, any other a task.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.source import read_toml
from pfgen_rs.llm_jp_eval.extraction import answer_pattern
from pfgen_rs.registry import loaded

ALL = "all"
Split = Literal["train", "dev", "test"]
SPLITS: tuple[str, ...] = get_args(Split)
DEFAULT = "1.3.0"
"""The profile that is used if none is chosen."""
GROUP = "pfgen_rs.llm_jp_eval_tasks"
ENVIRONMENT = "PFGEN_RS_TASKS"

NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]*")
"""What tasks and profiles may be called."""

_PACKAGE = Path(__file__).with_name("registered")
T = TypeVar("T", "TaskInfo", "Profile")
Value = TypeVar("Value")
_folders: list[Path] = []


@dataclass(frozen=True, slots=True)
class Source:
    """Where raw files are published, and what converts them.

    `files`: path in the repository by the name of the raw file, in the order in which they are read; names
    that end with "/" stand for folders of files. `page`: the page that links to an archive, if the files are
    not in a repository. `converter`: name of a registered converter.
    """

    name: str
    repository: str
    revision: str
    licence: str
    converter: str
    files: Mapping[str, str]
    page: str | None = None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task: `output_length` is the maximum number of new tokens; the first metric is the main one.

    What an evaluation file states itself counts, not what stands here. `splits`: those that there are; by
    default all, or those of `data`. `few_shots`: number of examples in prompts, if it is not the profile's.
    `reading`: steps from outputs to predictions, likewise. `answer_pattern`: name of a pattern, or a regular
    expression, that extracts the answer from predictions. `template`: of prompts, instead of the profile's.
    `labels`: the answers that there are. `cluster`: a regular expression whose group is the same for samples
    that share a context, so that standard errors are clustered by it. `data`: paths of evaluation files by
    split, of tasks that bring their own. `path`: the file that says so.
    """

    name: str
    metrics: tuple[str, ...]
    category: str = ""
    output_length: int | None = None
    instruction: str | None = None
    dataset: str = ""
    version: str = ""
    splits: tuple[Split, ...] = get_args(Split)
    few_shots: int | None = None
    template: str | None = None
    reading: tuple[str, ...] = ()
    answer_pattern: str | None = None
    labels: tuple[str, ...] = ()
    language: str = "ja"
    cluster: str | None = None
    source: Source | None = None
    data: Mapping[str, Path] = field(default_factory=dict)
    path: Path = Path()

    @property
    def licence(self) -> str:
        """The licence of the data; empty if it is not known."""
        return self.source.licence if self.source else ""

    @property
    def is_own(self) -> bool:
        """Whether the task is not one of this package."""
        return is_own(self.path)

    def described(self) -> dict[str, Any]:
        """Returns the task as JSON types, without what is not known and where its files are."""
        every = {
            key: value for key, value in asdict(self).items() if value not in (None, "", (), {})
        }
        return {**every, "licence": self.licence, "path": str(self.path), "data": sorted(self.data)}


@dataclass(frozen=True, slots=True)
class Profile:
    """How a board asks, reads outputs, scores and averages.

    What is given by task may be given by the beginning of names (`jmmlu_*`). `shots`: numbers of examples,
    each of which is a run of its own; `task_shots`: by task. `split`, `limit`: the samples, and how many of
    each task by default; `task_limits`: by task. `chat`: what the first turn of a chat begins with, empty for
    a single prompt. `sampling`: `temperature` and `top_p`.

    `reading`: steps from an output to the prediction (`reading.STEPS`); `task_reading`: by task. `metrics`:
    metrics by task that count whatever its file says. `computed`: metrics that are computed as others.
    `refused`: metrics that this board does not have. `control`: form of predictions by task
    (`profiles.controlled`). `mean`: how a task's values are summed, `exact` or `kahan`.

    `categories`: the scores of which each is the mean; `averages`: the categories of which each is the mean;
    `weights`: by average, of categories, if not 1; `groups`: subjects by their common figure. `average`: the
    main one, if there is one. `lacking`: what a category without any score counts as; without it, such a
    category is left out. `averaging`: the code that makes averages (`board_averages.AVERAGINGS`).
    """

    name: str
    tasks: tuple[str, ...]
    about: str = ""
    shots: tuple[int, ...] = (4,)
    task_shots: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    split: Split = "test"
    limit: int | None = None
    task_limits: Mapping[str, int] = field(default_factory=dict)
    chat: str = ""
    sampling: Mapping[str, float] = field(default_factory=dict)
    reading: tuple[str, ...] = ("cut", "nfkc")
    task_reading: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    control: Mapping[str, str] = field(default_factory=dict)
    mean: Literal["exact", "kahan"] = "exact"
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    average: str = ""
    lacking: float | None = None
    averaging: Literal["means", "swallow", "nejumi"] = "means"
    path: Path = Path()

    def steps(self, task: str) -> tuple[str, ...]:
        """Returns the steps from a task's outputs to predictions."""
        return of_task(self.task_reading, task, self.reading)


def is_own(path: Path) -> bool:
    """Whether a task or profile from this file is not one of this package."""
    return path.is_file() and _PACKAGE not in path.parents


def plain_name(task: str) -> str:
    """Returns the name of a task without the number of examples that its name ends in (`jamp@2`)."""
    return task.partition("@")[0]


def of_task(values: Mapping[str, Value], task: str, default: Value) -> Value:
    """Returns what is given for a task, or for the beginning of its name (`jmmlu_*`)."""
    own = plain_name(task)
    fitting = (n for n in values if n.endswith("*") and own.startswith(n[:-1]))
    name = own if own in values else next(fitting, None)
    return default if name is None else values[name]


@cache
def tasks() -> Mapping[str, TaskInfo]:
    """Returns all tasks by name: those of 1.3.0 in the order in which they are run, then others."""
    found = _read(TaskInfo)
    first = [name for name in profiles()[DEFAULT].tasks if name in found]
    return MappingProxyType({name: found[name] for name in dict.fromkeys([*first, *found])})


@cache
def profiles() -> Mapping[str, Profile]:
    """Returns all profiles by name."""
    return MappingProxyType(_read(Profile))


def find_task(name: str) -> TaskInfo:
    """Returns a task by name. Raises `SettingsError` for unknown names."""
    if name not in tasks():
        raise _unknown_task(name, tasks())
    return tasks()[name]


def _unknown_task(name: str, known: Iterable[str]) -> SettingsError:
    return SettingsError(
        f"unknown task {name!r}: expected one of {', '.join(known)}, or one of your own, which a file "
        f"{name}.toml makes known (--task-folder, {ENVIRONMENT})"
    )


def find_profile(name: str) -> Profile:
    """Returns a profile by name. Raises `SettingsError` for unknown names."""
    if name not in profiles():
        raise SettingsError(f"unknown profile {name!r}: expected one of {', '.join(profiles())}")
    return profiles()[name]


def cluster_of(task: str, text: str) -> str | None:
    """Returns what the input of a sample shares with others of its cluster, such as a text asked about.

    `None` for tasks without clusters, and inputs in which the task's expression finds nothing.
    """
    info = tasks().get(plain_name(task))
    found = re.search(info.cluster, text, re.DOTALL) if info and info.cluster else None
    return "\0".join(found.groups("")) if found else None


def chosen_tasks(names: Iterable[str] | None = None, profile: str = DEFAULT) -> list[TaskInfo]:
    """Returns tasks by name or category (such as `NLI`), each once, in the order in which they are run.

    `None`, nothing and `all` stand for all tasks of the profile. Raises `SettingsError` for unknown names.
    """
    wanted, chosen = list(names or ()), find_profile(profile)
    if unknown := [name for name in chosen.tasks if name not in tasks()]:
        raise InputError(f"'tasks' has the unknown task {unknown[0]!r}", path=chosen.path)
    own = [tasks()[name] for name in chosen.tasks]
    order = {each.name: each for each in [*own, *tasks().values()]}
    homes = dict.fromkeys(each.category for each in order.values() if each.category)
    for name in wanted:
        if name not in {*order, *homes, ALL}:
            raise _unknown_task(name, [*order, *homes, ALL])
    if not wanted or ALL in wanted:
        return own
    return [each for each in order.values() if {each.name, each.category} & set(wanted)]


def add_folder(folder: str | os.PathLike[str]) -> None:
    """Add a folder of tasks and profiles to this process. Raises `InputError` if it is none."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError("no such folder of tasks", path=path)
    _folders.append(path)
    _forget()


def _forget() -> None:
    for known in (tasks, profiles, _records):
        known.cache_clear()


def _read(kind: type[T]) -> dict[str, T]:
    """Read all files of a kind; none hides another of the same name."""
    found: dict[str, T] = {}
    for path, record in _records().items():
        if ("tasks" in record) != (kind is Profile):
            continue
        made = _made(kind, record, path)
        if made.name in found:
            raise InputError(
                f"the name {made.name!r} is already that of {found[made.name].path}", path=path
            )
        found[made.name] = made
    return found


@cache
def _records() -> dict[Path, dict[str, Any]]:
    """Returns what all files say, which tasks and profiles are made from."""
    return {path: read_toml(path) for path in _files()}


def _files() -> Iterator[Path]:
    folders = [_PACKAGE / "tasks", _PACKAGE / "profiles"]
    folders += [Path(loaded(each, "tasks").__file__).parent for each in entry_points(group=GROUP)]
    own = os.environ.get(ENVIRONMENT, "")
    folders += [Path(part) for part in own.split(os.pathsep) if part]
    for folder in dict.fromkeys(each.resolve() for each in [*folders, *_folders]):
        if not folder.is_dir():
            raise InputError(f"no such folder of tasks (see {ENVIRONMENT})", path=folder)
        yield from sorted(folder.glob("*.toml"))


def _made(kind: type[T], record: dict[str, Any], path: Path) -> T:
    """Returns a task or a profile; its name is by default that of its file."""
    data = record.get("data")
    implied = {"splits": list(data)} if isinstance(data, dict) else {}
    try:
        made: T = typed(kind, {"name": path.stem, **implied, **record})
        if not NAME.fullmatch(made.name):
            raise InputError(f"invalid name {made.name!r}: expected one such as my_exam")
        if isinstance(made, TaskInfo):
            files = {split: path.parent / name for split, name in made.data.items()}
            pattern = made.answer_pattern and answer_pattern(made.answer_pattern)
            made = replace(made, data=files, answer_pattern=pattern)
        if _PACKAGE not in path.parents:
            from pfgen_rs.llm_jp_eval.checks import check  # which takes what imports this module

            check(made)
        return replace(made, path=path)
    except InputError as error:
        raise InputError(error.problem, path=path) from None


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_KINDS |= {Path: "a path"}


def typed(kind: type[Any], record: Mapping[str, Any], within: str = "") -> Any:
    """Returns an object of a data class from what a file says, but for its `path`.

    `within`: the key that the file has it under, for messages. Raises `InputError` for unknown keys, missing
    ones, and values of other types.
    """
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(kind) if each.name != "path"}
    for name in record:
        if name not in known:
            raise InputError(f"unknown key {within + name!r}: expected one of {', '.join(known)}")
    for name, each in known.items():
        if name not in record and each.default is each.default_factory is MISSING:
            raise InputError(f"lacks the key {within + name!r}")
    return kind(**{name: _value(hints[name], own, within + name) for name, own in record.items()})


def _value(kind: Any, value: Any, name: str) -> Any:
    """Returns a value as a field's type. `name`: of its key."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:  # with None, which TOML does not have
        return _value(parts[0], value, name)
    if origin is Literal:
        if value not in parts:
            expected = ", ".join(parts)
            raise InputError(f"unknown {name} {value!r:.60}: expected one of {expected}")
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_value(parts[0], each, f"{name}[{n}]") for n, each in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _value(parts[1], each, f"{name}.{key}") for key, each in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return typed(cast("type[Any]", kind), value, f"{name}.")
    if kind is type(value) or (kind, type(value)) in ((float, int), (Path, str)):
        return value
    expected = "a list" if origin is tuple else _KINDS.get(kind, "a table")
    raise InputError(f"{name!r} must be {expected}, not {value!r:.60}")
