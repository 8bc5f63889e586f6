"""Judges: pairwise verdicts by averaged probabilities, graded answers and dialogues, and their agreement."""

from typing import TYPE_CHECKING

__all__ = [
    "Decision",
    "Verdict",
    "decide",
    "read_rating",
    "read_verdict",
    "read_verdict_text",
]

if TYPE_CHECKING:
    from pfgen_rs.judge.decisions import Decision, decide
    from pfgen_rs.judge.ratings import read_rating
    from pfgen_rs.judge.verdicts import Verdict, read_verdict, read_verdict_text
else:
    from pfgen_rs import lazy

    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            "decisions": ("Decision", "decide"),
            "ratings": ("read_rating",),
            "verdicts": ("Verdict", "read_verdict", "read_verdict_text"),
        },
    )
