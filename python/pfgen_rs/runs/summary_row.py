"""Runs as rows of a leaderboard, and what is to be said about their answers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any, TypeVar

from pfgen_rs.io.counted import counted, plural
from pfgen_rs.io.unclean_counts import described
from pfgen_rs.runs.values import RunValues
from pfgen_rs.stats.estimates import Estimate, from_moments

__all__ = ["ranked_results", "rules_note", "summary_row", "unclean_note", "worthless_note"]

R = TypeVar("R", bound=RunValues)

_MANY = 10  # answers, of which half are not far from the references by chance


def summary_row(result: RunValues) -> dict[str, Any]:
    """Returns the run's values, including the signature, as one flat object.

    `trial_se` and `question_se` are those of `pfgen_rs.stats.Estimate`, for all responses. `score_low` and
    `score_high` are the bounds of the 95 % interval over questions (Student's t), as in a leaderboard's
    columns of the same names. Values are `None` if there are too few answers; bounds are also `None` if the
    score is not the mean of all answers.
    """
    errors = _summary_row_errors(result)
    return {
        "name": result.name,
        "file": result.path,
        "score": result.score,
        "score_std": None if isnan(result.score_std) else result.score_std,
        "trial_se": errors.trial_se,
        "question_se": errors.question_se,
        "score_low": errors.low,
        "score_high": errors.high,
        "num_trials": result.num_trials,
        "length": result.length,
        "length_std": result.length_std,
        "fluency": result.fluency,
        "truthfulness": result.truthfulness,
        "helpfulness": result.helpfulness,
        "responses": result.height,
        "left_out": result.left_out_count,
        "missing_questions": result.missing,
        "input_hash": result.input_hash,
        "signature": result.signature,
    }


def _summary_row_errors(result: RunValues) -> Estimate:
    """Compute errors from the published numbers, so that they do not depend on having the responses."""
    found = result.moments
    return from_moments(found.means, found.deviations, found.counts).of(result.score)


def ranked_results(results: Sequence[R]) -> list[R]:
    """Returns the runs by descending score; equal ones keep their order."""
    return sorted(results, key=lambda result: -result.score)


def unclean_note(result: RunValues, option: str) -> str | None:
    """Returns a warning about answers that pfgen-bench would have cleaned, if there are any.

    `option`: the option that cleans them.
    """
    if not result.unclean:
        return None
    found = f"{result.place}: {described(result.unclean, result.height)}"
    if result.clean is not None:
        return f"{found}: removed before scoring, as in mode {result.clean}"
    return (
        f"{found}: scored unchanged; {option} removes this, as pfgen-bench does during generation"
    )


def rules_note(result: RunValues) -> str | None:
    """Returns a remark if Helpfulness is not part of the score."""
    if result.benchmark.settings.helpfulness:
        return None
    return (
        "no question of this set has keyword rules, so the score is the mean of Fluency and Truthfulness "
        "(helpfulness:none in the signature)"
    )


def worthless_note(result: RunValues) -> str | None:
    """Returns a warning if answers are empty, or half of them in another language than the references."""
    empty, foreign = result.empty, result.foreign
    found = [f"{empty:,} {plural(empty, 'is', 'are')} empty"] if empty else []
    if result.height >= _MANY and foreign and 2 * (empty + foreign) >= result.height:
        found.append(
            f"{foreign:,} {plural(foreign, 'has', 'have')} next to nothing in common with the reference "
            "answers (is that the language of the questions?)"
        )
    if not found:
        return None
    return f"{result.place}: of {counted(result.height, 'answer')}, {' and '.join(found)}: they score about 0"
