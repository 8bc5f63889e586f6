"""The top-level command and its list of subcommands."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import typer

from pfgen_rs.cli import process
from pfgen_rs.io.remote.urls import is_url, refused_url

# Loads commands only when they are used, so that `--help` and completion are fast.


class Deferred(NamedTuple):
    """A command that is not loaded yet.

    `module`: its module in `pfgen_rs.cli`. `name`: the function, or the `typer.Typer` with subcommands.
    `summary`: the first line of its help. `cls`: name of the function's own command class, if it has one.
    `urls`: whether it takes URLs where others take only paths.
    """

    module: str
    name: str
    summary: str
    cls: str | None = None
    urls: bool = False

    def load(self, command_name: str) -> Any:
        """Returns the command."""
        module = import_module(f"pfgen_rs.cli.{self.module}")
        found = getattr(module, self.name)
        if isinstance(found, typer.Typer):
            for command in found.registered_commands:
                if command.callback is not None:
                    command.callback = _with_local_paths(command.callback)
            subcommands = typer.main.get_group(found)
            subcommands.name = command_name
            return subcommands
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        called = found if self.urls else _with_local_paths(found)
        alone.command(command_name, cls=getattr(module, self.cls) if self.cls else None)(called)
        return typer.main.get_command(alone)


def _with_local_paths(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command, which first refuses URLs for paths: they would be folders called `s3:`."""

    @wraps(command)
    def called(*arguments: Any, **options: Any) -> Any:
        for value in (*arguments, *options.values()):
            for path in value if isinstance(value, list | tuple) else [value]:
                if isinstance(path, Path) and is_url(path):
                    raise refused_url(path, "copy the file first, or write one and copy it")
        return command(*arguments, **options)

    return called


def checked_output(path: Path | None) -> Path | None:
    """Refuse an output file whose folder is not there; for `callback` of options."""
    if path is not None and not is_folder_there(path):
        raise typer.BadParameter(f"{path.parent}: not a directory")
    return path


def is_folder_there(path: Path) -> bool:
    """Whether the folder of an output file exists; true for URLs, which are refused with other arguments."""
    return is_url(path) or path.absolute().parent.is_dir()


class Group(typer.core.TyperGroup):
    """A group that lists its subcommands with complete summaries, in sections if it has some."""

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}

    def invoke(self, ctx: Any) -> Any:
        """Run a subcommand; wrong values are told of without what pydantic puts in front."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        for title, names in (self.sections or {"Commands": list(commands)}).items():
            with formatter.section(title):
                formatter.write_dl([(name, _command_summary(commands[name])) for name in names])


def group(summary: str, cls: type[Group] = Group) -> typer.Typer:
    """Returns an app for subcommands."""
    return typer.Typer(cls=cls, no_args_is_help=True, rich_markup_mode=None, help=summary)


def deferring(
    commands: Mapping[str, Deferred], in_sections: Mapping[str, Sequence[str]] | None = None
) -> type[Group]:
    """Returns a group of these commands, by name, which help shows in these sections."""

    class Deferring(Group):
        sections = in_sections or {}

        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            for name, command in commands.items():
                self.add_command(typer.core.TyperCommand(name, short_help=command.summary))

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, command, rest = super().resolve_command(ctx, args)
            return name, commands[name].load(name) if name else command, rest

    return Deferring


def _command_summary(command: Any) -> str:
    """Returns the first paragraph of a command's help, on one line."""
    return command.short_help or " ".join((command.help or "").split("\n\n")[0].split())


