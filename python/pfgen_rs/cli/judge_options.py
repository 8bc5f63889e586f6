"""Options that commands of `pfgen-rs judge` share, and reading and writing that goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer
from rich.table import Table

from pfgen_rs.cli import engine_options, options, process, terminal
from pfgen_rs.io.text import counted
from pfgen_rs.judge.decisions import Rule

if TYPE_CHECKING:
    from pfgen_rs.ask import Engine, loop, request
    from pfgen_rs.ask.journal import Journal
    from pfgen_rs.judge.requests import Judge, Kind, Prompt
    from pfgen_rs.judge.verdict_folder import FolderVerdicts, VerdictFolder

_SHORT, _LONG = 64, 2048
"""Limits of a judge's output in tokens: for letters and numbers alone, and with reasons."""
NONE = "–"


Pairs = Annotated[
    Path,
    typer.Argument(
        metavar="PAIRS",
        help="File of pairs (JSON lines), or `traps`: the bundled ones.",
        show_default=False,
    ),
]
Verdicts = Annotated[
    Path, typer.Argument(metavar="VERDICTS", help="Folder of verdicts.", show_default=False)
]
Folders = Annotated[
    list[Path],
    typer.Argument(
        metavar="VERDICTS…",
        help="Folders of verdicts of one or more judges on the same pairs.",
        show_default=False,
    ),
]
By = Annotated[
    Rule | None,
    typer.Option(
        help="Rule by which pairs are decided; `judge decide` explains them (default: probability, or strict "
        "where no judgment has probabilities).",
        show_default=False,
    ),
]
Humans = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Verdicts of people: JSON lines or CSV with id, rater and verdict (A, B or C).",
    ),
]
PromptName = Annotated[
    str,
    typer.Option("--prompt", metavar="NAME", help="Prompt: a built-in one, or one of --prompts."),
]
Samples = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="K",
        help="Number of independent answers to each request; several need a temperature above 0.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random choices.")]


def number(value: float | None, digits: int, scale: float = 1) -> str:
    """Returns a number as text, – if it is unknown."""
    return NONE if value is None or value != value else f"{scale * value:.{digits}f}"


def percent(value: float | None) -> str:
    """Returns a share as text, in percent."""
    return number(value, 1, 100)


def range_text(low: float | None, high: float | None, scale: float = 100, digits: int = 1) -> str:
    """Returns an interval as text."""
    bounds = (number(low, digits, scale), number(high, digits, scale))
    return NONE if NONE in bounds else " to ".join(bounds)


def rows_table(
    names: Sequence[str],
    rows: Iterable[Iterable[object]],
    *,
    words: int = 1,
    title: str | None = None,
) -> Table:
    """Returns a table of rows; the columns after the first `words` are numbers."""
    return terminal.new_table(*names, numbers=names[words:], title=title, rows=rows)


def read_decisions(paths: Sequence[Path], by: str | None = None) -> list[FolderVerdicts]:
    """Returns what folders on the same pairs say; warns of what is missing, out of date or undecided."""
    from pfgen_rs.judge.verdict_folder import coverage_notes, read_verdicts

    read = read_verdicts(paths)
    warn_all(coverage_notes(read, by))
    return read


def chosen_rule(read: Sequence[FolderVerdicts], by: Rule | None) -> Rule:
    """Returns the rule by which pairs are decided; says so where it is not the usual one."""
    from pfgen_rs.judge.verdict_folder import default_rule

    rule = by or default_rule(read)
    if by is None and rule != "probability":
        process.remark(f"no judgment has probabilities: pairs are decided by {rule} (--by)")
    return rule


def warn_all(notes: Iterable[str]) -> None:
    """Print warnings."""
    for note in notes:
        process.warn(note)


def warn_of_doubts(folder: VerdictFolder) -> None:
    """Say how many verdicts are doubtful (see `VerdictFolder.doubts`), if any are."""
    from pfgen_rs.judge.verdict_folder import named

    doubts = folder.doubts()
    doubtful = doubts.drop_nulls("doubt")["pair"].unique(maintain_order=True).to_list()
    if doubtful:
        count = len(doubts) - doubts["doubt"].null_count()
        process.warn(
            f"{count:,} of {counted(len(doubts), 'verdict')} ({100 * count / len(doubts):.1f} %) are "
            "doubtful, since the output begins with a refusal or has several letters: see those of pairs "
            f"{named(doubtful)} with pfgen-rs judge page"
        )


