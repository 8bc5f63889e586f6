"""Steps on rows in memory, as a build on one machine applies them, without keeping finished work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.references.distributed.shard_frames import frame_state
from pfgen_rs.references.finishing import answers_by_source
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.steps import STEPS, Context
from pfgen_rs.references.writing import BuiltQuestion

__all__ = ["built_here"]


def built_here(
    outline: Outline,
    frame: pl.DataFrame,
    weights: NDArray[np.uint32] | None,
    steps: Sequence[str],
    context: Context,
) -> BuiltQuestion:
    """Apply steps to the candidates of a question (columns `COLUMNS`) in a folder that is empty."""
    state = frame_state(frame, weights, context.folder / "candidates")
    models, reports = state.models(), []
    for step in steps:
        state, report = STEPS[step](state, replace(context, folder=context.folder / step))
        reports.append(replace(report, models=state.models()))
    spreads = context.spreads(state)
    return BuiltQuestion(outline, frame.height, models, reports, answers_by_source(state), spreads)
