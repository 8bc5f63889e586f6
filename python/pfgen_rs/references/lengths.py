"""Keeping the answers whose length is nearest to a target."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.errors import ConfigError, InputError, SettingsError
from pfgen_rs.references.pool import Answers, Batches, Mask, State, as_batches, batch_texts
from pfgen_rs.references.step import Context, StepReport, by_source, check_least, step

OFFICIAL_STD = (1.8, 2.7, 7.2)
"""The smallest, the median and the largest standard deviation of the lengths (in characters) of the published
reference answers to a question by one source."""
OFF_TARGET = 0.1
"""The share of the target by which a mean length may differ from it."""
SEEDS = 1 << 64

Limit = Literal["all", "count", "share", "deviation", "at_least"]
"""What decided how many answers are kept."""


@dataclass(frozen=True)
class Lengths:
    """Which rows are kept (bool, one per row), and the mean and standard deviation of their lengths.

    Lengths are in code points. The standard deviation is that of the population (divided by the
    number of kept answers). Both are NaN if nothing is kept. `limit` is what decided the number of
    kept answers.
    """

    kept: NDArray[np.bool_]
    mean: float
    std: float
    limit: Limit = "all"


def nearest_length(
    answers: Answers,
    *,
    target: int = 100,
    count: int = 30_000,
    share: float = 1.0,
    deviation: int | None = None,
    at_least: int = 0,
    seed: int = 0,
    threads: int | None = None,
) -> Lengths:
    """Keep the answers whose length is nearest to `target`.

    At most `count` answers are kept, at most this `share` of them (rounded up), and only those at
    most `deviation` code points from the target. `share` and `deviation` leave at least `at_least`
    answers (or all, if there are fewer), but `count` is never exceeded.

    Ties at the greatest distance, whether shorter or longer than `target`, are broken by the
    smallest digest (XXH3 of the text, seeded with `seed`; equal texts by row). So which texts are
    kept depends neither on the order of the answers nor on batches or `threads` (default: all
    cores).

    Reads the answers twice, and holds 4 bytes per row plus 24 per row at the greatest distance.
    Time: linear in the number of characters. Source: Imajo et al. 2025, section 3.2.4, which keeps
    30,000 answers with a target of 100.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    _check(target, count, share, deviation, at_least, seed)
    batches = as_batches(answers)
    lengths = _lengths(batches, threads)
    distances = np.abs(lengths.astype(np.int64) - target)
    within = None if deviation is None else int(np.count_nonzero(distances <= deviation))
    number, limit = kept_number(len(lengths), count, share, within, at_least)
    if number >= len(lengths):
        return _summary(np.ones(len(lengths), np.bool_), lengths, limit)
    # The greatest distance that is kept.
    last = np.partition(distances, number - 1)[number - 1] if number else -1
    kept = distances < last
    tied = np.flatnonzero(distances == last)
    kept[_break_ties(batches, tied, number - int(kept.sum()), seed, threads)] = True
    return _summary(kept, lengths, limit)


def kept_number(
    height: int, count: int, share: float, within: int | None, at_least: int
) -> tuple[int, Limit]:
    """Returns how many of `height` answers `nearest_length` keeps, and what decided it.

    `within`: how many are near enough, if there is a deviation. The share is read as the decimal it is
    written as.
    """
    number = math.ceil(Fraction(repr(float(share))) * height)
    limit: Limit = "share"
    if within is not None and within < number:
        number, limit = within, "deviation"
    if number < min(height, at_least):
        number, limit = min(height, at_least), "at_least"
    if count < number:
        number, limit = count, "count"
    return (number, limit) if number < height else (height, "all")


def is_off_target(mean: float, target: float) -> bool:
    """Whether a mean length is far from the target."""
    return abs(mean - target) > OFF_TARGET * target


def length_spread(answers: Answers, *, threads: int | None = None) -> Lengths:
    """Returns the mean and the standard deviation of all lengths."""
    lengths = _lengths(as_batches(answers), threads)
    return _summary(np.ones(len(lengths), np.bool_), lengths, "all")


def _check(
    target: int, count: int, share: float, deviation: int | None, at_least: int, seed: int
) -> None:
    least = {"target": target, "count": count, "deviation": deviation or 0, "at_least": at_least}
    for name, value in least.items():
        if value < 0:
            raise SettingsError(f"{name} must be at least 0, not {value}")
    if not 0 < share <= 1:
        raise SettingsError(f"share must be greater than 0 and at most 1, not {share}")
    if not 0 <= seed < SEEDS:
        raise SettingsError(f"seed must be between 0 and 2^64 - 1, not {seed}")


def _lengths(batches: Batches, threads: int | None) -> NDArray[np.uint32]:
    parts = [texts.lengths() for _, texts in batch_texts(batches, threads=threads)]
    return np.concatenate([np.zeros(0, np.uint32), *(part.astype(np.uint32) for part in parts)])


