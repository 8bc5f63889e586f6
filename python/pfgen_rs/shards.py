"""Scoring on several machines: each scores a shard of the files, and the shards are merged."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from pfgen_rs.benchmark import Benchmark, load_benchmark, log_notes, resolve
from pfgen_rs.errors import BenchmarkNotFoundError, InputError
from pfgen_rs.io import Options
from pfgen_rs.io.cleaning import Clean
from pfgen_rs.io.keep import Keep
from pfgen_rs.io.patterns import Paths, expand, expand_runs
from pfgen_rs.io.remote.storage import Storage
from pfgen_rs.metrics.settings import Chosen, Settings
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.merging import MergeJob
from pfgen_rs.runs.result import Result
from pfgen_rs.runs.shard_plan import Shard
from pfgen_rs.runs.shards import ShardJob
from pfgen_rs.runs.streaming import ScoringProgress
from pfgen_rs.scoring.columns import as_paths

__all__ = ["loader_of_shards", "merge_shards", "score_shard"]


def score_shard(
    source: Paths,
    shard: str | tuple[int, int],
    out: str | os.PathLike[str],
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    settings: Chosen = None,
    question_field: str = "question",
    answer_field: str = "answer",
    skip_bad_lines: bool = False,
    strict: bool = False,
    replace_invalid: bool = False,
    clean: Clean = False,
    run_field: str | None = None,
    rows: bool = False,
    keep: Keep = None,
    threads: int | None = None,
    progress: ScoringProgress | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> int:
    """Score one shard of files, into the folder `out`, for `merge_shards`. Returns its number of responses.

    `source`: all files, the same for all shards, as for `score_runs`, whose options the others are. `shard`:
    `"3/7"` or `(3, 7)`, counted from 1. Every shard divides the files by itself, by their sizes: whole files,
    and ranges of rows of Parquet files that are large compared with a shard's share. There may be more shards
    than there is to divide; some are empty then.

    `rows`: keep texts and scores of every response, too, which `merge_shards(per_response=…)` needs; `keep`
    names columns of the input to copy there (default: all of tables).

    `out` appears when everything is scored, in place of an earlier shard. Raises what `score_runs` raises,
    `SettingsError` for a shard that there is not, `InputError` for standard input and pipes, `OutputError`.
    """
    loaded = resolve(benchmark, settings)
    options = Options(
        question_field,
        answer_field,
        skip_bad_lines,
        tokens=loaded.settings.unit == "token",
        clean=clean,
        strict=strict,
        replace_invalid=replace_invalid,
    )
    paths = as_paths(source)
    if paths is None:
        raise InputError("shards are made of files: name them")
    storage = Storage(storage_options)
    job = ShardJob(
        loaded,
        expand_runs(paths, storage),
        options,
        Shard.of(shard),
        rows=rows,
        keep=keep,
        run_field=run_field,
        threads=threads,
        storage=storage,
    )
    return job.run(out, progress).responses


def merge_shards(
    shards: Paths,
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    per_response: str | os.PathLike[str] | None = None,
    allow_partial: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Result]:
    """Merge the folders of all shards, in any order. Returns the results that `score_runs` would have given.

    `shards`: folders, globs, or one folder that has them all. `benchmark`: the one that they were scored with
    (default: from where it was). `out` and `per_response`: where to write `result.json`, or a folder for each
    run, and a table of all responses, byte for byte as `pfgen-rs score` does; `allow_partial` as there. Both
    may be URLs, opened with `storage_options`. Warnings are logged as by `score_runs`.

    Files that were divided must be where they were when samples of results are asked for (`out`, `to_dict`).

    Raises `InputError`, before anything is written, for shards that are missing, damaged, given twice, or
    scored from other files or with other options, settings or questions than the others.
    """
    load = loader_of_shards(benchmark, load_benchmark)
    paths = expand(as_paths(shards) or [])
    job = MergeJob(
        paths,
        load,
        out=out,
        per_response=per_response,
        allow_partial=allow_partial,
        storage=Storage(storage_options),
    )
    with job:
        results = job.run()
        for result in results:
            log_notes(result)
        job.write()
    return results


def loader_of_shards(
    benchmark: Benchmark | str | os.PathLike[str] | None, load: Callable[..., Benchmark]
) -> Callable[[str | None, Settings], QuestionSet]:
    """Returns what `MergeJob` loads its benchmark with: this one or, without one, that of the shards."""

    def loaded(folder: str | None, settings: Settings) -> QuestionSet:
        if isinstance(benchmark, Benchmark):
            return benchmark.with_settings(settings)
        name: Any = folder if benchmark is None else benchmark
        if name is None:
            raise InputError("the shards do not say where their questions are: name the benchmark")
        try:
            return load(name, settings=settings)
        except BenchmarkNotFoundError as error:
            if benchmark is not None:
                raise
            raise BenchmarkNotFoundError(
                f"the questions of the shards are not there: {error.problem}; name the benchmark (-b)",
                path=name,
            ) from None

    return loaded
