"""`pfgen-rs harness-path`: where the files for an evaluation harness lie."""

from __future__ import annotations

from typing import Annotated

import typer

from pfgen_rs.cli import output

__all__ = ["harness_path"]


def _names(incomplete: str) -> list[str]:
    from pfgen_rs.integrations.paths import HARNESSES

    return [name for name in HARNESSES if name.startswith(incomplete)]


def harness_path(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", autocompletion=_names, help="A harness, such as lm_eval."),
    ],
) -> None:
    """Print the folder or file to point an evaluation harness at, and nothing else.

    Example: `lm_eval --include_path "$(pfgen-rs harness-path lm_eval)" --tasks pfgen`
    """
    from pfgen_rs.integrations import paths

    output.emit(f"{paths.harness_path(name)}\n")
