"""Runs for a report: reading them, their samples, and what they must share to be compared."""

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.run_files import RESULT, output_names
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import Floats, pl
from pfgen_rs.llm_jp_eval import diagnosis, measures, scoring
from pfgen_rs.llm_jp_eval.averaging import same_score, shown_averages, side_by_side, split_score
from pfgen_rs.llm_jp_eval.evaluation_files import read_object
from pfgen_rs.llm_jp_eval.reading import predictions
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, tasks
from pfgen_rs.stats.shares import Clusters

_MUST_AGREE = ("profile", "split")
"""Settings that decide what the figures mean."""
_OFTEN = "shots", "prompt", "mode", "max_tokens"
_MAY_DIFFER = *_OFTEN, *scoring.SAMPLING, "raw", "v", *scoring.ELSEWHERE
"""Settings that may be what is compared."""
_UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class ReportRun:
    """An evaluated run.

    `frame`: a row a sample, as `scoring.Evaluation.frame` has it: at least `task`, `index` (from 0), `input`,
    `pred`, `gold` and `value` (the main metric; null for correlations). `scores`: by
    `{task}_{metric}`; what is not given is computed from the samples. `settings`: parts of the signature by
    name (`profile`, `split`, `shots`, …), as far as they are known. `metrics`: by task, those of the run, of
    which samples have values of the first (default: those registered). `differing`: scores that do not follow
    from samples all the same. `stated`: averages and categories as the run's file states
    them. `scored`: what `scores.json` says, empty if there is none. `ignored`: why it is ignored.
    """

    name: str
    frame: pl.DataFrame = field(repr=False)
    scores: Mapping[str, float] = field(default_factory=dict, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    signature: str | None = None
    metrics: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)
    differing: frozenset[str] = field(default=frozenset(), repr=False)
    stated: Mapping[str, float] = field(default_factory=dict, repr=False)
    scored: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ignored: str = ""

    def __post_init__(self) -> None:
        if self.frame.is_empty():
            raise InputError(f"{self.name}: no samples")

    @property
    def profile(self) -> str:
        """The profile of the scores; empty if it is not known."""
        name = self.settings.get("profile", _UNKNOWN).partition("@")[0]
        return "" if name == _UNKNOWN else name

    @property
    def not_computed(self) -> Mapping[str, str]:
        """Scores that are missing, with the reason."""
        found: Mapping[str, str] = self.scored_profile.get("not_computed", {})
        return found

    @property
    def scored_profile(self) -> Mapping[str, Any]:
        """What `scores.json` says of the run's profile, empty if there is none."""
        found: Mapping[str, Any] = self.scored.get("profiles", {}).get(
            self.scored.get("profile"), {}
        )
        return found

    @cached_property
    def diagnosis(self) -> Mapping[str, diagnosis.Diagnosis]:
        """What answers lost to form, by task: as `scores.json` says, or else as predictions show."""
        known = diagnosis.of_record(self.scored.get("diagnosis", {}))
        if known:
            return {task: known[task] for task in self.tasks if task in known}
        profile = self.profile or DEFAULT
        return diagnosis.diagnosed(
            self.frame,
            {task: self.main_metric(task) for task in self.tasks},
            lambda task, texts: predictions(texts, profile, task),
            {name: info.labels for name, info in tasks().items()},
        )

    @property
    def tasks(self) -> list[str]:
        """The tasks that were run, in order."""
        return list(self.counts)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of samples by task."""
        return dict(self.frame.group_by("task", maintain_order=True).len().rows())

    @cached_property
    def sampled(self) -> frozenset[str]:
        """The scores that follow from the samples, by `{task}_{metric}`."""
        every = {
            f"{task}_{each}"
            for task in self.tasks
            for each in self._metrics(task)
            if each in (self.main_metric(task), *measures.CORRELATIONS)
        }
        return frozenset(every - self.differing)

    @cached_property
    def known(self) -> frozenset[str]:
        """All scores, by `{task}_{metric}`."""
        return self.sampled | self.scores.keys()

    def main_metric(self, task: str) -> str:
        """Returns the metric of which the samples of a task have values; empty if there is none."""
        return next(iter(self._metrics(task)), "")

    def _metrics(self, task: str) -> tuple[str, ...]:
        registered = tasks()[task].metrics if task in tasks() else ()
        return registered if self.metrics is None else self.metrics.get(task, registered)

    @cached_property
    def _rows(self) -> dict[str, pl.DataFrame]:
        """The samples of each task, by index."""
        every = self.frame.sort("index").partition_by("task", as_dict=True)
        return {str(task): rows for (task,), rows in every.items()}

    @cached_property
    def _values(self) -> dict[tuple[str, str], Floats]:
        return {}

    def values(self, task: str, metric: str) -> Floats:
        """Returns the value of each sample: shape (samples of the task,), by index.

        For correlations, the jackknife's pseudo-values (`stats.jackknife`), whose mean is the correlation;
        NaN where a number is too large or none, or there is a single sample.
        """
        rows, key = self._rows[task], (task, metric)
        if metric not in measures.CORRELATIONS:
            return rows["value"].to_numpy()
        if key not in self._values:
            self._values[key] = measures.correlation_values(metric, rows["pred"], rows["gold"])
        return self._values[key]

    @cached_property
    def clusters(self) -> dict[str, Clusters]:
        """The number of each sample's cluster, by task, in the order of `values` (`scoring.clusters_of`)."""
        return {task: scoring.clusters_of(task, rows["input"]) for task, rows in self._rows.items()}

    def score(self, task: str, metric: str) -> float:
        """Returns the score of a task: the given one or else the one that its samples have."""
        known = self.scores.get(f"{task}_{metric}")
        if known is not None:
            return known
        rows = self._rows[task]
        if metric in measures.CORRELATIONS:
            return measures.task_figure(metric, rows["pred"].to_list(), rows["gold"].to_list())
        return measures.mean(rows["value"].to_numpy())


