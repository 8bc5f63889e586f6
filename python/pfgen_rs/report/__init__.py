"""Reports: published results, leaderboards, plots and pages."""

__all__ = ["PER_QUESTION", "QUANTILES", "most_shown"]

PER_QUESTION = 1000
"""Maximum number of answers to a question on a page."""
QUANTILES = (0, 0.25, 0.5, 0.75, 1)
"""Positions of the published samples among the answers by descending average."""

_MANY = 100  # runs, above which a site of all answers is too large to share
_PER_QUESTION_OF_MANY = 50


def most_shown(runs: int) -> int:
    """Returns how many answers to a question a page shows at most in a site with pages of so many runs."""
    return _PER_QUESTION_OF_MANY if runs > _MANY else PER_QUESTION
