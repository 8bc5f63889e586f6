"""What scripts read in pages: where the search is, and nothing that makes them ask a server."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["on_post_page"]

_ALTERNATE = re.compile(r'\s*<link rel="alternate" [^>]*hreflang=[^>]*>')
_SEARCH = re.compile(r'("search": "[^"]*assets/)javascripts/workers/search\.[^"]*"')


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Puts the search of docs/assets in the place of the theme's; leaves out addresses in other languages."""
    language = "ja" if page.file.dest_uri.startswith("ja/") else "en"
    found, count = _SEARCH.subn(rf'\g<1>search-worker.js?lang={language}"', output)
    if not count:
        raise ValueError("the theme's pages do not say where the search is")
    return _ALTERNATE.sub("", found)
