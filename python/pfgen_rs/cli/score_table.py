"""Tables of scores that fit the window, with a note on omitted columns.

The metrics have priority: first the length and the published spread are omitted. Then names are wrapped, then
the interval is omitted; if the table is still too wide, each row is shown as a list of cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from pfgen_rs.cli import process, terminal
from pfgen_rs.io.run_files import ANSWERS, CONFIG
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.runs import outputs
from pfgen_rs.runs.result import Result

INTERVAL = "[low, high]"
_LEGEND = f"{INTERVAL}: 95 % interval over questions (Student's t)"
_NARROW = {
    "own range": "own\nrange",
    "truthfulness": "truth-\nfulness",
    "helpfulness": "help-\nfulness",
}
_NARROWEST = {
    "fluency": "flu-\nency",
    "truthfulness": "truth-\nful-\nness",
    "helpfulness": "help-\nful-\nness",
}
_NAME, _SHORTEST_NAME = 14, 12  # minimum widths of wrapped names, with and without the interval

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ScoreTable:
    """Rows with `score`, `score_low` and `score_high`, and their cells.

    `about`: the columns before the score by heading; the last one contains names. `columns`: those after the
    interval. `optional`: columns that may be omitted, the most useful first.
    """

    rows: Sequence[Row]
    about: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    optional: Sequence[str]

    def parts(self, room: int) -> list[RenderableType]:
        """Returns a table with as many columns as fit a window of `room`, and its legend."""
        columns, table = self._fitting(room)
        legend = [_LEGEND] if INTERVAL in columns else []
        missing = [name for name in self._columns() if name not in columns]
        return [
            table,
            *map(terminal.cell, legend + ([terminal.not_shown(missing)] if missing else [])),
        ]

    def _columns(self) -> list[str]:
        return [INTERVAL, *self.columns]

    def _fitting(self, room: int) -> tuple[list[str], Table]:
        """Returns the columns after the score, and their table."""
        every = self._columns()
        for kept in range(len(self.optional), -1, -1):
            columns = [name for name in every if name not in self.optional[kept:]]
            for headings in ({}, _NARROW):
                table = self._table(columns, headings)
                if terminal.table_width(table) <= room:
                    return columns, table
        fewest = [name for name in self.columns if name not in self.optional]
        for columns, name in (([INTERVAL, *fewest], _NAME), (fewest, _SHORTEST_NAME)):
            table = self._table(columns, _NARROWEST)
            if terminal.fits(table, room, name):
                return columns, table
        return every, self._table(every, {})

    def _table(self, columns: Sequence[str], headings: Mapping[str, str]) -> Table:
        *numbers, _ = self.about
        table = terminal.new_table(*self.about, numbers=numbers)
        for name in ("score", *columns):
            table.add_column(headings.get(name, name), justify="right", no_wrap=True)
        for i, row in enumerate(self.rows):
            cells = [cells[i] for cells in self.about.values()] + [f"{row['score']:.4f}"]
            cells += [
                _bounds(row) if name == INTERVAL else self.columns[name][i] for name in columns
            ]
            table.add_row(*map(terminal.cell, cells))
        return table


def _bounds(row: Row) -> str:
    """Returns a row's interval as `[low, high]`; empty if it has none."""
    low, high = row["score_low"], row["score_high"]
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


# Shows the runs of `pfgen-rs score` as a table that fits the window.


_PUBLISHED, _LENGTH = "published ±", "length"


def score_leaderboard(rows: Sequence[Row], room: int) -> list[RenderableType]:
    """Returns a table with as many columns as fit a window of `room`, its legend, and the signatures."""
    signatures = dict.fromkeys(row["signature"] for row in rows)
    ranks = [str(rank) for rank, _ in enumerate(rows, 1)]
    table = ScoreTable(
        rows,
        about={"rank": ranks, "run": _view_names(rows)},
        columns=_view_columns(rows),
        optional=(_PUBLISHED, _LENGTH),
    )
    if len(signatures) == 1:
        return [*table.parts(room), *map(terminal.cell, signatures)]
    marked = (f"{sign}  (rank {', '.join(_view_ranks(rows, sign))})" for sign in signatures)
    return [*table.parts(room), *map(terminal.cell, marked)]


