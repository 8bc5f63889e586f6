"""Keeping the answers whose length is nearest to a target."""

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

from pfgen_rs import ConfigError, InputError, SettingsError, _native
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics.settings import LONGEST
from pfgen_rs.references import steps

OFFICIAL_STD = (1.8, 2.7, 7.2)
"""The smallest, the median and the largest standard deviation of the lengths (in characters) of the published
reference answers to a question by one source."""
SEEDS = 1 << 64
_FEW = 8

Limit = Literal["all", "count", "share", "deviation", "at_least"]
"""What decided how many answers are kept."""


class Spread(NamedTuple):
    """The mean and the standard deviation (of the population) of lengths; NaN if there are none."""

    mean: float
    std: float


class Nearest(NamedTuple):
    """Which rows are kept (bool, one per row), the spread of their lengths, and what decided their number.

    `within`: the greatest distance of what the kept ones are drawn from, or `None` if they are the nearest.
    """

    kept: NDArray[np.bool_]
    spread: Spread
    limit: Limit
    within: int | None = None


def nearest_length(
    answers: steps.Answers,
    *,
    target: int = 100,
    count: int = 30_000,
    share: float = 1.0,
    deviation: int | None = None,
    at_least: int = 0,
    spread: tuple[float, float] = (0.0, 0.0),
    seed: int = 0,
    threads: int | None = None,
) -> Nearest:
    """Keep the answers whose length is nearest to `target`.

    At most `count` answers are kept, at most this `share` of them (rounded up), and only those at
    most `deviation` code points from the target. `share` and `deviation` leave at least `at_least`
    answers (or all, if there are fewer), but `count` is never exceeded.

    `spread`: the least standard deviation of the lengths, and a usual one. If `count` decides and the
    lengths of the nearest are more alike than the least one, `count` answers are drawn instead: from those
    at most as far from `target` as gives the usual one, or as the other limits allow.

    Ties at the greatest distance, whether shorter or longer than `target`, are broken by the
    smallest digest (XXH3 of the text, seeded with `seed`; equal texts by row). So which texts are
    kept depends neither on the order of the answers nor on batches or `threads` (default: all
    cores).

    Reads the answers twice, and holds 4 bytes per row plus 24 per row at the greatest distance.
    Time: linear in the number of characters. Source: Imajo et al. 2025, section 3.2.4, which keeps
    30,000 answers with a target of 100.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    least = {"target": target, "count": count, "deviation": deviation or 0, "at_least": at_least}
    for name, value in least.items():
        if value < 0:
            raise SettingsError(f"{name} must be at least 0, not {value}")
    check_share(share)
    if not 0 <= seed < SEEDS:
        raise SettingsError(f"seed must be between 0 and 2^64 - 1, not {seed}")
    batches = steps.as_batches(answers)
    lengths = _lengths(batches, threads)
    distances = np.abs(lengths.astype(np.int64) - target)
    near = None if deviation is None else int(np.count_nonzero(distances <= deviation))
    number, limit = kept_number(len(lengths), count, share, near, at_least)
    if number >= len(lengths):
        return Nearest(np.ones(len(lengths), np.bool_), _spread(lengths), limit)
    # The greatest distance that is kept.
    last = np.partition(distances, number - 1)[number - 1] if number else -1
    kept = distances < last
    tied, left = np.flatnonzero(distances == last), number - int(kept.sum())
    within = None
    if limit == "count" and _spread(np.append(lengths[kept], lengths[tied[:left]])).std < spread[0]:
        others, _ = kept_number(len(lengths), len(lengths), share, near, at_least)
        most = int(np.partition(distances, others - 1)[others - 1])
        within = _band(lengths, target, most, spread[1])
        kept, tied, left = np.zeros_like(kept), np.flatnonzero(distances <= within), number
    kept[_break_ties(batches, tied, left, seed, threads)] = True
    return Nearest(kept, _spread(lengths[kept]), limit, within)


def _band(lengths: NDArray[np.uint32], target: int, most: int, std: float) -> int:
    """Returns the least distance within which lengths have this standard deviation, or `most`."""
    values, counts = np.unique(lengths, return_counts=True)
    far = np.abs(values.astype(np.int64) - target)
    for at in np.unique(far[far < most]).tolist():
        if _moments(values[far <= at], counts[far <= at]).std >= std:
            return int(at)
    return most


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


def _lengths(batches: steps.Batches, threads: int | None) -> NDArray[np.uint32]:
    parts = [texts.lengths() for _, texts in steps.batch_texts(batches, threads=threads)]
    return np.concatenate([np.zeros(0, np.uint32), *(part.astype(np.uint32) for part in parts)])


def _break_ties(
    batches: steps.Batches, rows: NDArray[np.int64], count: int, seed: int, threads: int | None
) -> NDArray[np.int64]:
    """Returns the `count` rows (of ascending `rows`) whose texts have the smallest digests."""
    if count in (0, len(rows)):
        return rows[:count]
    parts, end = [], 0
    for first, texts in steps.batch_texts(batches, threads=threads):
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


def _spread(lengths: NDArray[np.uint32]) -> Spread:
    return _moments(*np.unique(lengths, return_counts=True))


def _moments(values: NDArray[np.uint32], counts: NDArray[np.int64]) -> Spread:
    """Compute the statistics from integer sums, exact until the final divisions."""
    values, counts = values.astype(object), counts.astype(object)
    number, total = sum(counts), sum(values * counts)
    if not number:
        return Spread(math.nan, math.nan)
    squares = sum(values * values * counts)
    return Spread(total / number, math.sqrt(number * squares - total * total) / number)


def spreads(state: steps.State, context: steps.Context) -> dict[str, Spread]:
    """Returns the spread of the lengths in units of what remains, by source."""
    return {
        source: _spread(_lengths(context.coded(state.narrowed(own)), context.threads))
        for source, own in state.by_source().items()
    }


@dataclass(frozen=True)
class Length(steps.Step):
    """Keep the answers whose length in units is nearest to `target`, separately for each source.

    Of what the other filters leave: at most the nearest `share` (rounded up; 1 is no limit), only answers at
    most `deviation` units from the target (`None` is no limit), and at most `count`. `share` and `deviation`
    never leave fewer answers than the later steps need to end with `select.count` (or all, if there are
    fewer): then the nearest of them are kept.

    In a pool so large that the nearest `count` hardly differ in length (standard deviation below 1.8 % of
    the target, the smallest of the published sources), `count` are drawn from a wider range of lengths
    (2.7 %, the median).
    """

    breaks_ties: ClassVar[bool] = True
    no: ClassVar[str] = "lower length.share or length.count, or set length.deviation"
    nearly: ClassVar[str] = "hardly any length is near length.target"

    target: int = 100
    count: int = 30_000
    share: float = 0.35
    deviation: int | None = None

    def __post_init__(self) -> None:
        self.check_least(target=1, count=1, deviation=0)
        if self.target > LONGEST:
            raise ConfigError(f"target must be at most {LONGEST}, not {self.target}")
        check_share(self.share)

    def expected(self, report: steps.StepReport) -> bool:
        """Whether the number of answers to keep is a setting, so that any share may have to go."""
        limits = {each["limit"] for each in report.details["sources"].values()}
        return report.after < report.before and limits <= {"count", "select.count", "all"}

    def run(
        self, state: steps.State, context: steps.Context
    ) -> tuple[steps.State, steps.StepReport]:
        """Drop the answers that are further from the target."""

        def keep(part: steps.State) -> tuple[steps.Mask, dict[str, Any]]:
            kept, spread, limit, within = nearest_length(
                context.coded(part),
                **asdict(self),
                at_least=context.needed,
                spread=(OFFICIAL_STD[0] * self.target / 100, OFFICIAL_STD[1] * self.target / 100),
                seed=context.seed,
                threads=context.threads,
            )
            number = int(np.count_nonzero(kept))
            mean, std = spread if number else (None, None)
            limited = "select.count" if limit == "at_least" else limit
            found = {"answers": number, "mean": mean, "std": std, "limit": limited}
            return kept, found | ({} if within is None else {"within": within})

        kept, details = steps.by_source(state, keep)
        more: dict[str, Any] = {"sources": details}
        if widest := max((each.get("within", 0) for each in details.values()), default=0):
            more["remark"] = [
                f"{self.name} gives a wider range of lengths",
                f"the {self.count:,} answers nearest to {self.target} hardly differ in length, so that many "
                f"are drawn from those within {widest} of it",
            ]
        reason = f"a length further from {self.target} than that of the kept answers of its source"
        after, report = context.narrowed(self.name, state, kept, reason, **more)
        if after.height * _FEW < len(after.kept):  # later steps need not read all the others
            after = after.rewritten(context.folder)
        return after, report


def check_share(share: float) -> None:
    """Raise `ConfigError` for what is no share."""
    if not 0 < share <= 1:
        raise ConfigError(f"share must be greater than 0 and at most 1, not {share}")
