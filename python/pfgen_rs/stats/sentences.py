"""Comparisons in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pfgen_rs.io.text import counted
from pfgen_rs.stats import permutation

if TYPE_CHECKING:
    from pfgen_rs.stats.comparing import Comparison, Pair


def verdict(pair: Pair, statistics: Comparison) -> str:
    """Describe the result for a pair in a sentence: uncorrected and, with more pairs, corrected for all."""
    pair = pair.better_first()
    what = "" if pair.metric == "average" else f" in {pair.metric}"
    alone = pair.family == 1
    bounds = f"{pair.low:+.4f} to {pair.high:+.4f}"
    which = "" if alone else " of this pair alone"
    smallest = statistics.smallest_p
    p = _p_text(pair.p, smallest)
    if smallest and "=" not in p:
        p += f", {permutation.permutations_text(smallest)}"
    method = "bootstrap" if statistics.interval == "bootstrap" else "Student's t"
    evidence = f"{statistics.level * 100:g} % {method} interval{which} {bounds}, {p}"
    holm = _p_text(pair.p_holm, smallest * pair.family)
    corrected = f"{holm} corrected for {pair.family} pairs"
    least = 1 - statistics.level
    if is_blind(statistics):
        possible = permutation.least_p(len(statistics.compared))
        count = counted(len(statistics.compared), "question")
        return (
            f"{count} cannot tell whether {pair.a} and {pair.b} differ{what} (difference "
            f"{pair.difference:+.4f}, {evidence}; no p-value is below {possible:.3f})"
        )
    if pair.p > least:
        more = evidence if alone else f"{evidence}; {corrected}"
        return (
            f"{pair.a} and {pair.b} do not differ significantly{what} (difference {pair.difference:+.4f}, "
            f"{more}; 80 % power to detect {pair.minimum_detectable:.4f})"
        )
    said = f"{pair.a} scores {pair.difference:.4f} more than {pair.b}{what} ({evidence}"
    if alone:
        return f"{said})"
    if pair.p_holm <= least:
        return f"{said}; {corrected})"
    return f"{said}), but not significantly among all pairs ({corrected})"


def is_blind(statistics: Comparison) -> bool:
    """Whether there are too few questions for any difference to be significant."""
    return permutation.least_p(len(statistics.compared)) > 1 - statistics.level


def _p_text(p: float, smallest: float) -> str:
    if p < 0.001:
        return "p < 0.001"
    return f"p {'≤' if permutation.is_bound(p, smallest) else '='} {p:.3f}"
