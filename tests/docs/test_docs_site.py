"""The documentation site builds without warnings, in both languages, and fetches nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_pages import named_commands
from places import DOCS

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def test_both_languages_have_every_page(built_docs: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix().removesuffix(".md").removesuffix(".ja")
        for language in ("", "ja"):
            assert (built_docs / language / f"{name}.html").is_file(), (language, name)


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


def test_every_command_has_a_page() -> None:
    pages = {path.stem for path in (DOCS / "reference/commands").glob("pfgen-rs-*.md")}
    assert pages == {f"pfgen-rs-{name}" for name in named_commands()}
