"""Judges: pairwise verdicts by averaged probabilities, graded answers and dialogues, and their agreement."""

from typing import TYPE_CHECKING

__all__ = [
    "Agreement",
    "Decision",
    "JudgeComparison",
    "MetaEvaluation",
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
    "meta",
    "meta_of_files",
    "people_and_judge",
    "position_bias",
    "rank",
    "rank_controlled",
    "read_humans",
    "read_pairs",
    "read_rating",
    "read_verdict",
    "read_verdict_text",
    "robustness",
    "sample_path",
    "write_pairs",
    "write_panel",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.agreement.agree import Agreement, JudgeComparison, agree, compare_judges
    from pfgen_rs.judge.agreement.bradley_terry import Ranking, rank
    from pfgen_rs.judge.agreement.measures import (
        cohen_kappa,
        concordance,
        fleiss_kappa,
        position_bias,
        robustness,
    )
    from pfgen_rs.judge.agreement.meta import MetaEvaluation, meta
    from pfgen_rs.judge.agreement.prediction_powered import people_and_judge
    from pfgen_rs.judge.agreement.style import rank_controlled
    from pfgen_rs.judge.decisions import Decision, decide
    from pfgen_rs.judge.meta_files import meta_of_files
    from pfgen_rs.judge.pairs import Pair, read_humans, read_pairs, sample_path, write_pairs
    from pfgen_rs.judge.panel import write_panel
    from pfgen_rs.judge.verdict_folder import VerdictFolder
    from pfgen_rs.judge.verdicts import Verdict, read_rating, read_verdict, read_verdict_text
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "agreement.agree": ("Agreement", "JudgeComparison", "agree", "compare_judges"),
            "agreement.bradley_terry": ("Ranking", "rank"),
            "agreement.measures": (
                *("cohen_kappa", "concordance", "fleiss_kappa"),
                *("position_bias", "robustness"),
            ),
            "agreement.meta": ("MetaEvaluation", "meta"),
            "agreement.prediction_powered": ("people_and_judge",),
            "agreement.style": ("rank_controlled",),
            "decisions": ("Decision", "decide"),
            "meta_files": ("meta_of_files",),
            "pairs": ("Pair", "read_humans", "read_pairs", "sample_path", "write_pairs"),
            "panel": ("write_panel",),
            "verdict_folder": ("VerdictFolder",),
            "verdicts": ("Verdict", "read_rating", "read_verdict", "read_verdict_text"),
        },
    )
