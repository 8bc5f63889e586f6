"""Finishes pages: where the search is, which language they are in, and nothing that asks a server."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["on_post_page"]

_ALTERNATE = re.compile(r'\s*<link rel="alternate" [^>]*hreflang=[^>]*>')
_SEARCH = re.compile(r'("search": "[^"]*assets/)javascripts/workers/search\.[^"]*"')
_ARTICLE = '<article class="md-content__inner md-typeset">'
_H1 = "</h1>"
_NOTE = '\n<p lang="ja">このページは{why}英語です。</p>'
_WHY = {
    "api": " docstring から作られるため、",
    "commands": "コマンドのヘルプから作られるため、",
    "specification": "定義の文言を一つに保つため、",
}
_REFERENCE = re.compile(r'(<a class="autorefs[^>]* href=")(?:\.\./){3}(reference/api/[^"]*")')


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Puts the search of docs/assets in the place of the theme's; marks what is not translated.

    In pages of the reference, links to other objects stay within the language.
    """
    language = "ja" if page.file.dest_uri.startswith("ja/") else "en"
    found, count = _SEARCH.subn(rf'\g<1>search-worker.js?lang={language}"', output)
    if not count:
        raise ValueError("the theme's pages do not say where the search is")
    if language != page.file.locale:
        found = found.replace(_ARTICLE, f'{_ARTICLE[:-1]} lang="{page.file.locale}">')
        found = _REFERENCE.sub(r"\g<1>../../\g<2>", found)
        why = next(text for part, text in _WHY.items() if f"/{part}/" in page.file.dest_uri)
        found = found.replace(_H1, _H1 + _NOTE.format(why=why), 1)
    return _ALTERNATE.sub("", found)
