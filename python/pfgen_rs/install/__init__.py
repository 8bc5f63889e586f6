"""Installing published benchmarks: fetch, check every file's digest, store atomically."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "CatalogEntry",
    "DownloadProgress",
    "Installed",
    "find",
    "install",
    "installed",
    "installed_path",
    "known",
]

if TYPE_CHECKING:
    from pfgen_rs.install.installer import DownloadProgress, install
    from pfgen_rs.install.store import (
        CatalogEntry,
        Installed,
        find,
        installed,
        installed_path,
        known,
    )
else:  # a name is looked up without loading what downloads and unpacks
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "installer": ("DownloadProgress", "install"),
            "store": ("CatalogEntry", "Installed", "find", "installed", "installed_path", "known"),
        },
    )
