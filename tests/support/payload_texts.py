"""Data of pages, decoded the obvious way: texts of elements, and files of scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from itertools import accumulate
from typing import Any


def page_payloads(page: bytes) -> dict[str, Any]:
    """The data inside of a page, by name."""
    found = re.findall(rb'id="payload-([^"]+)">([^<]*)<', page)
    return {name.decode(): decoded_text(text.decode()) for name, text in found}


def file_payloads(content: bytes) -> dict[str, Any]:
    """The data of a script, by name; `None` for parts that it lacks."""
    script = content.decode("utf-16" if content.startswith(b"\xff\xfe") else "utf-8")
    found = re.fullmatch(r"pfgen\.take\((\".*?\"),(.*)\);\n", script, flags=re.DOTALL)
    assert found is not None
    name = json.loads(found[1])
    texts = json.loads(found[2].replace("'", '"'))
    if isinstance(texts, str):
        return {name: decoded_text(texts)}
    return {f"{name}#{i}": decoded_text(text) if text else None for i, text in enumerate(texts)}


def decoded_text(text: str) -> Any:
    """The value of a text."""
    if text[0] < "\u4000":
        content = gzip.decompress(base64.b64decode(text, validate=True))
    else:
        bits = "".join(f"{ord(c) - 0x4000:015b}" for c in text[1:])
        length = len(bits) // 8 - (ord(text[0]) - 0x4000)
        content = zlib.decompress(bytes(int(bits[8 * i : 8 * i + 8], 2) for i in range(length)))
    value = json.loads(content.decode("utf-16-le", "surrogatepass"))
    return _unpacked(value["packed"]) if isinstance(value, dict) and "packed" in value else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "~" not in value:
        return {key: _unpacked(item) for key, item in value.items()}
    numbers = [ord(c) - 0x100 for c in value["~"]]
    if "from" not in value:
        return numbers
    return list(accumulate(numbers, lambda last, fall: last - fall, initial=value["from"]))
