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
    from pfgen_rs.install.catalog import CatalogEntry, find, known
    from pfgen_rs.install.download import DownloadProgress
    from pfgen_rs.install.installer import install
    from pfgen_rs.install.store import Installed, installed, installed_path
else:  # a name is looked up without loading what downloads and unpacks
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "catalog": ("CatalogEntry", "find", "known"),
            "download": ("DownloadProgress",),
            "installer": ("install",),
            "store": ("Installed", "installed", "installed_path"),
        },
    )
