"""Figures of runs whose rows were scored in parts: by engines, on several machines, or batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import Clean
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.figures import Evaluation, RunFigures, left_out_note
from pfgen_rs.runs.partial import Partial
from pfgen_rs.scoring.columns import Table

__all__ = ["Evaluation", "Partial", "RunFigures", "evaluate", "merged"]

_LOG = logging.getLogger(__name__)


def evaluate(
    tables: Iterable[Table],
    benchmark: QuestionSet,
    *,
    by: str | None = None,
    order: str | None = None,
    clean: Clean = False,
) -> Evaluation:
    """Summarise rows with scores as runs, one table after the other; arguments as for `Partial`.

    Rows that cannot be scored are in `left_out`, and a warning is logged. Raises `InputError`.
    """
    found = Partial(benchmark, by=by, order=order, clean=clean)
    for one in tables:
        found.update(one)
    return noted(found.results())


def merged(parts: Iterable[bytes], benchmark: QuestionSet) -> Partial:
    """Returns one partial result of several, given as bytes (at least one).

    Raises `InputError` for parts that are damaged or do not belong together, and for none at all.
    """
    whole: Partial | None = None
    for data in parts:
        part = Partial.from_bytes(data, benchmark)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    if whole is None:
        raise InputError("no partial results")
    return whole


def noted(evaluation: Evaluation) -> Evaluation:
    """Returns the evaluation; logs a warning if rows were left out."""
    note = left_out_note(evaluation.left_out)
    if note is not None:
        _LOG.warning("%s", note)
    return evaluation
