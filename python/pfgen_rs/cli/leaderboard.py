"""`pfgen-rs leaderboard`: prints the leaderboard of a checkout, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pfgen_rs.cli import leaderboard_view, options, output

__all__ = ["leaderboard"]


def leaderboard(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKOUT|FILE",
            help="Folder of a checkout of pfgen-bench, or a leaderboard.json.",
            show_default=False,
        ),
    ],
    output_format: options.Rows = options.RowsFormat.TABLE,
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="Only this mode: completion, qa, chat, …")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="ENGINE", help="Only this engine: vllm, hf, …")
    ] = None,
    organisation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only models of this organisation: NAME/model."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only models whose name contains TEXT.")
    ] = None,
    plain: options.Plain = False,
) -> None:
    """Print the leaderboard of a checkout, with intervals and rank ranges.

    Intervals are 95 % intervals over questions (Student's t). A rank range contains the ranks that paired
    tests over the questions cannot rule out, with Holm's correction for all pairs of runs, so that all ranges
    hold at once. A run's own range is corrected for its own comparisons only: narrower, it holds for one run
    that you chose before seeing the scores. This command does not score runs: use `pfgen-rs report` first.

    For example:

    - `pfgen-rs leaderboard pfgen-bench --mode completion`

    - `pfgen-rs leaderboard leaderboard.json --format csv`
    """
    from pfgen_rs.checkout.standings import read_standings, select_standings, standings_choices

    rows, problems = read_standings(place)
    wanted = {"mode": mode, "engine": engine, "organisation": organisation}
    _print_leaderboard(select_standings(rows, model=model, **wanted), output_format, plain)
    for name, values in standings_choices(rows, **wanted).items():
        output.warn(
            f"no run with {name} {wanted[name]!r}: expected one of {', '.join(values) or '(none)'}"
        )
    for problem in problems:
        output.print_error(problem)
    if problems:
        output.fail(1)


def _print_leaderboard(
    rows: list[dict[str, Any]], output_format: options.RowsFormat, plain: bool
) -> None:
    if output_format is options.RowsFormat.JSON:
        output.emit_json(rows)
    elif not rows:
        output.warn("no run matches")
    elif output_format is options.RowsFormat.CSV:
        output.emit_csv(rows)
    elif plain:
        output.emit(leaderboard_view.leaderboard_lines(rows))
    else:
        output.show(*leaderboard_view.leaderboard_report(rows, output.width()))