def aligned(runs: Sequence[ReportRun]) -> tuple[list[ReportRun], list[str]]:
    """Returns runs reduced to the samples that all have (the same task, index and gold), and remarks.

    Raises `InputError` for runs with the same name, with different profiles or splits, with other golds or
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
    reduced = []
    for run in runs:
        own = run.frame.join(keys, on=["task", "index"], how="semi", maintain_order="left")
        is_whole = len(own) == len(run.frame)
        reduced.append(run if is_whole else replace(run, frame=own, scores={}, stated={}))
    return reduced, list(_alignment_notes(runs, reduced[0].counts))


def _check_settings(runs: Sequence[ReportRun]) -> None:
    names = [run.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"duplicate run name {twice!r}: give each run a name of its own")
    first = runs[0]
    for run, name in product(runs[1:], _MUST_AGREE):
        one, other = first.settings.get(name), run.settings.get(name)
        if one != other and not {one, other} & {None, _UNKNOWN}:
            raise InputError(
                f"{first.name!r} and {run.name!r} have different {name}s ({one} and {other})"
            )


def _check_same_samples(first: ReportRun, other: ReportRun) -> None:
    both = first.frame.join(other.frame, on=["task", "index"], suffix=" of the other")
    for name in ("gold", "input"):
        apart = both.filter(pl.col(name) != pl.col(f"{name} of the other"))
        if not apart.is_empty():
            task, index = apart.select("task", "index").row(0)
            raise InputError(
                f"{first.name!r} and {other.name!r} were evaluated on different data: the {name}s of "
                f"{counted(len(apart), 'sample')} differ, the first is {task} {index}"
            )


def _alignment_notes(runs: Sequence[ReportRun], counts: Mapping[str, int]) -> Iterator[str]:
    every = dict.fromkeys(task for run in runs for task in run.tasks)
    if lost := [task for task in every if task not in counts]:
        yield f"not compared, since some runs lack them: {', '.join(lost)}"
    fewer = [task for task in counts if any(run.counts[task] > counts[task] for run in runs)]
    if fewer:
        told = ", ".join(f"{task} ({counts[task]:,})" for task in fewer)
        yield f"values are over all samples of a run, differences over those that all have: {told}"
    for name in _MAY_DIFFER:
        values = {run.settings[name] for run in runs if name in run.settings} - {_UNKNOWN}
        if len(values) > 1:
            yield f"the runs differ in {name}: {', '.join(sorted(values))}"
    texts = {}
    for run in runs if len(runs) > 1 else ():
        names = *_MUST_AGREE, *_MAY_DIFFER
        if unknown := [name for name in names if run.settings.get(name) == _UNKNOWN]:
            texts[run.name] = f"not known: {', '.join(unknown)}"
    yield from told_of(texts, len(runs))


def told_of(texts: Mapping[str, str], runs: int) -> Iterator[str]:
    """Yield texts by run once each, with the names of their runs unless all `runs` have them."""
    for text in dict.fromkeys(texts.values()):
        names = [run for run, own in texts.items() if own == text]
        yield text if len(names) == runs else f"{text} ({', '.join(names)})"


# Reads result files, also of the published tool.


_USUAL = {"prompt": "default", "mode": "completion", "max_tokens": "default"}
"""What signatures leave out."""


def read_report_runs(paths: Sequence[str | os.PathLike[str]]) -> list[ReportRun]:
    """Read runs: folders with a `result.json`, and result files.

    A run is named after its folder or file, with as many parents as necessary. Raises `InputError`.
    """
    files = [path / RESULT if path.is_dir() else path for path in map(Path, paths)]
    for file in files:
        if not file.exists():
            problem = "no such file: expected a result file, or the folder of a complete run"
            raise InputError(problem, path=file)
    places = [file.parent if file.name == RESULT else file for file in files]
    names = output_names([str(place.absolute()) for place in places])
    return [read_result(file, name) for file, name in zip(files, names, strict=True)]


def _settings(signature: str | None) -> dict[str, str]:
    """Returns the parts of a signature by name, the defaults that it leaves out, and what is not known."""
    if signature is None:
        return dict.fromkeys(("profile", "shots", *_USUAL, *scoring.SAMPLING), _UNKNOWN)
    parts = dict(part.partition(":")[::2] for part in signature.split("|") if ":" in part)
    if known := parts.pop("variant", ""):  # as signatures said before there were profiles
        parts["profile"] = DEFAULT if known == "upstream" else known
    unknown = dict.fromkeys(scoring.SAMPLING, _UNKNOWN)
    return _USUAL | dict.fromkeys(scoring.ELSEWHERE, "none") | unknown | parts


def read_result(path: str | os.PathLike[str], name: str = "") -> ReportRun:
    """Read a result file, `result.json` or that of the published tool, and score its predictions again.

    Scores are those of its predictions, and as the file states them where these have others or none: other
    versions have other metrics of the same name. Of tasks that the catalog does not have, samples have a
    value by the first metric that is known here. Raises `InputError`.
    """
    file = Path(path)
    record, digest = read_object(file)
    beside, scored, ignored = file.with_name(scoring.SCORES), {}, ""
    if file.name == RESULT and beside.is_file():
        try:
            scored = _checked(read_object(beside)[0], digest)
        except InputError as error:
            ignored = f"{scoring.SCORES} is ignored, since {error.problem}: score the outputs again"
    try:
        return replace(_of_record(record, name or file.stem, scored), ignored=ignored)
    except InputError as error:
        raise InputError(error.problem, path=file) from None


def _checked(scored: dict[str, Any], digest: str) -> dict[str, Any]:
    """Returns what `scores.json` says. Raises `InputError` if it is of another result file, or malformed."""
    if scored.get("result_sha256") != digest:
        raise InputError(f"it was not written with this {RESULT}")
    try:
        tables = side_by_side(scored["profiles"])
        math.fsum(value for rows in tables for own in rows.values() for value in own.values())
        dict(scored["profiles"][scored["profile"]]["not_computed"])
        for each in diagnosis.of_record(scored["diagnosis"]).values():
            shares = each.shown()
            [(shares[name], a + b) for name, own in each.examples.items() for _, a, b in own]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError("it is malformed, or has profiles that are not known here") from error
    return scored


def _of_record(record: Mapping[str, Any], name: str, scored: Mapping[str, Any]) -> ReportRun:
    outputs, stated = record.get("outputs"), record.get("scores")
    if not isinstance(outputs, dict) or not isinstance(stated, dict):
        raise InputError("is not a result file: expected an object with 'scores' and 'outputs'")
    # Shares of answers out of label are no scores.
    numbers = {score: _number(value) for score, value in stated.items() if score[-4:] != "_ool"}
    scores = {score: value for score, value in numbers.items() if math.isfinite(value)}
    parts = {score: split_score(score, {*outputs, *tasks()}) for score in scores}
    of_file = {score: scores.pop(score) for score, (_, metric) in parts.items() if not metric}
    profile = scored.get("profile", DEFAULT)
    found = scored.get("profiles", {}).get(profile, {})
    figures = {*measures.sample_metrics(), *measures.task_metrics()}
    named = _named_metrics(found, scores, {*outputs, *tasks()})
    frames, metrics, differing = [], {}, set()
    for task in sorted(outputs, key=[*tasks(), *outputs].index):
        columns = _columns(outputs[task])
        if columns is None:
            if task in tasks():
                raise InputError(f"the outputs of {task} must be samples with input, pred and gold")
            continue
        own = named.get(task) or ([*tasks()[task].metrics] if task in tasks() else [])
        used = [metric for metric in own if metric in figures]
        computed = {find_profile(profile).computed.get(metric, metric): metric for metric in used}
        inputs, preds, golds = columns
        frame, values = scoring.evaluated_predictions(
            task, [*computed], preds, golds, inputs=inputs
        )
        frames.append(frame)
        metrics[task] = tuple(dict.fromkeys([*used, *own]))
        made = {f"{task}_{computed[metric]}": value for metric, value in values.items()}
        same = {n: value for n, value in made.items() if same_score(value, scores.get(n, value))}
        differing |= {f"{task}_{metric}" for metric in own} - same.keys()
        scores |= same
    if not frames:
        raise InputError("is not a result file of these tasks: 'outputs' has none of them")
    config = record.get("config")
    signature = config.get("signature") if isinstance(config, dict) else None
    known_signature = signature if isinstance(signature, str) else None
    settings = _settings(known_signature)
    if found and find_profile(profile).averaging != "means":
        of_file |= shown_averages(profile, {**found, "partial": ()})
    frame = pl.concat(frames)
    made_here = frozenset(differing)
    return ReportRun(
        name, frame, scores, settings, known_signature, metrics, made_here, of_file, scored
    )


def _named_metrics(
    found: Mapping[str, Any], scores: Mapping[str, float], known: Collection[str]
) -> dict[str, list[str]]:
    """Returns the metrics of a run by task: in the order of `scores.json`, else as they are registered."""
    lacking = found.get("not_computed", {})
    registered = [f"{each.name}_{metric}" for each in tasks().values() for metric in each.metrics]
    named: dict[str, list[str]] = {}
    for score in dict.fromkeys([*found.get("scores", ()), *lacking, *registered, *scores]):
        if score in scores or score in lacking:
            task, metric = split_score(score, known)
            named.setdefault(task, []).append(metric)
    return named


def _number(stated: Any) -> float:
    """Returns a number, or that in a text; NaN for anything else."""
    try:
        return float(str(stated))
    except ValueError:
        return math.nan


def _columns(samples: Any) -> list[list[str]] | None:
    """Returns inputs, predictions and golds; `None` unless they are texts, at least one of each."""
    rows = samples if isinstance(samples, list) else []
    if not rows or not all(isinstance(each, dict) for each in rows):
        return None
    found = [[each.get(key) for each in rows] for key in ("input", "pred", "gold")]
    return found if all(isinstance(text, str) for own in found for text in own) else None
