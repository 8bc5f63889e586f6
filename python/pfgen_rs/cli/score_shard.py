"""`pfgen-rs score --shard`: scores a part of the files into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfgen_rs.errors import SettingsError
from pfgen_rs.io.counted import counted

if TYPE_CHECKING:
    from pfgen_rs.benchmark import Benchmark
    from pfgen_rs.io import Options

__all__ = ["checked_shard", "refuse_with_shard", "score_and_report"]

_ADVICE = {
    "--per-response": "give it to pfgen-rs merge, and --rows here",
    "--resume": "run the same command again",
}
_OTHERWISE = "give it to pfgen-rs merge"


def checked_shard(text: str | None) -> str | None:
    """Check `I/N`."""
    if text is None:
        return None
    from pfgen_rs.runs.shard_plan import Shard

    try:
        Shard.parse(text)
    except SettingsError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def refuse_with_shard(
    shard: str | None, others: Mapping[str, bool], *, out: Path | None, rows: bool
) -> None:
    """Raise for options that make no sense with, or without, a shard; `others`: whether they are given."""
    if shard is None:
        if rows:
            raise typer.BadParameter("requires --shard", param_hint="'--rows'")
        return
    for name in (name for name, given in others.items() if given):
        advice = _ADVICE.get(name, _OTHERWISE)
        raise typer.BadParameter(f"cannot be used with --shard: {advice}", param_hint=f"'{name}'")
    if out is None:
        raise typer.BadParameter(
            "requires --out DIR, the folder of the shard", param_hint="'--shard'"
        )


def score_and_report(
    benchmark: Benchmark,
    paths: Sequence[str],
    reading: Options,
    shard: str,
    out: Path,
    **how: Any,
) -> None:
    """Score a shard into its folder, and say what it has."""
    from pfgen_rs.cli import output
    from pfgen_rs.runs.shard_plan import Shard
    from pfgen_rs.runs.shards import ShardJob

    job = ShardJob(benchmark, paths, reading, Shard.parse(shard), **how)
    with output.scoring(job.sources) as progress:
        found = job.run(out, progress)
    answers, files = counted(found.responses, "answer"), counted(len(found.inputs), "file")
    pieces = f"{len(found.mine)} of {counted(len(found.pieces), 'piece')}"
    output.remark(f"{found.shard}: scored {answers} in {pieces} of {files}")
