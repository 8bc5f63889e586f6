"""Statistics of scores: confidence intervals, paired tests, rank ranges, and the number of trials needed.

Works on numbers only: scores nothing and reads no files. Two sources of uncertainty are kept apart
throughout: trial noise (the same questions answered again) and the choice of questions (other questions of
the same kind).
"""

from pfgen_rs.metrics.names import METRICS
from pfgen_rs.stats.compare import Comparison, Pair, compare
from pfgen_rs.stats.estimates import Estimate, estimate, from_summary
from pfgen_rs.stats.holm import holm
from pfgen_rs.stats.permutation import sign_flip
from pfgen_rs.stats.planning import Plan, Step, plan_trials
from pfgen_rs.stats.ranks import rank_ranges
from pfgen_rs.stats.sample import Sample

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
    "plan_trials",
    "rank_ranges",
    "sign_flip",
]
