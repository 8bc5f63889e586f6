"""`pfgen-rs judge meta`: choosing a judge by pairs whose right answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import judge_options, options, process, terminal
from pfgen_rs.cli.judge_options import NONE, number, range_text, rows_table
from pfgen_rs.lazy import pl

if TYPE_CHECKING:
    from pfgen_rs.judge import MetaEvaluation

_UNLISTED = {"primacy", "recency", "consistency"}
_BRIEF = {
    "accuracy": "accuracy",
    "both": "both",
    "agreement": "agreement",
    "first": "first",
    "longer": "longer",
    "invalid": "invalid",
}
"""Figures of many judges, and the heads of their columns."""
_FEW = 6  # judges beside each other


def meta(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="Folders of verdicts, and files of pairs or judgments in one format; `traps`: the bundled "
            "pairs.",
            show_default=False,
        ),
    ],
    humans: judge_options.Humans = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prices of models (TOML): the cost of 1,000 judgments."),
    ] = None,
    output_format: options.Format = "table",
) -> None:
    """Compare judges on pairs whose right letters are known: how often they are right, and their biases.

    Pairs state the right letters as `gold`; where they do not, the majority of --humans is right. Shows
    accuracy in each order and in both, by category too, what the order and repetitions change, how often
    the longer answer and that of the judge's own family win, and what is right there. Files without
    judgments show what trivial rules reach. Intervals come from resampling questions.

    Example: `pfgen-rs judge meta verdicts-a verdicts-b --prices prices.toml`
    """
    from pfgen_rs.judge import meta_of_files

    found = meta_of_files(paths, humans=humans, prices=prices)
    if output_format == "json":
        process.emit_json(found.to_dict())
        return
    _show(found)


def _show(found: MetaEvaluation) -> None:
    if found.rules:
        process.remark("no judgments: this is what trivial rules reach, which a judge should beat")
    process.remark(
        f"intervals {100 * found.level:g} % ({found.resamples} resamples of questions, seed {found.seed})"
    )
    terminal.show(*_tables_of_figures(found))
    if len(found.figures["task"].unique()) > 1:
        figure = "accuracy" if found.of("accuracy") else "agreement"
        terminal.show(_tasks_table(found, figure))
    judge_options.warn_all(found.notes)


def _tables_of_figures(found: MetaEvaluation) -> list[Any]:
    """Returns a table with a column a judge, or several if it is too wide; of many judges, a row a judge."""
    judges = found.judges["judge"].to_list()
    for size in range(len(judges), 0, -1):
        parts = [judges[at : at + size] for at in range(0, len(judges), size)]
        for intervals in (True, False):
            tables = [_figures_table(found, part, intervals=intervals) for part in parts]
            if all(terminal.fits(table, terminal.width()) for table in tables):
                return tables
        if len(judges) > _FEW:
            return [_judges_table(found)]
    return tables


def _cells(row: Mapping[str, Any] | None, *, intervals: bool) -> list[str]:
    if row is None:
        return [NONE] * (1 + intervals)
    scale, digits = (1, 2) if row["figure"] == "preference" else (100, 1)
    own = [number(row["value"], digits, scale)]
    return own + [range_text(row["low"], row["high"], scale, digits)] * intervals


def _figures_table(found: MetaEvaluation, judges: Sequence[str], *, intervals: bool) -> Any:
    from pfgen_rs.judge.agreement.meta import FIGURES

    about = found.judges.filter(pl.col("judge").is_in(judges))

    def row_of(name: str, values: Iterable[str]) -> list[str]:
        return [name, *(cell for value in values for cell in [value, *[""] * intervals])]

    rows = [
        row_of(name, (f"{each:,}" for each in about[key]))
        for name, key in (
            ("pairs", "pairs"),
            ("questions", "questions"),
            ("with gold letters", "gold"),
        )
    ]
    for figure, name in FIGURES.items():
        by_judge = found.of(figure)
        if by_judge and figure not in _UNLISTED:
            cells = (_cells(by_judge.get(judge), intervals=intervals) for judge in judges)
            rows.append([name, *(cell for each in cells for cell in each)])
    for name, key, digits in (
        ("prompt tokens a judgment", "prompt_tokens", 0),
        ("completion tokens a judgment", "completion_tokens", 0),
        (f"cost of 1,000 judgments {found.currency}".rstrip(), "cost", 2),
    ):
        if about[key].null_count() < len(judges):
            rows.append(row_of(name, (number(value, digits) for value in about[key])))
    names = ["%"]
    for place, judge in enumerate(judges):
        names += [judge, *["interval" + " " * place] * intervals]
    return rows_table(names, rows)


def _judges_table(found: MetaEvaluation) -> Any:
    """Returns a row a judge, with a few figures."""
    known = [figure for figure in _BRIEF if found.of(figure)]
    names = ["judge", _BRIEF[known[0]], "interval", *(_BRIEF[each] for each in known[1:])]
    rows = []
    for judge in found.judges["judge"]:
        figures = [found.of(figure).get(judge) for figure in known]
        cells = [_cells(row, intervals=place == 0) for place, row in enumerate(figures)]
        rows.append([judge, *(cell for each in cells for cell in each)])
    return terminal.new_table(*names, numbers=names[1:], names=names[:1], title="%", rows=rows)


def _tasks_table(found: MetaEvaluation, figure: str) -> Any:
    """Returns a figure by category: a row a category, or a row a judge where that does not fit."""
    from pfgen_rs.judge.agreement.meta import FIGURES

    judges = found.judges["judge"].to_list()
    tasks = found.figures["task"].drop_nulls().unique(maintain_order=True).to_list()
    title = f"{FIGURES[figure]} by category, %"
    values = {task: found.of(figure, task) for task in tasks}
    alone = len(judges) == 1
    rows = []
    for task in tasks:
        n = max(row["n"] for row in values[task].values())
        cells = (_cells(values[task].get(judge), intervals=alone) for judge in judges)
        rows.append([task or NONE, f"{n:,}", *(cell for each in cells for cell in each)])
    by_task = rows_table(["category", "n", *judges, *["interval"] * alone], rows, title=title)
    rows = [
        [judge, *(_cells(values[t].get(judge), intervals=False)[0] for t in tasks)]
        for judge in judges
    ]
    names = ["judge", *(task or NONE for task in tasks)]
    by_judge = terminal.new_table(
        *names, numbers=names[1:], names=names[:1], title=title, rows=rows
    )
    return terminal.first_that_fits(by_task, by_judge)
