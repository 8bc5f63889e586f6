"""The bootstrap over questions and trials: a run's questions are drawn again, and their answers within them.

Questions are drawn with replacement, the same ones for all runs that are compared, and within each its
responses. Drawn plainly, both stages together vary too much, since the means of questions carry the noise
of their trials already, and intervals from few questions are too short. Both have standard remedies:

- means of questions are shrunk towards their mean, and residuals stretched, so that the resampled mean has
  the variance s²/Q of the clustered standard error (A. C. Davison & D. V. Hinkley, *Bootstrap Methods and
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

import numpy as np
from numpy.typing import NDArray

from pfgen_rs.errors import SettingsError
from pfgen_rs.stats.student import two_sided_quantile

__all__ = ["Resampler", "interval", "normal_quantile"]

Floats = NDArray[np.float64]
_DRAWS = 512  # resampled means of each question's responses, drawn once and used again and again
_FEWEST = 100  # resamples that an interval can come from
_MANY = 2048  # responses from which their resampled mean is normal to all visible digits


class Resampler:
    """Draws of questions, the same for all runs that are compared.

    Random numbers depend on the seed and, for a run's responses, its name; so neither the other runs nor
    their order change what a run gets. Memory O(resamples · questions). Raises `SettingsError` for a seed
    below 0 and for fewer than 100 resamples.
    """

    def __init__(self, questions: int, resamples: int, seed: int) -> None:
        if seed < 0:
            raise SettingsError(f"the seed must be 0 or more, not {seed}")
        if resamples < _FEWEST:
            raise SettingsError(f"at least {_FEWEST} resamples are needed, not {resamples}")
        self._seed = seed
        random = np.random.default_rng(seed)
        self._picks = random.integers(0, questions, (resamples, questions), dtype=np.int32)
        rows = np.arange(resamples)[:, None] * questions
        counts = np.bincount((self._picks + rows).ravel(), minlength=resamples * questions)
        self._weights = counts.reshape(resamples, questions) / questions

    def means(self, means: Floats, noise_variances: Floats, errors: Floats) -> Floats:
        """Means over questions and trials drawn again: float64, shape (resamples,).

        `means`: of questions, or their differences; `noise_variances`: of each, because trials are few;
        `errors`: as `within` gives them for such means. With s² = Σ(m - m̄)²/(Q - 1) and v the mean noise
        variance, questions contribute (s² - v)/Q to the variance and trials v/Q. Where s² < v, so that
        questions seem to vary less than not at all, trials contribute s²/Q alone.
        """
        centre, variance = means.mean(), float(means.var(ddof=1))
        noise = float(noise_variances.mean())
        if variance == 0.0:
            return np.full(len(errors), centre)
        between = math.sqrt(max(variance - noise, 0.0) / float(means.var()))
        within = math.sqrt(min(variance / noise, 1.0)) if noise else 0.0
        # Not by matrix algebra, whose last digits depend on the number of threads.
        drawn = np.einsum("rq,q->r", self._weights, means - centre)
        return np.asarray(centre + drawn * between + errors * within)

    def within(self, values: Sequence[Floats], name: str) -> Floats:
        """Mean errors over the drawn questions: float64, shape (resamples,).

        `values`: of the responses to each question, in the run called `name`.
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
    """The percentile interval of resampled means, stretched about the mean by t/z."""
    tail = (1 - level) / 2
    stretch = two_sided_quantile(level, questions - 1) / normal_quantile(level)
    low, high = np.quantile(resampled, [tail, 1 - tail]).tolist()
    return mean + (low - mean) * stretch, mean + (high - mean) * stretch


def normal_quantile(level: float) -> float:
    """The z within which (-z to z) lies the share `level` of a normal distribution."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _trial_noise(values: Sequence[Floats], random: np.random.Generator) -> Floats:
    """Errors that the means of questions have since trials are few: float64, shape (questions, draws).

    Means of as many residuals as there are, drawn with replacement, and stretched by √(n/(n-1)); 0 where
    there is one response alone.
    """
    return np.stack([_noise(each, random) for each in values])


def _noise(values: Floats, random: np.random.Generator) -> Floats:
    n = len(values)
    if n == 1:
        return np.zeros(_DRAWS)
    residuals = (values - values.mean()) * np.sqrt(n / (n - 1))
    if n > _MANY:
        return np.asarray(random.standard_normal(_DRAWS) * (residuals.std() / np.sqrt(n)))
    picks = random.integers(0, n, (_DRAWS, n), dtype=np.uint16)
    return np.asarray(residuals[picks].mean(axis=1))
