"""What statistics take, finite numbers and settings within their range; and quantiles of Student's t.

For functions that users call, not for loops over runs or pairs. Lists and everything else that numpy reads as
numbers will do. A message names the first value that is wrong, and where it is.
"""

import math
import operator
from functools import lru_cache
from numbers import Real
from typing import Any, get_args

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.text import shortened
from pfgen_rs.lazy import ArrayLike, Floats, NDArray, np

FEWEST_RESAMPLES = 100
"""The fewest resamples for an interval."""
LARGEST = 1e70
"""The size up to which squares of variances, summed, are finite."""
_MOST = 2.0**53  # up to which floats have every whole number
_SLACK = 1e-9  # rounding errors of a correlation


def numbers(
    values: ArrayLike,
    name: str,
    *,
    dimensions: int = 1,
    least: int = 0,
    largest: float = LARGEST,
    undefined: bool = False,
) -> Floats:
    """Returns values as float64, with one axis (or `dimensions`), at least `least` of them.

    Raises `InputError` for another shape, and for anything but numbers from -`largest` to `largest`; with
    `undefined`, NaN and infinities will do.
    """
    found = _numeric_array(values, name)
    if found.ndim != dimensions:
        raise InputError(f"{name} has shape {found.shape}: expected {_SHAPES[dimensions]}")
    if found.ndim and len(found) < least:
        raise InputError(f"{name} has {len(found)} values: expected at least {least}")
    fine = np.abs(found) <= largest  # not so for NaN
    if not (undefined or fine.all()):
        raise _wrong_number(found, fine, name, largest)
    return found


_SHAPES = {0: "a number", 1: "a list of numbers", 2: "rows of numbers"}


def _wrong_number(found: Floats, ok: "NDArray[np.bool_]", name: str, largest: float) -> InputError:
    place = tuple(np.argwhere(~ok)[0].tolist())
    value = float(found[place])
    wanted = "finite numbers"
    if math.isfinite(value):
        wanted = f"numbers from {-largest:g} to {largest:g}"
    return InputError(f"{name}{_place_shown(place)} is {value}: expected {wanted}")


def _place_shown(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]" if place else ""


def _numeric_array(values: ArrayLike, name: str) -> Floats:
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "biuf":
            found = np.asarray(values, dtype=object)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths") from None
    if found.dtype == object:
        for place, value in np.ndenumerate(found):
            if not isinstance(value, Real):
                raise InputError(
                    f"{name}{_place_shown(place)} is {shown_value(value)}: expected finite numbers"
                )
    try:
        return found.astype(np.float64, copy=False)
    except OverflowError:
        raise InputError(f"{name} has a number too large for a float") from None


def paired_numbers(
    x: ArrayLike, y: ArrayLike, *, least: int = 0, largest: float = LARGEST
) -> tuple[Floats, Floats]:
    """Returns two lists of the same length, `numbers` both. Raises `InputError`."""
    one, other = numbers(x, "x", largest=largest), numbers(y, "y", largest=largest)
    if len(one) != len(other) or len(one) < least:
        wanted = f", at least {least}" if least else ""
        raise InputError(
            f"x and y have {len(one)} and {len(other)} values: expected two lists of the same length{wanted}"
        )
    return one, other


def probabilities(values: ArrayLike, name: str) -> Floats:
    """Returns numbers from 0 to 1. Raises `InputError` for others."""
    found = numbers(values, name)
    outside = np.flatnonzero((found < 0) | (found > 1))
    if len(outside):
        place = int(outside[0])
        raise InputError(f"{name}[{place}] is {found[place]}: expected numbers from 0 to 1")
    return found


def whole_numbers(values: ArrayLike, name: str, *, least: int) -> "NDArray[np.int64]":
    """Returns one whole number, or a list of them, as int64. Raises `InputError` for others."""
    if isinstance(values, int) and least <= values < _MOST:  # the usual case, without a search
        return np.array(values, dtype=np.int64)
    found = numbers(values, name, dimensions=np.ndim(values) and 1, largest=_MOST)
    wrong = np.argwhere((found < least) | (found != np.floor(found)))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        shown = f"{name}{_place_shown(place)} is {found[place]:g}"
        raise InputError(f"{shown}: expected whole numbers of at least {least}")
    return found.astype(np.int64)


def count_number(value: float, name: str) -> int:
    """Returns a whole number of at least 0, also of a float. Raises `InputError` for others."""
    if not isinstance(value, Real) or not 0 <= value < math.inf or value != int(value):
        raise InputError(f"invalid {name} {shown_value(value)}: expected a whole number, 0 or more")
    return int(value)


def correlation_number(value: float, name: str = "r") -> float:
    """Returns a number from -1 to 1, where rounding may exceed them. Raises `InputError` for others."""
    if not isinstance(value, Real) or not abs(value) <= 1 + _SLACK:
        raise InputError(f"invalid {name} {shown_value(value)}: expected a number from -1 to 1")
    return max(-1.0, min(1.0, float(value)))


def whole_number(value: int, name: str, least: int) -> int:
    """Returns a setting that is a whole number of at least `least`. Raises `SettingsError` for others."""
    wanted = "0 or more" if least == 0 else f"at least {least}"
    try:
        found = operator.index(value)
    except TypeError:
        shown = shown_value(value)
        raise SettingsError(f"invalid {name} {shown}: expected a whole number, {wanted}") from None
    if found < least:
        raise SettingsError(f"invalid {name} {found}: expected {wanted}")
    return found


def check_seed(seed: int) -> None:
    """Raise `SettingsError` for a negative seed, and for what is no whole number."""
    whole_number(seed, "seed", 0)


def check_resampling(resamples: int, seed: int) -> None:
    """Raise `SettingsError` for an invalid seed, and for fewer than 100 resamples."""
    check_seed(seed)
    whole_number(resamples, "number of resamples", FEWEST_RESAMPLES)


def shown_value(value: Any) -> str:
    """Returns a value for a message, in one line of bounded length."""
    try:
        return str(value) if isinstance(value, Real) else shortened(repr(value))
    except ValueError:  # Python writes out no whole number of more than 4,300 digits
        return f"of type {type(value).__name__}, too long to show"


# Student's t distribution for whole degrees of freedom, in closed form, and normal quantiles.
#
# Abramowitz & Stegun, *Handbook of Mathematical Functions* (1964), 26.7.3 and 26.7.4.


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


def check_choice(value: object, name: str, choices: Any) -> None:
    """Raise `SettingsError` unless a setting is one of the values of a `Literal`."""
    known = get_args(choices)
    if value not in known:
        raise SettingsError(f"unknown {name} {value!r:.60}: expected one of {', '.join(known)}")


def check_level(level: float) -> None:
    """Raise `SettingsError` for an invalid confidence level."""
    if not isinstance(level, Real) or not 0.5 <= level <= 0.9999:
        shown = shown_value(level)
        raise SettingsError(
            f"invalid confidence level {shown}: expected 0.5 to 0.9999, such as 0.95"
        )


def _probability_inside(t: float, freedom: int) -> float:
    return 1 - float(two_sided_p(np.array([t]), freedom)[0])
