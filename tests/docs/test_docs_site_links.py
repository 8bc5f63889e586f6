"""Links of the built site lead somewhere: to a page and its anchor, or to what has the form of an address."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

_ADDRESS = re.compile(r"https?://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/\S*)?|mailto:\S+@\S+")


class _Page(HTMLParser):
    """Collects the anchors and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and values.get("href") is not None:
            self.links.add(str(values["href"]))


def broken(folder: Path) -> list[str]:
    """Links of a folder's pages that lead nowhere."""
    pages = {path.resolve(): _Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    return [
        f"{path.relative_to(folder.resolve())}: {link}"
        for path, page in sorted(pages.items())
        if path.name != "404.html"  # served for any address, so that its links begin at the root
        for link in sorted(page.links)
        if not _leads_somewhere(path, link, pages)
    ]


def _leads_somewhere(path: Path, link: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:
        return _ADDRESS.fullmatch(link) is not None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target in pages:
        return unquote(parts.fragment) in pages[target].anchors
    return target.is_file() and not parts.fragment


def test_links_of_the_site_lead_somewhere(built_docs: Path) -> None:
    assert broken(built_docs) == []


@pytest.mark.parametrize(
    ("link", "good"),
    [
        ("b.html", True),
        ("b.html#there", True),
        ("#here", True),
        ("x.txt", True),
        ("https://a.example/b#c", True),
        ("b.html#nowhere", False),
        ("#nowhere", False),
        ("c.html", False),
        (".", False),
        ("x.txt#y", False),
        ("https:/a.example", False),
        ("htps://a.example", False),
    ],
)
def test_a_broken_link_is_found(link: str, good: bool, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f'<h1 id="here">A</h1><a href="{link}">x</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1>')
    (tmp_path / "x.txt").touch()
    assert broken(tmp_path) == ([] if good else [f"a.html: {link}"])
