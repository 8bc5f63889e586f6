"""Keeping the answers that agree most with the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import ConfigError, SettingsError
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.references.leave_one_out import truthfulness_without_itself
from pfgen_rs.references.lengths import kept_number
from pfgen_rs.references.pool import Mask, State
from pfgen_rs.references.step import Context, StepReport, by_source, step


@dataclass(frozen=True)
class Agreement:
    """Which rows are kept (bool, one per row), and the least agreement among them (`None` if unknown)."""

    kept: NDArray[np.bool_]
    least: float | None


def consensus(
    answers: pl.Series,
    *,
    share: float = 0.5,
    at_least: int = 0,
    seed: int = 0,
    settings: Settings | None = None,
    threads: int | None = None,
) -> Agreement:
    """Keep the `share` of the answers (rounded up, at least `at_least`) that agree most with the others.

    Agreement is Truthfulness against all other answers, with the published settings if there are none: the
    mean, over an answer's characters, of how common their surroundings of 3 characters are; full where at
    least 0.5 % of the other answers have them. Answers with details that hardly any other has come last.
    Ties are broken by the smallest digest (XXH3 of the text, seeded with `seed`; equal texts by row), so
    which texts are kept depends neither on the order of the answers nor on `threads`.

    Needs about 20 kB per answer. O(c log c) for c characters. Raises `SettingsError`.
    """
    if not 0 < share <= 1:
        raise SettingsError(f"share must be greater than 0 and at most 1, not {share}")
    number, _ = kept_number(len(answers), len(answers), share, None, at_least)
    agreement = truthfulness_without_itself(answers.to_list(), settings or Settings())
    digests = _native.text_digests(_native.Texts(answers, threads), seed, threads)
    best = np.lexsort((digests[:, 1], digests[:, 0], -agreement))[:number]
    kept = np.zeros(len(answers), dtype=np.bool_)
    kept[best] = True
    known = len(answers) > 1
    return Agreement(kept, float(agreement[best].min()) if known else None)


@dataclass(frozen=True)
class Consensus:
    """Keep the `share` (rounded up) of each source's answers that agree most with the others of the source.

    Agreement is Truthfulness, scored against all other answers: how common each character's surroundings
    are. Never fewer than `select.count` are left (or all, if there are fewer).
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"share must be greater than 0 and at most 1, not {self.share}")


def _key(options: Consensus, state: State, context: Context) -> list[Any]:
    heights = {source: int(own.sum()) for source, own in state.by_source().items()}
    kept = {
        source: kept_number(height, height, options.share, None, context.needed)
        for source, height in heights.items()
    }
    return [context.unit, context.examples, context.seed, context.target, kept]


@step(
    "consensus",
    Consensus,
    place=60,
    key=_key,
    needs=lambda options, after: math.ceil(after / Fraction(repr(options.share))),
    no="there are no more answers than select.count; add candidates",
    nearly="consensus.share is small",
)
def _step(state: State, options: Consensus, context: Context) -> tuple[State, StepReport]:
    def keep(part: State) -> tuple[Mask, dict[str, Any]]:
        agreement = consensus(
            context.column(part),
            share=options.share,
            at_least=context.needed,
            seed=context.seed,
            settings=Settings.for_length(context.target),
            threads=context.threads,
        )
        number = int(np.count_nonzero(agreement.kept))
        return agreement.kept, {"answers": number, "least": agreement.least}

    kept, details = by_source(state, keep)
    after = state.narrowed(kept)
    reason = "less agreement with the others of its source than the kept answers"
    removals = context.removed(state, ~kept, reason)
    return after, context.report("consensus", state, after, removals, sources=details)
