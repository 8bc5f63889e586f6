"""Options that commands share which ask models by an engine, and the engine that they describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pfgen_rs.cli import generate_values, generate_view, output
from pfgen_rs.cli.generate_values import EngineName
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.ask.costs import Budget, Estimate, Prices, TokenCounter
    from pfgen_rs.ask.journal import Journal
    from pfgen_rs.ask.loop import Asked, AskingProgress
    from pfgen_rs.ask.protocol import Engine
    from pfgen_rs.ask.request import Request, Respondent

__all__ = [
    "BudgetOf",
    "EngineOptions",
    "finish_asking",
    "resumable_asking",
]

BudgetOf = Callable[["Respondent"], "Budget | None"]
"""Returns the budget that is left for requests to a respondent, `None` without a limit."""
_OPTIONAL = ("logprobs", "seed", "temperature")
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """How a model is asked; every field is an option."""

    engine: Annotated[
        EngineName,
        typer.Option("--engine", "-e", help="Engine that runs the model.", show_default=False),
    ]
    temperature: Annotated[
        str,
        typer.Option(
            metavar="T|none", help="Sampling temperature, or 'none' for the engine's default."
        ),
    ] = "0"
    seed: Annotated[int, typer.Option(metavar="N", help="Sampling seed.")] = 1
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

    def shown_base_url(self) -> str | None:
        """Returns the server's address for the record; `None` for engines without one."""
        if self.engine is not EngineName.OPENAI:
            return None
        from pfgen_rs.ask.server import find_address

        return find_address(self.base_url)

    def temperature_value(self) -> float | None:
        """Returns the temperature, `None` for the engine's default."""
        return generate_values.number_or_none("--temperature", self.temperature)

    def ask_groups(
        self,
        groups: Sequence[tuple[Respondent, Sequence[Request]]],
        doing: str,
        journal: Journal,
        call: Callable[[Engine, BudgetOf, AskingProgress], Asked],
    ) -> Asked | None:
        """Ask one model what the journal does not answer yet by `call`; with `--dry-run`, print an estimate.

        `groups`: requests with the same sampling parameters. Returns `None` for a dry run.
        """
        from pfgen_rs.ask.costs import Budget, read_prices, token_counter

        model = groups[0][0].model
        prices = None if self.prices is None else read_prices(self.prices, model)
        if self.budget is not None and prices is None:
            raise typer.BadParameter("--budget requires --prices", param_hint="--budget")
        needed = self.dry_run or self.budget is not None
        counter = token_counter(model, self.tokenizer) if needed else None
        if self.dry_run and counter is not None:
            _tell_estimate(_estimate_of_groups(groups, journal, counter, prices), prices)
            return None

        def budget_of(respondent: Respondent) -> Budget | None:
            if self.budget is None or prices is None or counter is None:
                return None
            return Budget(self.budget, prices, respondent, counter, spent=_spent(journal, prices))

        for respondent, _ in groups:
            budget_of(respondent)  # for its errors
        with (
            closing(self._created_engine(model)) as engine,
            generate_view.generation_progress(doing) as progress,
        ):
            asked = call(engine, budget_of, progress)
        _tell_asked(asked, prices)
        return asked

    def _created_engine(self, model: str) -> Engine:
        from pfgen_rs.ask import engines

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
        return engines.make(self.engine.value, model, **chosen, **given)


def finish_asking(asked: Asked | None) -> None:
    """End with exit code 1 if something is open that no other process is working on."""
    if asked is not None and asked.stored + asked.elsewhere < asked.total:
        output.fail(1)


def resumable_asking(out: Path, doing: str) -> AbstractContextManager[None]:
    """After any error, say how to continue, because servers may recover and rate limits end."""
    how = "run the same command to continue"
    return output.resumable(lambda: out if out.is_dir() else None, doing, how, after_errors=how)


def _estimate_of_groups(
    groups: Sequence[tuple[Respondent, Sequence[Request]]],
    journal: Journal,
    counter: TokenCounter,
    prices: Prices | None,
) -> Estimate:
    from pfgen_rs.ask.costs import estimated, joined_estimates
    from pfgen_rs.ask.loop import open_requests

    found = []
    for respondent, requests in groups:
        open_ones = open_requests(journal, requests, respondent)
        stored = len(requests) - len(open_ones)
        found.append(estimated(open_ones, stored, respondent, counter, prices))
    return joined_estimates(found)


def _spent(journal: Journal, prices: Prices) -> float:
    """Returns what the stored answers have cost, as far as their tokens were reported."""
    from pfgen_rs.ask.journal import journal_records

    used = [record.get("usage") or {} for record in journal_records(journal.path)]
    prompt, completion = (
        sum(each.get(f"{kind}_tokens", 0) for each in used) for kind in ("prompt", "completion")
    )
    return prices.cost(prompt, completion)


def _tell_estimate(estimate: Estimate, prices: Prices | None) -> None:
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
