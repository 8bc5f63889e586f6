"""The pages in `docs/` can be found, and lead somewhere."""

import re
from pathlib import Path

import pytest

from places import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def links(page: Path) -> set[str]:
    """Links of a page to files, without the part that names a place in them."""
    found = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    return {link for link in found if "://" not in link}


def test_the_index_names_every_page() -> None:
    assert links(DOCS / "README.md") >= {page.name for page in PAGES if page.name != "README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link).exists()] == []
