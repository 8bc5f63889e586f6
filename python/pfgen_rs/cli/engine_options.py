"""Options of all commands that ask models, and the engine that they describe."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import progress as bars
from rich.text import Text

from pfgen_rs.ask import engines
from pfgen_rs.cli import process, terminal
from pfgen_rs.cli.progress import logged, told_at_times
from pfgen_rs.errors import unreadable
from pfgen_rs.io.text import counted

if TYPE_CHECKING:
    from pfgen_rs.ask import Engine, costs, loop
    from pfgen_rs.ask.journal import Journal
    from pfgen_rs.ask.request import Group

_OWN = ("concurrency", "base_url", "command")
"""Options that only those engines have whose class takes them."""
_OPTIONAL = ("logprobs", "seed", "temperature")
_WAITING = ("poll", "wait")
"""Settings of batches, whatever the engine."""
_SHOWN = 5
_KEY = re.compile(r"_?[a-z][a-z0-9_]*")
_RESERVED = {
    "think": "--think",
    "questions": "--benchmark",
    "concurrency": "--concurrency",
    "base_url": "--base-url",
    "command": "--command",
    "name": "--name",
    "model": "MODEL",
}


def _known_engine(name: str) -> str:
    if name not in engines.names():
        raise typer.BadParameter(
            f"unknown engine {name!r}: expected one of {', '.join(engines.names())}"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """An engine and how it is asked; every field is an option of all commands that ask models."""

    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            "-e",
            metavar="|".join(engines.names()),
            callback=_known_engine,
            help="Engine that runs the model.",
            show_default=False,
        ),
    ]
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Engine option (JSON, text, or @FILE), such as dtype=float16 or timeout=60; "
            "repeatable. A run's config.json records what may change answers, unless KEY begins with _, as "
            "in _tensor_parallel_size=8.",
        ),
    ] = None
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of concurrent requests (openai, anthropic; default: as many as raise the "
            "throughput, at most 512); fewer after the server refuses some.",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="URL of the server (openai, anthropic), including /v1 if it has that path.",
        ),
    ] = None
    command: Annotated[
        str | None, typer.Option(metavar="'PROGRAM …'", help="Program that answers (command).")
    ] = None
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Ask in batches, which cost less and take up to a day (openai, anthropic); if it is "
            "interrupted, the same command collects them. --set wait=false submits and ends.",
        ),
    ] = False
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Prices of a million tokens (TOML): currency, and for each model [models."NAME"] with '
            "prompt, completion and possibly cached and batch (share of the price in batches). Prints the "
            "largest possible cost before and the cost after.",
        ),
    ] = None
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Do not stop if many requests in a row fail or get blank answers."
        ),
    ] = False

    def prices_of(self, model: str) -> tuple[costs.Prices, costs.Prices] | None:
        """Returns the prices of a model, as listed and as they are for what is asked now."""
        from pfgen_rs.ask import costs

        if self.prices is None:
            return None
        listed = costs.read_prices(self.prices, model)
        if not self.batch:
            return listed, listed
        if listed.batch is None:
            process.remark(
                f"{self.prices}: states no share of the price for batches: full prices are taken (for half: "
                "batch = 0.5)"
            )
        return listed, listed.in_batches()

    def create(self, model: str, settings: Mapping[str, Any]) -> Engine:
        """Returns the engine for a model. `settings`: options by name, besides those of the command line.

        Raises `BadParameter` for an option that the engine does not take, or that it lacks.
        """
        own = self.own_options()
        takes = engines.options(self.engine)
        waiting = {name: settings[name] for name in _WAITING if name in settings.keys() - takes}
        others = {name: value for name, value in settings.items() if name not in waiting}
        if waiting and not self.batch:
            raise typer.BadParameter(f"{next(iter(waiting))} requires --batch", param_hint="--set")
        engine = engines.make(self.engine, model, **own, **others)
        return engines.in_batches(engine, **waiting) if self.batch else engine

    def own_options(self) -> dict[str, Any]:
        """Returns the options of the engine that have options of the command line; raises as `create`."""
        given = {name: getattr(self, name) for name in _OWN}
        chosen = {name: value for name, value in given.items() if value is not None}
        takes = engines.options(self.engine)
        for name in chosen:
            if name not in takes:
                able = " or ".join(engines.names_with(name))
                raise typer.BadParameter(f"--{name.replace('_', '-')} requires the engine {able}")
        if "command" in takes and "command" not in chosen:
            raise typer.BadParameter(
                f"the engine {self.engine} requires a program: --command 'PROGRAM …'",
                param_hint="--command",
            )
        return chosen


@dataclass(frozen=True, kw_only=True)
class EngineOptions(EngineChoice):
    """How a model is asked whose answers go to a journal; every field is an option."""

    temperature: Annotated[
        str,
        typer.Option(
            metavar="T|none", help="Sampling temperature, or 'none' for the engine's default."
        ),
    ] = "0"
    seed: Annotated[int, typer.Option(metavar="N", help="Sampling seed.")] = 1
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="COST", help="Stop before the cost could exceed this; requires --prices."
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be asked and what it would cost, and ask nothing."
        ),
    ] = False

    def shown_base_url(self) -> str | None:
        """Returns the server's address for the record; `None` for engines without one."""
        if "base_url" not in engines.options(self.engine):
            return None
        from pfgen_rs.ask.server import find_address

        return find_address(self.base_url, engines.kind(self.engine).service)

    def temperature_value(self) -> float | None:
        """Returns the temperature, `None` for the engine's default."""
        return number_or_none("--temperature", self.temperature)

    def ask_groups(
        self,
        groups: Sequence[Group],
        doing: str,
        journal: Journal,
        call: Callable[..., loop.Asked],
    ) -> loop.Asked | None:
        """Ask one model what the journal does not answer yet by `call`; with `--dry-run`, print an estimate.

        `call` gets `engine`, `budget`, `keep_going` and `progress`. Returns `None` for a dry run.
        """
        from pfgen_rs.ask import costs, loop
        from pfgen_rs.io.json_lines import journal_records

        model = groups[0].respondent.model
        if self.budget is not None and self.prices is None:
            raise typer.BadParameter("--budget requires --prices", param_hint="--budget")
        listed, prices = self.prices_of(model) or (None, None)
        budget = None
        if self.dry_run or prices is not None:
            counter = costs.token_counter(model)  # which may look for a vocabulary in the network
            left = loop.open_requests(journal, groups)
            stored = sum(len(group.requests) for group in groups)
            estimate = costs.estimate(left, counter)
            if self.dry_run:
                tell_dry_run(estimate, stored - estimate.requests, counter, prices)
                return None
            tell_estimate(estimate, counter, prices)
            if self.budget is not None and prices is not None and listed is not None:
                spent = listed.spent(journal_records(journal.path))
                budget = costs.Budget(self.budget, prices, counter, groups, spent)
        with (
            closing(self._created(model)) as engine,
            asking_progress(doing, status_of(engine)) as progress,
        ):
            limits = {"budget": budget, "keep_going": self.keep_going, "progress": progress}
            asked = call(engine=engine, **limits)
        if listed is not None and budget is None:
            asked = replace(asked, spent=listed.spent(journal_records(journal.path)))
        tell_asked(asked, prices)
        return asked

    def _created(self, model: str) -> Engine:
        settings = unprefixed(engine_settings(self.more or []))
        if "optional" in engines.options(self.engine):
            settings.setdefault("optional", _OPTIONAL)
        return self.create(model, settings)


