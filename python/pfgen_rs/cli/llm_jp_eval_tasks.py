"""`pfgen-rs llm-jp-eval tasks`: lists the tasks."""

from __future__ import annotations

from dataclasses import asdict

from pfgen_rs.cli import options, output

__all__ = ["list_tasks"]


def list_tasks(output_format: options.Format = options.JsonFormat.TABLE) -> None:
    """List the tasks: data set, category, metrics, maximum number of new tokens, and licence of the data."""
    from pfgen_rs.llm_jp_eval.catalog import tasks

    found = tasks().values()
    if output_format is options.JsonFormat.JSON:
        output.emit_json([asdict(each) for each in found])
        return
    headings = ["task", "category", "metrics", "tokens", "data set", "licence"]
    table = output.new_table(*headings, numbers=("tokens",))
    table.columns[0].no_wrap = True
    for each in found:
        metrics = ", ".join(each.metrics)
        cells = [each.name, each.category, metrics, each.output_length, each.dataset, each.licence]
        table.add_row(*map(output.cell, cells))
    output.show(table)
