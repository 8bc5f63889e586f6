"""`pfgen-rs llm-jp-eval`: its subcommands, of which `install`, `convert`, `tasks` and `demo` are here."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pfgen_rs.cli import demos, options, process, terminal
from pfgen_rs.cli.app import Deferred, deferring
from pfgen_rs.errors import unreadable
from pfgen_rs.io.text import counted, visible

if TYPE_CHECKING:
    from pfgen_rs.llm_jp_eval.conversion.installing import DataSet
    from pfgen_rs.llm_jp_eval.evaluation_files import TaskData
    from pfgen_rs.llm_jp_eval.prompts import Outputs, PromptSettings
    from pfgen_rs.llm_jp_eval.scoring import Plan, ScoreSettings


_HERE, _RUN, _REPORT = "llm_jp_eval", "llm_jp_eval_run", "llm_jp_eval_report"
COMMANDS = {
    "install": Deferred(_HERE, "install", "Install raw files of the data sets."),
    "convert": Deferred(_HERE, "convert", "Convert raw files to the files of llm-jp-eval."),
    "prompts": Deferred(_RUN, "prompts", "Write prompts for inference made elsewhere."),
    "run": Deferred(_RUN, "run", "Run a model on the tasks, and score it."),
    "score": Deferred(_RUN, "score", "Score outputs made elsewhere."),
    "report": Deferred(_REPORT, "report", "Tabulate runs with intervals, and compare them."),
    "plot": Deferred(_REPORT, "plot", "Plot runs by category and by task."),
    "demo": Deferred(_HERE, "demo", "Show these commands on the bundled sample, without a model."),
    "tasks": Deferred(_HERE, "tasks", "List the tasks."),
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
ProfileNames = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="NAME[,NAME…]",
        help="Whose tasks, prompts and figures: 1.3.0 (default), swallow, nejumi4, nejumi3, or a profile of "
        "your own; repeatable.",
    ),
]
TaskFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--task-folder",
        metavar="DIR",
        help="Folder of files that describe tasks or profiles of your own; repeatable (see PFGEN_RS_TASKS).",
    ),
]
AllowMissing = Annotated[
    bool,
    typer.Option("--allow-missing", help="Score if outputs are missing, which count as empty."),
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
    task_folder: TaskFolders = None
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        typer.Option(help="Split whose samples are used (default: the profile's, test)."),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            metavar="N",
            help="First N samples of each task (default: the profile's; 1.3.0 and swallow: all).",
        ),
    ] = None
    shots: Annotated[
        int | None,
        typer.Option(
            "--shots",
            "-k",
            min=0,
            metavar="K",
            help="Number of examples in prompts (default: the profile's, 4 in 1.3.0, or that of the task; of "
            "outputs to score, that of their run).",
        ),
    ] = None
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

    def __post_init__(self) -> None:
        add_folders(self.task_folder)

    def prompts(self, shots: int | None = 4) -> "PromptSettings":
        """Returns how prompts are made. `shots`: number of examples if none is chosen."""
        from pfgen_rs.llm_jp_eval.prompts import PromptSettings

        return PromptSettings(
            shots if self.shots is None else self.shots,
            _template_text(self.template, "--template"),
            _template_text(self.fewshots_template, "--fewshots-template"),
            self.chat,
            self.max_tokens,
        )

    def plans(
        self,
        profiles: Sequence[str] | None,
        settings: "ScoreSettings",
        outputs: "Outputs | None" = None,
    ) -> "list[Plan]":
        """Returns what profiles ask for. `settings`: of each, but for its name.

        `outputs`: those to be scored; unless tasks are named, only those with outputs are there.
        """
        from pfgen_rs.llm_jp_eval import registry
        from pfgen_rs.llm_jp_eval.plans import answered_tasks, plan, profile_data

        names = listed_names(profiles) or [registry.DEFAULT]
        found, read = [], dict[tuple[str, str], "TaskData"]()
        for name in dict.fromkeys(names):
            wanted = listed_names(self.tasks) or (answered_tasks(outputs, name) if outputs else [])
            datas, lacking = profile_data(
                self.data, name, wanted, self.split_of(name), self.shots, read
            )
            if lacking:
                by = "" if name == registry.DEFAULT else f" for {name}"
                process.remark(f"skipped{by}, because there is no data: {', '.join(lacking)}")
            found.append(plan(datas, replace(settings, profile=name), self.shots))
        return found

    def split_of(self, profile: str) -> str:
        """Returns the split that is chosen, or the profile's."""
        from pfgen_rs.llm_jp_eval.registry import find_profile

        return self.split or find_profile(profile).split


