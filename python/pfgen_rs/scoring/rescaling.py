"""Makes scores by a set without some models' reference answers comparable with others (scoring 11.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pfgen_rs import _native
from pfgen_rs.lazy import NDArray, np
from pfgen_rs.metrics.settings import COLUMNS
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet


def scales_of(benchmark: QuestionSet, question: Question) -> Mapping[str, tuple[float, float]]:
    """Returns the factors of Fluency and Truthfulness by source, if the benchmark has any."""
    return {} if benchmark.left_out is None else benchmark.left_out.scales.get(question.id, {})


def rescaled(
    benchmark: QuestionSet, asked: Callable[[], NDArray[np.uint32]], scored: _native.Scored
) -> _native.Scored:
    """Returns scores of answers times the benchmark's scales, if it has any; `asked`: their questions."""
    if benchmark.left_out is None or not benchmark.left_out.answers:
        return scored
    numbers = asked()
    settings, columns = benchmark.settings, scored.columns
    helpfulness = columns[COLUMNS.index("helpfulness")]
    factors, most = (each[:, numbers] for each in _factors(benchmark))
    shares = list(np.minimum(np.array(columns[len(COLUMNS) :]) * factors, most))
    if settings.variant != "paper":
        shares = [_native.round_half_even(share, 6) for share in shares]
    half = len(shares) // 2
    parts = [
        left_sum(map(np.nan_to_num, own), compensated=settings.compensated)
        for own in (shares[:half], shares[half:])
    ]
    both = parts[0] + parts[1]
    average = (both + helpfulness) / 3.0 if settings.helpfulness else both / 2.0
    if settings.variant != "paper":
        average = _native.round_half_even(average, 5)
    return _native.Scored(scored.lengths, [*parts, helpfulness, average, *shares])


def _factors(benchmark: QuestionSet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the factors of all shares and the largest values: float64, shape (shares, questions)."""
    count = len(benchmark.sources)
    factors = np.ones((2 * count, len(benchmark)))
    most = np.full_like(factors, math.inf)
    for number, question in enumerate(benchmark):
        most[count:, number] = 1 / len(question.sources)
        for source, own in scales_of(benchmark, question).items():
            place = benchmark.sources.index(source)
            factors[[place, count + place], number] = own
    return factors, most
