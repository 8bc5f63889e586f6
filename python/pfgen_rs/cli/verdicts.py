"""Describes the results of a comparison's tests in words."""

from __future__ import annotations

from pfgen_rs.stats import Comparison, Pair
from pfgen_rs.stats.permutation import is_bound, permutations_text


def verdict(pair: Pair, statistics: Comparison) -> str:
    """Describe the result for a pair in a sentence: uncorrected and, with more pairs, corrected for all."""
    pair = pair.better_first()
    what = "" if pair.metric == "average" else f" in {pair.metric}"
    more = f"{pair.a} scores {pair.difference:.4f} more than {pair.b}{what}"
    least = 1 - statistics.level
    if pair.family == 1:
        evidence = (
            f"{_interval_in_verdict(pair, statistics, '')}, {_p_in_verdict(pair, statistics)}"
        )
        return f"{more} ({evidence})" if pair.p <= least else _alike_verdict(pair, what, evidence)
    corrected = f"{_p_holm_in_verdict(pair, statistics)} corrected for {pair.family} pairs"
    interval = _interval_in_verdict(pair, statistics, " of this pair alone")
    evidence = f"{interval}, {_p_in_verdict(pair, statistics)}"
    if pair.p_holm <= least:
        return f"{more} ({evidence}; {corrected})"
    if pair.p <= least:
        return f"{more} ({evidence}), but not significantly among all pairs ({corrected})"
    return _alike_verdict(pair, what, f"{evidence}; {corrected}")


def _alike_verdict(pair: Pair, what: str, evidence: str) -> str:
    return (
        f"{pair.a} and {pair.b} do not differ significantly{what} "
        f"(difference {pair.difference:+.4f}, {evidence}; 80 % power to detect {pair.minimum_detectable:.4f})"
    )


def _interval_in_verdict(pair: Pair, statistics: Comparison, which: str) -> str:
    return f"{statistics.level * 100:g} % bootstrap interval{which} {pair.low:+.4f} to {pair.high:+.4f}"


def _p_in_verdict(pair: Pair, statistics: Comparison) -> str:
    """The uncorrected p, with the number of permutations where it is no more than a bound."""
    smallest = statistics.smallest_p
    shown = _p_value_in_verdict(pair.p, smallest)
    return f"{shown}, {permutations_text(smallest)}" if smallest and "=" not in shown else shown


def _p_holm_in_verdict(pair: Pair, statistics: Comparison) -> str:
    return _p_value_in_verdict(pair.p_holm, statistics.smallest_p * pair.family)


def _p_value_in_verdict(p: float, smallest: float) -> str:
    if p < 0.001:
        return "p < 0.001"
    return f"p {'≤' if is_bound(p, smallest) else '='} {p:.3f}"
