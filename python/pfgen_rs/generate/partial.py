"""Scoring the answers of a run that is not finished."""

from __future__ import annotations

import json
import os
from dataclasses import replace

from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.generate.config import RunConfig
from pfgen_rs.generate.run_folder import RunFolder
from pfgen_rs.runs.result import Result

__all__ = ["scored_partially"]


def scored_partially(
    folder: RunFolder,
    config: RunConfig,
    benchmark: Benchmark | str | os.PathLike[str] | None,
    *,
    trials: int,
) -> Result | None:
    """Score all answers of a run, including those of its unfinished trials.

    The result is marked as partial: `planned` is the number of answers in `trials` trials, or in more if the
    folder has more. Returns `None` if there are no answers. Raises what `Benchmark.evaluate` raises.
    """
    found = folder.answers()
    records = [record for answers in found.values() for record in answers]
    if not records:
        return None
    scored = resolve(benchmark, None).evaluate(records)
    return replace(
        scored,
        path=str(folder.path),
        config=json.loads(config.to_json()),
        planned=len(folder.questions) * max(trials, *found),
    )
