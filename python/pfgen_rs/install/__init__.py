"""Installing published benchmarks: fetch, check every file's digest, store atomically."""

from __future__ import annotations

from pfgen_rs.install.catalog import CatalogEntry, find, known
from pfgen_rs.install.download import Progress
from pfgen_rs.install.installer import install
from pfgen_rs.install.store import Installed, installed, installed_path

__all__ = [
    "CatalogEntry",
    "Installed",
    "Progress",
    "find",
    "install",
    "installed",
    "installed_path",
    "known",
]
