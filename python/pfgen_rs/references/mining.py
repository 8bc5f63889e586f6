"""Suggesting rules for the candidates of a configuration, one question at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pfgen_rs.references.candidates import GatherProgress, gather, input_files
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool
from pfgen_rs.references.suggest import Suggestion, suggest_rules

__all__ = ["mine_rules"]

SAMPLE = 50_000  # answers examined per question


def mine_rules(
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    top: int = 20,
    memory: int = 1 << 30,
    progress: GatherProgress | None = None,
) -> dict[str, list[Suggestion]]:
    """Returns the `top` suggestions for each question of a configuration, by question id.

    Candidates are normalised first if the configuration includes that step. Raises the same errors as
    `pipeline.build` for invalid candidates and configurations.
    """
    if outlines is None and config.questions:
        outlines = read_outlines(config.path(config.questions))
    style = None
    if "normalise" in config.steps:
        extra = [config.path(name) for name in config.normalise.extra]
        style = Style.standard(extra, config.normalise.without)
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-") as folder:
        gathered = gather(
            config, input_files(config), outlines, Path(folder), memory=memory, progress=progress
        )
        return {
            outline.question_id: suggest_rules(
                _mining_sample(Pool(Path(folder, outline.question_id)), count, style), top=top
            )
            for outline, count in gathered.questions
        }


def _mining_sample(pool: Pool, count: int, style: Style | None) -> pl.Series:
    """Returns every k-th answer of a pool, normalised if a style is given."""
    step, at = max(1, -(-count // SAMPLE)), 0
    pieces = [pl.Series("answer", [], dtype=pl.String)]
    for frame in pool.frames("answer"):
        answers = frame.get_column("answer").gather_every(step, -at % step)
        at += frame.height
        if style is not None:
            found = style.apply(answers)
            answers = found.answers.filter(pl.Series(found.kept))
        pieces.append(answers)
    return pl.concat(pieces)
