"""The documentation site: languages, nothing from elsewhere, public names, hooks, and its search."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from griffe import GriffeLoader

import command_pages
import page_anchors
import page_links
import page_output
import pfgen_rs
from browser import NewPage, served, settled
from page_lines import joined
from places import DOCS, ROOT
from public_names import HIDDEN

if TYPE_CHECKING:
    from playwright.sync_api import Page


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
    public = {p.parent.name for p in root.glob("*/__init__.py") if "__all__" in p.read_text()}
    assert public - there == {"cli"}  # commands have their own pages


def test_what_pages_name_is_there(anchors: set[str]) -> None:
    modules = {name for name in named_in_pages() if _is_module(name)}
    sources = (path.read_text() for path in Path(pfgen_rs.__file__).parent.rglob("*.py"))
    groups = {group for text in sources for group in re.findall(r'"(pfgen_rs\.\w+)"', text)}
    named = named_in_pages() - modules - groups
    assert {name for name in named if name not in anchors} == set()


def test_nothing_private_is_shown(anchors: set[str]) -> None:
    private = r"^pfgen_rs\.(?:.*\.)?(?:_(?!_)|(?:__repr__|__post_init__|native)$)"
    assert {name for name in anchors if re.search(private, name)} == set()
    assert "pfgen_rs.Benchmark.__getitem__" in anchors
    package = GriffeLoader(search_paths=[ROOT / "python"], allow_inspection=False).load("pfgen_rs")
    for name in HIDDEN:
        assert name.rpartition(".")[2] in package[name.rpartition(".")[0]].members, name


# What the site's hooks make of pages: their order, anchors, links, help and scripts.


ENGLISH = "# One\n\n```sh\n# no heading\n```\n\n## Two `x` – three\n\n## One\n"


def test_a_translation_has_the_anchors_of_the_english_page() -> None:
    japanese = "# 一\n\n```sh\n# 見出しではない\n```\n\n## 二\n\n## 一 {#own}\n"
    marked = page_anchors.with_anchors(japanese, ENGLISH)
    assert marked is not None
    assert [line for line in marked.splitlines() if "{" in line] == [
        "# 一 {#one}",
        "## 二 {#two-x--three}",
        "## 一 {#one_1}",
    ]
    assert "# 見出しではない\n" in marked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("採点します。\n次に比べます。", "採点します。次に比べます。"),
        ("- 一つ目。\n  続き。\n- 二つ目。", "- 一つ目。続き。\n- 二つ目。"),
        ("- **要点。** 説明です。", "- **要点。**説明です。"),
        *((text, text) for text in ("段落。\n\n次の段落。", "| 表 |\n| --- |\n| 値。 |\n| 値。 |")),
        ("次のとおりです。\n```text\n一行目。\n二行目。\n```\n続きです。",) * 2,
        ("Python\nと Rust",) * 2,
    ],
)
def test_lines_of_japanese_paragraphs_are_joined(text: str, shown: str) -> None:
    assert joined(text) == shown


ADDRESS = "https://a.example/x"


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("[a](../../README.md)", f"[a]({ADDRESS}/blob/main/README.md)"),
        ("[a](../../README.md#b)", f"[a]({ADDRESS}/blob/main/README.md#b)"),
        ("[a](../../data/mini)", f"[a]({ADDRESS}/tree/main/data/mini)"),
        (
            "[`a`](../../deny.toml) `[b](../../c)`",
            f"[`a`]({ADDRESS}/blob/main/deny.toml) `[b](../../c)`",
        ),
        ("[a](b.md#c), [a](#c), [a](https://b.example)",) * 2,
        ("[a](../index.md)",) * 2,
        ("```md\n[a](../../README.md)\n```",) * 2,
    ],
)
def test_links_out_of_the_pages_lead_to_the_repository(text: str, linked: str) -> None:
    assert page_links.relinked(text, "how-to/page.md", ADDRESS) == linked


def test_pages_name_every_option() -> None:
    for name, top in command_pages.named_commands().items():
        page = command_pages.command_page(name)
        for named in command_pages.leaves(top):
            assert f"{named.path} " in page
            shown = [param for param in named.command.params if not param.hidden]
            for option in (o for p in shown if p.param_type_name == "option" for o in p.opts):
                assert re.search(rf"^`[^`]*{re.escape(option)}\b", page, re.MULTILINE), (
                    named.path,
                    option,
                )


def test_the_overview_links_to_every_command() -> None:
    links = set(re.findall(r"\]\((\w+\.md#[\w-]+)\)", command_pages.overview_page()))
    for name, file in command_pages.page_of_commands().items():
        anchors = re.findall(r"\{#([\w-]+)\}", command_pages.command_page(name))
        assert anchors
        assert {f"{file}#{anchor}" for anchor in anchors} <= links


def test_links_between_objects_stay_in_the_language() -> None:
    file = SimpleNamespace(dest_uri="ja/reference/api/a.html", locale="en")
    link = '<a class="autorefs autorefs-internal" title="b" href="../../../reference/api/b.html#c">'
    switch = '<a href="../../../reference/api/a.html" hreflang="en">'
    text = f'<h1>a</h1>{link}{switch}{{"search": "../assets/javascripts/workers/search.0.min.js"}}'
    changed = page_output.on_post_page(text, page=SimpleNamespace(file=file))
    assert 'title="b" href="../../reference/api/b.html#c">' in changed
    assert switch in changed
    assert '<h1>a</h1>\n<p lang="ja">このページは docstring から' in changed


# The documentation site in a browser: its search and its languages.


FOUND = ".md-search-result__item .md-search-result__link"


def searched(page: Page, query: str) -> list[str]:
    """The pages that a search finds, as they are listed; empty if it finds none."""
    field = page.locator("[data-md-component=search-query]")
    field.click()
    page.keyboard.insert_text(query)
    page.keyboard.press("End")  # the theme listens to keys
    meta = page.locator(".md-search-result__meta")
    settled(page, lambda: any(c.isdigit() for c in meta.inner_text()), True)
    links: list[str] = page.locator(FOUND).evaluate_all("found => found.map(link => link.href)")
    return [link.partition("?")[0] for link in links]


@pytest.mark.parametrize(
    ("start", "query", "page_found"),
    [
        ("ja/index.html", "信頼区間", "ja/reference/glossary.html"),
        ("ja/index.html", "流暢さ", "ja/reference/glossary.html"),
        ("ja/index.html", "流暢性", "ja/reference/glossary.html"),  # half of it is there
        ("ja/how-to/python.html", "順位の範囲", "ja/how-to/judge.html"),
        ("ja/index.html", "ｓｃｏｒｅ_batch", "ja/reference/api/index.html"),
        ("index.html", "confidence interval", "reference/glossary.html"),
        ("how-to/python.html", "datasets", "how-to/python.html"),
        ("index.html", "plan-trials", "reference/commands/keepers.html"),
    ],
)
def test_a_search_finds(
    start: str, query: str, page_found: str, new_page: NewPage, built_docs: Path
) -> None:
    page = new_page()
    page.goto((built_docs / start).as_uri())
    found = searched(page, query)
    assert (built_docs / page_found).as_uri() in found
    japanese = [link for link in found if link.startswith((built_docs / "ja").as_uri())]
    assert japanese == (found if start.startswith("ja/") else [])


def test_what_is_found_is_marked_and_harmless(new_page: NewPage, built_docs: Path) -> None:
    page = new_page()
    page.goto((built_docs / "index.html").as_uri())
    assert searched(page, "<pfgen-bench")
    marks = page.locator(".md-search-result mark").all_inner_texts()
    assert set(marks) == {"<pfgen-bench"}


def test_a_search_finds_over_http(new_page: NewPage, built_docs: Path) -> None:
    with served(built_docs) as home:
        page = new_page(home=home)
        page.goto(f"{home}ja/index.html")
        assert f"{home}ja/reference/glossary.html" in searched(page, "信頼区間")


@pytest.mark.parametrize("name", ["how-to/python", "reference/api/index", "index"])
def test_the_other_language_of_a_page(name: str, new_page: NewPage, built_docs: Path) -> None:
    page = new_page()
    page.goto((built_docs / f"{name}.html").as_uri())
    for language, folder in (("ja", built_docs / "ja"), ("en", built_docs)):
        page.get_by_label({"ja": "Select language", "en": "言語切り替え"}[language]).hover()
        page.locator(f".md-select__link[hreflang={language}]").click()
        assert page.url == (folder / f"{name}.html").as_uri()
        assert page.locator("html").get_attribute("lang") == language
