"""Options that commands share which ask a judge, and the engine that they describe."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_type_hints

import typer

from pfgen_rs.cli import generate_values, generate_view, output
from pfgen_rs.cli.generate_values import EngineName
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.generate.asking import Asked, Journal, Request
    from pfgen_rs.generate.asking.ask import AskingProgress
    from pfgen_rs.generate.asking.costs import Budget, Prices
    from pfgen_rs.generate.engines import Engine
    from pfgen_rs.judge.judge import Judge
    from pfgen_rs.judge.prompts import Kind, Prompt

__all__ = ["AskOptions", "asking_options", "finish_asking", "resumable_asking"]

F = TypeVar("F", bound=Callable[..., Any])
_SHORT, _LONG = 64, 2048
"""Limits of a judge's output in tokens: for letters and numbers alone, and with reasons."""
_OPTIONAL = ("logprobs", "seed", "temperature")
_SHOWN = 5


@dataclass(frozen=True)
class AskOptions:
    """How a judge is asked; every field is an option."""

    engine: Annotated[
        EngineName,
        typer.Option("--engine", "-e", help="Engine that runs the judge.", show_default=False),
    ]
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="The judge's name for the engine.",
            show_default=False,
        ),
    ]
    temperature: Annotated[
        str,
        typer.Option(
            metavar="T|none", help="Sampling temperature, or 'none' for the engine's default."
        ),
    ] = "0"
    seed: Annotated[int, typer.Option(metavar="N", help="Sampling seed.")] = 1
    max_tokens: Annotated[
        str | None,
        typer.Option(
            metavar="N|none",
            help="Maximum length of the judge's output in tokens, thoughts included, or 'none' for the "
            f"engine's default (default: {_SHORT} for prompts that ask for a letter or a number only, else "
            f"{_LONG}).",
        ),
    ] = None
    logprobs: Annotated[
        str,
        typer.Option(
            metavar="N|none",
            help="Number of most likely tokens to get probabilities of, up to 20, or 'none'.",
        ),
    ] = "20"
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own prompts (TOML, or FastChat's judge_prompts.jsonl)."
        ),
    ] = None
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Engine option, such as dtype=float16; repeatable."
        ),
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of concurrent requests (openai).")
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="URL of the server (openai), usually ending in /v1."),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, metavar="SECONDS", help="Time limit of a request (openai)."),
    ] = None
    retries: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Number of retries per request (openai).")
    ] = None
    command: Annotated[
        str | None, typer.Option(metavar="'PROGRAM …'", help="Program that answers (command).")
    ] = None
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Prices of a million tokens (TOML): currency, and for each model [models."NAME"] with '
            "prompt and completion.",
        ),
    ] = None
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="COST", help="Stop before the cost could exceed this; requires --prices."
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How to count tokens beforehand: an encoding of tiktoken, or 'characters' (default: the "
            "model's encoding if tiktoken has it, else characters).",
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be asked and what it would cost, and ask nothing."
        ),
    ] = False
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Do not stop if many requests in a row fail.")
    ] = False

    def prompt(self, name: str, kind: Kind) -> Prompt:
        """Returns a prompt by name."""
        from pfgen_rs.judge.prompts import find_prompt

        return find_prompt(name, kind, self.prompts)

    def judge(self, prompt: Prompt, *, brief: bool) -> Judge:
        """Returns the judge; `brief`: whether the prompt asks for a letter or a number only."""
        from pfgen_rs.generate.engines.factory import recorded_name
        from pfgen_rs.judge.judge import Judge

        limit = prompt.max_tokens or (_SHORT if brief else _LONG)
        return Judge(
            recorded_name(self.engine.value),
            self.model,
            base_url=self._shown_base_url(),
            temperature=generate_values.number_or_none("--temperature", self.temperature),
            seed=self.seed,
            max_tokens=limit
            if self.max_tokens is None
            else generate_values.tokens_or_none("--max-tokens", self.max_tokens),
            logprobs=generate_values.tokens_or_none("--logprobs", self.logprobs),
        )

    def _shown_base_url(self) -> str | None:
        if self.engine is not EngineName.OPENAI:
            return None
        from pfgen_rs.generate.engines.openai_place import find_address

        return find_address(self.base_url)

    def ask(
        self,
        judge: Judge,
        doing: str,
        journal: Journal,
        requests: Sequence[Request],
        call: Callable[[Engine, Budget | None, AskingProgress], Asked],
    ) -> Asked | None:
        """Ask what the journal does not answer yet by `call`; with `--dry-run`, print an estimate instead.

        Returns `None` for a dry run.
        """
        from pfgen_rs.generate.asking.ask import open_requests
        from pfgen_rs.generate.asking.costs import Budget, estimated, read_prices, token_counter

        prices = None if self.prices is None else read_prices(self.prices, self.model)
        if self.budget is not None and prices is None:
            raise typer.BadParameter("--budget requires --prices", param_hint="--budget")
        needed = self.dry_run or self.budget is not None
        counter = token_counter(self.model, self.tokenizer) if needed else None
        if self.dry_run and counter is not None:
            open_ones = open_requests(journal, requests, judge)
            stored = len(requests) - len(open_ones)
            _tell_estimate(estimated(open_ones, stored, judge, counter, prices), prices)
            return None
        budget = None
        if self.budget is not None and prices is not None and counter is not None:
            budget = Budget(self.budget, prices, judge, counter, spent=_spent(journal, prices))
        with (
            closing(self._created_engine()) as engine,
            generate_view.generation_progress(doing) as progress,
        ):
            _check_logprobs(engine, judge)
            asked = call(engine, budget, progress)
        _tell_asked(asked, prices)
        return asked

    def _created_engine(self) -> Engine:
        from pfgen_rs.generate.engines import factory

        own = {
            "concurrency": self.concurrency,
            "base_url": self.base_url,
            "timeout": self.timeout,
            "retries": self.retries,
            "command": self.command,
        }
        chosen = {key: value for key, value in own.items() if value is not None}
        for key in chosen:
            if key != "command" and self.engine is not EngineName.OPENAI:
                raise typer.BadParameter(f"--{key.replace('_', '-')} requires the engine openai")
        if self.engine is EngineName.COMMAND and self.command is None:
            raise typer.BadParameter(
                "the engine command requires a program: --command 'PROGRAM …'",
                param_hint="--command",
            )
        given = generate_values.engine_options(generate_values.engine_settings(self.more or []))
        if self.engine is EngineName.OPENAI:
            given.setdefault("optional", _OPTIONAL)
        return factory.make(self.engine.value, self.model, **chosen, **given)


