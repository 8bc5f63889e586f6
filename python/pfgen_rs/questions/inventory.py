"""Lists the available benchmarks: bundled, installed, or known but not installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pfgen_rs import install
from pfgen_rs.install.store import count_questions
from pfgen_rs.questions.files import question_paths
from pfgen_rs.questions.locate import BUNDLED, bundled_path

__all__ = ["Available", "State", "inventory"]

State = Literal["bundled", "installed", "not installed"]


@dataclass(frozen=True)
class Available:
    """A benchmark; `path` and `revision` are `None` if it has none."""

    name: str
    state: State
    questions: int
    path: Path | None = None
    revision: str | None = None


def inventory() -> list[Available]:
    """Returns the bundled benchmark, the installed ones, then those that can be installed."""
    bundled = Available(BUNDLED, "bundled", len(question_paths(bundled_path())), bundled_path())
    present = {found.name: found for found in install.installed()}
    installed = [
        Available(found.name, "installed", found.questions, found.path, found.revision)
        for found in present.values()
    ]
    waiting = [
        Available(
            entry.name, "not installed", count_questions(entry.files), revision=entry.revision
        )
        for entry in install.known().values()
        if entry.name not in present
    ]
    return [bundled, *installed, *waiting]
