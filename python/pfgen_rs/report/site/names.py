"""Names of files and folders of a site: safe anywhere, unique, and the same in every build."""

from __future__ import annotations

import hashlib
import re

__all__ = ["slug"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60
_PREFIX = "result/"


def slug(name: str) -> str:
    """A name for a folder, from any text: what is readable of it, and eight digits of its SHA-256.

    The digits depend on the whole text alone, so that no two runs meet in one folder, not even where file
    systems ignore case, and a link stays right when other runs come or go.

    >>> slug("result/ACME/写本-7b/0a1b2c3")
    'ACME-7b-0a1b2c3-cb0d98e0'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = _UNSAFE.sub("-", name.removeprefix(_PREFIX))
    readable = re.sub(r"-{2,}", "-", safe)[-_LONGEST:].strip("-.")
    return f"{readable}-{digest}" if readable else digest
