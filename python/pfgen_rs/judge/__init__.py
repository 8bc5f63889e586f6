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
    "family_of",
    "fleiss_kappa",
    "position_bias",
    "rank",
    "read_families",
    "read_humans",
    "read_pairs",
    "read_rating",
    "read_verdict",
    "read_verdict_text",
    "robustness",
    "write_pairs",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.agreed import agree
    from pfgen_rs.judge.agreement.between import JudgeComparison, compare_judges
    from pfgen_rs.judge.agreement.concordance import concordance, robustness
    from pfgen_rs.judge.agreement.families import family_of, read_families
    from pfgen_rs.judge.agreement.kappa import cohen_kappa, fleiss_kappa
    from pfgen_rs.judge.agreement.position import position_bias
    from pfgen_rs.judge.agreement.ranking import Ranking, rank
    from pfgen_rs.judge.agreement.result import Agreement
    from pfgen_rs.judge.decisions import Decision, decide
    from pfgen_rs.judge.pairs import Pair, read_humans, read_pairs, write_pairs
    from pfgen_rs.judge.ratings import read_rating
    from pfgen_rs.judge.verdict_folder import VerdictFolder
    from pfgen_rs.judge.verdicts import Verdict, read_verdict, read_verdict_text
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "agreement.agreed": ("agree",),
            "agreement.between": ("JudgeComparison", "compare_judges"),
            "agreement.concordance": ("concordance", "robustness"),
            "agreement.families": ("family_of", "read_families"),
            "agreement.kappa": ("cohen_kappa", "fleiss_kappa"),
            "agreement.position": ("position_bias",),
            "agreement.ranking": ("Ranking", "rank"),
            "agreement.result": ("Agreement",),
            "decisions": ("Decision", "decide"),
            "pairs": ("Pair", "read_humans", "read_pairs", "write_pairs"),
            "ratings": ("read_rating",),
            "verdict_folder": ("VerdictFolder",),
            "verdicts": ("Verdict", "read_verdict", "read_verdict_text"),
        },
    )
