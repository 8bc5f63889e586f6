"""Integrations with evaluation harnesses and training libraries; each is imported only when used."""

from pathlib import Path

from pfgen_rs.errors import SettingsError

# Paths relative to this folder.
HARNESSES = {"lm_eval": "lm_eval/tasks"}


def harness_path(name: str) -> Path:
    """Returns the folder or file to pass to a harness, such as `--include_path` of lm_eval.

    Raises `SettingsError`, listing the known names.
    """
    if name not in HARNESSES:
        raise SettingsError(
            f"unknown harness {name!r}: expected one of {', '.join(sorted(HARNESSES))}"
        )
    return Path(__file__).resolve().parent / HARNESSES[name]
