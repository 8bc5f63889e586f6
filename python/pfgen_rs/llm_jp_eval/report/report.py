"""A report of runs: values with intervals, paired comparisons, rank ranges, and notes."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import np, pl
from pfgen_rs.llm_jp_eval.averaging import split_score
from pfgen_rs.llm_jp_eval.diagnosis import Diagnosis
from pfgen_rs.llm_jp_eval.registry import DEFAULT, Profile, find_profile, tasks as registered
from pfgen_rs.llm_jp_eval.report import comparing
from pfgen_rs.llm_jp_eval.report.runs import ReportRun, aligned, told_of
from pfgen_rs.stats.ranking import ranges

MOST_RUNS = 100
"""Runs of a report at most."""
_ALL_PAIRS = 6  # maximum number of runs of which all pairs are shown


@dataclass(frozen=True)
class Report:
    """Runs in columns, compared with each other.

    `runs`: names, by descending average (runs without one come last, in the given order). `average`: empty
    for profiles that have none. `columns`: the average, categories with both correlations of STS, and tasks
    that any run has. `estimates`: by run and name of the column. `pairs`: every two runs in each column, in
    the order of `runs`; the average, categories and tasks are three families for Holm's correction. `ranks`:
    the best and the worst rank by the average that the comparisons leave open, `None` without comparisons.
    `samples`: number of samples by task that all runs have. `notes`: remarks for the reader. `signatures`: by
    run, where known. `diagnoses`: what answers lost to form, by run and task. `profiles`: by run, what
    `scores.json` says of each profile, for runs that were scored by several.
    """

    runs: tuple[str, ...]
    average: str
    columns: tuple[comparing.Column, ...]
    estimates: Mapping[str, Mapping[str, comparing.ColumnEstimate]] = field(repr=False)
    pairs: tuple[comparing.ColumnPair, ...] = field(repr=False)
    ranks: Mapping[str, tuple[int, int] | None]
    samples: Mapping[str, int]
    notes: tuple[str, ...]
    signatures: Mapping[str, str | None]
    diagnoses: Mapping[str, Mapping[str, Diagnosis]] = field(default_factory=dict, repr=False)
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def of_kind(self, kind: str) -> list[comparing.Column]:
        """Returns the columns of a kind: `average`, `category` or `task`."""
        return [column for column in self.columns if column.kind == kind]

    def pairs_in(self, column: str) -> list[comparing.ColumnPair]:
        """Returns the comparisons in a column."""
        return [pair for pair in self.pairs if pair.column == column]

    def shown_pairs(self) -> list[comparing.ColumnPair]:
        """Returns the comparisons in the average; of many runs, those of runs with adjacent averages."""
        pairs = self.pairs_in(self.average)
        if len(self.runs) <= _ALL_PAIRS:
            return pairs
        adjacent = set(pairwise(self.runs))
        return [pair for pair in pairs if (pair.a, pair.b) in adjacent]

    def own_samples(self, column: comparing.Column) -> list[int]:
        """Returns how many samples the values of a task's column rest on: each number once, ascending."""
        found = [columns[column.name] for columns in self.estimates.values()]
        return sorted({each.samples for each in found if each.value is not None and each.samples})

    def samples_text(self, column: comparing.Column) -> str:
        """Returns the number of samples of a task's column as text: `100`, or `100 to 322` if runs differ."""
        counts = self.own_samples(column)
        return " to ".join(f"{count:,}" for count in dict.fromkeys((*counts[:1], *counts[-1:])))

    def score_rows(self) -> list[dict[str, Any]]:
        """Returns a row a run and column."""
        kinds = {column.name: column.kind for column in self.columns}
        rows = []
        for run in self.runs:
            for name, found in self.estimates[run].items():
                row = {"run": run, "column": name, "kind": kinds[name], **asdict(found)}
                del row["sampled"], row["incomplete"]
                rows.append(row | {k: ",".join(row[k]) for k in ("missing", "lacking")})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        found = asdict(replace(self, columns=()))
        del found["columns"]
        scores, diagnosis = found.pop("estimates"), found.pop("diagnoses")
        return {"level": comparing.LEVEL, "scores": scores, "diagnosis": diagnosis, **found}


