"""Dropping equal answers, and answers with an n-gram that is found in hardly any other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from pfgen_rs import InputError, SettingsError, _native
from pfgen_rs.lazy import ArrayLike, NDArray, np, pl
from pfgen_rs.references import steps

BITS = 64
LEAST_MEMORY = 1 << 20
ROW_BYTES = 256
"""Bytes per text in a pass: digest, row and count, while collected, joined and grouped."""
MOST = 2**32 - 1

_DISTINCT = {"upper": pl.UInt64, "lower": pl.UInt64, "row": pl.Int64, "count": pl.UInt32}
"""Columns of distinct texts: the halves of their digests, a row of each, and its count so far."""


def duplicates(
    answers: steps.Answers, *, memory: int = 1 << 30, threads: int | None = None
) -> NDArray[np.uint32]:
    """Returns how often the text of each row occurs, and 0 for rows whose text an earlier one has.

    Texts are considered equal if their digests are (XXH3, 128 bits: the probability that any two of
    10^9 different texts share one is about 10^-21). Uses about `memory` bytes (at least 1 MiB), plus
    the batches and a few bytes per row. If the digests of the distinct texts need more, answers are
    read in several passes, each covering a range of digests. The result depends neither on `memory`
    or `threads` (default: all cores) nor on how answers are split into batches.

    Time: linear in the number of characters per pass, plus `k log k` for `k` rows.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    if memory < 1:
        raise SettingsError(f"memory must be at least 1 byte, not {memory}")
    batches, most = steps.as_batches(answers), max(memory, LEAST_MEMORY) // ROW_BYTES
    start, (texts, bits, rows) = 0, _distinct(batches, 0, BITS, most, threads)
    found = [texts]
    while (start := start + (1 << bits)) < 1 << BITS:
        texts, bits, again = _distinct(batches, start, bits, most, threads)
        found.append(texts)
        _refuse_other(rows, again)
    counts = np.zeros(rows, np.uint32)
    for texts in found:
        counts[texts["row"].to_numpy()] = texts["count"].to_numpy()
    return counts


def _distinct(
    batches: steps.Batches, start: int, bits: int, most: int, threads: int | None
) -> tuple[pl.DataFrame, int, int]:
    """Find the distinct texts whose digests begin in a range of `bits`, narrowed until `most` suffice.

    Returns these, the bits, and how many rows were read.
    """
    parts, held, rows = [pl.DataFrame(schema=_DISTINCT)], 0, 0
    for first, texts in steps.batch_texts(batches, threads=threads):
        digests = _native.text_digests(texts, 0, threads)
        rows = first + len(texts)
        columns = (*digests.T, np.arange(first, rows), np.ones(len(texts), np.uint32))
        part = pl.DataFrame(dict(zip(_DISTINCT, columns, strict=True)), schema=_DISTINCT)
        parts.append(_inside(part, start, bits))
        held += parts[-1].height
        if held > most:
            whole = _joined(parts)
            while 2 * whole.height > most:  # at most half the memory, so that joining pays off
                bits -= 1
                whole = _inside(whole, start, bits)
            parts, held = [whole], whole.height
    return _joined(parts), bits, rows


