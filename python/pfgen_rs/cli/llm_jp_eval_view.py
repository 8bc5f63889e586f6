"""Shows the scores of llm-jp-eval's tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pfgen_rs.cli import output
from pfgen_rs.cli.options import JsonFormat
from pfgen_rs.io.counted import counted, plural

if TYPE_CHECKING:
    from rich.table import Table

    from pfgen_rs.llm_jp_eval.scoring import Evaluation

__all__ = ["show_evaluation"]

_NUMBERS = ("n", "score", "±", "exact", "char_f1")


def _scores_json(record: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Returns scores for programs: those of the chosen variant, with the means of both notes by task."""
    chosen = record["variants"][record["variant"]]
    notes = {task: {"exact": e, "char_f1": c} for task, (_, e, c) in _notes(evaluation).items()}
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
    output.show(_scores_table(chosen, evaluation))
    average = record["average"]
    run = _categories_run(chosen["scores"])
    output.emit(f"{average} {chosen['averages'][average]:.4f}\n")
    lacking = [name for name in _averaged(average) if name not in run]
    if lacking:
        without = f"{plural(len(lacking), 'category counts', 'categories count')} as 0 in {average}"
        output.remark(f"not run, so the {without}: {', '.join(lacking)}")
    missing = sum(record["missing"].values())
    if missing:
        output.warn(
            f"{counted(missing, 'output')} {plural(missing, 'was', 'were')} missing and "
            f"{plural(missing, 'counts', 'count')} as empty"
        )
    output.emit(f"{record['signature']}\n")


def _scores_table(chosen: Mapping[str, Any], evaluation: Evaluation) -> Table:
    from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, tasks

    notes = _notes(evaluation)
    table = output.new_table("category", "task", "metric", *_NUMBERS, numbers=_NUMBERS)
    for column in table.columns[:3]:
        column.no_wrap = True
    for category in CATEGORIES:
        names = [name for name in notes if tasks()[name].category == category]
        for place, name in enumerate(names):
            n, exact, ratio = notes[name]
            metrics = _metrics_of_scores(chosen["scores"], name)
            for metric in metrics:
                first = metric == metrics[0]
                key = f"{name}_{metric}"
                error = chosen["standard_errors"][key]
                cells = [
                    category if first and not place else "",
                    name if first else "",
                    metric,
                    f"{n:,}" if first else "",
                    f"{chosen['scores'][key]:.4f}",
                    "–" if error is None else f"{error:.4f}",
                    f"{exact:.4f}" if first else "",
                    f"{ratio:.4f}" if first else "",
                ]
                table.add_row(*map(output.cell, cells))
        if category in chosen["averages"] and len(names) > 1:
            mean = f"{chosen['averages'][category]:.4f}"
            table.add_row(*map(output.cell, ["", "mean", "", "", mean, "", "", ""]))
    return table


def _notes(evaluation: Evaluation) -> dict[str, tuple[int, float, float]]:
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


def _categories_run(scores: Mapping[str, float]) -> set[str]:
    from pfgen_rs.llm_jp_eval.averages import AVERAGED

    return {name for name, parts in AVERAGED.items() if any(part in scores for part in parts)}


def _averaged(average: str) -> list[str]:
    from pfgen_rs.llm_jp_eval.averages import AVERAGED

    return list(AVERAGED)[: 7 if average == "AVR" else None]