def _template_text(path: Path | None, option: str) -> str | None:
    if path is None:
        return None
    try:
        return path.read_bytes().decode()  # newlines as they are
    except (OSError, ValueError) as error:
        problem = f"{path}: {unreadable(error)}"
    raise typer.BadParameter(problem, param_hint=option)


def add_folders(folders: Sequence[Path] | None) -> None:
    """Add the folders of `--task-folder`."""
    from pfgen_rs.llm_jp_eval.registry import add_folder

    for folder in folders or ():
        add_folder(folder)


def listed_names(names: Sequence[str] | None) -> list[str]:
    """Returns the names of tasks and categories in `--tasks`."""
    return [part.strip() for each in names or () for part in each.split(",") if part.strip()]


_MEANINGS = {
    "changed": "not comparable: some raw files are not the published ones",
    "unverified": "the digests of the published files are unknown; numbers of samples agree",
}


def install(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR|ARCHIVE",
            help="Folder or archive with raw files: checkouts or archives of the repositories, or the "
            "reference's raw_files (default: download what is missing).",
            show_default=False,
        ),
    ] = None,
    tasks: TaskNames = None,
    output_format: options.Format = "table",
) -> None:
    """Install raw files of the data sets for the current user: download them, or take them from a folder.

    Each file is checked by its digest; where that is unknown, by its number of samples. What was interrupted
    goes on when called again. In folders and archives, files are recognised by their digests, whatever their
    names, and by their paths. Set PFGEN_RS_CACHE to install to another folder.

    For example:

    - `pfgen-rs llm-jp-eval install --tasks jamp,QA`

    - `pfgen-rs llm-jp-eval install --from ~/Downloads/chABSA-dataset.zip`
    """
    from pfgen_rs.llm_jp_eval.conversion.installing import install_raw

    with terminal.busy("reading raw files" if source else "downloading raw files"):
        found = install_raw(source, listed_names(tasks))
    if output_format == "json":
        process.emit_json(asdict(found) | {"folder": str(found.folder)})
        return
    rows = []
    for each in found.datasets:
        named = "wiki_*" if each.tasks[0].startswith("wiki_") else ", ".join(each.tasks)
        lacking = f"{len(each.missing):,} missing" if each.files and each.missing else ""
        state = lacking or each.status or "missing"
        rows.append([each.name, each.licence, named, f"{each.files:,}", state])
    headings = ["data set", "licence", "tasks", "files", "state"]
    table = terminal.new_table(*headings, numbers=["files"], rows=rows)
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    terminal.show(table)
    for name, reason in found.refused.items():
        process.warn(f"{name} is not installed: {reason}")
    lines = list(missing_lines(found.datasets))
    if lines:
        lines.append("get what is missing and run `pfgen-rs llm-jp-eval install --from FOLDER`")
    count = counted(sum(found.taken.values()), "raw file")
    lines.append(f"installed {count} in {found.folder}; next: `pfgen-rs llm-jp-eval convert`")
    process.emit("".join(f"{visible(line)}\n" for line in lines))


def missing_lines(datasets: "Iterable[DataSet]") -> Iterator[str]:
    """Yield which raw files are missing, by data set, and where they are published."""
    from pfgen_rs.llm_jp_eval.conversion.installing import shown_names

    for each in datasets:
        if each.missing:
            yield f"{each.name} ({each.licence}): missing {shown_names(each.missing)}"
            yield f"  {each.url}"


