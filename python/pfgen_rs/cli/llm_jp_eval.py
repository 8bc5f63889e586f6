"""`pfgen-rs llm-jp-eval`: twelve Japanese data sets as generation tasks; its subcommands."""

from __future__ import annotations

import typer

from pfgen_rs.cli.loading import Deferred, deferring

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "install": Deferred(
        "llm_jp_eval_install", "install_raw_files", "Install raw files of the data sets."
    ),
    "convert": Deferred(
        "llm_jp_eval_convert", "convert_raw", "Convert raw files to the files of llm-jp-eval."
    ),
    "prompts": Deferred(
        "llm_jp_eval_prompts", "write_prompts", "Write prompts for inference made elsewhere."
    ),
    "run": Deferred("llm_jp_eval_run", "run", "Run a model on the tasks, and score it."),
    "score": Deferred("llm_jp_eval_score", "score", "Score outputs made elsewhere."),
    "report": Deferred(
        "llm_jp_eval_report", "report", "Tabulate runs with intervals, and compare them."
    ),
    "plot": Deferred("llm_jp_eval_plot", "plot", "Plot runs by category and by task."),
    "demo": Deferred(
        "llm_jp_eval_demo", "demo", "Show these commands on the bundled sample, without a model."
    ),
    "tasks": Deferred("llm_jp_eval_tasks", "list_tasks", "List the tasks."),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Evaluate on the tasks of llm-jp-eval, with the published files and figures.",
)
