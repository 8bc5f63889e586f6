"""The documentation site builds without warnings, in both languages, and fetches nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from places import DOCS

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)
_AUTOREF = re.compile(r'<a class="autorefs[^>]* href="([^"]*)"')


def test_both_languages_have_every_page(built_docs: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix().removesuffix(".md").removesuffix(".ja")
        for language in ("", "ja"):
            assert (built_docs / language / f"{name}.html").is_file(), (language, name)


def test_what_is_not_translated_says_so(built_docs: Path) -> None:
    for name, language in (("reference/api/index", ' lang="en"'), ("how-to/judge", "")):
        html = (built_docs / f"ja/{name}.html").read_text("utf-8")
        assert '<html lang="ja"' in html
        assert f'<article class="md-content__inner md-typeset"{language}>' in html
        assert ("から作られるため、英語です。" in html) is bool(language)


def test_japanese_pages_lead_to_japanese_pages(built_docs: Path) -> None:
    pages = list((built_docs / "ja/reference/api").glob("*.html"))
    links = [link for page in pages for link in _AUTOREF.findall(page.read_text("utf-8"))]
    assert len(links) > 40
    assert [link for link in links if link.startswith("../../../")] == []
    assert any(link.startswith("../../reference/api/") for link in links)


def test_nothing_comes_from_elsewhere(built_docs: Path) -> None:
    for path in built_docs.rglob("*"):
        if path.suffix in (".html", ".css", ".svg"):
            assert (found := _FETCHED.search(path.read_text("utf-8"))) is None, (path, found)