def number_or_none(option: str, text: str) -> float | None:
    """Parse a number, or 'none' as `None`."""
    try:
        return None if is_none(text) else float(text)
    except ValueError:
        raise _invalid(option, text, "a number") from None


def tokens_or_none(option: str, text: str) -> int | None:
    """Parse a positive integer, or 'none' as `None`."""
    if is_none(text):
        return None
    number = int(text) if re.fullmatch(r"\s*\+?\d{1,18}\s*", text) else 0
    if number < 1:
        raise _invalid(option, text, "a positive integer")
    return number


def _invalid(option: str, text: str, expected: str) -> typer.BadParameter:
    said = f"invalid value {text!r}: expected {expected} or 'none'"
    return typer.BadParameter(said, param_hint=option)


def is_none(text: str) -> bool:
    """Whether a value is the word 'none'."""
    return text.strip().lower() == "none"


def engine_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Parse KEY=VALUE: the value is JSON if it is valid, a file's text after @, and text otherwise."""
    found = {}
    for pair in pairs:
        key, given, value = pair.partition("=")
        if not given or not _KEY.fullmatch(key):
            raise typer.BadParameter(
                f"invalid setting {pair!r}: expected KEY=VALUE", param_hint="--set"
            )
        if (plain := key.removeprefix("_")) in _RESERVED:
            raise typer.BadParameter(f"use {_RESERVED[plain]} for {plain}", param_hint="--set")
        found[key] = _setting_value(value)
    return found


def unprefixed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the engine's own options: all settings, without the leading underscore."""
    return {key.removeprefix("_"): value for key, value in given.items()}


def _setting_value(text: str) -> Any:
    if text.startswith("@"):
        return _file_text(Path(text[1:]))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        problem = f"{path}: {unreadable(error)}"
    raise typer.BadParameter(problem, param_hint="--set")


# Progress, and what is told at the end.


EVERY = 30.0
"""Seconds between progress lines if standard error is not a terminal."""


