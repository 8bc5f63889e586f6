"""Names of runs in a site: of their folders, and as people read them."""

from __future__ import annotations

import hashlib
import re

from pfgen_rs.checkout.labels import labels, model_key

__all__ = ["labels", "model_key", "slug"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60
_PREFIX = "result/"


def slug(name: str) -> str:
    """Returns a folder name for any text: its readable part, and eight digits of its SHA-256.

    Because of the digits, no two runs share a folder, even on file systems that ignore case, and links stay
    valid when other runs are added or removed.

    >>> slug("result/ACME/写本-7b/0a1b2c3")
    'ACME-7b-0a1b2c3-cb0d98e0'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = _UNSAFE.sub("-", name.removeprefix(_PREFIX))
    readable = re.sub(r"-{2,}", "-", safe)[-_LONGEST:].strip("-.")
    return f"{readable}-{digest}" if readable else digest
