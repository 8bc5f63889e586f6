"""Wheels and sdist in empty environments, one for each Python at hand, and what they score there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from release.commands import output
from release.outcomes import CheckFailedError

__all__ = [
    "KNOWN",
    "Interpreter",
    "compared",
    "installed",
    "interpreters",
    "probe",
    "same_figures",
]

PROBE = Path(__file__).with_name("probe.py")
OLDEST = (3, 11)
KNOWN = {"babbling": "0.1063", "careless": "0.4594", "faithful": "0.8256"}
"""Scores of the bundled runs, which the README prints."""

Found = Mapping[str, Any]


class Interpreter(NamedTuple):
    """A Python of this machine."""

    version: tuple[int, int, int]
    path: Path

    @property
    def label(self) -> str:
        """The version as people write it."""
        return ".".join(map(str, self.version))


def interpreters() -> list[Interpreter]:
    """The newest installed Python of each minor version, on PATH or of pyenv or uv; none is downloaded."""
    found: dict[tuple[int, int], Interpreter] = {}
    for path in _candidates():
        version = _version(path)
        if version is None or version[:2] < OLDEST:
            continue
        if version[:2] not in found or version > found[version[:2]].version:
            found[version[:2]] = Interpreter(version, path)
    return [found[minor] for minor in sorted(found)]


def _candidates() -> Iterator[Path]:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin"))
    folders += sorted((home / ".local" / "share" / "uv" / "python").glob("*/bin"))
    for folder in folders:
        if folder.is_dir():
            names = sorted(path.name for path in folder.iterdir())
            yield from (folder / name for name in names if re.fullmatch(r"python3\.\d+t?", name))


def _version(python: Path) -> tuple[int, int, int] | None:
    """The version of an interpreter that runs and can make environments; pyenv's shims of others do not."""
    code = "import ensurepip, sys, venv; print(*sys.version_info[:3])"
    try:
        done = subprocess.run(
            [python, "-I", "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    parts = done.stdout.split()
    return (int(parts[0]), int(parts[1]), int(parts[2])) if len(parts) == 3 else None


def installed(
    what: Path, interpreter: Interpreter, folder: Path, env: Mapping[str, str] | None = None
) -> Path:
    """The Python of an empty environment into which pip installed a wheel, or an unpacked sdist."""
    shutil.rmtree(folder, ignore_errors=True)
    output([interpreter.path, "-m", "venv", folder])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    output([python, "-m", "pip", "install", "--quiet", what], env=env, cwd=folder)
    return python


def probe(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> Found:
    """What `probe.py` prints under an interpreter, which is a command."""
    text = output([*command, PROBE], cwd=cwd, env=env)
    found: Found = json.loads(text.splitlines()[-1])
    return found


def compared(found: Found, version: str, printed: str, reference: Found | None) -> str:
    """What is installed and what it scores, compared with the version, known scores and figures elsewhere."""
    if printed.strip() != f"pfgen|v:{version}" or found["version"] != version:
        raise CheckFailedError(
            f"`pfgen-rs --version` prints {printed.strip()!r}, expected v:{version}"
        )
    scores = {run: figures["score"] for run, figures in found["scores"].items()}
    if scores != KNOWN:
        raise CheckFailedError(f"the bundled runs score {scores}, expected {KNOWN}")
    if reference is not None:
        same_figures(found, reference)
    shown = ", ".join(KNOWN[run] for run in ("faithful", "careless", "babbling"))
    return f"Python {found['python']} on {found['machine']}: {shown}"


def same_figures(found: Found, reference: Found) -> None:
    """Every figure is the same to the last bit."""
    if found["scores"] != reference["scores"]:
        raise CheckFailedError(f"figures differ:\n{found['scores']}\n{reference['scores']}")
