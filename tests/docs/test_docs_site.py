"""The documentation site: both languages, nothing from elsewhere, and every public name in its reference."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest
from griffe import GriffeLoader

import pfgen_rs
from places import DOCS, ROOT
from public_names import HIDDEN

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)
_AUTOREF = re.compile(r'<a class="autorefs[^>]* href="([^"]*)"')


def test_both_languages_have_every_page_and_say_what_is_not_translated(built_docs: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix().removesuffix(".md").removesuffix(".ja")
        for language in ("", "ja"):
            assert (built_docs / language / f"{name}.html").is_file(), (language, name)
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


# The reference of Python.

_API = "reference/api"
_BLOCK = re.compile(r"^::: (\S+)$", re.MULTILINE)
_IMPORT = re.compile(r"^\s*from (pfgen_rs(?:\.\w+)*) import (\w+(?:, \w+)*)", re.MULTILINE)
_INLINE = re.compile(r"`(pfgen_rs(?:\.\w+)+)(?:\([^`]*\))?`")

_OTHER = {"pfgen_rs.sample"}
"""Names in files that look like names of the package."""


class _Anchors(HTMLParser):
    """Collects all `id`s of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.update(value for name, value in attrs if name == "id" and value)


def documented_modules() -> list[str]:
    blocks = [
        name
        for page in (DOCS / _API).glob("*.md")
        for name in _BLOCK.findall(page.read_text("utf-8"))
    ]
    return [name for name in blocks if _is_module(name)]


def _is_module(name: str) -> bool:
    path = Path(pfgen_rs.__file__).parents[1].joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def named_in_pages() -> set[str]:
    """What pages and README import, and the names of the package that they write in full."""
    found = set()
    hand_written = [p for p in DOCS.rglob("*.md") if "api" not in p.relative_to(DOCS).parts]
    for page in (ROOT / "README.md", *hand_written, *ROOT.glob("examples/*.py")):
        text = page.read_text("utf-8")
        found |= {f"{m}.{n}" for m, names in _IMPORT.findall(text) for n in names.split(", ")}
        found |= set(_INLINE.findall(text))
    return found - _OTHER


@pytest.fixture(scope="module")
def anchors(built_docs: Path) -> set[str]:
    parser = _Anchors()
    for page in (built_docs / _API).glob("*.html"):
        parser.feed(page.read_text("utf-8"))
    return parser.found


def test_every_public_name_is_there(anchors: set[str]) -> None:
    for name in documented_modules():
        public = getattr(import_module(name), "__all__", []) if _importable(name) else []
        assert {f"{name}.{member}" for member in public} <= anchors, name


def _importable(name: str) -> bool:
    try:
        import_module(name)
    except (ImportError, pfgen_rs.PfgenError):  # needs an extra that is no development tool
        return False
    return True


def test_every_package_that_has_public_names_is_there() -> None:
    root = Path(pfgen_rs.__file__).parent
    there = {name.split(".")[1] for name in documented_modules() if name != "pfgen_rs"}
    public = {
        init.parent.name for init in root.glob("*/__init__.py") if "__all__" in init.read_text()
    }
    assert public - there == {"cli"}  # commands have their own pages


def test_what_pages_name_is_there(anchors: set[str]) -> None:
    modules = {name for name in named_in_pages() if _is_module(name)}
    sources = (path.read_text() for path in Path(pfgen_rs.__file__).parent.rglob("*.py"))
    groups = {group for text in sources for group in re.findall(r'^GROUP = "(.+)"', text, re.M)}
    named = named_in_pages() - modules - groups
    assert {name for name in named if name not in anchors} == set()


def test_nothing_private_is_shown(anchors: set[str]) -> None:
    private = r"^pfgen_rs\.(?:.*\.)?(?:_(?!_)|(?:__repr__|__post_init__|native)$)"
    assert {name for name in anchors if re.search(private, name)} == set()
    assert "pfgen_rs.Benchmark.__getitem__" in anchors
    package = GriffeLoader(search_paths=[ROOT / "python"], allow_inspection=False).load("pfgen_rs")
    for name in HIDDEN:
        assert name.rpartition(".")[2] in package[name.rpartition(".")[0]].members, name
