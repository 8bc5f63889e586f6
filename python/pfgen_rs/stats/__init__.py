"""Statistics of scores: confidence intervals, paired tests, rank ranges, and the number of trials needed.

Works on numbers only: scores nothing and reads no files. Two sources of uncertainty are kept apart
throughout: trial noise (the same questions answered again) and the choice of questions (other questions of
the same kind).
"""

from typing import TYPE_CHECKING

__all__ = [
    "METRICS",
    "Comparison",
    "Estimate",
    "Pair",
    "Plan",
    "Sample",
    "Step",
    "compare",
    "estimate",
    "from_summary",
    "holm",
    "own_rank_ranges",
    "plan_trials",
    "rank_ranges",
    "sign_flip",
]

if TYPE_CHECKING:
    from pfgen_rs.metrics.names import METRICS
    from pfgen_rs.stats.compared import Comparison, Pair
    from pfgen_rs.stats.comparing import compare
    from pfgen_rs.stats.estimates import Estimate, estimate, from_summary
    from pfgen_rs.stats.many_tests import holm
    from pfgen_rs.stats.permutation import sign_flip
    from pfgen_rs.stats.planning import Plan, Step, plan_trials
    from pfgen_rs.stats.ranks import own_rank_ranges, rank_ranges
    from pfgen_rs.stats.sample import Sample
else:  # the error of a score needs neither numpy nor the rest
    from pfgen_rs import lazy
    from pfgen_rs.metrics.names import METRICS

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "compared": ("Comparison", "Pair"),
            "comparing": ("compare",),
            "estimates": ("Estimate", "estimate", "from_summary"),
            "many_tests": ("holm",),
            "permutation": ("sign_flip",),
            "planning": ("Plan", "Step", "plan_trials"),
            "ranks": ("own_rank_ranges", "rank_ranges"),
            "sample": ("Sample",),
        },
    )
