"""Statistics of judging 5 once more in plain Python, the obvious way, on letters and `None`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Letter = str | None


def concordance(decisions: Sequence[Letter], verdicts: Sequence[Letter]) -> float:
    judged = [(d, v) for d, v in zip(decisions, verdicts, strict=True) if v is not None]
    return sum(d == v for d, v in judged) / len(judged) if judged else math.nan


def robustness(first: Sequence[Letter], second: Sequence[Letter]) -> float:
    equal = [a == b and a is not None for a, b in zip(first, second, strict=True)]
    return sum(equal) / len(equal)


def towards_first(first: Sequence[Letter], second: Sequence[Letter]) -> tuple[int, int]:
    """Flips towards what was shown first, and all flips between winners."""
    flips = [(a, b) for a, b in zip(first, second, strict=True) if {a, b} == {"A", "B"}]
    return flips.count(("A", "B")), len(flips)


def fleiss(rows: Sequence[Sequence[str]]) -> float:
    n, letters = len(rows[0]), sorted({letter for row in rows for letter in row})
    p = [(sum(row.count(x) ** 2 for x in letters) - n) / (n * (n - 1)) for row in map(list, rows)]
    shares = [sum(list(row).count(x) for row in rows) / (n * len(rows)) for x in letters]
    chance = sum(share**2 for share in shares)
    return (sum(p) / len(p) - chance) / (1 - chance) if len(letters) > 1 else math.nan


def cohen(first: Sequence[Letter], second: Sequence[Letter]) -> float:
    n = len(first)
    agreed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    one, two = Counter(first), Counter(second)
    chance = sum(one[x] * two[x] for x in one) / n**2
    return (agreed - chance) / (1 - chance) if chance < 1 else math.nan


def majority(letters: Sequence[Letter]) -> Letter:
    """The letter that is alone in front."""
    ranked = Counter(letter for letter in letters if letter is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]