def report_of(
    runs: Sequence[ReportRun], *, average: str | None = None, tasks: Sequence[str] | None = None
) -> Report:
    """Report on 1 to 100 runs: values of columns, and every two runs compared over the same samples.

    `average`: one of the profile's (default: its main one, if it has one, which needs all of its categories;
    others count those that were not run as 0). Categories are means of the tasks that were run. `tasks`:
    report on these tasks alone.

    Raises `InputError` for runs that cannot be compared (`runs.aligned`), and `SettingsError`.
    """
    if tasks is not None:
        runs = [_only_tasks(run, tasks) for run in runs]
    if not 1 <= len(runs) <= MOST_RUNS:
        raise InputError(f"expected 1 to {MOST_RUNS} runs to report, found {len(runs)}")
    shared, notes = aligned(runs)
    average, columns, found = estimates_of(runs, average)
    board = _board_of(runs)
    values = {name: each[average].value if average else None for name, each in found.items()}
    names = sorted(values, key=lambda name: math.inf if (v := values[name]) is None else -v)
    by_name = {run.name: run for run in runs}
    ordered = [by_name[name] for name in names]
    shared.sort(key=lambda run: names.index(run.name))
    tested = [c for c in columns if all(each[c.name].sampled for each in found.values())]
    kinds = [[c for c in tested if c.kind == kind] for kind in ("average", "category", "task")]
    pairs = [pair for each in kinds for pair in comparing.compared_columns(shared, each)]
    main = [pair for pair in pairs if pair.column == average]
    profiles = {run.name: run.scored.get("profiles", {}) for run in ordered}
    report = Report(
        runs=tuple(names),
        average=average,
        columns=columns,
        estimates={name: found[name] for name in names},
        pairs=tuple(pairs),
        ranks=_ranks(names, main),
        samples=shared[0].counts,
        notes=(),
        signatures={run.name: run.signature for run in ordered},
        diagnoses={run.name: run.diagnosis for run in ordered},
        profiles={name: own for name, own in profiles.items() if len(own) > 1},
    )
    told = *notes, *_notes_on_runs(runs, report, board), *_not_told_apart(report)
    return replace(report, notes=told)


def estimates_of(
    runs: Sequence[ReportRun], average: str | None = None
) -> tuple[str, tuple[comparing.Column, ...], dict[str, dict[str, comparing.ColumnEstimate]]]:
    """Returns the average of runs of one profile, all columns, and by run their values: see `report_of`."""
    scores = {score for run in runs for score in (*run.known, *run.not_computed)}
    board = _board_of(runs)
    profile = board.name
    average = board.average if average is None else average
    means = [comparing.average_column(average, scores, profile)] if average else []
    known = {task for run in runs for task in run.tasks}
    stated = [name for run in runs for name in run.stated]
    categories = comparing.category_columns(scores, stated, profile)
    taken = {average, *(column.name for column in categories)}
    mains = {task: run.main_metric(task) for run in reversed(runs) for task in run.tasks}
    own = comparing.task_columns(sorted(known), scores, taken, profile, mains)
    columns = (*means, *categories, *own)
    found = {run.name: {c.name: comparing.estimated(run, c) for c in columns} for run in runs}
    there = {name for each in found.values() for name, own in each.items() if own.value is not None}
    if board.averaging != "means" or not there & {*board.categories, "STS (r)"}:
        columns = tuple(c for c in columns if c.name in there or c.kind == "task")
        average = average if average in there else ""
        found = {run: {c.name: own[c.name] for c in columns} for run, own in found.items()}
    return average, columns, found


def _board_of(runs: Sequence[ReportRun]) -> Profile:
    return find_profile(next((run.profile for run in runs if run.profile), DEFAULT))


def _only_tasks(run: ReportRun, tasks: Sequence[str]) -> ReportRun:
    own = run.frame.filter(pl.col("task").is_in(list(tasks)))
    if own.is_empty():
        raise InputError(f"{run.name}: none of these tasks was run: {', '.join(tasks)}")
    split = {name: split_score(name, [*registered(), *tasks])[0] for name in run.scores}
    scores = {name: value for name, value in run.scores.items() if split[name] in tasks}
    return replace(run, frame=own, scores=scores, stated={})


