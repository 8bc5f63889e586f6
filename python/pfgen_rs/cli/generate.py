"""`pfgen-rs generate`: generates a model's answers into a run's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import generate_values, generate_view, options, output, progress_log
from pfgen_rs.cli.generate_values import EngineName
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.ask.protocol import Engine

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
"""Options that only some engines support."""


def generate_answers(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model's name for the engine, such as org/model, or a path.",
            show_default=False,
        ),
    ],
    engine: Annotated[
        EngineName,
        typer.Option("--engine", "-e", help="Engine that generates answers.", show_default=False),
    ],
    mode: options.Mode = options.ModeName.COMPLETION,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/MODEL",
            help="Name of the run (default: MODEL). Its folder is RESULTS/ORG/MODEL/HASH.",
        ),
    ] = None,
    trials: options.Trials = 100,
    examples: options.Examples = 20,
    seed_text: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Changes the example answers and the sampling seeds."),
    ] = "",
    prefix: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Text before every prompt, in which \\n is a newline, as published.",
        ),
    ] = "",
    thinking: Annotated[
        bool | None,
        typer.Option(
            "--enable-thinking/--disable-thinking",
            help="Record enable_thinking in config.json; --disable-thinking also puts /no_think before every "
            "prompt, as in the published runs of Qwen3 (openai).",
        ),
    ] = None,
    temperature: Annotated[
        str | None,
        typer.Option(
            metavar="T|none",
            help="Sampling temperature (default: 1.0), or 'none' for the engine's default.",
        ),
    ] = None,
    top_p: Annotated[
        str | None,
        typer.Option(
            metavar="P|none",
            help="Top-p of nucleus sampling (default: 0.98), or 'none' for the engine's default.",
        ),
    ] = None,
    max_tokens: Annotated[
        str,
        typer.Option(
            metavar="N|none",
            help="Maximum length of an answer in tokens, or 'none' for the engine's default.",
        ),
    ] = "300",
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT|none",
            help="Stop string that ends an answer, in which \\n is a newline (repeatable; default: 'Q:', and "
            "a blank line in mode completion), or 'none' for no stop strings.",
        ),
    ] = None,
    think: options.Think = options.ThinkName.KEEP,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Engine option (JSON, text, or @FILE), such as dtype=float16; repeatable. Recorded in "
            "config.json unless KEY begins with _, as in _tensor_parallel_size=8. The engines command and "
            "manual only record it.",
        ),
    ] = None,
    results: Annotated[
        Path, typer.Option("--results", "-o", metavar="DIR", help="Folder for all runs.")
    ] = Path("result"),
    benchmark: options.BenchmarkName = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of questions with example answers (default: the benchmark's questions.jsonl).",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of concurrent requests (openai, default: 64)."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL of the server (openai), including /v1 if it has that path."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            metavar="SECONDS",
            help="Time limit of a request (openai, default: 600), or for a program without an answer "
            "(command, default: no limit).",
        ),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Number of retries per request (openai, default: 6)."
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="'PROGRAM …'", help="Program that generates answers (command)."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Import answers from JSON lines with question, trial and answer, or from the output of a "
            "batch API whose custom_id is that of --export (manual).",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the open tasks to this file, without generating answers."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the open tasks as JSON lines, without generating answers."
        ),
    ] = False,
    batch: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of tasks that this process works on at a time; fewer distribute work better "
            "between processes.",
        ),
    ] = 1000,
    rounds: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Maximum number of attempts if the answer is empty."),
    ] = 10,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry tasks that were given up.")
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Do not stop if many tasks in a row fail or get blank answers."
        ),
    ] = False,
    score: Annotated[
        bool, typer.Option("--score", help="Score the finished trials and print the result.")
    ] = False,
    score_partial: Annotated[
        bool,
        typer.Option(
            "--score-partial",
            help="Score all answers, including those of unfinished trials, and print the result, which is "
            "marked as partial and not comparable with those of complete runs.",
        ),
    ] = False,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN,OUT",
            help="Prices of a million prompt tokens and a million completion tokens, to print the cost "
            "(openai, vllm).",
        ),
    ] = None,
) -> None:
    """Generate a model's answers into a run folder of pfgen-bench.

    Prompts, parameters and the folder's name are the same as in published runs unless changed by options. If
    interrupted, the same command continues where it stopped. Several processes can run it at the same time to
    share the work. Failed tasks are listed in unscored.jsonl. The exit code is 1 if trials are unfinished at
    the end, except those that other processes are still working on.

    For example:

    - `pfgen-rs generate org/model --engine vllm -b pfgen-bench --score`

    - `pfgen-rs generate gpt-4o --engine openai --mode chat --name openai/gpt-4o -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine command --command './answer.py --fast' -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine manual --mode qa -b pfgen-bench --trials 1 --export prompts.jsonl`

    The engine openai reads the environment variables OPENAI_BASE_URL and OPENAI_API_KEY, and never stores
    them.
    """
    from pfgen_rs.ask import engines
    from pfgen_rs.ask.engines.manual import AnswersFile, task_lines
    from pfgen_rs.generate.config import RunConfig
    from pfgen_rs.generate.runner import generate, open_tasks
    from pfgen_rs.questions.examples import read_examples
    from pfgen_rs.questions.locate import BUNDLED

    generate_values.check_export(answers, export, dry_run)
    generate_values.check_thinking(engine, thinking)
    prices = generate_values.prices(engine, price)
    given = generate_values.engine_settings(more or [])
    shown = read_examples(benchmark if questions is None else questions)
    config = RunConfig(
        engine=engines.recorded_name(engine.value),
        model=name or model,
        mode=mode.value,
        num_examples=examples,
        stop=generate_values.stop_strings(stop),
        max_tokens=generate_values.tokens_or_none("--max-tokens", max_tokens),
        temperature=_generation_option("--temperature", temperature, 1.0, engine),
        top_p=_generation_option("--top-p", top_p, 0.98, engine),
        more=generate_values.recorded_options(
            given, seed=seed_text, prefix=prefix, think=think.value, thinking=thinking
        ),
    ).with_questions(shown)
    generate_view.check_examples(examples, len(shown))
    named = str(questions or benchmark or BUNDLED)
    if dry_run or export is not None:
        generate_view.tell_beginning(named, len(shown), trials, None)
        tasks = open_tasks(config, examples=shown, trials=trials, results=results)
        _export_generation_tasks(task_lines(tasks, config.parameters), len(tasks), export)
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
        closing(_generation_engine(engine, model, own, given)) as asked,
        _resumable_generation(config.folder(results)),
        # What is logged of the score, `tell_score` says.
        progress_log.logged("pfgen_rs", lambda _: None),
        _watched_generation(engine, answers) as progress,
    ):
        generate_view.tell_beginning(named, len(shown), trials, config.folder(results))
        run = generate(
            config,
            asked,
            benchmark=benchmark,
            examples=shown,
            trials=trials,
            results=results,
            rounds=rounds,
            retry_failed=retry_failed,
            keep_going=keep_going,
            # Imported answers are all available immediately, so smaller batches have no benefit.
            batch=batch if answers is None else _EVERYTHING,
            score=score,
            score_partial=score_partial,
            progress=progress,
        )
    if isinstance(asked, AnswersFile):
        generate_view.tell_import(asked.unused, asked.blank)
    generate_view.tell_run(run, prices)
    if score or score_partial:
        generate_view.tell_score(run, partial=score_partial)
    if run.unfinished:
        output.fail(1)


def _generation_option(
    option: str, text: str | None, published: float, engine: EngineName
) -> float | None:
    """Returns the given value or, except for people (engine manual), the published one."""
    if text is None:
        return None if engine is EngineName.MANUAL else published
    return generate_values.number_or_none(option, text)


def _export_generation_tasks(lines: str, count: int, path: Path | None) -> None:
    from pfgen_rs.io import write_atomic
    from pfgen_rs.io.safe_text import escaped_json

    if path is None:
        output.emit(escaped_json(lines))
        return
    write_atomic(path, lines.encode())
    output.emit(f"wrote {counted(count, 'task')} to {path}\n")


def _generation_engine(
    engine: EngineName, model: str, own: Mapping[str, Any], given: Mapping[str, Any]
) -> Engine:
    from pfgen_rs.ask import engines
    from pfgen_rs.ask.engines.manual import AnswersFile

    chosen = {key: value for key, value in own.items() if value is not None}
    for key in chosen:
        if engine not in _OWN[key]:
            wanted = " or ".join(_OWN[key])
            raise typer.BadParameter(f"--{key.replace('_', '-')} requires the engine {wanted}")
    if engine is EngineName.MANUAL:
        path = chosen.get("import")
        if path is not None:
            return AnswersFile(model, path)
        return engines.make("manual", model, ask=generate_view.ask_person)
    if engine is EngineName.COMMAND and "command" not in chosen:
        raise typer.BadParameter(
            "the engine command requires a program: --command 'PROGRAM …'", param_hint="--command"
        )
    passed = {} if engine is EngineName.COMMAND else generate_values.engine_options(given)
    return engines.make(engine.value, model, **chosen, **passed)


def _watched_generation(
    engine: EngineName, answers: Path | None
) -> AbstractContextManager[Callable[[int, int, float, int], None] | None]:
    """Show a progress bar, unless a person answers in the terminal."""
    asks = engine is EngineName.MANUAL and answers is None
    return nullcontext() if asks else generate_view.generation_progress()


def _resumable_generation(folder: Path) -> AbstractContextManager[None]:
    """After any error, say how to continue, because servers may recover and rate limits end."""
    how = "run the same command to continue"

    def kept() -> Path | None:
        return folder if any(folder.glob("*trial_*.jsonl")) else None

    return output.resumable(kept, "answered", how, after_errors=how)
