"""Judges: pairwise verdicts by averaged probabilities, graded answers and dialogues, and their agreement."""

from typing import TYPE_CHECKING

__all__ = [
    "Agreement",
    "Decision",
    "JudgeComparison",
    "Pair",
    "Ranking",
    "Verdict",
    "VerdictFolder",
    "agree",
    "cohen_kappa",
    "compare_judges",
    "concordance",
    "decide",
    "fleiss_kappa",
    "position_bias",
    "rank",
    "read_humans",
    "read_pairs",
    "read_rating",
    "read_verdict",
    "read_verdict_text",
    "robustness",
    "write_pairs",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.agree import Agreement, JudgeComparison, agree, compare_judges
    from pfgen_rs.judge.agreement.intervals import position_bias
    from pfgen_rs.judge.agreement.kappa import cohen_kappa, concordance, fleiss_kappa, robustness
    from pfgen_rs.judge.agreement.ranking import Ranking, rank
    from pfgen_rs.judge.pairs import Pair, read_humans, read_pairs, write_pairs
    from pfgen_rs.judge.verdict_folder import VerdictFolder
    from pfgen_rs.judge.verdicts import (
        Decision,
        Verdict,
        decide,
        read_rating,
        read_verdict,
        read_verdict_text,
    )
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "agreement.agree": ("Agreement", "JudgeComparison", "agree", "compare_judges"),
            "agreement.intervals": ("position_bias",),
            "agreement.kappa": ("cohen_kappa", "concordance", "fleiss_kappa", "robustness"),
            "agreement.ranking": ("Ranking", "rank"),
            "pairs": ("Pair", "read_humans", "read_pairs", "write_pairs"),
            "verdict_folder": ("VerdictFolder",),
            "verdicts": (
                *("Decision", "Verdict", "decide"),
                *("read_rating", "read_verdict", "read_verdict_text"),
            ),
        },
    )
