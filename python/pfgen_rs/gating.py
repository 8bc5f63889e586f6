"""A gate: whether a run may replace another, or lost too much, as an exit code and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any, Literal

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.comparisons import comparison_samples
from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.settings import METRICS, Metric
from pfgen_rs.runs.published import PublishedResult
from pfgen_rs.runs.result import Result
from pfgen_rs.scoring.inputs import Table
from pfgen_rs.stats.comparing import check_comparable
from pfgen_rs.stats.gating import Decision, Questions, Rule, Test, Verdict, decide, same_trials

EXIT_CODES: dict[Verdict, int] = {"drop": 1, "rise": 1, "cannot tell": 3, "pass": 0}
"""The exit code of `pfgen-rs gate` for each verdict, the worst first."""


@dataclass(frozen=True)
class Gate:
    """What a gate says of two runs; printing it shows the sentence.

    `names`: of base and new. `decisions`: one for each metric, with the intervals, the trials needed and more
    (`stats.gating.Decision`). `questions`: a row for each question, with its
    `question_id`, its text as `question`, its means in the first metric as `base` and `new`, and the
    `difference`, new minus base.
    """

    names: tuple[str, str]
    decisions: tuple[Decision, ...]
    signature: str | None
    questions: tuple[dict[str, Any], ...] = field(repr=False)

    def __str__(self) -> str:
        """Returns the sentence."""
        return self.sentence

    @property
    def verdict(self) -> Verdict:
        """`pass`, `drop`, `rise` (equivalence only) or `cannot tell`: of several metrics, the worst."""
        return min((each.verdict for each in self.decisions), key=list(EXIT_CODES).index)

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a drop or a rise, 3 if the gate cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict with its numbers: a line for each metric, named unless it is the score alone."""
        if [each.metric for each in self.decisions] == ["average"]:
            return self.decisions[0].sentence
        return "\n".join(f"{each.metric}: {each.sentence}" for each in self.decisions)

    @property
    def difference(self) -> float:
        """New minus base in the first metric."""
        return self.decisions[0].difference

    @property
    def low(self) -> float:
        """The lower bound of `difference`."""
        return self.decisions[0].low

    @property
    def high(self) -> float:
        """The upper bound of `difference`."""
        return self.decisions[0].high

    @property
    def trials_needed(self) -> int | None:
        """How many trials of each run would give a verdict in the first metric; see `Decision`."""
        return self.decisions[0].trials_needed

    def fell_most(self, count: int = 5) -> list[dict[str, Any]]:
        """Returns the rows of `questions` that fell most."""
        fell = [row for row in self.questions if row["difference"] < 0]
        return sorted(fell, key=lambda row: (row["difference"], row["question_id"]))[:count]

    def to_markdown(self) -> str:
        """Returns a section for a pull request: verdict, scores, differences, and what fell most."""
        from pfgen_rs.report.gates import gate_markdown  # which a verdict does without

        return gate_markdown(self)

    def to_junit(self, path: str | PathLike[str]) -> None:
        """Write JUnit XML, atomically: a test case for each metric, in which a drop is a failure."""
        from pfgen_rs.report.gates import gate_junit

        write_atomic(path, gate_junit(self))

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types, of the questions those that fell most."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "base": self.names[0],
            "new": self.names[1],
            "metrics": [{**asdict(each), "sentence": each.sentence} for each in self.decisions],
            "fell_most": self.fell_most(),
            "signature": self.signature,
        }


def gate(
    base: Result | str | PathLike[str] | Table,
    new: Result | str | PathLike[str] | Table,
    benchmark: Benchmark | str | PathLike[str] | None = None,
    *,
    max_drop: float = 0.01,
    level: float = 0.95,
    metric: Metric | Literal["all"] = "average",
    test: Test = "non-inferiority",
    questions: Questions = "same",
    **scoring: Any,
) -> Gate:
    """Decide whether `new` scores lower than `base` by more than `max_drop`, for a gate in CI.

    `base`, `new`: results, or what `score_file` scores with `benchmark` and the options `scoring`. `test`:
    what must be shown, and how a wrong verdict is kept to a probability of 1 - `level`: see
    `stats.gating.Rule`. `questions`: whether the statement is about these questions or also about others like
    them: see `stats.gating.decide`. With `metric="all"`, the score and its three parts must pass, and each of
    the four tests has a quarter of the error (Bonferroni).

    Raises what `score_file` raises, `InputError` for runs that do not answer the same questions or were
    scored in different ways, and `SettingsError` for invalid settings.

    >>> import pfgen_rs
    >>> runs = pfgen_rs.sample_runs()
    >>> found = pfgen_rs.gate(runs["faithful"], runs["careless"], max_drop=0.05)
    >>> found.verdict, found.exit_code
    ('drop', 1)
    """
    metrics: Sequence[str] = METRICS if metric == "all" else [metric]
    rule = Rule(max_drop, level, test, len(metrics))
    for run in (base, new):
        if isinstance(run, PublishedResult):
            raise InputError(
                f"{run.name} is a published result, without answers: name its run instead"
            )
    if base is new or (isinstance(base, str | PathLike) and str(base) == str(new)):
        raise InputError("base and new are the same run: name another")
    if scoring and isinstance(base, Result) and isinstance(new, Result):
        raise SettingsError(f"the runs are scored already, so {', '.join(scoring)} has no effect")
    results = [
        run if isinstance(run, Result) else score_file(run, benchmark, **scoring)
        for run in (base, new)
    ]
    samples = comparison_samples(results)
    if {run.path for run in results} == {None}:  # tables, which have no names
        samples = [replace(run, name=n) for run, n in zip(samples, ("base", "new"), strict=True)]
    of_base, of_new = samples
    _, left_out = check_comparable(samples)
    if left_out:
        raise InputError(
            f"{counted(len(left_out), 'question')} answered by only one of the runs "
            f"({', '.join(left_out[:5])}): a gate needs the same questions in both"
        )
    decisions = tuple(
        decide(of_base, of_new, rule, metric=each, questions=questions) for each in metrics
    )
    means = (run.means(metrics[0]).tolist() for run in same_trials(samples))
    rows = [
        {
            "question_id": name,
            "question": results[0].benchmark[name].text,
            "base": before,
            "new": after,
            "difference": after - before,
        }
        for name, before, after in zip(of_base.questions, *means, strict=True)
    ]
    return Gate((of_base.name, of_new.name), decisions, of_new.signature, tuple(rows))
