"""`pfgen-rs generate`: generates a model's answers into a run's folder."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfgen_rs.cli import engine_options, options, process, progress as progress_log, score_table
from pfgen_rs.io.text import counted, escaped_json
from pfgen_rs.questions.locate import BUNDLED

if TYPE_CHECKING:
    from pfgen_rs import ask, generate
    from pfgen_rs.ask import costs
    from pfgen_rs.ask.engines.manual import AnswersFile

_MANUAL = "manual"
_PUBLISHED_EXAMPLES = 20
_OF_RUNS = ("seed", "prefix", "enable_thinking")
"""Settings of prompts, which engines do not take."""
_UNRECORDED = ("timeout", "retries", "poll", "wait")
"""Settings that change no answer."""


@options.with_options(engine_options.EngineChoice, "asking")
def generate_answers(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="The model's name for the engine, such as org/model, or a path.",
            show_default=False,
        ),
    ],
    asking: engine_options.EngineChoice,
    mode: options.Mode = "completion",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/MODEL",
            help="Name of the run (default: MODEL). Its folder is OUT/ORG/MODEL/HASH.",
        ),
    ] = None,
    trials: options.Trials = 100,
    shots: options.Shots = 20,
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
    think: options.Think = "keep",
    out: Annotated[Path, options.out_option("DIR", "Folder for all runs.")] = Path("result"),
    benchmark: options.BenchmarkName = None,
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
    score: Annotated[
        bool,
        typer.Option(
            "--score",
            help="Print the score. If trials are unfinished, all answers count, and the result is marked as "
            "partial: it is not comparable with those of complete runs.",
        ),
    ] = False,
) -> None:
    """Generate a model's answers into a run folder of pfgen-bench.

    Prompts, parameters and the folder's name are the same as in published runs unless changed by options;
    --set also takes seed (a text that changes example answers and sampling seeds), prefix (text before every
    prompt, with escapes for newlines) and enable_thinking (openai; false puts /no_think before every prompt),
    as published. If interrupted, or if tasks failed, the same command continues. Several processes can run it
    at the same time to share the work. The exit code is 1 if trials are unfinished at the end, except those
    that other processes are still working on.

    For example:

    - `pfgen-rs generate org/model --engine vllm -b pfgen-bench --score`

    - `pfgen-rs generate gpt-4o --engine openai --mode chat --name openai/gpt-4o -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine command --command './answer.py --fast' -b pfgen-bench --trials 10`

    - `pfgen-rs generate my/model --engine manual --mode qa -b pfgen-bench --trials 1 --export prompts.jsonl`

    The engine openai reads the environment variables OPENAI_BASE_URL and OPENAI_API_KEY, and never stores
    them.
    """
    from pfgen_rs import generate
    from pfgen_rs.ask.engines import manual, recorded_name

    if answers is not None and export is not None:
        raise typer.BadParameter("--import and --export cannot be combined")
    given = engine_options.engine_settings(asking.more or [])
    _check_thinking(asking.engine, given)
    shown = generate.read_examples(benchmark, shown=shots > 0)
    config = generate.RunConfig(
        engine=recorded_name(asking.engine),
        model=name or model,
        mode=mode,
        num_examples=shots,
        stop=_stop_strings(stop),
        max_tokens=engine_options.tokens_or_none("--max-tokens", max_tokens),
        temperature=_option("--temperature", temperature, 1.0, asking.engine),
        top_p=_option("--top-p", top_p, 0.98, asking.engine),
        more=_recorded(given, think),
    ).with_questions(shown)
    _check_examples(shots, len(shown))
    # The benchmark is named because the default one is small.
    asked = f"{counted(len(shown), 'question')}, {counted(trials, 'trial')}"
    beginning = f"benchmark {benchmark or BUNDLED}: {asked}"
    if export is not None:
        process.remark(beginning)
        _export(config, shown, trials, out, export)
        return
    costed = asking.prices_of(model)
    if costed is not None:
        _tell_estimate(model, config, shown, trials, out, costed[1])
    with (
        closing(_engine(asking, model, answers, given)) as engine,
        engine_options.resumable_asking(config.folder(out), "answered"),
        # What is logged of the score is said with it.
        progress_log.logged("pfgen_rs", lambda _: None),
        engine_options.asking_progress(status=engine_options.status_of(engine)) as progress,
    ):
        process.remark(f"{beginning}, into {config.folder(out)}")
        run = generate.generate(
            config,
            engine,
            benchmark=benchmark,
            examples=shown,
            trials=trials,
            results=out,
            keep_going=asking.keep_going,
            score=score,
            prices=None if costed is None else costed[0],
            progress=progress,
        )
    if isinstance(engine, manual.AnswersFile):
        _tell_import(engine)
    engine_options.tell_asked(run)
    _tell_run(run)
    if costed is not None and run.usage:
        used = run.usage
        tokens = used.prompt_tokens, used.completion_tokens, used.cached_tokens
        process.remark(f"cost of this call: {costed[1].shown(costed[1].cost(*tokens))}")
    if score:
        _tell_score(run)
    engine_options.finish_asking(run)


def _option(option: str, text: str | None, published: float, engine: str) -> float | None:
    """Returns the given value or, except for people (engine manual), the published one."""
    if text is None:
        return None if engine == _MANUAL else published
    return engine_options.number_or_none(option, text)


def _export(
    config: "generate.RunConfig",
    examples: "Sequence[generate.Example]",
    trials: int,
    out: Path,
    path: Path,
) -> None:
    from pfgen_rs.ask.engines.manual import task_lines
    from pfgen_rs.generate import open_tasks
    from pfgen_rs.io.atomic import write_atomic

    tasks = open_tasks(config, examples=examples, trials=trials, results=out)
    lines = task_lines(tasks, config.parameters)
    if str(path) == "-":
        process.emit(escaped_json(lines))
        return
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{path.parent}: not a directory", param_hint="--export")
    write_atomic(path, lines.encode())
    process.emit(f"wrote {counted(len(tasks), 'task')} to {path}\n")


def _tell_estimate(
    model: str,
    config: "generate.RunConfig",
    examples: "Sequence[generate.Example]",
    trials: int,
    out: Path,
    prices: "costs.Prices",
) -> None:
    from pfgen_rs.ask import costs
    from pfgen_rs.generate import open_tasks

    tasks = open_tasks(config, examples=examples, trials=trials, results=out)
    texts = [[message["content"] for message in task.messages] for task in tasks]
    counter = costs.token_counter(model)
    estimate = costs.estimate_of(texts, config.max_tokens, counter)
    engine_options.tell_estimate(estimate, counter, prices)


def _engine(
    asking: engine_options.EngineChoice, model: str, answers: Path | None, given: Mapping[str, Any]
) -> "ask.Engine":
    from pfgen_rs.ask.engines import manual, options as options_of

    if answers is not None:
        if asking.engine != _MANUAL:
            raise typer.BadParameter(f"--import requires the engine {_MANUAL}")
        return manual.AnswersFile(model, answers)
    if asking.engine == _MANUAL:
        raise typer.BadParameter(f"the engine {_MANUAL} requires --import or --export")
    passed = {
        key: value
        for key, value in engine_options.unprefixed(given).items()
        if key not in _OF_RUNS
        # What programs are told beyond their tasks is part of their command: here it is only recorded.
        and (asking.command is None or key in options_of(asking.engine))
    }
    return asking.create(model, passed)


def _check_thinking(engine: str, given: Mapping[str, Any]) -> None:
    """Raise `BadParameter` if thinking is enabled or disabled for an engine other than openai."""
    if "enable_thinking" in given and engine != "openai":
        kwargs = json.dumps({"enable_thinking": given["enable_thinking"]})
        raise typer.BadParameter(
            f"enable_thinking requires the engine openai; for vllm and transformers, use "
            f"--set 'chat_template_kwargs={kwargs}'"
        )


def _check_examples(wanted: int, questions: int) -> None:
    """Warn if there are too few examples: each prompt shows examples of other questions than its own."""
    there = max(questions - 1, 0)
    # No warning for the default.
    if wanted > there and wanted != _PUBLISHED_EXAMPLES:
        process.warn(
            f"prompts show {counted(there, 'example answer')} instead of {wanted}: no more are available"
        )


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


def _recorded(given: Mapping[str, Any], think: str) -> dict[str, Any]:
    """Returns the entries of `config.json` beyond the published parameters; empty for the defaults."""
    recorded = {
        key: value
        for key, value in given.items()
        if not key.startswith("_") and key not in _UNRECORDED
    }
    for key in recorded.keys() & {"seed", "prefix"}:  # texts, even if they look like numbers
        value = recorded[key]
        recorded[key] = value if isinstance(value, str) else json.dumps(value)
    return recorded if think == "keep" else {**recorded, "think": think}


def _tell_import(answers: "AnswersFile") -> None:
    """Warn about imported answers that could not be used."""
    if answers.unused:
        trial, question = answers.unused[0]
        process.warn(
            f"{len(answers.unused)} of the imported answers do not match an open task, the first: "
            f"trial {trial}, {question!r}"
        )
    if answers.blank:
        process.warn(
            f"{answers.blank} of the imported answers are empty or failed: their tasks stay open"
        )


def _tell_run(run: "generate.Run") -> None:
    process.emit(
        f"{run.folder}: {run.finished} of {counted(run.trials, 'trial')}, "
        f"{counted(run.new, 'new answer')}\n"
    )
    if run.result is None:  # else said with the score
        score_table.tell_generation(str(run.folder))
    if run.usage:
        process.emit(f"used: {_used(run.usage)}\n")


def _used(usage: "ask.Usage") -> str:
    if not usage.reported:
        return f"{counted(usage.requests, 'request')}; no numbers of tokens were reported"

    def part(count: int, what: str) -> str:
        return f" ({count:,} {what})" if count else ""

    unknown = usage.requests - usage.reported
    return ", ".join(
        [
            counted(usage.requests, "request") + part(unknown, "without a number of tokens"),
            counted(usage.prompt_tokens, "prompt token") + part(usage.cached_tokens, "cached"),
            counted(usage.completion_tokens, "completion token")
            + part(usage.reasoning_tokens, "of reasoning"),
        ]
    )


def _tell_score(run: "generate.Run") -> None:
    if run.result is None:
        process.warn("nothing to score: no question has an answer")
        return
    score_table.report_gaps(run.result)
    score_table.show_results([run.result], "table")
