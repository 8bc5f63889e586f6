"""Student's t distribution for whole degrees of freedom, in closed form; normal quantiles.

Abramowitz & Stegun, *Handbook of Mathematical Functions* (1964), 26.7.3 and 26.7.4.
"""

from __future__ import annotations

from functools import lru_cache

from pfgen_rs.errors import SettingsError
from pfgen_rs.lazy import Floats, np

# Checks are imported where they are needed, since the score of one run needs none.

MOST_FREEDOM = 1000
"""Degrees of freedom from which t is normal to all visible digits."""
_HALVINGS = 200  # more than a float has bits
# Of the published and the bundled set, so that the score of one run need not wait for numpy.
_QUANTILES = {(0.95, 49): 2.009575237129241, (0.95, 13): 2.1603686564627904}


def two_sided_p(t: Floats, freedom: int) -> Floats:
    """Returns P(|T| >= |t|) for each of `t` (which may be infinite), with `freedom` degrees of freedom.

    Absolute error below 1e-14. Time linear in `freedom`.
    """
    angle = np.arctan2(np.abs(t), np.sqrt(freedom))
    cosine, sine = np.cos(angle), np.sin(angle)
    odd = freedom % 2
    term = cosine if odd else np.ones_like(cosine)
    total = np.zeros_like(cosine)
    for k in range(1 + odd, freedom, 2):  # terms of the powers freedom % 2, …, freedom - 2
        total = total + term
        term = term * cosine**2 * (k / (k + 1))
    inside = (angle + sine * total) * (2 / np.pi) if odd else sine * total
    return np.asarray(np.clip(1 - inside, 0.0, 1.0))


def normal_quantile(level: float) -> float:
    """Returns z such that a standard normal variable lies in -z…z with probability `level`."""
    from statistics import NormalDist  # which takes a while

    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=1024)
def two_sided_quantile(level: float, freedom: int) -> float:
    """Returns t such that P(|T| <= t) = `level`.

    Raises `SettingsError` for fewer than one degree of freedom, and unless 0 < `level` < 1.
    """
    known = _QUANTILES.get((level, freedom))
    return _bisected_quantile(level, freedom) if known is None else known


def _bisected_quantile(level: float, freedom: int) -> float:
    from pfgen_rs.stats.checks import whole_number

    whole_number(freedom, "degrees of freedom", 1)
    if not 0 < level < 1:
        raise SettingsError(f"invalid level {level}: expected a number between 0 and 1")
    low, high = 0.0, 1.0
    while _probability_inside(high, freedom) < level:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _probability_inside(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return high


def check_level(level: float) -> None:
    """Raise `SettingsError` for an invalid confidence level."""
    if isinstance(level, int | float) and 0.5 <= level <= 0.9999:  # usual, without an import
        return
    from numbers import Real

    from pfgen_rs.stats.checks import shown_value

    if not isinstance(level, Real) or not 0.5 <= level <= 0.9999:
        shown = shown_value(level)
        raise SettingsError(f"invalid confidence level {shown}: expected 0.5 to 0.9999")


def _probability_inside(t: float, freedom: int) -> float:

    return 1 - float(two_sided_p(np.array([t]), freedom)[0])
