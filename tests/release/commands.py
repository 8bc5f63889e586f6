"""Commands that the checks run, and tools that they need."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from release.outcomes import CheckFailedError, CheckSkippedError

__all__ = ["needed", "output", "quiet_environment"]

END = 12
"""Lines of a failed command that are shown."""


def output(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What a command prints; a failure says which command it was, and its last lines."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env=quiet_environment(env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-END:])
        raise CheckFailedError(f"{' '.join(words)} ended with {done.returncode}\n{end}")
    return done.stdout


def quiet_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead Python back to the checkout."""
    left_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"NO_COLOR": "1", "COLUMNS": "200"} | dict(more)


def needed(tool: str, where: str) -> str:
    """The path of a tool; without it the check is skipped and says where to get the tool."""
    found = shutil.which(tool)
    if found is None:
        raise CheckSkippedError(f"{tool} is not installed ({where})")
    return found
