"""`pfgen-rs judge meta`: choosing a judge by pairs whose right answers are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import judge_options, options, process, terminal
from pfgen_rs.cli.judge_options import NONE, number, range_text, rows_table

if TYPE_CHECKING:
    from pfgen_rs.judge import MetaEvaluation

FIGURES = {
    "accuracy_1": "accuracy, order 1",
    "accuracy_2": "accuracy, order 2",
    "accuracy": "accuracy, mean of orders",
    "both": "both orders correct",
    "probability": "accuracy by probability",
    "tie": "accuracy by tie",
    "question": "all pairs of a question",
    "agreement": "positional agreement",
    "first": "preference for first",
    "preference": "preference score (−1: first)",
    "stable_1": "repetition stability, order 1",
    "stable_2": "repetition stability, order 2",
    "longer": "longer answer wins",
    "longer_gold": "… by gold letters",
    "own": "judge's family wins",
    "own_gold": "… by gold letters",
    "invalid": "invalid judgments",
}
"""Figures that are shown, and what they are called."""
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
    tasks = found.figures["task"].drop_nulls().unique(maintain_order=True).to_list()
    if len(tasks) > 1:
        terminal.show(*_by_category(found, tasks))
    judge_options.warn_all(found.notes)


def _tables_of_figures(found: MetaEvaluation) -> list[Any]:
    """Returns a table with a column a judge, or several if it is too wide; of many judges, a row a judge."""
    judges = found.judges["judge"].to_list()
    if len(judges) > _FEW:
        figures = {name: found.of(key) for key, name in _BRIEF.items()}
        return [_grid("judge", judges, {n: _texts(each) for n, each in figures.items()}, "%")]
    wide = _by_figure(found, judges, intervals=True)
    if terminal.fits(wide, terminal.width()):
        return [wide]
    return _fitting(lambda part: _by_figure(found, part, intervals=False), judges)


def _fitting(made: Callable[[Sequence[str]], Any], columns: Sequence[str]) -> list[Any]:
    """Returns tables of these columns, as few as fit the window."""
    for size in range(len(columns), 1, -1):
        tables = [made(columns[at : at + size]) for at in range(0, len(columns), size)]
        if all(terminal.fits(table, terminal.width()) for table in tables):
            return tables
    return [made([column]) for column in columns]


def _by_figure(found: MetaEvaluation, judges: Sequence[str], intervals: bool) -> Any:
    about = {row["judge"]: row for row in found.judges.iter_rows(named=True)}
    blank = [""] * intervals
    rows = [
        [name, *(cell for judge in judges for cell in [f"{about[judge][key]:,}", *blank])]
        for key, name in (
            ("pairs", "pairs"),
            ("questions", "questions"),
            ("gold", "with gold letters"),
        )
    ]
    for figure, name in FIGURES.items():
        by_judge = found.of(figure)
        # What is right is shown beside what a judge does.
        if by_judge and found.of(figure.removesuffix("_gold")):
            cells = (_cells(by_judge.get(judge))[: 1 + intervals] for judge in judges)
            rows.append([name, *(cell for each in cells for cell in each)])
    cost = f"cost of 1,000 judgments {found.currency}".rstrip()
    tokens = (
        ("prompt_tokens", "prompt tokens a judgment"),
        ("completion_tokens", "completion tokens a judgment"),
    )
    for key, name in (*tokens, ("cost", cost)):
        if found.judges[key].null_count() < len(about):
            values = (number(about[judge][key], 2 if key == "cost" else 0) for judge in judges)
            rows.append([name, *(cell for value in values for cell in [value, *blank])])
    heads = [
        each
        for n, judge in enumerate(judges)
        for each in [judge, *["interval" + " " * n] * intervals]
    ]
    table = rows_table(["%", *heads], rows)
    table.columns[0].no_wrap = True
    return table


def _by_category(found: MetaEvaluation, tasks: Sequence[str]) -> list[Any]:
    """Returns figures of one judge by category, or one figure of several judges."""
    judges = found.judges["judge"].to_list()
    if len(judges) == 1:
        figures = {
            key: {task: found.of(key, task).get(judges[0]) for task in tasks} for key in _BRIEF
        }
        columns = {_BRIEF[key]: _texts(each) for key, each in figures.items()}
        columns["interval of both"] = {
            task: _cells(row)[1] for task, row in figures["both"].items()
        }
        return [_grid("category", tasks, columns, "by category, %")]
    figure = "accuracy" if found.of("accuracy") else "agreement"
    values, title = {task: _texts(found.of(figure, task)) for task in tasks}, FIGURES[figure]

    def some(part: Sequence[str]) -> Any:
        columns = {task or NONE: values[task] for task in part}
        return _grid("judge", judges, columns, f"{title} by category, %")

    return _fitting(some, tasks)


def _grid(
    head: str, names: Sequence[str], columns: Mapping[str, Mapping[str, str]], title: str
) -> Any:
    kept = {key: each for key, each in columns.items() if {*each.values()} - {NONE}}
    rows = [[name, *(each.get(name, NONE) for each in kept.values())] for name in names]
    return terminal.new_table(head, *kept, numbers=kept, names=[head], title=title, rows=rows)


def _texts(rows: Mapping[str, Any]) -> dict[str, str]:
    return {name: _cells(row)[0] for name, row in rows.items()}


def _cells(row: Mapping[str, Any] | None) -> list[str]:
    """Returns a figure and its interval."""
    if row is None:
        return [NONE, NONE]
    scale, digits = (1, 2) if row["figure"] == "preference" else (100, 1)
    return [number(row["value"], digits, scale), range_text(row["low"], row["high"], scale, digits)]
