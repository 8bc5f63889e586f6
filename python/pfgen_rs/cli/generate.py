"""`pfgen-rs generate`: a model in, a run's folder out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import asking, generate_values, generate_view, options, output
from pfgen_rs.cli.generate_values import EngineName

if TYPE_CHECKING:
    from pfgen_rs.generate.engines import Engine

__all__ = ["generate_answers"]

_EVERYTHING = 1 << 40


_OWN: dict[str, tuple[EngineName, ...]] = {
    "concurrency": (EngineName.OPENAI,),
    "base_url": (EngineName.OPENAI,),
    "timeout": (EngineName.OPENAI, EngineName.COMMAND),
    "retries": (EngineName.OPENAI,),
    "command": (EngineName.COMMAND,),
    "import": (EngineName.MANUAL,),
}
"""Options that only some engines have."""


def generate_answers(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of the model for the engine, such as org/model, or a path.",
            show_default=False,
        ),
    ],
    engine: Annotated[
        EngineName,
        typer.Option("--engine", "-e", help="Engine that generates.", show_default=False),
    ],
    mode: asking.Mode = asking.ModeName.COMPLETION,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/MODEL",
            help="Name of the run (default: MODEL): its folder is RESULTS/ORG/MODEL/HASH.",
        ),
    ] = None,
    trials: asking.Trials = 100,
    examples: asking.Examples = 20,
    seed_text: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Changes the example answers and the seeds of sampling."),
    ] = "",
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Text before every prompt.")] = "",
    temperature: Annotated[
        str | None,
        typer.Option(metavar="T|none", help="Default: 1.0; 'none' leaves it to the engine."),
    ] = None,
    top_p: Annotated[
        str | None,
        typer.Option(metavar="P|none", help="Default: 0.98; 'none' leaves it to the engine."),
    ] = None,
    max_tokens: Annotated[
        str,
        typer.Option(
            metavar="N|none",
            help="Maximum length of an answer in tokens; 'none' leaves it to the engine.",
        ),
    ] = "300",
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT|none",
            help="Ends an answer; repeatable, \\n is a new line. Without it 'Q:', and in completions a blank "
            "line; 'none' sends nothing and cuts nowhere.",
        ),
    ] = None,
    think: asking.Think = asking.ThinkName.KEEP,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the engine (JSON, text, or @FILE), such as dtype=float16; repeatable. "
            "Recorded in config.json unless KEY begins with _, as in _tensor_parallel_size=8. For the "
            "engines command and manual it is recorded only.",
        ),
    ] = None,
    results: Annotated[
        Path, typer.Option("--results", "-o", metavar="DIR", help="Folder of the runs.")
    ] = Path("result"),
    benchmark: options.BenchmarkName = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Questions with example answers, instead of the benchmark's questions.jsonl.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Concurrent requests (openai, default: 64)."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Address of the server (openai), with /v1 if it has that."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            metavar="SECONDS",
            help="Time limit of a request (openai, default: 600), or of a command without a result (command, "
            "default: no limit).",
        ),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Retries per request (openai, default: 6)."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="'PROGRAM …'", help="The program that answers (command)."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Take answers from a file of JSON lines with question, trial and answer (manual).",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the open tasks to this file, and ask nothing."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the open tasks as JSON lines.")
    ] = False,
    batch: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Tasks per batch; smaller batches are shared better between processes.",
        ),
    ] = 1000,
    rounds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Attempts at a question with an empty answer.")
    ] = 10,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry tasks that were given up.")
    ] = False,
    score: Annotated[
        bool, typer.Option("--score", help="Score the finished trials and print the result.")
    ] = False,
) -> None:
    """Generate a model's answers, into a folder as pfgen-bench keeps it.

    Prompts, parameters and the folder's name are the published ones unless options say otherwise. Whatever
    ends this, the same command goes on where it ended: nothing that was answered is asked again. Several
    processes may run it at once and share the work. What fails is listed in unscored.jsonl. The exit code is
    1 where trials are not finished in the end, but for those that other processes are still working on.

    For example:

    - `pfgen-rs generate org/model --engine vllm -b pfgen-bench --score`

    - `pfgen-rs generate gpt-4o --engine openai --mode chat --name openai/gpt-4o -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine command --command './answer.py --fast' -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine manual --mode qa -b pfgen-bench --trials 1 --export prompts.jsonl`

    Servers are found by OPENAI_BASE_URL and OPENAI_API_KEY, which are kept nowhere.
    """
    from pfgen_rs.generate.config import RunConfig
    from pfgen_rs.generate.engines import factory
    from pfgen_rs.generate.engines.manual import AnswersFile
    from pfgen_rs.generate.runner import generate, open_tasks
    from pfgen_rs.generate.task_lines import task_lines
    from pfgen_rs.questions.examples import read_examples
    from pfgen_rs.questions.locate import BUNDLED

    generate_values.check_export(answers, export, dry_run)
    given = generate_values.settings(more or [])
    shown = read_examples(benchmark if questions is None else questions)
    config = RunConfig(
        engine=factory.recorded_name(engine.value),
        model=name or model,
        mode=mode.value,
        num_examples=examples,
        stop=generate_values.stop(stop),
        max_tokens=generate_values.tokens_or_none("--max-tokens", max_tokens),
        temperature=_sampling("--temperature", temperature, 1.0, engine),
        top_p=_sampling("--top-p", top_p, 0.98, engine),
        more=generate_values.recorded(given, seed=seed_text, prefix=prefix, think=think.value),
    ).with_questions(shown)
    generate_view.check_examples(examples, len(shown))
    named = str(questions or benchmark or BUNDLED)
    if dry_run or export is not None:
        generate_view.begin(named, len(shown), trials, None)
        tasks = open_tasks(config, examples=shown, trials=trials, results=results)
        _export(task_lines(tasks, config.parameters), len(tasks), export)
        return
    own = {
        "concurrency": concurrency,
        "base_url": base_url,
        "timeout": timeout,
        "retries": retries,
        "command": command,
        "import": answers,
    }
    with (
        closing(_engine(engine, model, own, given)) as asked,
        _resumable(config.folder(results)),
        _watched(engine, answers) as progress,
    ):
        generate_view.begin(named, len(shown), trials, config.folder(results))
        run = generate(
            config,
            asked,
            benchmark=benchmark,
            examples=shown,
            trials=trials,
            results=results,
            rounds=rounds,
            retry_failed=retry_failed,
            # What is imported is there at once: nothing is gained by taking it bit by bit.
            batch=batch if answers is None else _EVERYTHING,
            score=score,
            progress=progress,
        )
    if isinstance(asked, AnswersFile):
        generate_view.tell_import(asked.unused, asked.blank)
    generate_view.tell(run, score=score)
    if run.unfinished:
        output.fail(1)


def _sampling(option: str, text: str | None, published: float, engine: EngineName) -> float | None:
    """The value that was given; the published one, which nobody can ask of a person, where there is none."""
    if text is None:
        return None if engine is EngineName.MANUAL else published
    return generate_values.number_or_none(option, text)


def _export(lines: str, count: int, path: Path | None) -> None:
    from pfgen_rs.io import write_atomic
    from pfgen_rs.io.safe_text import escaped_json

    if path is None:
        output.emit(escaped_json(lines))
        return
    write_atomic(path, lines.encode())
    output.emit(f"wrote {count:,} tasks to {path}\n")


def _engine(
    engine: EngineName, model: str, own: Mapping[str, Any], given: Mapping[str, Any]
) -> Engine:
    from pfgen_rs.generate.engines import factory
    from pfgen_rs.generate.engines.manual import AnswersFile

    chosen = {key: value for key, value in own.items() if value is not None}
    for key in chosen:
        if engine not in _OWN[key]:
            wanted = " and ".join(_OWN[key])
            raise typer.BadParameter(f"--{key.replace('_', '-')} is for the engine {wanted}")
    if engine is EngineName.MANUAL:
        path = chosen.get("import")
        if path is not None:
            return AnswersFile(model, path)
        return factory.make("manual", model, ask=generate_view.ask)
    if engine is EngineName.COMMAND and "command" not in chosen:
        raise typer.BadParameter(
            "the engine command needs a program: --command 'PROGRAM …'", param_hint="--command"
        )
    passed = {} if engine is EngineName.COMMAND else generate_values.passed(given)
    return factory.make(engine.value, model, **chosen, **passed)


def _watched(
    engine: EngineName, answers: Path | None
) -> AbstractContextManager[Callable[[int, int, float, int], None] | None]:
    """A progress bar, unless a person is asked there."""
    asks = engine is EngineName.MANUAL and answers is None
    return nullcontext() if asks else generate_view.generating()


def _resumable(folder: Path) -> AbstractContextManager[None]:
    """Say after any error that the same command goes on: servers come back, and limits of rates end."""
    how = "run the same command to go on"

    def kept() -> Path | None:
        return folder if any(folder.glob("*trial_*.jsonl")) else None

    return output.resumable(kept, "answered", how, after_errors=how)
