"""The documentation site builds without warnings, in both languages, and fetches nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command_pages import named_commands
from places import DOCS

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)
_MARKDOWN = re.compile(
    r"(?:^|\n)\s*[-*|] |\n\s*\|?\s*---|\*\*|`|\]\(|\{#|!!!|:::|\?\?\?|<!--", re.MULTILINE
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


def test_the_switch_of_colours_has_a_name_in_each_language(built_docs: Path) -> None:
    for page, name in (("index", "Dark"), ("ja/index", "ダークモード")):
        assert f'title="{name}"' in (built_docs / f"{page}.html").read_text("utf-8")


def test_nothing_comes_from_elsewhere(built_docs: Path) -> None:
    for path in built_docs.rglob("*"):
        if path.suffix in (".html", ".css", ".svg"):
            assert (found := _FETCHED.search(path.read_text("utf-8"))) is None, (path, found)


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://a.example/x.js">',
        "<script async src=//a.example/x.js>",
        '<link rel="stylesheet" href="https://a.example/x.css">',
        '<img alt="x" src="http://a.example/x.png">',
        "@import 'https://a.example/x.css'",
        "src:url(https://a.example/x.woff2)",
    ],
)
def test_what_would_be_fetched_is_seen(text: str) -> None:
    assert _FETCHED.search(text)


@pytest.mark.parametrize("text", ['<a href="https://a.example">', "url(data:image/png;base64,)"])
def test_what_is_not_fetched_passes(text: str) -> None:
    assert not _FETCHED.search(text)


class _Prose(HTMLParser):
    """Collects the text of a page's article that is no code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag in ("article", "code", "pre", "script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open == ["article"]:
            self.pieces.append(data)


def unrendered(html: str) -> list[str]:
    """Text of a page that looks as if Markdown had been left in it."""
    return [piece for piece in _Prose(html).pieces if _MARKDOWN.search(piece)]


def test_no_markdown_is_left_in_pages(built_docs: Path) -> None:
    for path in built_docs.rglob("*.html"):
        assert unrendered(path.read_text("utf-8")) == [], path


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("First:\n- one\n- two", True),
        ("a | b\n| --- | --- |", True),
        ("**so", True),
        ("a [b](c.md)", True),
        ("# A {#b}", True),
        ("!!! note", True),
        ("::: pfgen_rs", True),
        ("1. A first score", False),
        ("a - b", False),
        ("<code>- `a`</code> b", False),
    ],
)
def test_markdown_that_is_left_is_found(text: str, left: bool) -> None:
    assert bool(unrendered(f"<p>- x</p><article><p>{text}</p></article>")) is left


def test_every_command_has_a_page() -> None:
    pages = {path.stem for path in (DOCS / "reference/commands").glob("pfgen-rs-*.md")}
    assert pages == {f"pfgen-rs-{name}" for name in named_commands()}
