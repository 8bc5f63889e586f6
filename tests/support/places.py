"""Where the parts of the project are, for tests in any folder."""

from __future__ import annotations

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
DOCS = ROOT / "docs"
CASE_TABLE = ROOT / "tests" / "cases.json"
