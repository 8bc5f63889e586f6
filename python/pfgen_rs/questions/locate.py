"""Finds a benchmark's folder by name: bundled, installed, or anywhere on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pfgen_rs import install
from pfgen_rs.errors import BenchmarkNotFoundError, meant
from pfgen_rs.install import store
from pfgen_rs.questions.question import question_paths

BUNDLED = store.BUNDLED
ENVIRONMENT = "PFGEN_RS_BENCHMARK"


def benchmark_path(name: str | os.PathLike[str] | None = None) -> Path:
    """Returns the folder that `load_benchmark(name)` reads. Raises `BenchmarkNotFoundError`."""
    return _benchmark_folder(name or os.environ.get(ENVIRONMENT) or BUNDLED)


def bundled_path() -> Path:
    """Returns the folder of the bundled benchmark, which contains its sample runs."""
    from importlib import resources  # which takes a while, and is rarely asked

    return Path(str(resources.files("pfgen_rs") / "data" / BUNDLED))


def sample_runs() -> dict[str, Path]:
    """Returns the folders of the bundled sample runs by name: good and bad answers to `mini`.

    `faithful` answers well, `careless` makes mistakes, and `babbling` answers almost nothing. They are part
    of the installed package. Returns a new dictionary, sorted by name.

    >>> sorted(sample_runs())
    ['babbling', 'careless', 'faithful']
    """
    folders = sorted(path for path in (bundled_path() / "runs").iterdir() if path.is_dir())
    return {folder.name: folder for folder in folders}


def name_of(folder: Path) -> str:
    """Returns the name by which to load a benchmark's folder: bundled or installed name, else its path."""
    if folder == bundled_path().absolute():
        return BUNDLED
    return folder.name if install.installed_path(folder.name) == folder else str(folder)


def _benchmark_folder(name: str | os.PathLike[str]) -> Path:
    folder = Path(name)
    if os.path.isdir(folder):  # noqa: PTH112 - is_dir raises for names that no folder can have
        return folder
    if isinstance(name, str):
        if name == BUNDLED:
            return bundled_path()
        installed = install.installed_path(name)
        if installed is not None:
            return installed
    hint = "expected a folder of question files, or a name that 'pfgen-rs data list' shows"
    if name in install.known():
        hint = f"run 'pfgen-rs data install {name}'"
    present = (found.name for found in install.installed())
    alike = meant(str(name), [BUNDLED, *install.known(), *present])
    raise BenchmarkNotFoundError(f"unknown benchmark {str(name)!r}{alike}: {hint}")


# Lists the available benchmarks: bundled, installed, or known but not installed.


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
            entry.name, "not installed", store.count_questions(entry.files), revision=entry.revision
        )
        for entry in install.known().values()
        if entry.name not in present
    ]
    return [bundled, *installed, *waiting]
