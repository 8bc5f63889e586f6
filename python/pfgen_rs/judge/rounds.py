"""Asking a judge for samples round by round, of the pairs that are not settled yet (judging 9.5)."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfgen_rs.ask import loop
from pfgen_rs.ask.journal import Key
from pfgen_rs.ask.request import Request
from pfgen_rs.judge import sampling
from pfgen_rs.judge.requests import Judge
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED
from pfgen_rs.lazy import np

_SUMS = ("total", "stored", "new", "elsewhere", "unaffordable")


class Rounds:
    """Rounds of requests about pairs.

    `requests`: those of the first sample, two for each pair. `noted` is to be called with every record of the
    journal.
    """

    def __init__(
        self, judge: Judge, requests: Sequence[Request], samples: int, stop_at: float
    ) -> None:
        self._judge, self._samples, self._stop_at = judge, samples, stop_at
        self._pairs = list(zip(requests[::2], requests[1::2], strict=True))
        self._letters: dict[Key, Any] = {}

    def noted(self, record: Mapping[str, Any]) -> None:
        """Keep the letter of a record."""
        self._letters[self._key(record)] = record.get("shown")

    def ask(
        self, ask: Callable[[Sequence[Request], loop.Limits], loop.Asked], limits: loop.Limits
    ) -> loop.Asked:
        """Ask by `ask` until every pair is settled or has all samples, or something is lacking.

        What other processes left open when they ended is asked for once more.
        """
        while True:
            asked = self._ask_once(ask, limits)
            if not (asked.new and asked.elsewhere):
                return asked

    def _ask_once(
        self, ask: Callable[[Sequence[Request], loop.Limits], loop.Asked], limits: loop.Limits
    ) -> loop.Asked:
        counts = np.zeros((2, len(self._pairs), len(LETTERS)), dtype=np.int64)
        going, rounds = list(range(len(self._pairs))), list[loop.Asked]()
        for sample in range(self._samples):
            asked = {n: [replace(each, sample=sample) for each in self._pairs[n]] for n in going}
            told = _continued(limits, sum(each.stored for each in rounds))
            rounds.append(ask(list(itertools.chain(*asked.values())), told))
            going = [n for n in going if self._count(counts[:, n], asked[n])]
            left = np.full((len(going), 2), self._samples - 1 - sample)
            done = sampling.settled(counts[0, going], counts[1, going], left, self._stop_at)
            going = list(itertools.compress(going, ~done))
            if not going or rounds[-1].unaffordable:
                break
        sums = {name: sum(getattr(each, name) for each in rounds) for name in _SUMS}
        failures = [failure for each in rounds for failure in each.failures]
        return replace(rounds[-1], **sums, failures=failures)

    def _count(self, counts: Any, asked: Sequence[Request]) -> bool:
        """Count the letters of a pair's two requests; returns false if an answer is lacking."""
        keys = [self._key(request.fields(self._judge)) for request in asked]
        for order, key in enumerate(keys):
            letter = self._letters.get(key)
            if letter is not None:
                counts[order, LETTERS.index(SWAPPED[letter] if order else letter)] += 1
        return all(key in self._letters for key in keys)

    @staticmethod
    def _key(record: Mapping[str, Any]) -> Key:
        return tuple(record.get(name) for name in ("pair", "order", "sample", "digest"))


def _continued(limits: loop.Limits, before: int) -> loop.Limits:
    """Returns limits whose progress counts the answers of earlier rounds too."""
    tell = limits.get("progress")
    if tell is None:
        return limits

    def progress(done: int, total: int, rate: float, failed: int) -> None:
        tell(before + done, before + total, rate, failed)

    return {**limits, "progress": progress}