def tell_asked(out: Path, asked: loop.Asked, what: str) -> None:
    """Print how many judgments, ratings or answers a folder has now."""
    process.emit(f"{out}: {asked.stored:,} of {counted(asked.total, what)}, {asked.new:,} new\n")


@dataclass(frozen=True, kw_only=True)
class AskOptions(engine_options.EngineOptions):
    """How a judge is asked; every field is an option."""

    temperature: Annotated[
        str,
        typer.Option(
            metavar="T|none",
            help="Sampling temperature, or 'none' for the engine's default (default: 0, or 1 with several "
            "samples).",
            show_default=False,
        ),
    ] = ""

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

    def prompt(self, name: str, kind: Kind) -> Prompt:
        """Returns a prompt by name."""
        from pfgen_rs.judge.requests import find_prompt

        return find_prompt(name, kind, self.prompts)

    def judge(self, prompt: Prompt, *, brief: bool, samples: int = 1) -> Judge:
        """Returns the judge; `brief`: whether the prompt asks for a letter or a number only."""
        from pfgen_rs.ask.engines import recorded_name
        from pfgen_rs.judge.requests import Judge

        limit: int | None = prompt.max_tokens or (_SHORT if brief else _LONG)
        if self.max_tokens is not None:
            limit = engine_options.tokens_or_none("--max-tokens", self.max_tokens)
        return Judge(
            recorded_name(self.engine),
            self.model,
            base_url=self.shown_base_url(),
            temperature=self.temperature_value() if self.temperature else float(samples > 1),
            seed=self.seed,
            max_tokens=limit,
            logprobs=engine_options.tokens_or_none("--logprobs", self.logprobs),
        )

    def ask(
        self,
        judge: Judge,
        doing: str,
        journal: Journal,
        requests: Sequence[request.Request],
        call: Callable[..., loop.Asked],
    ) -> loop.Asked | None:
        """Ask what the journal does not answer yet by `call`; with `--dry-run`, print an estimate instead.

        `call` gets `engine`, `budget`, `keep_going` and `progress`. Returns `None` for a dry run.
        """
        from pfgen_rs.ask import abilities, request

        def checked(engine: Engine, **limits: Unpack[loop.Limits]) -> loop.Asked:
            alone = not any(each.sample for each in requests[-1:])
            if judge.logprobs is not None and alone and "logprobs" not in abilities(engine):
                process.warn(
                    f"the engine {engine.name!r} reports no log probabilities: decisions by probability and "
                    "expected ratings are not possible"
                )
            return call(engine=engine, **limits)

        return self.ask_groups([request.Group(judge, requests)], doing, journal, checked)


@dataclass(frozen=True, kw_only=True)
class RetryOptions(AskOptions):
    """How a judge is asked whose invalid outputs are kept in a folder."""

    retry_invalid: Annotated[
        bool,
        typer.Option(
            "--retry-invalid",
            help="Ask again what was cut off or is invalid, if need be with another --max-tokens than "
            "before; what is valid stays.",
        ),
    ] = False

    def retrying(self, judge: Judge, folder: Path) -> Judge:
        """Returns the judge as it asks in a folder, again about what is invalid there if that is wished."""
        from pfgen_rs.ask.request import Retry
        from pfgen_rs.io.run_files import CONFIG
        from pfgen_rs.judge.requests import folder_config

        if not self.retry_invalid or not (folder / CONFIG).exists():
            return judge
        config = folder_config(folder)
        begun = config.get("judge", config.get("model"))
        limit = begun.get("max_tokens") if isinstance(begun, Mapping) else judge.max_tokens
        now = limit if self.max_tokens is None else judge.max_tokens
        return replace(judge, max_tokens=limit, retry=Retry(now))


asking_options = options.with_options(AskOptions, "asking")
"""Gives a command the options of `AskOptions`, which it receives as its argument `asking`."""
retrying_options = options.with_options(RetryOptions, "asking")
"""Gives a command the options of `RetryOptions`, which it receives as its argument `asking`."""
