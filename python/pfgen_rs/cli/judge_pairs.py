"""`pfgen-rs judge pairs`: pairs out of the answers of two or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pfgen_rs.cli import options, output
from pfgen_rs.cli.scoring_options import ReadingOptions
from pfgen_rs.io.counted import counted

__all__ = ["pairs"]


@options.with_options(ReadingOptions, "reading")
def pairs(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…", help="Files or folders of two or more runs.", show_default=False
        ),
    ],
    reading: ReadingOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write (JSON lines).")
    ],
    benchmark: options.BenchmarkName = None,
    trials: Annotated[
        str,
        typer.Option(metavar="N|all", help="Number of answers to each question to pair, or 'all'."),
    ] = "1",
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of pairs for every two runs, spread evenly over the questions (default: all).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the sample.")] = 0,
) -> None:
    """Make pairs of answers to the same question, for every two runs.

    The n-th answer of one run meets the n-th of the other. Which of two models comes first alternates. The
    benchmark's example answers become reference answers.

    Example: `pfgen-rs judge pairs runs/a runs/b -b pfgen-bench --out pairs.jsonl`
    """
    from pfgen_rs.judge.pairs import pairs_of_runs, references_of, write_pairs
    from pfgen_rs.runs.naming import named_results

    results = named_results(reading.score(runs, options.load(benchmark, None)))
    frames = {name: result.frame for name, result in results.items()}
    found = pairs_of_runs(
        frames,
        references=references_of(benchmark),
        trials=_pair_trials(trials),
        sample=sample,
        seed=seed,
    )
    write_pairs(out, found)
    questions = len({pair.question_id for pair in found})
    output.emit(
        f"wrote {counted(len(found), 'pair')} of {counted(questions, 'question')} to {out}\n"
    )


def _pair_trials(text: str) -> int | None:
    if text == "all":
        return None
    if text.isdecimal() and int(text):
        return int(text)
    raise typer.BadParameter(
        f"invalid value {text!r}: expected a positive integer or 'all'", param_hint="--trials"
    )