def asking_options(command: F) -> F:
    """Give a command the options of `AskOptions`, which it receives as its argument `asking`."""
    own = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    shared = get_type_hints(AskOptions, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    mine = [
        parameter.replace(annotation=hints[name], kind=keyword)
        for name, parameter in own.parameters.items()
        if name != "asking"
    ]
    theirs = [
        inspect.Parameter(
            field.name,
            keyword,
            annotation=shared[field.name],
            default=getattr(AskOptions, field.name, inspect.Parameter.empty),
        )
        for field in fields(AskOptions)
    ]

    @wraps(command)
    def wrapper(**given: Any) -> Any:
        asking = AskOptions(**{field.name: given.pop(field.name) for field in fields(AskOptions)})
        return command(**given, asking=asking)

    del wrapper.__wrapped__
    wrapper.__signature__ = own.replace(parameters=[*mine, *theirs])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in [*mine, *theirs]}
    return cast("F", wrapper)


def finish_asking(asked: Asked | None) -> None:
    """End with exit code 1 if something is open that no other process is working on."""
    if asked is not None and asked.stored + asked.elsewhere < asked.total:
        output.fail(1)


def resumable_asking(out: Path, doing: str) -> AbstractContextManager[None]:
    """After any error, say how to continue, because servers may recover and rate limits end."""
    how = "run the same command to continue"
    return output.resumable(lambda: out if out.is_dir() else None, doing, how, after_errors=how)


def _spent(journal: Journal, prices: Prices) -> float:
    """Returns what the stored answers have cost, as far as their tokens were reported."""
    from pfgen_rs.generate.asking.journal import journal_records

    used = [record.get("usage") or {} for record in journal_records(journal.path)]
    prompt, completion = (
        sum(each.get(f"{kind}_tokens", 0) for each in used) for kind in ("prompt", "completion")
    )
    return prices.cost(prompt, completion)


def _check_logprobs(engine: Engine, judge: Judge) -> None:
    from pfgen_rs.generate.engines import abilities

    if judge.logprobs is not None and "logprobs" not in abilities(engine):
        output.warn(
            f"the engine {engine.name!r} reports no log probabilities: decisions by probability and expected "
            "ratings are not possible"
        )


def _tell_estimate(estimate: Any, prices: Prices | None) -> None:
    most = estimate.completion_tokens
    lines = [
        f"{counted(estimate.requests, 'request')} to send, {estimate.stored:,} already answered",
        f"prompt tokens: {estimate.prompt_tokens:,} (counted by {estimate.counter})",
        "completion tokens: " + ("no limit" if most is None else f"at most {most:,}"),
    ]
    if prices is not None:
        cost = "unknown" if estimate.cost is None else f"at most {prices.shown(estimate.cost)}"
        lines.append(f"cost: {cost}")
    output.emit("\n".join(lines) + "\n")


def _tell_asked(asked: Asked, prices: Prices | None) -> None:
    for failure in asked.failures[:_SHOWN]:
        output.warn(f"{failure.subject}: {failure.reason}")
    if asked.failures:
        count = len(asked.failures)
        output.warn(f"{counted(count, 'request')} failed: run the same command to ask again")
    if asked.elsewhere:
        output.warn(f"{counted(asked.elsewhere, 'request')} in progress in other processes")
    if asked.unaffordable:
        output.warn(
            f"{counted(asked.unaffordable, 'request')} not sent: the budget does not allow more"
        )
    if asked.spent is not None and prices is not None:
        output.remark(f"cost so far: {prices.shown(asked.spent)}")
