"""Two-stage bootstrap: resamples the questions of a run, and the responses to each of them.

Questions are drawn with replacement, the same ones for all runs under comparison, and then responses within
each question. Done naively, the two stages together vary too much, since question means already contain
trial noise, and intervals from few questions are too short. Both have standard remedies:

- question means are shrunk towards their mean, and residuals stretched, so that the resampled mean has the
  variance s²/Q of the clustered standard error (A. C. Davison & D. V. Hinkley, *Bootstrap Methods and
  their Application* (1997), section 3.8; C. A. Field & A. H. Welsh, "Bootstrapping clustered data", Journal
  of the Royal Statistical Society B 69 (2007), on why plain two-stage resampling does not);
- the percentile interval is stretched about the mean by t/z, the quantile of Student's t with Q - 1 degrees
  of freedom over the normal one (as the expanded percentile interval of T. C. Hesterberg, "What teachers
  should know about the bootstrap", The American Statistician 69 (2015)).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

from pfgen_rs import lazy
from pfgen_rs.stats.checks import check_resampling
from pfgen_rs.stats.student import two_sided_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = lazy.module("numpy")

Floats: TypeAlias = "NDArray[np.float64]"
_DRAWS = 512  # resampled means per question, drawn once and reused
_MANY = 2048  # number of responses from which their resampled mean is normal to all visible digits


class Resampler:
    """Resamples of the questions, shared by all runs under comparison.

    Random numbers depend on the seed and, for a run's responses, on its name, so they do not depend on the
    other runs or their order. Memory O(resamples · questions). Raises `SettingsError` for a negative
    seed and for fewer than 100 resamples.
    """

    def __init__(self, questions: int, resamples: int, seed: int) -> None:
        check_resampling(resamples, seed)
        self._seed = seed
        random = np.random.default_rng(seed)
        self._picks = random.integers(0, questions, (resamples, questions), dtype=np.int32)
        rows = np.arange(resamples)[:, None] * questions
        counts = np.bincount((self._picks + rows).ravel(), minlength=resamples * questions)
        self._weights = counts.reshape(resamples, questions) / questions

    def means(self, means: Floats, noise_variances: Floats, errors: Floats) -> Floats:
        """Returns resampled means over questions and trials: float64, shape (resamples,).

        `means`: one per question (or differences of them). `noise_variances`: the part of each variance that
        is due to trial noise. `errors`: from `within`, for the same means. With s² = Σ(m - m̄)²/(Q - 1)
        and v the mean noise variance, questions contribute (s² - v)/Q to the variance and trials v/Q. If
        s² < v, which would mean a negative variance between questions, only trials contribute, with s²/Q.
        """
        centre, variance = means.mean(), float(means.var(ddof=1))
        noise = float(noise_variances.mean())
        if variance == 0.0:
            return np.full(len(errors), centre)
        between = math.sqrt(max(variance - noise, 0.0) / float(means.var()))
        within = math.sqrt(min(variance / noise, 1.0)) if noise else 0.0
        # Not a matrix product: its last digits depend on the number of threads.
        drawn = np.einsum("rq,q->r", self._weights, means - centre)
        return np.asarray(centre + drawn * between + errors * within)

    def within(self, values: Sequence[Floats], name: str) -> Floats:
        """Returns mean errors over the drawn questions: float64, shape (resamples,).

        `values`: one array per question, with the values of its responses; `name`: the name of the run.
        """
        random = np.random.default_rng(
            [self._seed, zlib.crc32(name.encode(errors="backslashreplace"))]
        )
        noise = _trial_noise(values, random)
        draws = noise.shape[1]
        places = random.integers(0, draws, self._picks.shape, dtype=np.int32)
        places += self._picks * np.int32(draws)
        return np.asarray(noise.ravel()[places].mean(axis=1))


def interval(mean: float, resampled: Floats, questions: int, level: float) -> tuple[float, float]:
    """Returns the percentile interval of resampled means, stretched about the mean by t/z."""
    tail = (1 - level) / 2
    stretch = two_sided_quantile(level, questions - 1) / normal_quantile(level)
    low, high = np.quantile(resampled, [tail, 1 - tail]).tolist()
    return mean + (low - mean) * stretch, mean + (high - mean) * stretch


def normal_quantile(level: float) -> float:
    """Returns z such that a standard normal variable lies in -z…z with probability `level`."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _trial_noise(values: Sequence[Floats], random: np.random.Generator) -> Floats:
    """Returns errors of question means due to the finite number of trials: shape (questions, draws).

    Each is the mean of n residuals drawn with replacement, stretched by √(n/(n-1)); 0 for a single response.
    """
    return np.stack([_bootstrap_noise(each, random) for each in values])


def _bootstrap_noise(values: Floats, random: np.random.Generator) -> Floats:
    n = len(values)
    if n == 1:
        return np.zeros(_DRAWS)
    residuals = (values - values.mean()) * np.sqrt(n / (n - 1))
    if n > _MANY:
        return np.asarray(random.standard_normal(_DRAWS) * (residuals.std() / np.sqrt(n)))
    picks = random.integers(0, n, (_DRAWS, n), dtype=np.uint16)
    return np.asarray(residuals[picks].mean(axis=1))
