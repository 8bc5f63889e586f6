"""Where the parts of the project are, and public data in the folder that `PFGEN_DATA_DIR` names.

CONTRIBUTING says how to get the data.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
DOCS = ROOT / "docs"
CASE_TABLE = ROOT / "tests" / "cases.json"

VARIABLE = "PFGEN_DATA_DIR"


def part(name: str) -> Path | None:
    """A subfolder: pfgen-bench, vectors, candidates, judging, jpeval, studies; None if it is not there."""
    folder = Path(os.environ.get(VARIABLE) or os.devnull, name)
    return folder if folder.is_dir() else None


def needed(name: str) -> Path:
    """The subfolder; without it the test is skipped."""
    folder = part(name)
    if folder is None:
        pytest.skip(f"{VARIABLE} has no {name}")
    return folder


def published_runs() -> list[str]:
    """Folders of the published runs, relative to `pfgen-bench`; none where it is not there."""
    root = part("pfgen-bench") or Path(os.devnull)
    return sorted(str(path.parent.relative_to(root)) for path in root.glob("result/**/result.json"))
