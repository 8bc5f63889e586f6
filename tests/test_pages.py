"""The pages in `docs/` can be found, and lead somewhere."""

import re
from pathlib import Path

import pytest

from places import DOCS

INDEX = DOCS / "index.md"
GENERATED = (DOCS / "reference/api", DOCS / "reference/commands")
"""Each of these has an index of its own."""
PAGES = sorted(DOCS.rglob("*.md"))


def links(page: Path) -> set[Path]:
    """The files that a page links to."""
    found = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in found if "://" not in link}


def test_the_index_names_every_page() -> None:
    english = {page for page in PAGES if not page.name.endswith(".ja.md")}
    generated = {page for page in english if page.parent in GENERATED and page.name != "index.md"}
    assert links(INDEX) >= english - generated - {INDEX}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    assert [link for link in links(page) if not link.exists()] == []
