"""The bundled, made-up raw data, and outputs of a small model for them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

__all__ = ["RUNS", "sample_path"]

RUNS = ("3-shot", "0-shot")
"""The recorded runs, by the names of their files in `outputs/`; the smallest task has three examples."""


def sample_path() -> Path:
    """Returns the folder of the bundled sample.

    It has raw files of every task in `raw_files/`, named as the published tool names them, and the outputs of
    SmolLM2-135M for their test splits in `outputs/`. The texts are made up to contain edge cases: scores on
    them say nothing about models.
    """
    return Path(str(resources.files("pfgen_rs") / "data" / "llm-jp-eval-mini"))
