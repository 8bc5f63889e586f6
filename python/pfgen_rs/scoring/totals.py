"""Recomputes totals of responses from the sources' shares, with plain or compensated sums.

The native scorer uses plain sums. Shares are rounded before they are added, so stored shares are sufficient.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.metrics.names import BY_SOURCE, share_name
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.sums import left_sum

__all__ = ["Rows", "sum_again"]

Floats = NDArray[np.float64]
Rows = slice | NDArray[np.intp]


def sum_again(
    columns: Mapping[str, Floats],
    questions: Iterable[tuple[Rows, Sequence[str]]],
    settings: Settings,
) -> None:
    """Replace `fluency`, `truthfulness` and `average` in `columns` (named as by `score_names`) in place.

    `questions`: for each question, the rows of its responses, and its sources in file order. Values
    must be those of variant `pfgen-bench`; `settings` say how they are added.
    """
    for rows, sources in questions:
        fluency, truthfulness = (
            left_sum(
                [columns[share_name(metric, source)][rows] for source in sources],
                compensated=settings.compensated,
            )
            for metric in BY_SOURCE
        )
        average = settings.average(fluency, truthfulness, columns["helpfulness"][rows])
        columns["fluency"][rows] = fluency
        columns["truthfulness"][rows] = truthfulness
        columns["average"][rows] = _native.round_half_even(average, 5)
