"""Installing published benchmarks: fetch, check every file's digest, store atomically."""

from typing import TYPE_CHECKING

__all__ = ["install", "installed", "installed_path", "known"]

if TYPE_CHECKING:
    from pfgen_rs.install.installer import install
    from pfgen_rs.install.store import installed, installed_path, known
else:  # a name is looked up without loading what downloads and unpacks
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__, {"installer": ("install",), "store": ("installed", "installed_path", "known")}
    )
