"""`pfgen-rs generate`: generates a model's answers into a run's folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import engine_options, generate_view, options, streams
from pfgen_rs.cli import progress as progress_log
from pfgen_rs.cli.engine_options import EngineChoice
from pfgen_rs.io.run_files import ANSWERS
from pfgen_rs.io.text import counted

if TYPE_CHECKING:
    from pfgen_rs.ask.costs import Prices
    from pfgen_rs.ask.protocol import Engine

_EVERYTHING = 1 << 40
_MANUAL = "manual"


@options.with_options(EngineChoice, "asking")
def generate_answers(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model's name for the engine, such as org/model, or a path.",
            show_default=False,
        ),
    ],
    asking: EngineChoice,
    mode: options.Mode = options.ModeName.COMPLETION,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/MODEL",
            help="Name of the run (default: MODEL). Its folder is OUT/ORG/MODEL/HASH.",
        ),
    ] = None,
    trials: options.Trials = 100,
    shots: options.Shots = 20,
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
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for all runs.")
    ] = Path("result"),
    benchmark: options.BenchmarkName = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of questions with example answers (default: the benchmark's questions.jsonl).",
        ),
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
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry tasks that were given up.")
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
    from pfgen_rs.ask.engines import recorded_name
    from pfgen_rs.ask.engines.manual import AnswersFile, task_lines
    from pfgen_rs.generate.config import RunConfig
    from pfgen_rs.generate.runner import generate, open_tasks
    from pfgen_rs.questions.examples import read_examples
    from pfgen_rs.questions.locate import BUNDLED

    _check_export(answers, export, dry_run)
    _check_thinking(asking.engine, thinking)
    prices = _prices(asking, model)
    given = engine_options.engine_settings(asking.more or [])
    shown = read_examples(benchmark if questions is None else questions)
    config = RunConfig(
        engine=recorded_name(asking.engine),
        model=name or model,
        mode=mode.value,
        num_examples=shots,
        stop=_stop_strings(stop),
        max_tokens=engine_options.tokens_or_none("--max-tokens", max_tokens),
        temperature=_option("--temperature", temperature, 1.0, asking.engine),
        top_p=_option("--top-p", top_p, 0.98, asking.engine),
        more=_recorded(given, seed=seed_text, prefix=prefix, think=think.value, thinking=thinking),
    ).with_questions(shown)
    generate_view.check_examples(shots, len(shown))
    named = str(questions or benchmark or BUNDLED)
    if dry_run or export is not None:
        generate_view.tell_beginning(named, len(shown), trials, None)
        tasks = open_tasks(config, examples=shown, trials=trials, results=out)
        _export(task_lines(tasks, config.parameters), len(tasks), export)
        return
    with (
        closing(_engine(asking, model, answers, given)) as engine,
        _resumable(config.folder(out)),
        # What is logged of the score, `tell_score` says.
        progress_log.logged("pfgen_rs", lambda _: None),
        _watched(asking.engine, answers) as progress,
    ):
        generate_view.tell_beginning(named, len(shown), trials, config.folder(out))
        run = generate(
            config,
            engine,
            benchmark=benchmark,
            examples=shown,
            trials=trials,
            results=out,
            retry_failed=retry_failed,
            keep_going=asking.keep_going,
            # Imported answers are all available immediately, so smaller batches have no benefit.
            batch=1000 if answers is None else _EVERYTHING,
            score=score,
            score_partial=score_partial,
            progress=progress,
        )
    if isinstance(engine, AnswersFile):
        generate_view.tell_import(engine.unused, engine.blank)
    generate_view.tell_run(run, prices)
    if score or score_partial:
        generate_view.tell_score(run, partial=score_partial)
    if run.unfinished:
        streams.fail(1)


def _option(option: str, text: str | None, published: float, engine: str) -> float | None:
    """Returns the given value or, except for people (engine manual), the published one."""
    if text is None:
        return None if engine == _MANUAL else published
    return engine_options.number_or_none(option, text)


def _export(lines: str, count: int, path: Path | None) -> None:
    from pfgen_rs.io.atomic import write_atomic
    from pfgen_rs.io.text import escaped_json

    if path is None:
        streams.emit(escaped_json(lines))
        return
    write_atomic(path, lines.encode())
    streams.emit(f"wrote {counted(count, 'task')} to {path}\n")


def _engine(
    asking: EngineChoice, model: str, answers: Path | None, given: Mapping[str, Any]
) -> Engine:
    from pfgen_rs.ask.engines.manual import AnswersFile

    if answers is not None:
        if asking.engine != _MANUAL:
            raise typer.BadParameter(f"--import requires the engine {_MANUAL}")
        return AnswersFile(model, answers)
    if asking.engine == _MANUAL:
        return asking.create(model, {"ask": generate_view.ask_person})
    # What programs are told beyond their tasks is part of their command: here it is only recorded.
    passed = {} if asking.command is not None else engine_options.unprefixed(given)
    return asking.create(model, passed)


def _watched(
    engine: str, answers: Path | None
) -> AbstractContextManager[Callable[[int, int, float, int], None] | None]:
    """Show a progress bar, unless a person answers in the terminal."""
    asks = engine == _MANUAL and answers is None
    return nullcontext() if asks else generate_view.generation_progress()


def _resumable(folder: Path) -> AbstractContextManager[None]:
    """After any error, say how to continue, because servers may recover and rate limits end."""
    how = "run the same command to continue"

    def kept() -> Path | None:
        journal = folder / ANSWERS
        return folder if journal.exists() and journal.stat().st_size else None

    return streams.resumable(kept, "answered", how, after_errors=how)


def _check_export(answers: Path | None, export: Path | None, dry_run: bool) -> None:
    """Raise `BadParameter` if import and export are combined, or the folder of the export does not exist."""
    if answers is not None and (dry_run or export is not None):
        other = "--dry-run" if dry_run else "--export"
        raise typer.BadParameter(f"--import and {other} cannot be combined")
    if export is not None and not export.absolute().parent.is_dir():
        raise typer.BadParameter(f"{export.parent}: not a directory", param_hint="--export")


def _check_thinking(engine: str, thinking: bool | None) -> None:
    """Raise `BadParameter` if thinking is enabled or disabled for an engine other than openai."""
    if thinking is None or engine == "openai":
        return
    option = "--enable-thinking" if thinking else "--disable-thinking"
    kwargs = json.dumps({"enable_thinking": thinking})
    raise typer.BadParameter(
        f"{option} requires the engine openai; for vllm and transformers, use "
        f"--set 'chat_template_kwargs={kwargs}'"
    )


def _prices(asking: EngineChoice, model: str) -> Prices | None:
    from pfgen_rs.ask.engines import kind, names
    from pfgen_rs.ask.protocol import abilities

    if asking.prices is not None and "usage" not in abilities(kind(asking.engine)):
        able = ", ".join(name for name in names() if "usage" in abilities(kind(name)))
        raise typer.BadParameter(f"--prices requires an engine that counts tokens: {able}")
    return asking.read_prices(model)


def _stop_strings(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    r"""Parse stop strings, in which `\n` is a newline; a single 'none' or empty one means no stop strings."""
    if texts is None:
        return None
    if any(map(engine_options.is_none, texts)):
        if len(texts) > 1:
            raise typer.BadParameter(
                "'none' cannot be combined with other values", param_hint="--stop"
            )
        return ()
    return tuple(text.replace("\\n", "\n") for text in texts if text)


def _recorded(
    given: Mapping[str, Any], *, seed: str, prefix: str, think: str, thinking: bool | None = None
) -> dict[str, Any]:
    """Returns the entries of `config.json` beyond the published parameters; empty for the defaults."""
    chosen = {"seed": seed, "prefix": prefix, "think": "" if think == "keep" else think}
    return {
        **{key: value for key, value in given.items() if not key.startswith("_")},
        **{key: value for key, value in chosen.items() if value},
        **({} if thinking is None else {"enable_thinking": thinking}),
    }
