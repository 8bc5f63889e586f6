"""Japanese pages have the code of the English ones; strict builds of the site compare their headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from places import DOCS, ROOT

ENGLISH_ONLY = ("reference/api", "reference/commands", "specification/")
"""Pages that are made from docstrings and help, and contracts."""
PAGES = sorted(
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    if not page.name.endswith(".ja.md")
    and not page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT)
    .as_posix()
    .startswith(ENGLISH_ONLY)
)
FENCE = re.compile(r"^ *```(.*?)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
WORDS = re.compile(
    r"""\s*(?:#(?!SBATCH| syntax)| {4,}(?=\S)|<!--).*$|(["'])[^"'\n]*\1""", re.MULTILINE
)
"""Comments, explanations and strings, which may be in Japanese."""
JAPANESE = re.compile("[ぁ-ヿ㐀-鿿]")


def code(page: Path) -> list[tuple[str, list[str]]]:
    """Languages and lines of the fences of a page without the words that are translated."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(info, [WORDS.sub("", line) for line in text.splitlines()]) for info, text in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_is_the_same(page: Path) -> None:
    ours, theirs = code(page.with_suffix(".ja.md")), code(page)
    assert [info for info, _ in ours] == [info for info, _ in theirs]
    for (_, lines), (_, others) in zip(ours, theirs, strict=True):
        assert len(lines) == len(others)
        different = [(a, b) for a, b in zip(lines, others, strict=True) if a != b]
        assert [(a, b) for a, b in different if not JAPANESE.search(a)] == []
