"""The complete diagnosis of a reference set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import SettingsError
from pfgen_rs.io.ahead import interruptibly
from pfgen_rs.references.check.answers import (
    CheckProgress,
    coverage,
    length_histogram,
    lengths,
    near_duplicates,
    rules,
    table,
)
from pfgen_rs.references.check.findings import findings, summarise
from pfgen_rs.references.check.report import Check
from pfgen_rs.references.check.runs import (
    SIZES,
    STRETCH,
    contamination,
    run_means,
    scored_runs,
    shrinking,
    shrinking_runs,
)
from pfgen_rs.references.check.scores import (
    self_scores,
    sources_by_runs,
    sources_compared,
    sources_overall,
)


def check(
    benchmark: Benchmark | str | os.PathLike[str] | None = None,
    runs: Iterable[str | os.PathLike[str]] = (),
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    draws: int = 3,
    similarity: float = 0.9,
    stretch: int = STRETCH,
    threads: int | None = None,
    progress: CheckProgress | None = None,
    **reading: Any,
) -> Check:
    """Diagnose a reference set, on its own and by the scores it gives to runs.

    `benchmark`: a benchmark, or any argument of `load_benchmark`. `runs`: files, run folders or globs, as for
    `pfgen-rs score`; their responses are held in memory, and those to other questions are left out. `seed`,
    `sizes` and `draws`: random subsets of the set (see `shrinking_runs`). `similarity`: minimum Jaccard
    similarity of the 5-grams of near-duplicates. `stretch`: number of consecutive characters that an answer
    must share with the set to be counted.
    `progress` is called with the current activity, the number of parts done and their total. `reading`: how
    runs are read, as options of `score_file`, if not as usual.

    Takes about a minute for 50 questions with 3,000 answers each and 80,000 responses. The results do not
    depend on `threads`. Raises the same errors as loading and scoring, and `SettingsError` for options out of
    range.
    """
    loaded = resolve(benchmark, None)
    if loaded.settings.unit == "token":
        raise SettingsError("cannot check a set of tokens: it contains no text")
    interruptibly(lambda: loaded.prepare(threads=threads))
    tables = _of_set(loaded, similarity, threads, progress)
    files = list(runs)
    if files:
        responses, left_out = scored_runs(
            loaded, files, threads=threads, progress=progress, **reading
        )
        tables |= _of_runs(loaded, responses, stretch, progress)
        tables["left_out"] = _left_out(left_out)
        tables["shrinking_runs"] = shrinking_runs(
            loaded,
            responses,
            sizes=sizes,
            draws=draws,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        tables["shrinking"] = shrinking(tables["shrinking_runs"])
    summary = summarise(loaded, tables)
    sentences = findings(tables, summary, loaded.settings.unit)
    return Check(loaded.signature, tables, summary, sentences)


def _left_out(counts: Mapping[str, Mapping[str, int]]) -> pl.DataFrame:
    rows = [
        (run, question, answers) for run, own in counts.items() for question, answers in own.items()
    ]
    return table(rows, run=str, question=str, answers=int)


def _of_set(
    benchmark: Benchmark, similarity: float, threads: int | None, progress: CheckProgress | None
) -> dict[str, pl.DataFrame]:
    scores = self_scores(benchmark, threads=threads, progress=progress)
    copies, pairs = near_duplicates(benchmark, threshold=similarity, progress=progress)
    compared = sources_compared(benchmark, scores)
    return {
        "self_scores": scores,
        "near_duplicates": copies,
        "near_duplicate_pairs": pairs,
        "lengths": lengths(benchmark),
        "length_histogram": length_histogram(benchmark),
        "coverage": coverage(benchmark, progress=progress),
        "rules": rules(benchmark, progress=progress),
        "sources": compared,
        "sources_overall": sources_overall(compared),
    }


def _of_runs(
    benchmark: Benchmark, responses: pl.DataFrame, stretch: int, progress: CheckProgress | None
) -> dict[str, pl.DataFrame]:
    counts, examples = contamination(benchmark, responses, stretch=stretch, progress=progress)
    return {
        "runs": run_means(responses),
        "source_runs": sources_by_runs(benchmark, responses),
        "contamination": counts,
        "contamination_examples": examples,
    }
