"""`pfgen-rs leaderboard`: prints the leaderboard of a checkout, with intervals."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from pfgen_rs.checkout import leaderboard as stored
from pfgen_rs.checkout.checkout import find_runs
from pfgen_rs.cli import options, process, terminal
from pfgen_rs.errors import InputError, PfgenError
from pfgen_rs.io.run_files import RESULT
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.questions.question import file_digest
from pfgen_rs.runs.tables import ScoreTable

Row = Mapping[str, Any]


def leaderboard(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKOUT|FILE",
            help="Folder of a checkout of pfgen-bench, or a leaderboard.json.",
        ),
    ],
    output_format: options.Rows = "table",
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="Only this mode: completion, qa, chat, …")
    ] = None,
) -> None:
    """Print the leaderboard of a checkout, with intervals and rank ranges.

    Intervals are 95 % intervals over questions (Student's t). A rank range contains the ranks that paired
    tests over the questions cannot rule out, corrected for all pairs of runs together, so that all ranges
    hold at once. A run's own range is corrected for its own comparisons only: narrower, it holds for one run
    that you chose before seeing the scores. This command does not score runs: use `pfgen-rs report` first.

    For example:

    - `pfgen-rs leaderboard pfgen-bench --mode completion`

    - `pfgen-rs leaderboard leaderboard.json --format csv`
    """
    rows, problems = read_rows(place)
    modes = {row["mode"] or "" for row in rows}
    chosen = [row for row in rows if mode in (None, row["mode"])]
    _print(chosen, output_format)
    if not chosen:
        expected = f": expected one of {', '.join(sorted(modes - {''}))}" if modes else ""
        process.warn("no run" + (f" with mode {mode!r}{expected}" if mode else ""))
    for problem in problems:
        process.print_error(problem)
    if problems:
        process.fail(1)


def read_rows(place: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], Sequence[PfgenError]]:
    """Returns rows as in `entries_frame`, best first, and the errors of unusable results.

    `place`: a checkout, whose results are read, or a `leaderboard.json`. The one of a checkout saves parsing
    its results if it was made from them: 0.5 s instead of 4 s for 516 runs. Raises `BenchmarkNotFoundError`
    if a folder is not a checkout, and `InputError` if a file is not a leaderboard.
    """
    path = Path(place)
    if path.is_file():
        return stored.read_rows_file(path), []
    current = _current_rows(path)
    if current is not None:
        return current, []
    # Only now, since it is much to load
    from pfgen_rs.checkout.entries import entries_frame, read_entries

    found, problems = read_entries(path)
    return entries_frame(found).to_dicts(), problems


def _current_rows(checkout: Path) -> list[dict[str, Any]] | None:
    """Returns the rows of a checkout's `leaderboard.json`; `None` unless it was made from its results."""
    table = checkout / stored.JSON
    try:
        said = stored.load_leaderboard(table).get("results")
        paths = {run.name: run.folder / RESULT for run in find_runs(checkout)}
        digests = [
            (file_digest(path.read_bytes()), run) for run, path in paths.items() if path.exists()
        ]
        return stored.read_rows_file(table) if said == stored.results_digest(digests) else None
    except (InputError, OSError):
        return None


def _print(rows: list[dict[str, Any]], output_format: str) -> None:
    if output_format == "json":
        process.emit_json(rows)
    elif output_format == "csv":
        process.emit_csv(rows)
    elif rows:
        terminal.show(*leaderboard_report(rows, terminal.width()))


_LENGTH = "length"
_RANGES = ("rank", "own_rank")
_OWN = "own range"
_LEGENDS = {
    "range": "range: ranks that paired tests cannot rule out, for all runs at once",
    _OWN: "own range: the same for one run alone, if you chose it before seeing any scores",
}


def leaderboard_report(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """Returns a table with as many columns as fit a window of `room`, its legend, and the signatures."""
    own = [_rank_range(row, _RANGES[1]) for row in rows]
    ranges = {_OWN: own} if any(own) else {}  # tables of earlier versions have none
    table = ScoreTable(
        rows,
        about={
            "rank": [_rank(row) for row in rows],
            "range": [_rank_range(row, _RANGES[0]) for row in rows],
            "": [row["icon"] for row in rows],
            "model": _names(rows),
        },
        columns={**ranges, **_columns(rows)},
        optional=(*ranges, _LENGTH),
    )
    signatures = dict.fromkeys(row["signature"] for row in rows if row.get("signature"))
    legends = [_LEGENDS[name] for name in ("range", *ranges)]
    captions = (*legends, _icons(rows), *signatures)
    return [*table.parts(room), *map(terminal.cell, captions)]


def _icons(rows: Sequence[Row]) -> str:
    """Returns a legend of the icons in these rows."""
    modes: dict[str, dict[str, None]] = {}
    for row in rows:
        modes.setdefault(row["icon"], {})[row["mode"] or "no mode"] = None
    return ", ".join(f"{icon} {' or '.join(sorted(found))}" for icon, found in modes.items())


def _names(rows: Sequence[Row]) -> list[str]:
    """Returns unique names: models, with the mode or the folder if a model has several runs."""
    models = [row["model"] for row in rows]
    with_mode = [_name_with(row, row["mode"], models) for row in rows]
    return [
        _name_with(row, row["run"], with_mode) if with_mode.count(name) > 1 else name
        for row, name in zip(rows, with_mode, strict=True)
    ]


def _name_with(row: Row, addition: str | None, names: Sequence[str]) -> str:
    model: str = row["model"]
    return f"{model} ({addition})" if addition and names.count(model) != 1 else model


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the cells of the length and the metrics."""
    return {
        _LENGTH: [f"{row['length']:.1f}" for row in rows],
        **{metric: [f"{row[metric]:.3f}" for row in rows] for metric in PARTS},
    }


def _rank(row: Row) -> str:
    return "–" if row["rank"] is None else str(row["rank"])


def _rank_range(row: Row, which: str) -> str:
    low, high = row.get(f"{which}_low"), row.get(f"{which}_high")
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}–{high}"
