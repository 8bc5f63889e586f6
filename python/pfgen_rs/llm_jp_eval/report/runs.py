"""Runs for a report: their samples, and what they must share to be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.llm_jp_eval.catalog import tasks as catalog
from pfgen_rs.llm_jp_eval.metrics.samples import CORRELATIONS, correlation, correlation_values, mean

Floats = NDArray[np.float64]
_COLUMNS = ("task", "index", "pred", "gold", "value")
_MUST_AGREE = ("variant", "split")
"""Settings that decide what the figures mean."""
_MAY_DIFFER = (
    *("shots", "prompt", "mode", "max_tokens"),
    *("temperature", "seed", "top_p", "raw", "v"),
)
"""Settings that may be what is compared."""
_UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class ReportRun:
    """An evaluated run.

    `frame`: a row a sample, as `scoring.Evaluation.frame` has it: at least `task`, `index` (from 0), `pred`,
    `gold` and `value` (the main metric; null for correlations), optionally `input`. `scores`: by
    `{task}_{metric}`; what is not given is computed from the samples. `settings`: parts of the signature by
    name (`variant`, `split`, `shots`, …), as far as they are known. `metrics`: by task, those whose values
    the samples have (default: the catalog's). `stated`: averages and categories as the run's file states
    them.
    """

    name: str
    frame: pl.DataFrame = field(repr=False)
    scores: Mapping[str, float] = field(default_factory=dict, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    signature: str | None = None
    metrics: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)
    stated: Mapping[str, float] = field(default_factory=dict, repr=False)
    _values: dict[tuple[str, str], Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in _COLUMNS if name not in self.frame.columns]
        if missing:
            raise InputError(
                f"{self.name}: missing columns in the samples: {', '.join(map(repr, missing))}"
            )
        if self.frame.is_empty():
            raise InputError(f"{self.name}: no samples")

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks that were run, in order."""
        return self.frame["task"].unique(maintain_order=True).to_list()

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of samples by task."""
        return dict(self.frame.group_by("task", maintain_order=True).len().rows())

    @cached_property
    def sampled(self) -> frozenset[str]:
        """The scores that follow from the samples, by `{task}_{metric}`."""
        metrics = self.metrics
        if metrics is None:
            metrics = {name: task.metrics for name, task in catalog().items()}
        return frozenset(f"{task}_{each}" for task in self.tasks for each in metrics.get(task, ()))

    @cached_property
    def known(self) -> frozenset[str]:
        """All scores, by `{task}_{metric}`."""
        return self.sampled | self.scores.keys()

    def main_metric(self, task: str) -> str:
        """Returns the metric of which the samples of a task have values; empty if there is none."""
        if task in catalog():
            return catalog()[task].metrics[0]
        return next(iter((self.metrics or {}).get(task, ())), "")

    def values(self, task: str, metric: str) -> Floats:
        """Returns the value of each sample: shape (samples of the task,), by index.

        For correlations, the jackknife's pseudo-values (`stats.jackknife`), whose mean is the correlation;
        NaN where a number is too large or none, or there is a single sample.
        """
        key = task, metric
        if key not in self._values:
            rows = self.frame.filter(pl.col("task") == task).sort("index")
            if metric in CORRELATIONS:
                gold = [_gold(self.name, text) for text in rows["gold"]]
                self._values[key] = correlation_values(metric, rows["pred"], gold)
            else:
                self._values[key] = rows["value"].to_numpy()
        return self._values[key]

    def score(self, task: str, metric: str) -> float:
        """Returns the score of a task: the given one or else the one that its samples have."""
        known = self.scores.get(f"{task}_{metric}")
        if known is not None:
            return known
        rows = self.frame.filter(pl.col("task") == task)
        if metric in CORRELATIONS:
            return correlation(metric, rows["pred"].to_list(), rows["gold"].to_list())
        return mean(rows["value"].to_numpy())


def aligned(runs: Sequence[ReportRun]) -> tuple[list[ReportRun], list[str]]:
    """Returns runs reduced to the samples that all have (the same task, index and gold), and remarks.

    Raises `InputError` for runs with the same name, with different variants or splits, with other golds or
    inputs for the same samples, and if they share no sample.
    """
    _check_settings(runs)
    first = runs[0]
    keys = first.frame.select("task", "index")
    for run in runs[1:]:
        _check_same_samples(first, run)
        keys = keys.join(run.frame.select("task", "index"), on=["task", "index"], how="semi")
    if keys.is_empty():
        raise InputError("the runs share no sample: expected runs over the same tasks and samples")
    reduced = [_reduced_to(keys, run) for run in runs]
    return reduced, _alignment_notes(runs, reduced[0].counts)


def _gold(run: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{run}: jsts: expected a number as gold, found {text[:80]!r}") from None


def _check_settings(runs: Sequence[ReportRun]) -> None:
    names = [run.name for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"duplicate run name {name!r}: give each run once, under a name of its own"
            )
    first = runs[0]
    for run in runs[1:]:
        for name in _MUST_AGREE:
            one, other = first.settings.get(name), run.settings.get(name)
            if one != other and not {one, other} & {None, _UNKNOWN}:
                raise InputError(
                    f"{first.name!r} and {run.name!r} have different {name}s ({one} and {other}): compare "
                    f"runs with the same {name}"
                )


def _check_same_samples(first: ReportRun, other: ReportRun) -> None:
    about = ["gold", *(["input"] if _has_inputs(first) and _has_inputs(other) else [])]
    both = first.frame.select("task", "index", *about).join(
        other.frame.select("task", "index", *about), on=["task", "index"], suffix=" of the other"
    )
    for name in about:
        apart = both.filter(pl.col(name) != pl.col(f"{name} of the other"))
        if not apart.is_empty():
            task, index = apart.select("task", "index").row(0)
            raise InputError(
                f"{first.name!r} and {other.name!r} were evaluated on different data: the {name}s of "
                f"{counted(len(apart), 'sample')} differ, the first is {task} {index}"
            )


def _has_inputs(run: ReportRun) -> bool:
    return "input" in run.frame.columns and run.frame["input"].null_count() == 0


def _reduced_to(keys: pl.DataFrame, run: ReportRun) -> ReportRun:
    if len(keys) == len(run.frame):
        return run
    own = run.frame.join(keys, on=["task", "index"], how="semi", maintain_order="left")
    return replace(run, frame=own, scores={}, stated={})


def _alignment_notes(runs: Sequence[ReportRun], counts: Mapping[str, int]) -> list[str]:
    notes = []
    every = dict.fromkeys(task for run in runs for task in run.tasks)
    lost = [task for task in every if task not in counts]
    if lost:
        notes.append(f"not compared, since some runs lack them: {', '.join(lost)}")
    fewer = [task for task in counts if any(run.counts[task] > counts[task] for run in runs)]
    if fewer:
        told = ", ".join(f"{task} ({counts[task]:,})" for task in fewer)
        notes.append(
            f"values are over all samples of a run, differences over those that all have: {told}"
        )
    for name in _MAY_DIFFER:
        values = {run.settings[name] for run in runs if name in run.settings} - {_UNKNOWN}
        if len(values) > 1:
            notes.append(f"the runs differ in {name}: {', '.join(sorted(values))}")
    settings = (*_MUST_AGREE, *_MAY_DIFFER)
    unknown = {
        run.name: ", ".join(name for name in settings if run.settings.get(name) == _UNKNOWN)
        for run in runs
    }
    texts = {run: f"not known: {names}" for run, names in unknown.items() if names}
    return [*notes, *(told_of(texts, len(runs)) if len(runs) > 1 else ())]


def told_of(texts: Mapping[str, str], runs: int) -> list[str]:
    """Returns texts by run once each, with the names of their runs unless all `runs` have them."""
    names: dict[str, list[str]] = {}
    for run, text in texts.items():
        names.setdefault(text, []).append(run)
    return [
        text if len(own) == runs else f"{text} ({', '.join(own)})" for text, own in names.items()
    ]