def status_of(engine: Engine) -> Callable[[], str]:
    """Returns what says what an engine is waiting for, if it tells."""
    return lambda: str(getattr(engine, "status", ""))


@contextmanager
def asking_progress(
    doing: str = "generating", status: Callable[[], str] = str
) -> Iterator[Callable[[int, int, float, int], None]]:
    """Show a progress bar with answers per second, failures and remaining time. Yields its update function.

    `status` is asked what to show besides. If standard error is not a terminal, prints the same as a line at
    intervals.
    """
    process.interrupt_reads()
    name = bars.TextColumn("{task.description}", markup=False)
    rate = bars.TextColumn("{task.fields[rate]}", markup=False)
    columns = (bars.SpinnerColumn(), name, bars.BarColumn(), bars.MofNCompleteColumn(), rate)
    line, told = [""], [""]

    def shown_line() -> str:
        waiting = status()
        shown = ", ".join(filter(None, [line[0], waiting]))
        # Batches take hours.
        new = "" if waiting and shown == told[0] else shown
        told[0] = shown
        return new

    with (
        terminal.progress(*columns, _Status(status), bars.TimeRemainingColumn()) as bar,
        logged("pfgen_rs.generate"),
        told_at_times(shown_line, EVERY),
    ):
        task = bar.add_task(doing, total=None, rate="")

        def update(done: int, total: int, rate: float, failed: int) -> None:
            line[0] = _line(done, total, rate, failed)
            shown = ", ".join([*_rate(rate, " answers"), *_failures(failed)])
            bar.update(task, completed=done, total=total, rate=shown)

        yield update


class _Status(bars.ProgressColumn):
    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self._status = status

    def render(self, _task: bars.Task) -> Text:
        return Text(self._status())


def _line(done: int, total: int, rate: float, failed: int) -> str:
    parts = [f"{done:,} of {counted(total, 'answer')}", *_rate(rate)]
    if rate:
        parts.append(f"{_duration((total - done - failed) / rate)} left")
    return ", ".join([*parts, *_failures(failed)])


def _rate(rate: float, of: str = "") -> list[str]:
    return [f"{rate:,.1f}{of}/s"] if rate else []


def _failures(failed: int) -> list[str]:
    return [f"{failed:,} failed"] if failed else []


def _duration(seconds: float) -> str:
    """Format a duration for people, rounded up."""
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def finish_asking(asked: loop.Asked | None) -> None:
    """End with exit code 1 if something is open that no other process is working on."""
    if asked is not None and asked.stored + asked.elsewhere < asked.total:
        process.fail(1)


def resumable_asking(out: Path, doing: str) -> AbstractContextManager[None]:
    """After any error, say how to continue, because servers may recover and rate limits end."""
    how = "run the same command to continue"
    return process.resumable(lambda: out if out.is_dir() else None, doing, how, after_errors=how)


def tell_dry_run(
    estimate: costs.Estimate,
    stored: int,
    counter: costs.TokenCounter,
    prices: costs.Prices | None,
) -> None:
    """Print what would be asked; `stored`: number of requests that are answered already."""
    most = estimate.completion
    lines = [
        f"{counted(estimate.requests, 'request')} to send, {stored:,} already answered",
        f"prompt tokens: {estimate.prompt:,} (counted by {counter.name})",
        "completion tokens: " + ("no limit" if most is None else f"at most {most:,}"),
    ]
    if prices is not None:
        cost = estimate.cost(prices)
        lines.append("cost: unknown" if cost is None else f"cost: at most {prices.shown(cost)}")
    process.emit("\n".join(lines) + "\n")


def tell_estimate(
    estimate: costs.Estimate, counter: costs.TokenCounter, prices: costs.Prices | None
) -> None:
    """Say what requests cost at most, if there are prices."""
    if prices is None or not estimate.requests:
        return
    cost = estimate.cost(prices)
    most = (
        "unknown, since the output has no limit"
        if cost is None
        else f"at most {prices.shown(cost)}"
    )
    process.remark(
        f"cost of {counted(estimate.requests, 'request')}: {most} (tokens counted by {counter.name})"
    )


def tell_asked(asked: loop.Asked, prices: costs.Prices | None = None) -> None:
    """Warn about what failed and what is open, and print the cost."""
    for failure in asked.failures[:_SHOWN]:
        process.warn(f"{failure.subject}: {failure.reason}")
    if asked.failures:
        count = len(asked.failures)
        process.warn(f"{counted(count, 'request')} failed: run the same command to ask again")
    if asked.elsewhere:
        process.warn(f"{counted(asked.elsewhere, 'request')} in progress in other processes")
    if asked.unaffordable:
        process.warn(
            f"{counted(asked.unaffordable, 'request')} not sent: the budget does not allow more"
        )
    if asked.spent is not None and prices is not None:
        process.remark(f"cost so far: {prices.shown(asked.spent)}")
