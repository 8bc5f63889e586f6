"""Everything that can be told about a set of reference answers, at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pfgen_rs import io
from pfgen_rs.benchmark import Benchmark, resolve
from pfgen_rs.errors import SettingsError
from pfgen_rs.references.check.contamination import STRETCH, contamination
from pfgen_rs.references.check.coverage import coverage
from pfgen_rs.references.check.findings import findings
from pfgen_rs.references.check.lengths import length_histogram, lengths
from pfgen_rs.references.check.near_duplicates import near_duplicates
from pfgen_rs.references.check.report import write_report
from pfgen_rs.references.check.rules import rules
from pfgen_rs.references.check.scored_runs import run_means, scored_runs
from pfgen_rs.references.check.self_scores import self_scores
from pfgen_rs.references.check.shrinking import SIZES, shrinking, shrinking_runs
from pfgen_rs.references.check.sources import (
    sources_by_runs,
    sources_compared,
    sources_overall,
)
from pfgen_rs.references.check.steps import CheckProgress
from pfgen_rs.references.check.summary import summarise

__all__ = ["Check", "check"]


@dataclass(frozen=True)
class Check:
    """What was found out about a set.

    `tables` by name, each as the function describes it that makes it: `self_scores`, `near_duplicates`,
    `near_duplicate_pairs`, `lengths`, `length_histogram`, `coverage`, `rules`, `sources`, `sources_overall`
    and, where runs were given, `runs`, `source_runs`, `shrinking`, `shrinking_runs`, `contamination`,
    `contamination_examples`. `summary` has a row a question, `findings` are sentences about the whole set.
    """

    signature: str
    tables: dict[str, pl.DataFrame]
    summary: pl.DataFrame
    findings: list[str]

    def to_dir(self, folder: str | os.PathLike[str], *, plots: bool | None = None) -> list[Path]:
        """Write every table as CSV, `check.md`, and plots as SVG; gives the paths.

        `plots`: whether to draw; by default where matplotlib is installed. Each file is written whole or not
        at all. Raises `OutputError`, also where plots are wanted and matplotlib is missing.
        """
        return write_report(self, Path(folder), plots=plots)


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
) -> Check:
    """Diagnose a set of reference answers, alone and by the scores it gives to runs.

    `benchmark`: one, or what `load_benchmark` takes. `runs`: files, run folders or globs, as `pfgen-rs score`
    takes them; their responses are held in memory. `seed`, `sizes` and `draws`: random subsets of the set
    (`shrinking_runs`); `similarity`: from which Jaccard similarity of 5-grams texts are near-duplicates;
    `stretch`: characters on end that an answer must share with the set to be counted. `progress` is told
    what is being done, how many parts of it are done and how many there are.

    About a minute for 50 questions with 3,000 answers each and 80,000 responses. The numbers do not depend on
    `threads`. Raises what loading and scoring do, and `SettingsError` for options out of range.
    """
    loaded = resolve(benchmark, None)
    if loaded.settings.unit == "token":
        raise SettingsError("cannot check a set of tokens: it has no text")
    io.interruptibly(lambda: loaded.prepare(threads=threads))
    tables = _of_set(loaded, similarity, threads, progress)
    files = list(runs)
    if files:
        responses = scored_runs(loaded, files, threads=threads, progress=progress)
        tables |= _of_runs(loaded, responses, stretch, progress)
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
    return Check(loaded.signature, tables, summary, findings(tables, summary))


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