def convert(
    raw: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|ARCHIVE",
            help="Folder or archive of raw files: the repositories side by side, archives of them, or the "
            "reference's raw_files (default: the installed raw files).",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.out_option(
            "DIR",
            "Folder to write evaluation/ and tuning/ to (default: where `run` looks for data).",
        ),
    ] = None,
    tasks: TaskNames = None,
    task_folder: TaskFolders = None,
    tuning: Annotated[bool, typer.Option(help="Write tuning files as well.")] = True,
    output_format: options.Format = "table",
) -> None:
    """Convert raw files to the files of llm-jp-eval, byte for byte.

    Tasks whose raw files are missing are left out and listed with the addresses of the files. Files are
    written, and replace files of the same name, only if everything else can be converted.

    For example:

    - `pfgen-rs llm-jp-eval convert`

    - `pfgen-rs llm-jp-eval convert --raw ~/src/jglue --tasks jsquad --out data`
    """
    from pfgen_rs.llm_jp_eval.conversion.converting import convert

    add_folders(task_folder)
    with terminal.busy("converting raw files"):
        found = convert(raw, out, tasks=listed_names(tasks), tuning=tuning)
    if output_format == "json":
        process.emit_json(asdict(found) | {"folder": str(found.folder)})
        return
    splits = ("train", "dev", "test")
    rows = [
        [each.task, *(f"{each.samples[split]:,}" for split in splits), each.status]
        for each in found.tasks
    ]
    table = terminal.new_table("task", *splits, "raw files", numbers=splits, rows=rows)
    table.columns[0].no_wrap = True
    terminal.show(table)
    for status, meaning in _MEANINGS.items():
        if names := [each.task for each in found.tasks if each.status == status]:
            everything = len(names) == len(found.tasks) > 1
            process.warn(f"{'all tasks' if everything else ', '.join(names)}: {meaning}")
    if found.missing:
        process.warn(f"left out: {', '.join(t for each in found.missing for t in each.tasks)}")
    for line in missing_lines(found.missing):
        process.remark(line)
    process.emit(f"wrote {counted(len(found.files), 'file')} to {found.folder}\n")


def tasks(task_folder: TaskFolders = None, output_format: options.Format = "table") -> None:
    """List the tasks: data set, category, metrics, maximum number of new tokens, and licence of the data."""
    from pfgen_rs.llm_jp_eval.registry import tasks

    add_folders(task_folder)
    found = tasks().values()
    if output_format == "json":
        process.emit_json([each.described() for each in found])
        return
    headings = ["task", "category", "metrics", "tokens", "data set", "licence"]
    rows = [
        (t.name, t.category, ", ".join(t.metrics), t.output_length or "", t.dataset, t.licence)
        for t in found
    ]
    table = terminal.new_table(*headings, numbers=("tokens",), rows=rows)
    table.columns[0].no_wrap = True
    terminal.show(table)


_PROGRAM = "pfgen-rs llm-jp-eval"

_MODEL_STEPS = (
    "run smollm2 --engine openai --data data --shots 3",
    "run smollm2 --engine openai --data data --shots 0",
)
"""What would make the outputs of the sample; not run."""

_DEMO_STEPS = (
    ("Raw files become the files of llm-jp-eval:", "convert --raw raw_files --out data"),
    ("Prompts for inference elsewhere:", "prompts --data data --shots 3 --out prompts.jsonl"),
    (
        "What a small model said to them, scored:",
        "score outputs/3-shot.jsonl --data data --shots 3 --out 3-shot",
    ),
    (
        "Are three examples better than none?",
        "score outputs/0-shot.jsonl --data data --shots 0 --out 0-shot",
    ),
    ("Both compared, sample by sample:", "report 3-shot 0-shot"),
)


def demo() -> None:
    """Show the commands on the bundled sample, with recorded outputs instead of a model.

    Each command is printed before its output, so that it can be tried with your own files. The texts are made
    up to contain edge cases: the scores say nothing about models.

    Example: `pfgen-rs llm-jp-eval demo`
    """
    from pfgen_rs.llm_jp_eval.evaluation_files import sample_path

    folder = sample_path()
    texts = (
        "The sample is made up: scores on it say nothing about models.",
        "These commands need a model; what it said is recorded in the sample:",
    )
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-demo-") as place:
        shutil.copytree(folder, place, dirs_exist_ok=True)
        with chdir(place):
            demos.show_demo(app, _PROGRAM, folder, texts, _MODEL_STEPS, _DEMO_STEPS)
