"""Where raw files and converted data are installed."""

from __future__ import annotations

from pathlib import Path

from pfgen_rs.io.cache_folder import cache_folder

__all__ = ["installed_data", "installed_raw"]


def installed_raw() -> Path:
    """Returns the folder of installed raw files, by the reference's names; it need not exist."""
    return cache_folder() / "llm-jp-eval" / "raw_files"


def installed_data() -> Path:
    """Returns the folder with the installed `evaluation/` and `tuning/`; it need not exist."""
    return cache_folder() / "llm-jp-eval" / "data"
