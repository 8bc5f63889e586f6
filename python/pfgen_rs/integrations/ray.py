"""Scores Ray datasets on all machines of a cluster; docs/how-to/scale.md has an example."""

import os
import pickle
from collections.abc import Iterator
from typing import Any

from pfgen_rs import Benchmark, Settings, SettingsError, extras
from pfgen_rs.integrations.arrow import ArrowScorer, scorer
from pfgen_rs.io.cleaning import Clean

extras.needed("ray.data", "ray")

import ray  # noqa: E402 - the error names the extra

_ROWS = 1 << 15  # scored at once: rows of a block may be many


def score(
    dataset: ray.data.Dataset,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    question_field: str | None = "question",
    answer_field: str = "answer",
    question: str | None = None,
    clean: Clean = False,
    concurrency: int | None = None,
    **remote_args: Any,
) -> ray.data.Dataset:
    """Returns a dataset with scores, which are computed when it is used.

    Columns and arguments are those of `integrations.arrow.scorer`. Scores are computed by tasks with one
    thread each, at most `concurrency` at a time; `remote_args` are Ray's for tasks, such as `memory`. Rows
    keep their order within a block; blocks keep theirs if the data context's
    `execution_options.preserve_order` is set. `results_from_scores` makes figures of the rows.

    Raises what `scorer` raises, and `SettingsError` for arguments that would make it actors.
    """
    if "compute" in remote_args or isinstance(concurrency, tuple | list):
        raise SettingsError(
            "scores are computed by tasks: a pool of actors that takes every CPU leaves none to read with, "
            "and Ray waits forever; limit the number of tasks with concurrency=N"
        )
    pickled = pickle.dumps(
        scorer(
            benchmark,
            settings=settings,
            question_field=question_field,
            answer_field=answer_field,
            question=question,
            clean=clean,
        )
    )

    def scored(block: Any) -> Iterator[Any]:
        # A local function is sent by value, so that a worker runs this before it imports polars, which would
        # otherwise start a thread for each core in each of the workers, of which there is one for each core.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        score: ArrowScorer = pickle.loads(pickled)  # noqa: S301 - made above
        for at in range(0, max(block.num_rows, 1), _ROWS):
            yield score(block.slice(at, _ROWS))

    return dataset.map_batches(
        scored,
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        concurrency=concurrency,
        **remote_args,
    )
