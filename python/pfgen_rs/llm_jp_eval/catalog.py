"""The tasks of llm-jp-eval: their categories, metrics, lengths, instructions and licences."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from pfgen_rs.errors import SettingsError

__all__ = [
    "ALL",
    "CATEGORIES",
    "SPLITS",
    "VARIANTS",
    "TaskInfo",
    "chosen_tasks",
    "find_task",
    "tasks",
]

ALL = "all"
SPLITS = ("train", "dev", "test")
VARIANTS = ("upstream", "swallow")
CATEGORIES = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR", "STS")
"""Categories in the order of the paper's tables; STS is in no average."""


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task: `output_length` is the maximum number of new tokens; the first metric is the main one."""

    name: str
    dataset: str
    category: str
    metrics: tuple[str, ...]
    output_length: int
    licence: str
    instruction: str


@cache
def tasks() -> Mapping[str, TaskInfo]:
    """Returns all 17 tasks by name, in the order in which they are run."""
    text = files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8")
    found = {
        name: TaskInfo(name, **{**fields, "metrics": tuple(fields["metrics"])})
        for name, fields in tomllib.loads(text).items()
    }
    return MappingProxyType(found)


def find_task(name: str) -> TaskInfo:
    """Returns a task by name. Raises `SettingsError` for unknown names."""
    if name not in tasks():
        raise SettingsError(f"unknown task {name!r}: expected one of {', '.join(tasks())}")
    return tasks()[name]


def chosen_tasks(names: Iterable[str] | None = None) -> list[TaskInfo]:
    """Returns tasks by name or category (such as `NLI`), each once, in the order in which they are run.

    `None`, nothing and `all` stand for all tasks. Raises `SettingsError` for unknown names.
    """
    wanted = list(names or ())
    known = {*tasks(), *CATEGORIES, ALL}
    for name in wanted:
        if name not in known:
            expected = ", ".join([*tasks(), *CATEGORIES, ALL])
            raise SettingsError(f"unknown task {name!r}: expected one of {expected}")
    if not wanted or ALL in wanted:
        return list(tasks().values())
    return [each for each in tasks().values() if {each.name, each.category} & set(wanted)]
