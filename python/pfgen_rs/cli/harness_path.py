"""`pfgen-rs harness-path`: prints the path of the files for an evaluation harness."""

from typing import Annotated

import typer

from pfgen_rs.cli import streams


def _harness_names(incomplete: str) -> list[str]:
    from pfgen_rs.integrations import HARNESSES

    return [name for name in HARNESSES if name.startswith(incomplete)]


def harness_path(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=_harness_names,
            help="Name of the harness, such as lm_eval.",
        ),
    ],
) -> None:
    """Print only the path of the task files for an evaluation harness.

    Example: `lm_eval --include_path "$(pfgen-rs harness-path lm_eval)" --tasks pfgen`
    """
    from pfgen_rs import integrations

    streams.emit(f"{integrations.harness_path(name)}\n")
