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
    "benjamini_hochberg",
    "compare",
    "estimate",
    "from_summary",
    "holm",
    "item_analysis",
    "own_rank_ranges",
    "plan_trials",
    "rank_ranges",
    "sign_flip",
    "tiers",
]

if TYPE_CHECKING:
    from pfgen_rs.metrics.settings import METRICS
    from pfgen_rs.stats.comparing import Comparison, Pair, compare
    from pfgen_rs.stats.estimates import Estimate, Sample, estimate, from_summary
    from pfgen_rs.stats.items import item_analysis
    from pfgen_rs.stats.permutation import benjamini_hochberg, holm, sign_flip
    from pfgen_rs.stats.planning import Plan, Step, plan_trials
    from pfgen_rs.stats.ranking import own_rank_ranges, rank_ranges, tiers
else:  # the error of a score needs neither numpy nor the rest
    from pfgen_rs import lazy
    from pfgen_rs.metrics.settings import METRICS

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "comparing": ("Comparison", "Pair", "compare"),
            "estimates": ("Estimate", "Sample", "estimate", "from_summary"),
            "items": ("item_analysis",),
            "permutation": ("benjamini_hochberg", "holm", "sign_flip"),
            "planning": ("Plan", "Step", "plan_trials"),
            "ranking": ("own_rank_ranges", "rank_ranges", "tiers"),
        },
    )
