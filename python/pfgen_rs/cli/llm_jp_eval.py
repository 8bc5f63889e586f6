"""`pfgen-rs llm-jp-eval`: twelve Japanese data sets as generation tasks; its subcommands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pfgen_rs.cli import streams
from pfgen_rs.cli.app import Deferred, deferring
from pfgen_rs.errors import unreadable

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.data import TaskData
    from pfgen_rs.llm_jp_eval.prompts import PromptSettings


_DATA, _RUN, _REPORT = "llm_jp_eval_data", "llm_jp_eval_run", "llm_jp_eval_report"
COMMANDS = {
    "install": Deferred(_DATA, "install", "Install raw files of the data sets."),
    "convert": Deferred(_DATA, "convert", "Convert raw files to the files of llm-jp-eval."),
    "prompts": Deferred(_DATA, "prompts", "Write prompts for inference made elsewhere."),
    "run": Deferred(_RUN, "run", "Run a model on the tasks, and score it."),
    "score": Deferred(_RUN, "score", "Score outputs made elsewhere."),
    "report": Deferred(_REPORT, "report", "Tabulate runs with intervals, and compare them."),
    "plot": Deferred(_REPORT, "plot", "Plot runs by category and by task."),
    "demo": Deferred(_DATA, "demo", "Show these commands on the bundled sample, without a model."),
    "tasks": Deferred(_DATA, "tasks", "List the tasks."),
}

app = typer.Typer(
    cls=deferring(COMMANDS),
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Evaluate on the tasks of llm-jp-eval, with the published files and figures.",
)


TaskNames = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        "-t",
        metavar="NAME[,NAME…]",
        help="Tasks or categories, such as jamp,QA; repeatable (default: all that there are).",
    ),
]
Variant = Annotated[
    Literal["upstream", "swallow"],
    typer.Option("--variant", help="How predictions are made: swallow strips outputs."),
]


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Which samples are asked, and how; every field is an option."""

    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            "-d",
            metavar="DIR",
            help="Folder of converted files, as 'convert' writes them (default: the installed data).",
        ),
    ] = None
    tasks: TaskNames = None
    split: Annotated[
        Literal["train", "dev", "test"], typer.Option(help="Split whose samples are used.")
    ] = "test"
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, metavar="N", help="First N samples of each task (default: all)."
        ),
    ] = None
    shots: Annotated[
        int | None,
        typer.Option("--shots", "-k", min=0, metavar="K", help="Number of examples in prompts."),
    ] = 4
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own template of prompts, with {instruction}, {few_shots_text} and {input}; a brace "
            "is written as four.",
        ),
    ] = None
    fewshots_template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own template of an example, with {input} and {output}."
        ),
    ] = None
    chat: Annotated[bool, typer.Option("--chat", help="Prompts are messages to a chat model.")] = (
        False
    )
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum length of an output in tokens (default: that of each task, 1 to 512).",
        ),
    ] = None

    def prompts(self) -> PromptSettings:
        """Returns how prompts are made."""
        from pfgen_rs.llm_jp_eval.prompts import PromptSettings

        return PromptSettings(
            self.shots,
            _template_text(self.template, "--template"),
            _template_text(self.fewshots_template, "--fewshots-template"),
            self.chat,
            self.max_tokens,
        )

    def datas(self) -> list[TaskData]:
        """Read the data of tasks; those without a file are skipped with a remark, unless named."""
        from pfgen_rs.llm_jp_eval.catalog import chosen_tasks
        from pfgen_rs.llm_jp_eval.data import find_data, read_task, read_tasks

        wanted = listed_names(self.tasks)
        chosen = [task.name for task in chosen_tasks(wanted)]
        place, lacking = find_data(self.data), list[str]()
        datas = read_tasks(place, chosen, self.split, skipped=lacking.append)
        for task in lacking:
            if task in wanted:
                read_task(place, task, self.split)  # which says what is missing
        if lacking:
            streams.remark(f"skipped, because there is no data: {', '.join(lacking)}")
        return datas


def _template_text(path: Path | None, option: str) -> str | None:
    if path is None:
        return None
    try:
        return path.read_bytes().decode()  # newlines as they are
    except (OSError, ValueError) as error:
        problem = f"{path}: {unreadable(error)}"
    raise typer.BadParameter(problem, param_hint=option)


def listed_names(names: Sequence[str] | None) -> list[str]:
    """Returns the names of tasks and categories in `--tasks`."""
    return [part.strip() for each in names or () for part in each.split(",") if part.strip()]