COMMANDS = {
    "generate": Deferred(
        "generate",
        "generate_answers",
        "Generate a model's answers into a run folder of pfgen-bench.",
    ),
    "score": Deferred(
        "score", "score", "Score runs and print them as a leaderboard.", "ScoreCommand", urls=True
    ),
    "compare": Deferred("compare", "compare", "Compare runs, paired by question."),
    "gate": Deferred(
        "gate",
        "gate",
        "Decide whether a run may replace another, or has lost too much of its score.",
    ),
    "plan-trials": Deferred(
        "plan_trials",
        "plan_trials",
        "Plan how many trials are needed for a precision, or to detect a difference.",
    ),
    "explain": Deferred(
        "explain", "explain", "Show where an answer's score comes from, character by character."
    ),
    "watch": Deferred(
        "watch", "watch", "Evaluate every new checkpoint in a folder, and draw the learning curve."
    ),
    "curve": Deferred(
        "curve",
        "curve",
        "Write the page or the picture of a learning curve, and of others beside it.",
    ),
    "verify": Deferred(
        "verify", "verify", "Score runs again and compare every number with their result.json."
    ),
    "report": Deferred(
        "report",
        "report",
        "Update a checkout of pfgen-bench, like its own `make report`.",
    ),
    "site": Deferred(
        "site", "app", "Write one site of everything that a lab measures, and publish it."
    ),
    "leaderboard": Deferred(
        "leaderboard",
        "leaderboard",
        "Print the leaderboard of a checkout, with intervals and rank ranges.",
    ),
    "plot": Deferred(
        "plot",
        "plot",
        "Plot runs. Requires matplotlib (`pip install 'pfgen_rs[plots]'`).",
        "PlotCommand",
    ),
    "study": Deferred(
        "study",
        "app",
        "Repeat the papers' studies, and analyse questions.",
    ),
    "harness-path": Deferred(
        "watch",
        "harness_path",
        "Write the task files for an evaluation harness, and print only the path of their folder.",
    ),
    "index": Deferred(
        "index",
        "app",
        "Look up n-grams of any length in a question's reference answers; manage the cached index.",
    ),
    "contamination": Deferred(
        "contamination",
        "contamination",
        "Find reference answers of a benchmark in a pretraining corpus.",
        urls=True,
    ),
    "build": Deferred(
        "build", "app", "Build sets of reference answers from candidates, and check sets."
    ),
    "judge": Deferred(
        "judge", "app", "Judge answers with a language model, and see how far to trust it."
    ),
    "llm-jp-eval": Deferred(
        "llm_jp_eval",
        "app",
        "Evaluate on the tasks of llm-jp-eval, with the published files and figures.",
    ),
    "data": Deferred("data", "app", "List, install, publish and find benchmarks."),
}

SECTIONS = {
    "Daily": ("score", "compare", "gate", "explain", "generate", "watch", "curve"),
    "Leaderboards": (
        "report",
        "site",
        "leaderboard",
        "plot",
        "verify",
        "plan-trials",
        "data",
        "harness-path",
    ),
    "Sets": ("build", "index", "contamination"),
    "Research": ("judge", "llm-jp-eval", "study"),
}

app = typer.Typer(
    cls=deferring(COMMANDS, SECTIONS),
    no_args_is_help=True,
    rich_markup_mode=None,  # formatting help with rich would take most of the time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pfgen_rs.metrics.signature import fixed_part

        process.emit(f"{fixed_part()}\n")
        raise typer.Exit


@app.callback()
def _root_command(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version as in every signature, and exit.",
        ),
    ] = False,
) -> None:
    """Score Japanese text generation with pfgen-bench: exactly the published scores, at native speed.

    A benchmark is a set of questions with reference answers; a run is a file of a model's answers,
    one JSON object per line with `question` and `answer`. Fluency, Truthfulness and Helpfulness are
    computed by comparing n-grams and keywords, without a judge model.

    Try it with the bundled benchmark:

    - `pfgen-rs explain Q01 'あなたの答え'` – see where an answer's score comes from

    - `pfgen-rs score my-answers.jsonl` – score a run

    - `pfgen-rs data install pfgen-bench` – install the published questions

    - `pfgen-rs score my-answers.jsonl -b pfgen-bench` – score a run with them

    Exit codes: 0 success, 1 a check failed, 2 bad usage or input, 3 `gate` cannot tell.
    """
