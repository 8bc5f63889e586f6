"""Files of the repository that pages name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from places import DOCS, ROOT

PAGES = sorted(DOCS.rglob("*.md"))
NAMED = re.compile(r"`((?:benches|data/mini|docs|examples|python|rust|tests)/[\w./-]+)`")
MADE = {"rust/fuzz/artifacts"}
"""What appears when it is made."""


def missing(text: str) -> list[str]:
    return [name for name in NAMED.findall(text) if name not in MADE and not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_named_files_are_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_files_are_named_and_a_missing_one_is_found() -> None:
    named = [name for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 10
    assert missing("`tests/oracle.py`, `rust/core/tests/no_such.rs`") == [
        "rust/core/tests/no_such.rs"
    ]
