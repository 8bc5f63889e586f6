"""Finding a benchmark's folder by name: bundled, installed, or anywhere on disk."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from pfgen_rs import install
from pfgen_rs.errors import BenchmarkNotFoundError

__all__ = ["BUNDLED", "ENVIRONMENT", "benchmark_path", "bundled_path", "name_of", "sample_runs"]

BUNDLED = "mini"
ENVIRONMENT = "PFGEN_RS_BENCHMARK"


def benchmark_path(name: str | os.PathLike[str] | None = None) -> Path:
    """Folder that `load_benchmark(name)` reads; `BenchmarkNotFoundError` where there is none."""
    return _folder(name or os.environ.get(ENVIRONMENT) or BUNDLED)


def bundled_path() -> Path:
    """Folder of the bundled benchmark, with its sample runs."""
    return Path(str(resources.files("pfgen_rs") / "data" / BUNDLED))


def sample_runs() -> dict[str, Path]:
    """Folders of the bundled sample runs by name: answers to the questions of `mini`, good and bad.

    `faithful` answers well, `careless` with mistakes, and `babbling` next to nothing that was asked. They are
    part of the installed package. Returns a new dictionary, in the order of the names.

    >>> sorted(sample_runs())
    ['babbling', 'careless', 'faithful']
    """
    folders = sorted(path for path in (bundled_path() / "runs").iterdir() if path.is_dir())
    return {folder.name: folder for folder in folders}


def name_of(folder: Path) -> str:
    """What a benchmark's folder is loaded by: the name of a bundled or installed one, else its path."""
    if folder == bundled_path().absolute():
        return BUNDLED
    names = (name for name in install.known() if install.installed_path(name) == folder)
    return next(names, str(folder))


def _folder(name: str | os.PathLike[str]) -> Path:
    folder = Path(name)
    if os.path.isdir(folder):  # noqa: PTH112 - is_dir raises for names that no folder can have
        return folder
    if isinstance(name, str):
        if name == BUNDLED:
            return bundled_path()
        installed = install.installed_path(name) if name in install.known() else None
        if installed is not None:
            return installed
    hint = (
        f"run 'pfgen-rs data install {name}'"
        if name in install.known()
        else (f"give a folder of question files, an installed benchmark, or {BUNDLED!r}")
    )
    raise BenchmarkNotFoundError(f"unknown benchmark {str(name)!r}: {hint}")