def _ranks(
    names: Sequence[str], pairs: Sequence[comparing.ColumnPair]
) -> dict[str, tuple[int, int] | None]:
    if not pairs:
        return dict.fromkeys(names)
    better = np.zeros((len(names), len(names)), dtype=bool)
    for (i, j), pair in zip(combinations(range(len(names)), 2), pairs, strict=True):
        if pair.is_sure:
            better[(i, j) if pair.difference > 0 else (j, i)] = True
    return dict(zip(names, ranges(better), strict=True))


# Remarks on a report: what is missing, and what this number of samples cannot tell apart.


def per_task(counts: Collection[int]) -> str:
    """Describes how many samples the tasks have."""
    least, most = min(counts), max(counts)
    if least == most:
        return f"{counted(least, 'sample')} per task"
    return f"{least:,} to {most:,} samples per task"


def _notes_on_runs(runs: Sequence[ReportRun], report: Report, board: Profile) -> Iterator[str]:
    """Yield remarks on what files of runs state, and on what runs lack."""
    average, columns = report.average, report.columns
    needs = (
        f"{average} needs tasks of all its categories; not run"
        if average == board.average
        else f"{average} counts categories that were not run as 0"
    )
    yield from told_of({run.name: run.ignored for run in runs if run.ignored}, len(runs))
    facts, means = {}, {}
    for run in runs:
        found = report.estimates[run.name]
        partial = [column for column in columns if found[column.name].partial]
        made = {} if board.averaging == "means" else run.scored_profile.get("averages", {})
        tasks = [t for c in partial if c.kind == "category" for t in found[c.name].missing]
        names = f"{', '.join(c.name for c in partial)} ({', '.join(dict.fromkeys(tasks))})"
        facts[run.name] = {
            "as stated by files, since they do not follow from predictions here, and so without intervals "
            "and tests": ", ".join(
                c.name for c in columns if not found[c.name].sampled and c.name not in made
            ),
            "without intervals and tests": f"averages of {board.name} (*: lacks parts)"
            if made
            else "",
            needs: ", ".join(found[average].lacking) if average else "",
            "marked with *, since some of their tasks were not run": names if tasks else "",
            "missing, since it was not computed": "; ".join(
                f"{score} ({reason})" for score, reason in run.not_computed.items()
            ),
        }
        means[run.name] = ", ".join(board.averages.get(average, ()))
        if average in run.stated and board.averaging == "means":
            own = sorted(set(run.stated) - {*board.averages, *board.categories})
            means[run.name] = ", ".join([*filter(run.stated.__contains__, board.categories), *own])
    for fact in facts[runs[0].name]:
        texts = {run: f"{fact}: {own[fact]}" for run, own in facts.items() if own[fact]}
        yield from told_of(texts, len(runs))
    if len(set(means.values())) > 1:
        yield (
            f"{average} is the mean of other categories from run to run, so its values cannot be compared: "
            f"{'; '.join(f'{run}: {own}' for run, own in means.items())}"
        )


def _not_told_apart(report: Report) -> Iterator[str]:
    """Yield which averages are not significantly different, and which differences would be."""
    pairs = report.pairs_in(report.average)
    same = [pair for pair in pairs if not pair.is_sure]
    if not same:
        return
    least = [pair.minimum_detectable for pair in same if pair.minimum_detectable]
    what = f"cannot be told apart in {report.average} with {per_task(report.samples.values())}"
    if len(pairs) > 1:
        told = f"{len(same):,} of {len(pairs):,} pairs {what}"
        if least:
            span = " to ".join(dict.fromkeys((f"{min(least):.4f}", f"{max(least):.4f}")))
            told += f": a test of one pair alone detects differences of {span} with 80 % power"
        yield told
        return
    [pair] = pairs
    told = f"{pair.a} and {pair.b} {what}"
    if least:
        told += f": a difference below {least[0]:.4f} is likely to be missed"
        times = (least[0] / pair.difference) ** 2 if pair.difference else 1.0
        if times >= 1.05:  # else significant, but for the correction
            many = f"about {math.ceil(times * 10) / 10:,.1f} times as many samples"
            told += f"; a true difference of {abs(pair.difference):.4f} needs {many}"
    yield told