def _inside(texts: pl.DataFrame, start: int, bits: int) -> pl.DataFrame:
    first, last = (pl.lit(end, pl.UInt64) for end in (start, start + (1 << bits) - 1))
    return texts.filter(pl.col("upper").is_between(first, last))


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Keep each text once, with its first row."""
    texts = pl.concat(parts).group_by("upper", "lower")
    return texts.agg(pl.col("row").min(), pl.col("count").sum())


def _refuse_other(rows: int, again: int) -> None:
    if rows != again:
        raise InputError(
            f"the first pass read {rows} answers, a later one {again}: "
            "every pass must yield the same answers"
        )


@dataclass(frozen=True)
class Duplicates(steps.Step):
    """Equal answers: keep one (`once`), keep one with their count as its `weight`, or keep `all`."""

    no: ClassVar[str] = "no two answers are equal"
    nearly: ClassVar[str] = "most candidates are equal"

    keep: Literal["all", "once", "weight"] = "once"

    def expected(self, report: steps.StepReport) -> bool:
        """Whether all are to be kept."""
        del report
        return self.keep == "all"

    def run(
        self, state: steps.State, context: steps.Context
    ) -> tuple[steps.State, steps.StepReport]:
        """Drop or weight the duplicates."""
        # Different texts may have the same words; duplicates are equal texts.
        texts = context.coded(state) if context.unit == "token" else state.batches("answer")
        counts = duplicates(texts, memory=context.memory, threads=context.threads)
        first = counts > 0
        details = {
            "keep": self.keep,
            "distinct": int(np.count_nonzero(first)),
            "most": int(counts.max(initial=0)),
        }
        if self.keep == "all":
            return state, context.report(self.name, state, state, [], **details)
        after, report = context.narrowed(self.name, state, first, "the same text again", **details)
        if self.keep == "weight":
            weights = np.zeros(len(state.kept), dtype=np.uint32)
            weights[state.kept] = counts
            after = steps.State(after.pool, after.kept, weights)
        return after, report


class WithoutSingletons(NamedTuple):
    """What the filter keeps (bool, one per row), and how many answers each round dropped."""

    kept: NDArray[np.bool_]
    rounds: list[int]


def singletons(
    answers: steps.Answers,
    *,
    n: int = 5,
    threshold: int = 1,
    repeat: bool = False,
    weights: ArrayLike | None = None,
    memory: int = 1 << 30,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WithoutSingletons:
    """Drop every answer with an n-gram of `n` characters that occurs at most `threshold` times.

    Occurrences are counted over all answers; two in one answer count as two. Answers shorter than
    `n` characters have no n-gram and are kept. With `repeat`, n-grams are counted again among the
    remaining answers until nothing changes. `weights`: the number of answers each row represents;
    its n-grams are counted that many times, and a row of weight 0 is neither counted nor kept.

    Counting is exact for n-grams of up to 128 bits (n = 10 for an alphabet of 7,000); longer ones
    are counted by 128-bit digests. It uses at most `memory` bytes, plus the batches and a few bytes
    per row. If the n-grams need more, answers are read in several passes. The result depends neither
    on `memory` or `threads` (default: all cores) nor on how answers are split into batches.

    Time: linear in the number of characters per pass. Source: Imajo et al. 2025, section 3.2.3.
    Raises `SettingsError`, and `InputError` naming the row.
    """
    for name, value, least in (("n", n, 1), ("threshold", threshold, 0), ("memory", memory, 1)):
        if not least <= value <= (MOST if name != "memory" else 1 << 62):
            raise SettingsError(f"{name} must be at least {least}, not {value}")
    batches, tell = steps.as_batches(answers), progress or (lambda *_: None)
    scan = _native.Scan(n, threads)
    for _, texts in steps.batch_texts(batches, threads=threads):
        scan.add(texts)
        tell(scan.rows, 0)
    rows = done = scan.rows
    counted = _native.SingletonFilter(
        scan,
        threshold=threshold,
        weights=None if weights is None else _weights(weights, rows),
        memory=memory,
        threads=threads,
    )

    def read() -> None:
        nonlocal done
        start = done
        for first, texts in steps.batch_texts(batches, threads=threads):
            counted.add(texts, first)
            done = start + first + len(texts)
            tell(done, start + rows)
        _refuse_other(rows, done - start)

    rounds: list[int] = []
    while not rounds or (repeat and rounds[-1]):
        read()
        while counted.finish_pass():
            read()
        rounds.append(counted.finish_round())
    return WithoutSingletons(counted.kept(), rounds)


def _weights(weights: ArrayLike, rows: int) -> NDArray[np.uint32]:
    given = np.asarray(weights)
    if given.shape != (rows,):
        raise InputError(f"weights must have the shape ({rows},), not {given.shape}")
    if rows and not (given.dtype.kind in "iub" and 0 <= given.min() <= given.max() <= MOST):
        raise InputError(f"weights must be integers between 0 and {MOST}")
    return np.ascontiguousarray(given, dtype=np.uint32)


@dataclass(frozen=True)
class Singletons(steps.Step):
    """Drop answers with an n-gram of `n` units that occurs at most `threshold` times.

    `repeat`: repeat with the remaining answers until nothing changes. If fewer than `at_least` answers would
    be left (all sources together), the filter is not applied: among few answers almost everything is rare.
    """

    no: ClassVar[str] = (
        "no n-gram is rare enough, or fewer answers than singletons.at_least would be left"
    )
    nearly: ClassVar[str] = "add candidates, or lower singletons.n or singletons.threshold"

    n: int = 5
    threshold: int = 1
    repeat: bool = False
    at_least: int = 2_000

    def __post_init__(self) -> None:
        self.check_least(n=1, threshold=0, at_least=0)

    def run(
        self, state: steps.State, context: steps.Context
    ) -> tuple[steps.State, steps.StepReport]:
        """Drop the answers, unless too few would be left."""
        kept, rounds = singletons(
            context.coded(state),
            n=self.n,
            threshold=self.threshold,
            repeat=self.repeat,
            weights=state.kept_weights(),
            memory=context.memory,
            threads=context.threads,
            progress=context.progress,
        )
        before, left = state.height, int(np.count_nonzero(kept))
        details: dict[str, Any] = {"rounds": rounds}
        if left < self.at_least:
            return state, steps.StepReport(
                self.name, before, before, [], {**details, "not_applied": left}
            )
        times = "once" if self.threshold == 1 else f"at most {self.threshold} times"
        reason = f"a {self.n}-gram that occurs {times}"
        removed = context.removed(state, [reason], np.where(kept, -1, 0))
        # With few candidates everything is rare; the funnel shows that without an error.
        return state.narrowed(kept), steps.StepReport(self.name, before, left, removed, details)
