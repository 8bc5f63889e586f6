"""The reference of the Python package has every public name, and every name that pages tell people to use."""

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
    private = {name for name in anchors if re.search(r"^pfgen_rs\.(?:.*\.)?_(?!_)", name)}
    assert private == set()
    assert not {
        name for name in anchors if name.endswith((".__repr__", ".__post_init__", ".native"))
    }
    assert "pfgen_rs.Benchmark.__getitem__" in anchors


def test_what_is_hidden_exists() -> None:
    package = GriffeLoader(search_paths=[ROOT / "python"], allow_inspection=False).load("pfgen_rs")
    for name in HIDDEN:
        assert name.rpartition(".")[2] in package[name.rpartition(".")[0]].members, name