def _view_columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Returns the cells of all columns after the interval."""
    return {
        _PUBLISHED: [_view_spread(row) for row in rows],
        _LENGTH: [f"{row['length']:.1f} ±{row['length_std']:.1f}" for row in rows],
        **{metric: [f"{row[metric]:.4f}" for row in rows] for metric in PARTS},
    }


def _view_spread(row: Row) -> str:
    trials = row["num_trials"]
    is_known = trials > 1 and row["score_std"] is not None
    return f"±{row['score_std']:.4f}/√{trials}" if is_known else "–"


def _view_names(rows: Sequence[Row]) -> list[str]:
    times = Counter(row["name"] for row in rows)
    return [row["name"] + f" ({row['file']})" * (times[row["name"]] > 1) for row in rows]


def _view_ranks(rows: Sequence[Row], signature: str) -> list[str]:
    return [str(rank) for rank, row in enumerate(rows, 1) if row["signature"] == signature]


# What is printed of scored runs.


_SHOWN_PROBLEMS = 5
_SHOWN_QUESTIONS = 5


def report_gaps(result: Result) -> None:
    """Warn about skipped lines, answers missing, unclean, cut or worthless, and files cut short."""
    _tell_read(result)
    note = outputs.unclean_note(result, "--clean")
    if note is not None:
        (process.warn if result.clean is None else process.remark)(note)
    cut = None if result.cut_short is None else f"{result.cut_short} (an error with --strict)"
    thoughts = outputs.reasoning_note(result, "--think strip")
    for warning in filter(None, (outputs.worthless_note(result), thoughts, cut)):
        process.warn(warning)
    for problem in result.problems[:_SHOWN_PROBLEMS]:
        process.warn(f"skipped: {problem}")
    if result.problems:
        process.warn(f"{result.path}: skipped {counted(len(result.problems), 'line')} in total")
    if result.planned is not None:
        process.warn(
            f"{result.place}: {result.missing_note}; the score is the mean over questions of all their "
            "answers, and is not comparable with those of complete runs"
        )
        return
    if result.missing:
        named = ", ".join(result.missing[:_SHOWN_QUESTIONS])
        more = ", …" if len(result.missing) > _SHOWN_QUESTIONS else ""
        process.warn(
            f"{result.place}: {result.missing_note} ({named}{more}); the scores exclude them and are not "
            "comparable with those of complete runs"
        )
    answers = result.moments.counts
    if min(answers) != max(answers):
        process.warn(
            f"{result.place}: questions have {min(answers)} to {max(answers)} answers; the score "
            f"uses the first {min(answers)} of each, like published scores"
        )


def _tell_read(result: Result) -> None:
    if result.read_as.is_told:
        process.remark(f"{result.place}: {result.read_as}")
    tell_cut(result.path)


def tell_cut(path: str | Path | None) -> None:
    """Warn about answers of a run that the token limit ended, where its folder has a record of them."""
    if path is None:
        return
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    if (folder / ANSWERS).exists() and (folder / CONFIG).exists():
        from pfgen_rs.ask.journal import journal_records

        reasons = [record.get("finish_reason") for record in journal_records(folder / ANSWERS)]
        known = counted(sum(reason is not None for reason in reasons), "answer")
        if cut := reasons.count("length"):
            process.warn(f"{folder}: {cut:,} of {known} ended by the token limit (--max-tokens)")


def show_results(results: Sequence[Result], output_format: str) -> None:
    """Print runs as a leaderboard, by descending score: as a table, as `json`, or as `csv`."""
    rows = [outputs.summary_row(result) for result in outputs.ranked_results(results)]
    if output_format == "json":
        process.emit_json(rows)
    elif output_format == "csv":
        flat = [{**row, "missing_questions": " ".join(row["missing_questions"])} for row in rows]
        process.emit_csv(flat)
    else:
        terminal.show(*score_leaderboard(rows, terminal.width()))
    if results and (note := outputs.rules_note(results[0])):
        process.remark(note)