def _break_ties(
    batches: Batches, rows: NDArray[np.int64], count: int, seed: int, threads: int | None
) -> NDArray[np.int64]:
    """Returns the `count` rows (of ascending `rows`) whose texts have the smallest digests."""
    if count in (0, len(rows)):
        return rows[:count]
    parts, end = [], 0
    for first, texts in batch_texts(batches, threads=threads):
        end = first + len(texts)
        mine = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
        parts.append(_native.text_digests(texts, seed, threads)[mine])
    digests = np.concatenate(parts)
    if len(digests) != len(rows):
        raise InputError(
            f"the second pass read only {end} answers: every pass must yield the same answers"
        )
    # The sort is stable, so equal texts stay in row order.
    return rows[np.lexsort((digests[:, 1], digests[:, 0]))[:count]]


def _summary(kept: NDArray[np.bool_], lengths: NDArray[np.uint32], limit: Limit) -> Lengths:
    """Compute the statistics from integer sums, exact until the final divisions."""
    values, counts = np.unique(lengths[kept], return_counts=True)
    pairs = list(zip(values.tolist(), counts.tolist(), strict=True))
    number, total = sum(count for _, count in pairs), sum(value * count for value, count in pairs)
    if not number:
        return Lengths(kept, math.nan, math.nan, limit)
    squares = sum(value * value * count for value, count in pairs)
    return Lengths(
        kept, total / number, math.sqrt(number * squares - total * total) / number, limit
    )


def spreads(state: State, context: Context) -> dict[str, Lengths]:
    """Returns the spread of the lengths in units of what remains, by source."""
    return {
        source: length_spread(context.coded(state.narrowed(own)), threads=context.threads)
        for source, own in state.by_source().items()
    }


LONGEST = 4_999
"""The largest target: scores read at most twice as many units as answers should have."""


@dataclass(frozen=True)
class Length:
    """Keep the answers whose length in units is nearest to `target`, separately for each source.

    Of what the other filters leave: at most the nearest `share` (rounded up; 1 is no limit), only answers at
    most `deviation` units from the target (`None` is no limit), and at most `count`. `share` and `deviation`
    never leave fewer answers than the later steps need to end with `select.count` (or all, if there are
    fewer): then the nearest of them are kept.
    """

    target: int = 100
    count: int = 30_000
    share: float = 0.2
    deviation: int | None = None

    def __post_init__(self) -> None:
        check_least(self, target=1, count=1, deviation=0)
        if self.target > LONGEST:
            raise ConfigError(f"target must be at most {LONGEST}, not {self.target}")
        if not 0 < self.share <= 1:
            raise ConfigError(f"share must be greater than 0 and at most 1, not {self.share}")


def _key(options: Length, state: State, context: Context) -> list[Any]:
    """Without a deviation, the result depends on how many answers to keep of each source.

    So another number to select only matters if it changes how many answers it needs.
    """
    if options.deviation is not None:
        settings: Mapping[str, Any] = {**asdict(options), "at_least": context.needed}
    else:
        heights = {source: int(own.sum()) for source, own in state.by_source().items()}
        kept = {
            source: kept_number(height, options.count, options.share, None, context.needed)
            for source, height in heights.items()
        }
        settings = {"target": options.target, "kept": kept}
    return [context.unit, context.examples, context.seed, settings]


def _keeps_a_count(report: StepReport) -> bool:
    """Whether the number of answers to keep is a setting, so that any share may have to go."""
    limits = {each["limit"] for each in report.details["sources"].values()}
    return report.after < report.before and limits <= {"count", "select.count", "all"}


@step(
    "length",
    Length,
    place=50,
    key=_key,
    no="lower length.share or length.count, or set length.deviation",
    nearly="hardly any length is near length.target",
    expected=_keeps_a_count,
)
def _step(state: State, options: Length, context: Context) -> tuple[State, StepReport]:
    def keep(part: State) -> tuple[Mask, dict[str, Any]]:
        nearest = nearest_length(
            context.coded(part),
            **asdict(options),
            at_least=context.needed,
            seed=context.seed,
            threads=context.threads,
        )
        number = int(np.count_nonzero(nearest.kept))
        return nearest.kept, {
            "answers": number,
            "mean": nearest.mean if number else None,
            "std": nearest.std if number else None,
            "limit": "select.count" if nearest.limit == "at_least" else nearest.limit,
        }

    kept, details = by_source(state, keep)
    after = state.narrowed(kept)
    reason = f"a length further from {options.target} than that of the kept answers of its source"
    removals = context.removed(state, ~kept, reason)
    return after, context.report("length", state, after, removals, sources=details)
