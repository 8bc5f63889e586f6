"""The folder for files that can be downloaded or built again."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CACHE_VARIABLE", "cache_folder"]

CACHE_VARIABLE = "PFGEN_RS_CACHE"
"""Environment variable that overrides the user's cache folder."""


def cache_folder() -> Path:
    """Returns the cache folder, which need not exist."""
    override = os.environ.get(CACHE_VARIABLE)
    if override:
        return Path(override).absolute()
    import platformdirs

    return platformdirs.user_cache_path("pfgen_rs")
