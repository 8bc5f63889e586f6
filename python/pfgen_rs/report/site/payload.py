"""Data for scripts: inside a page, or in a separate file that the page loads on demand.

Pages opened from disk may not fetch files, but they may add scripts. Therefore a payload is a script with a
single text, gzip in base64, which contains no characters that are special in markup or scripts.
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
    """Returns a script that hands over `value` (any JSON type) under `name`."""
    return f"pfgen.take({_payload_json(name)},{encode(value)!r});\n".encode()


def inline(name: str, value: Any) -> Markup:
    """Returns the same as an element for a page in a single file."""
    element = Markup('<script type="application/octet-stream" id="payload-{}">{}</script>')
    return element.format(name, encode(value))


def encode(value: Any) -> str:
    """Encode a value as JSON, gzip and base64, always with the same bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Japanese text compresses better in UTF-16 (10 % for reference answers). Lone surrogates, which it cannot
    # encode, only occur within strings, where JSON has this escape.
    content = text.encode("utf-16-le", "backslashreplace")
    return base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode("ascii")


def data_block(name: str, value: Any) -> Markup:
    """Returns a small value as readable JSON in an inert element, for `pfgen.data(name)`."""
    element = Markup('<script type="application/json" id="data-{}">{}</script>')
    return element.format(name, Markup(_payload_json(value)))  # noqa: S704 - nothing is left to obey


def _payload_json(value: Any) -> str:
    """Returns JSON without characters that could end a script or an element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    return text.encode("utf-8", "backslashreplace").decode()
