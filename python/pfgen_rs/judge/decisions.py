"""Decisions about a pair from its verdicts in both orders (judging 4)."""

from dataclasses import dataclass
from typing import Literal

from pfgen_rs.errors import SettingsError
from pfgen_rs.judge.tokens import LETTERS, SWAPPED, Letter
from pfgen_rs.judge.verdicts import Probabilities, Verdict

Rule = Literal["probability", "strict", "tie", "first"]
RULES: tuple[Rule, ...] = ("probability", "strict", "tie", "first")
"""How pairs are decided, see `Decision`."""

State = Literal["decided", "undecided", "invalid"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decisions about a pair by all rules. Letters speak of the pair: A is its first answer, B the second.

    `probability`: the letter with the largest `mean` probability of both orders (as Morita et al.
    propose); equal ones decide C. `mean`: mean probabilities of A, B and C; of one judgment alone (`single`)
    if the other one has none; `None` without any.
    `strict`: the verdict of both orders if they agree (BS1), else `None`; `tie`: the same, but C if they
    differ (BS2). An invalid judgment leaves both without a decision; `strict_state` tells `undecided` from
    `invalid`. `first`: the verdict of the first order alone.
    `consistent`: whether both orders have the same verdict. `margin`: difference of the two largest mean
    probabilities. `outside`: 1 minus the sum of the mean probabilities, at least 0.
    `verdicts`: the letters of both orders.
    """

    probability: Letter | None
    mean: Probabilities | None
    single: bool
    strict: Letter | None
    strict_state: State
    tie: Letter | None
    first: Letter | None
    consistent: bool
    margin: float | None
    outside: float | None
    verdicts: tuple[Letter | None, Letter | None]


def decide(first: Verdict | None, second: Verdict | None) -> Decision:
    """Decide a pair by all rules from its verdicts in order 1 and order 2, as they were shown.

    In order 2 the answers are swapped, and this function swaps letters back. `None` is a judgment that is
    missing, which counts as invalid.

    Source: judging 4.1 and 4.2 (Morita et al.; `strict`: BS1, `tie`: BS2).

    >>> first = Verdict("A", {"A": 0.7, "B": 0.1, "C": 0.06})
    >>> decide(first, Verdict("A", {"A": 0.6, "B": 0.4, "C": 0.1})).probability
    'A'
    """
    one, two = first or Verdict(None), swapped_back(second or Verdict(None))
    p1, p2 = one.probabilities, two.probabilities
    mean, single = p2 if p1 is None else p1, (p1 is None) != (p2 is None)
    if p1 is not None and p2 is not None:
        mean = {letter: (p1[letter] + p2[letter]) / 2 for letter in LETTERS}
    v1, v2 = one.shown, two.shown
    valid, same = v1 is not None and v2 is not None, v1 == v2
    state: State = "invalid" if not valid else "decided" if same else "undecided"
    ranked = sorted(mean.values(), reverse=True) if mean else None
    return Decision(
        probability=_most_probable(mean),
        mean=mean,
        single=single,
        strict=v1 if valid and same else None,
        strict_state=state,
        tie=(v1 if same else "C") if valid else None,
        first=v1,
        consistent=valid and same,
        margin=ranked[0] - ranked[1] if ranked else None,
        outside=max(0.0, 1.0 - sum(mean.values())) if mean else None,
        verdicts=(v1, v2),
    )


def check_rule(rule: str) -> None:
    """Raise `SettingsError` for an unknown rule."""
    if rule not in RULES:
        raise SettingsError(f"unknown rule {rule!r}: expected one of {', '.join(RULES)}")


def swapped_back(verdict: Verdict) -> Verdict:
    """Returns a verdict of order 2 in letters of the pair."""
    shown, p = verdict.shown, verdict.probabilities
    return Verdict(
        None if shown is None else SWAPPED[shown],
        None if p is None else {letter: p[SWAPPED[letter]] for letter in LETTERS},
    )


def _most_probable(mean: Probabilities | None) -> Letter | None:
    if mean is None:
        return None
    largest = max(mean.values())
    winners = [letter for letter in LETTERS if mean[letter] == largest]
    return winners[0] if len(winners) == 1 else "C"
