"""Data for scripts: inside a page, or in a file of its own that a page loads when it is asked to.

Pages opened from disk may not fetch files, but may add scripts: hence a payload is a script that hands over
one text, gzip in base64. Base64 has no character that markup or a script would obey.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from markupsafe import Markup

__all__ = ["data_block", "encode", "inline", "payload_file"]

_LEVEL = 9
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def payload_file(name: str, value: Any) -> bytes:
    """A script that hands `value` (anything JSON has a form for) over under `name`."""
    return f"pfgen.take({_safe_json(name)},{encode(value)!r});\n".encode()


def inline(name: str, value: Any) -> Markup:
    """The same as an element of a page that is a single file."""
    element = Markup('<script type="application/octet-stream" id="payload-{}">{}</script>')
    return element.format(name, encode(value))


def encode(value: Any) -> str:
    """A value as JSON, gzip and base64; the same bytes whenever and wherever it is made."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Japanese text packs better in UTF-16 (a tenth of the reference answers). What it has no form for, lone
    # surrogates, stands inside of strings, where JSON knows this escape.
    content = text.encode("utf-16-le", "backslashreplace")
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode("ascii")


def data_block(name: str, value: Any) -> Markup:
    """A small value as readable JSON in an element that is no script: `pfgen.data(name)` reads it."""
    element = Markup('<script type="application/json" id="data-{}">{}</script>')
    return element.format(name, Markup(_safe_json(value)))  # noqa: S704 - nothing is left to obey


def _safe_json(value: Any) -> str:
    """JSON without characters that could end a script or an element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return text.encode("utf-8", "backslashreplace").decode()
