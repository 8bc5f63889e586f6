"""Integrations with evaluation harnesses and training libraries; each is imported only when used."""

from pathlib import Path

from pfgen_rs.errors import SettingsError

HARNESSES = ("lm_eval",)


def harness_path(name: str) -> Path:
    """Returns the folder to pass to a harness, such as `--include_path` of lm_eval.

    It has all tasks that are known, and is written to the user's cache folder. Raises `SettingsError`,
    listing the known names, and `OutputError`.
    """
    from pfgen_rs.integrations.lm_eval.task_files import task_folder

    if name not in HARNESSES:
        raise SettingsError(
            f"unknown harness {name!r}: expected one of {', '.join(sorted(HARNESSES))}"
        )
    return task_folder()
