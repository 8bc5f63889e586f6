"""Suggesting rules for the candidates of a configuration, one question at a time."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from pfgen_rs.errors import ConfigError
from pfgen_rs.references.candidates import GatherProgress, gather, input_files
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pool import Pool
from pfgen_rs.references.suggest import Suggestion, frequent_names, suggest_rules

__all__ = ["Mined", "mine_rules"]

SAMPLE = 50_000  # answers examined per question
_FEW = 5_000  # answers examined for ordinary words
_COMMON = 3  # questions in whose answers a name is frequent, if it is an ordinary word


class Mined(NamedTuple):
    """A question, how many of its answers were examined, and the suggestions for it."""

    outline: Outline
    answers: int
    suggestions: list[Suggestion]


def mine_rules(
    config: BuildConfig,
    *,
    outlines: Sequence[Outline] | None = None,
    top: int = 20,
    memory: int = 1 << 30,
    progress: GatherProgress | None = None,
) -> list[Mined]:
    """Returns the `top` suggestions for each question of a configuration.

    Candidates are normalised first if the configuration includes that step. What the example answers and
    keywords of the questions state is taken to be right, and names that are frequent in the answers to three
    questions to be ordinary words. Raises the same errors as `pipeline.build` for invalid candidates and
    configurations, and `ConfigError` for tokens.
    """
    if config.unit == "token":
        raise ConfigError("rules need text: they cannot be suggested for the unit 'token'")
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
        pools = [
            (outline, Pool(Path(folder, outline.question_id)), count)
            for outline, count in gathered.questions
        ]
        counts = Counter(
            name
            for _, pool, count in pools
            for name in frequent_names(
                _mining_sample(pool, count, _FEW, style)["answer"], config.unit
            )
        )
        common = {name for name, count in counts.items() if count >= _COMMON}
        return [
            _mined_question(
                outline, _mining_sample(pool, count, SAMPLE, style), common, config, top
            )
            for outline, pool, count in pools
        ]


def _mined_question(
    outline: Outline, sample: pl.DataFrame, common: set[str], config: BuildConfig, top: int
) -> Mined:
    found = suggest_rules(
        sample["answer"],
        models=sample["model"],
        stated="\n".join([outline.note, json.dumps(list(outline.keywords), ensure_ascii=False)]),
        common=common,
        unit=config.unit,
        top=top,
    )
    return Mined(outline, sample.height, found)


def _mining_sample(pool: Pool, count: int, most: int, style: Style | None) -> pl.DataFrame:
    """Returns every k-th answer of a pool with its model, normalised if a style is given."""
    step, at = max(1, -(-count // most)), 0
    pieces = [pl.DataFrame(schema={"answer": pl.String, "model": pl.String})]
    for frame in pool.frames("answer", "model"):
        rows = frame.gather_every(step, -at % step)
        at += frame.height
        if style is not None:
            found = style.apply(rows.get_column("answer"))
            rows = rows.with_columns(answer=found.answers).filter(pl.Series(found.kept))
        pieces.append(rows)
    return pl.concat(pieces)
