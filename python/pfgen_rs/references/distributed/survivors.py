"""The filters of seldom n-grams and of lengths over shards: what runs where, and when enough is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from pfgen_rs import _native
from pfgen_rs.references.distributed.shard_frames import (
    ShardCount,
    ShardSettings,
    count_shard,
    mask_without,
)
from pfgen_rs.references.distributed.shard_lengths import (
    last_near,
    mask_near,
    merge_near,
    near_rows,
)
from pfgen_rs.references.distributed.shard_ngrams import (
    Ngrams,
    candidate_keys,
    count_keys,
    count_ngrams,
    keys_in_doubt,
    merge_counts,
    merge_keys,
    merge_sketches,
    often_sketch,
    seldom_keys,
    sketch_mask,
    sketch_shard,
    without_keys,
)
from pfgen_rs.references.distributed.tasks import Tasks, merge_in_tree
from pfgen_rs.references.lengths import Limit, kept_number

__all__ = ["Examine", "Filtered", "ShardFilter", "ShardRows"]

Examine = Literal["needed", "all"]
"""Which of the answers that a sketch leaves are counted exactly: what the filter of lengths needs, or all."""

_SPARE = Fraction(11, 10)
_MORE = 1_000
_UNLIMITED = 1 << 60
_PART_BITS = 6


@dataclass(frozen=True)
class ShardRows:
    """A shard: its first row among all, its number of rows, and handles of rows, mask and weights."""

    first: int
    height: int
    frame: Any
    mask: Any
    weights: Any


class SourceBounds(NamedTuple):
    """Survivors of a source, and those near enough to the target length: at least and at most so many."""

    least: int
    most: int
    least_within: int
    most_within: int


@dataclass(frozen=True)
class Filtered:
    """What the filter of seldom n-grams leaves.

    `masks`: handles of the survivors, or of those nearest to the target length that decide the next filter.
    `known`: of all rows that are not known to be dropped. `after`: the number of these, and `unexamined` of
    those among them that may be dropped. `lengths`: how many of each source's nearest survivors the
    filter of lengths keeps, and what decided it. `rounds`: dropped rows. `applied`: whether the filter was.
    """

    masks: list[Any]
    known: list[Any]
    after: ShardCount
    unexamined: int
    lengths: dict[str, tuple[int, Limit]]
    rounds: list[int]
    applied: bool


class ShardFilter:
    """The filters of a question whose candidates lie in shards.

    Why the survivors are those of the filter on one machine: a counter of the merged sketch is at least the
    number of occurrences of each n-gram that it stands for, as far as two bits tell, so what the sketch
    drops has a seldom n-gram. A survivor of the sketch that has one, too, has an n-gram that is seldom among
    all answers, hence among the candidates; so that n-gram is in doubt and is counted in all shards, exactly.

    The filter of lengths takes survivors in a fixed order (distance, digest, row), and how many it keeps
    grows with their number. Candidates are examined in that order, so those that are found to survive are
    the first survivors; there are at least as many, and at most as many as are not found to be dropped.
    Once both numbers let the filter keep the same answers, those that were not examined do not matter.
    """

    def __init__(
        self, tasks: Tasks, settings: ShardSettings, shards: Sequence[ShardRows], memory: int
    ) -> None:
        self._tasks, self._settings, self._shards = tasks, settings, shards
        self._config, self._memory = settings.config, memory
        single = self._config.singletons
        self._ngrams = Ngrams(single.n, single.threshold, threads=settings.threads)

    def filtered(self, examine: Examine) -> Filtered:
        """Find the survivors, all of them or as many as the filter of lengths needs."""
        masks = [shard.mask for shard in self._shards]
        if self._config.singletons.repeat:
            return self._repeated(masks)
        superset = self._sketched(masks)
        if examine == "all":
            return self._decided(masks, self._examined(masks, superset), [])
        return self._filtered_as_needed(masks, superset)

    def nearest(self, masks: Sequence[Any], most: Mapping[str, int]) -> list[Any]:
        """Returns masks of the rows that are nearest to the target length, up to so many of each source."""
        run, config, threads = self._tasks.run, self._config, self._settings.threads
        near = [
            run(near_rows, config, threads, most, shard.first, shard.frame, mask)
            for shard, mask in zip(self._shards, masks, strict=True)
        ]
        cuts = run(last_near, merge_in_tree(self._tasks, merge_near, near, most))
        return [
            run(mask_near, cuts, shard.first, shard.height, own)
            for shard, own in zip(self._shards, near, strict=True)
        ]

    def counted(self, masks: Sequence[Any]) -> ShardCount:
        """Count rows."""
        handles = [
            self._tasks.run(count_shard, shard.frame, mask, self._config)
            for shard, mask in zip(self._shards, masks, strict=True)
        ]
        return sum(self._tasks.results(handles), ShardCount())

    def _repeated(self, masks: list[Any]) -> Filtered:
        before, now, rounds = masks, self.counted(masks).height, list[int]()
        while not rounds or rounds[-1]:
            masks = self._examined(masks, self._sketched(masks))
            left = self.counted(masks).height
            rounds.append(now - left)
            now = left
        return self._decided(before, masks, rounds)

    def _decided(self, before: list[Any], masks: list[Any], rounds: list[int]) -> Filtered:
        """Returns the result once all survivors are known."""
        whole, after = self.counted(before), self.counted(masks)
        rounds = rounds or [whole.height - after.height]
        bounds = {source: _exact_bounds(after, source) for source in sorted(after.heights)}
        return self._filtered_of(before, masks, masks, after, bounds, rounds)

    def _filtered_as_needed(self, before: list[Any], superset: list[Any]) -> Filtered:
        upper = self.counted(superset)
        most = self._first_numbers(upper)
        while True:
            candidates = self.nearest(superset, most)
            survivors = self._examined(before, candidates)
            asked, found = self.counted(candidates), self.counted(survivors)
            bounds = {
                source: _bounds_of(source, upper, asked, found) for source in sorted(upper.heights)
            }
            if self._is_decided(bounds):
                break
            most = {source: 2 * number for source, number in most.items()}
        known = [
            self._tasks.run(mask_without, *each)
            for each in zip(superset, candidates, survivors, strict=True)
        ]
        after = self.counted(known)
        rounds = [self.counted(before).height - after.height]
        return self._filtered_of(before, survivors, known, after, bounds, rounds)

    def _filtered_of(
        self,
        before: list[Any],
        survivors: list[Any],
        known: list[Any],
        after: ShardCount,
        bounds: Mapping[str, SourceBounds],
        rounds: list[int],
    ) -> Filtered:
        unexamined = sum(each.most - each.least for each in bounds.values())
        if sum(each.least for each in bounds.values()) >= self._config.singletons.at_least:
            lengths = self._lengths(bounds)
            return Filtered(survivors, known, after, unexamined, lengths, rounds, True)
        whole = self.counted(before)
        lengths = self._lengths(
            {each: _exact_bounds(whole, each) for each in sorted(whole.heights)}
        )
        return Filtered(before, before, after, 0, lengths, rounds, False)

    def _sketched(self, masks: Sequence[Any]) -> list[Any]:
        """Returns masks of a superset of the survivors."""
        tasks, parts = self._tasks, list(zip(self._shards, masks, strict=True))
        counts = [tasks.run(count_ngrams, self._ngrams, shard.frame, mask) for shard, mask in parts]
        total = sum(tasks.results(counts))
        bits = _native.NgramSketch.bits_for(total, self._memory)
        wanted = _native.NgramSketch.bits_for(total, _UNLIMITED)
        ngrams = replace(self._ngrams, bits=bits, part_bits=min(wanted - bits, _PART_BITS))
        left = list(masks)
        for part in range(1 << ngrams.part_bits):
            left = self._sketched_part(replace(ngrams, part=part), parts, left)
        return left

    def _sketched_part(
        self, ngrams: Ngrams, parts: Sequence[tuple[ShardRows, Any]], left: Sequence[Any]
    ) -> list[Any]:
        """Count a part of the n-grams of `parts`, and return what it keeps of `left`."""
        tasks = self._tasks
        sketches = [
            tasks.run(sketch_shard, ngrams, shard.frame, mask, shard.weights)
            for shard, mask in parts
        ]
        merged = merge_in_tree(tasks, merge_sketches, sketches, ngrams)
        often = tasks.run(often_sketch, ngrams, merged)
        return [
            tasks.run(sketch_mask, ngrams, often, shard.frame, mask, shard.weights)
            for (shard, _), mask in zip(parts, left, strict=True)
        ]

    def _examined(self, masks: Sequence[Any], candidates: Sequence[Any]) -> list[Any]:
        """Returns masks of the candidates that survive, by exact counts in `masks`."""
        run, ngrams = self._tasks.run, self._ngrams
        asked = list(zip(self._shards, candidates, strict=True))
        keys = [
            run(candidate_keys, ngrams, shard.frame, mask, shard.weights) for shard, mask in asked
        ]
        doubtful = run(keys_in_doubt, ngrams, merge_in_tree(self._tasks, merge_keys, keys, ngrams))
        counts = [
            run(count_keys, ngrams, doubtful, shard.frame, mask, shard.weights)
            for shard, mask in zip(self._shards, masks, strict=True)
        ]
        whole = merge_in_tree(self._tasks, merge_counts, counts, ngrams, doubtful)
        seldom = run(seldom_keys, ngrams, doubtful, whole)
        return [run(without_keys, ngrams, seldom, shard.frame, mask) for shard, mask in asked]

    def _first_numbers(self, upper: ShardCount) -> dict[str, int]:
        """Returns how many candidates of each source to examine first: likely enough."""
        share = Fraction(repr(float(self._config.length.share)))
        found = {}
        for source in sorted(upper.heights):
            number, limit = self._number(
                source_height := upper.heights[source], upper.within.get(source, 0)
            )
            enough = math.ceil(_SPARE * number / share) + self._config.singletons.at_least + _MORE
            found[source] = source_height if limit == "share" else min(enough, source_height)
        return found

    def _is_decided(self, bounds: Mapping[str, SourceBounds]) -> bool:
        least = sum(each.least for each in bounds.values())
        if all(each.least == each.most for each in bounds.values()):
            return True
        enough = least >= self._config.singletons.at_least
        return enough and all(
            self._number(each.least, each.least_within) == self._number(each.most, each.most_within)
            for each in bounds.values()
        )

    def _lengths(self, bounds: Mapping[str, SourceBounds]) -> dict[str, tuple[int, Limit]]:
        numbers = {
            source: self._number(each.least, each.least_within) for source, each in bounds.items()
        }
        return {source: numbers[source] for source, each in bounds.items() if each.least}

    def _number(self, height: int, within: int) -> tuple[int, Limit]:
        """Returns how many of so many survivors the filter of lengths keeps, and why."""
        length = self._config.length
        near = None if length.deviation is None else within
        return kept_number(
            height, length.count, length.share, near, self._config.needed_after("length")
        )


def _exact_bounds(count: ShardCount, source: str) -> SourceBounds:
    height, within = count.heights.get(source, 0), count.within.get(source, 0)
    return SourceBounds(height, height, within, within)


def _bounds_of(
    source: str, upper: ShardCount, asked: ShardCount, found: ShardCount
) -> SourceBounds:
    """`upper`: what the sketch leaves, `asked`: what was examined of it, `found`: what of that survives."""
    whole, some, left = (_exact_bounds(count, source) for count in (upper, asked, found))
    dropped, dropped_within = some.least - left.least, some.least_within - left.least_within
    return SourceBounds(
        left.least, whole.least - dropped, left.least_within, whole.least_within - dropped_within
    )
