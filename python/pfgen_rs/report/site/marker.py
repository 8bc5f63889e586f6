"""The file that makes a folder a site: it lists the files, and remembers what each part was made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pfgen_rs
from pfgen_rs import _native

__all__ = ["MARKER", "Marker", "Part", "State", "code_digest", "digest_of", "files_digest"]

MARKER = ".pfgen-site.json"
"""The file that lists the others: sorted paths within the folder, with slashes."""

_ABOUT = "Files of a site written by pfgen-rs, which updates and removes these alone."
_TEXTS = {".py", ".toml", ".js", ".css", ".svg", ".j2"}
State = list[int]
"""Size of a file, and when it was last changed, in nanoseconds."""


@dataclass(frozen=True)
class Part:
    """Files that are made of the same: `key` is a digest of that, `value` what other parts need of it."""

    key: str
    files: dict[str, State]
    value: Any = None


@dataclass
class Marker:
    """What the file says. `whole`: digest of what the whole site is made of, once it is complete."""

    files: set[str] = field(default_factory=set)
    parts: dict[str, Part] = field(default_factory=dict)
    whole: str | None = None

    @classmethod
    def read(cls, path: Path) -> Marker | None:
        """Read it; `None` if there is none. Of a damaged one, what is left: the folder is a site's anyway."""
        try:
            content = json.loads(path.read_bytes())
            names = content["files"]
            files = {name for name in names if isinstance(name, str)}
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return cls()
        parts, whole = content.get("parts"), content.get("whole")
        if parts is None or content.get("digest") != digest_of(parts, whole):
            return cls(files)  # damaged, or of a site without parts
        return cls(files, {name: Part(*part) for name, part in parts.items()}, whole)

    def content(self) -> bytes:
        """Returns the file's content."""
        listing = {"about": _ABOUT, "files": sorted(self.files)}
        if not self.parts:
            return (json.dumps(listing, indent=0) + "\n").encode()
        parts = {
            name: [part.key, part.files, part.value] for name, part in sorted(self.parts.items())
        }
        remembered = {"parts": parts, "whole": self.whole}
        remembered["digest"] = digest_of(parts, self.whole)
        return (json.dumps({**listing, **remembered}, separators=(",", ":")) + "\n").encode()


def digest_of(*values: Any) -> str:
    """Returns a digest of values of JSON types."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """Returns a digest of the contents of files, in this order; those that cannot be read have none."""
    found = hashlib.sha256()
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError:
            found.update(b"-\n")
            continue
        found.update(b"%d\n" % len(content))
        found.update(content)
    return found.hexdigest()


@cache
def code_digest() -> str:
    """Returns a digest of all that makes pages: the version, and the package's texts."""
    package = Path(pfgen_rs.__file__).parent
    texts = sorted(path for path in package.rglob("*.*") if path.suffix in _TEXTS)
    return digest_of(_native.__version__, files_digest(texts))
