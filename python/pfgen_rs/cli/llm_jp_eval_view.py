"""Shows the scores of llm-jp-eval's tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pfgen_rs.cli import output
from pfgen_rs.cli.options import JsonFormat
from pfgen_rs.io.counted import counted, plural

if TYPE_CHECKING:
    from rich.table import Table

    from pfgen_rs.llm_jp_eval.scoring import Evaluation

__all__ = ["show_evaluation"]

_LENIENT = "more answers that would be right if stripped and read like this"


def _scores_json(record: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Returns scores for programs: those of the chosen variant, with the means of both notes by task."""
    chosen = record["variants"][record["variant"]]
    notes = {
        task: {"exact": e, "char_f1": c} for task, (_, e, c) in _means_of_notes(evaluation).items()
    }
    return {
        **{key: value for key, value in record.items() if key != "variants"},
        **chosen,
        "notes": notes,
    }


def show_evaluation(
    record: Mapping[str, Any], evaluation: Evaluation, output_format: JsonFormat
) -> None:
    """Print scores as a table or as JSON. `record`: what `scores.json` says."""
    if output_format is JsonFormat.JSON:
        output.emit_json(_scores_json(record, evaluation))
    else:
        _show_scores(record, evaluation)


def _show_scores(record: Mapping[str, Any], evaluation: Evaluation) -> None:
    """Print a table by category, the average, and the signature."""
    chosen = record["variants"][record["variant"]]
    tables = [_scores_table(chosen, evaluation, notes=notes) for notes in (True, False)]
    output.show(output.first_that_fits(*tables))
    average = record["average"]
    _show_average(average, chosen, record["lacking"][average])
    _show_lenient(record, chosen)
    missing = sum(record["missing"].values())
    if missing:
        output.warn(
            f"{counted(missing, 'output')} {plural(missing, 'was', 'were')} missing and "
            f"{plural(missing, 'counts', 'count')} as empty"
        )
    output.emit(f"{record['signature']}\n")


def _show_average(average: str, chosen: Mapping[str, Any], lacking: Sequence[str]) -> None:
    """Print the average, or that it has none: the paper's is one of all its categories."""
    shown = "–" if lacking and average == "AVR" else f"{chosen['averages'][average]:.4f}"
    output.emit(f"{average} {shown}\n")
    if lacking and average == "AVR":
        output.remark(f"AVR is the mean of seven categories; not run: {', '.join(lacking)}")
    elif lacking:
        without = plural(len(lacking), "category counts", "categories count")
        output.remark(f"not run, so the {without} as 0 in {average}: {', '.join(lacking)}")


def _show_lenient(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Print how many answers are wrong only for their form, by task, and what the average would be."""
    found = record["lenient"]
    tasks = [task for task in record["samples"] if any(task in w["right"] for w in found.values())]
    if not tasks:
        return
    headings = [way.replace("_", " ") for way in found]
    table = output.new_table("task", *headings, numbers=headings, title=_LENIENT)
    for task in tasks:
        counts = [way["right"].get(task, 0) for way in found.values()]
        table.add_row(*map(output.cell, [task, *(f"{each:,}" if each else "" for each in counts)]))
    average = record["average"]
    told = ""
    if average != "AVR" or not record["lacking"][average]:
        means = [f"{way['averages'][average]:.4f}" for way in found.values()]
        table.add_row(*map(output.cell, [average, *means]))
        told = f": {average} would be {means[-1]} instead of {chosen['averages'][average]:.4f}"
    output.show(table)
    count = sum(found["all"]["right"].values())
    wrong = plural(count, "answer is", "answers are")
    output.warn(
        f"{count:,} {wrong} wrong only for blanks, thoughts, quotation marks or capitals{told}"
    )


def _scores_table(chosen: Mapping[str, Any], evaluation: Evaluation, *, notes: bool) -> Table:
    from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, tasks

    found = _means_of_notes(evaluation)
    numbers = ["n", "score", "±", *(("exact", "char_f1") if notes else ())]
    table = output.new_table("task", "metric", *numbers, numbers=numbers)
    for column in table.columns[:2]:
        column.no_wrap = True

    def add(*cells: str) -> None:
        table.add_row(*map(output.cell, [*cells, *[""] * len(table.columns)][: len(table.columns)]))

    for category in CATEGORIES:
        names = [name for name in found if tasks()[name].category == category]
        if names:
            mean = chosen["averages"].get(category)
            add(category, "", "", "" if mean is None else f"{mean:.4f}")
        for name in names:
            n, exact, ratio = found[name]
            told = [f"  {name}", f"{n:,}", f"{exact:.4f}", f"{ratio:.4f}"]
            for metric in _metrics_of_scores(chosen["scores"], name):
                key = f"{name}_{metric}"
                error = chosen["standard_errors"][key]
                shown = [f"{chosen['scores'][key]:.4f}", "–" if error is None else f"{error:.4f}"]
                add(told[0], metric, told[1], *shown, *told[2:])
                told = [""] * len(told)
    return table


def _means_of_notes(evaluation: Evaluation) -> dict[str, tuple[int, float, float]]:
    """Returns the number of samples, and the means of `exact` and `char_f1`, by task."""
    import polars as pl

    found = evaluation.frame.group_by("task", maintain_order=True).agg(
        pl.len().alias("n"), pl.col("exact").mean(), pl.col("char_f1").mean()
    )
    return {task: (n, exact, ratio) for task, n, exact, ratio in found.iter_rows()}


def _metrics_of_scores(scores: Mapping[str, float], task: str) -> list[str]:
    from pfgen_rs.llm_jp_eval.catalog import tasks

    others = [name for name in tasks() if name != task and name.startswith(f"{task}_")]
    return [
        name.removeprefix(f"{task}_")
        for name in scores
        if name.startswith(f"{task}_") and not any(name.startswith(f"{o}_") for o in others)
    ]
