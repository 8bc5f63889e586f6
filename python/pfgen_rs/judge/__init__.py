"""Judges: pairwise verdicts by averaged probabilities, graded answers and dialogues, and their agreement."""

from typing import TYPE_CHECKING

__all__ = [
    "Decision",
    "Verdict",
    "cohen_kappa",
    "concordance",
    "decide",
    "fleiss_kappa",
    "position_bias",
    "read_rating",
    "read_verdict",
    "read_verdict_text",
    "robustness",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.concordance import concordance, robustness
    from pfgen_rs.judge.agreement.kappa import cohen_kappa, fleiss_kappa
    from pfgen_rs.judge.agreement.position import position_bias
    from pfgen_rs.judge.decisions import Decision, decide
    from pfgen_rs.judge.ratings import read_rating
    from pfgen_rs.judge.verdicts import Verdict, read_verdict, read_verdict_text
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "agreement.concordance": ("concordance", "robustness"),
            "agreement.kappa": ("cohen_kappa", "fleiss_kappa"),
            "agreement.position": ("position_bias",),
            "decisions": ("Decision", "decide"),
            "ratings": ("read_rating",),
            "verdicts": ("Verdict", "read_verdict", "read_verdict_text"),
        },
    )
