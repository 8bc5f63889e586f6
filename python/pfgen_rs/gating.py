"""A gate: whether a run may replace another, or lost too much, as an exit code and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import Any, Literal

from pfgen_rs.benchmark import Benchmark, score_file
from pfgen_rs.comparisons import comparison_samples
from pfgen_rs.errors import InputError
from pfgen_rs.io.text import counted
from pfgen_rs.lazy import pl
from pfgen_rs.metrics.settings import METRICS, Metric
from pfgen_rs.runs.result import Result
from pfgen_rs.scoring.inputs import Table
from pfgen_rs.stats.comparing import by_question, check_comparable
from pfgen_rs.stats.gating import Decision, Questions, Rule, Test, Verdict, decide

EXIT_CODES: dict[Verdict, int] = {"pass": 0, "drop": 1, "rise": 1, "cannot tell": 3}
"""The exit code of `pfgen-rs gate` for each verdict."""
_WORST_FIRST: tuple[Verdict, ...] = ("drop", "rise", "cannot tell", "pass")


@dataclass(frozen=True)
class Gate:
    """What a gate says of two runs; printing it shows the sentence.

    `names`: of base and new. `decisions`: one for each metric, with the intervals, the trials needed and more
    (`stats.gating.Decision`). `questions`: a row for each metric and question, with `question` (its
    text), `mean_a` (new), `mean_b` (base), `difference` (new minus base) and more, as in `stats.compare`.
    """

    names: tuple[str, str]
    decisions: tuple[Decision, ...]
    signature: str | None
    questions: pl.DataFrame = field(repr=False, compare=False)

    def __str__(self) -> str:
        """Returns the sentence."""
        return self.sentence

    @property
    def verdict(self) -> Verdict:
        """`pass`, `drop`, `rise` (equivalence only) or `cannot tell`: of several metrics, the worst."""
        found = {decision.verdict for decision in self.decisions}
        return next(verdict for verdict in _WORST_FIRST if verdict in found)

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a drop or a rise, 3 if the gate cannot tell."""
        return EXIT_CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict with its numbers; a line for each metric if there are several."""
        if len(self.decisions) == 1:
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
        """Returns the questions that fell most in the first metric, as rows of `questions`."""
        fell = (pl.col("metric") == self.decisions[0].metric) & (pl.col("difference") < 0)
        return self.questions.filter(fell).sort("difference", "question_id").head(count).to_dicts()

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as JSON types."""
        base, new = self.names
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "base": base,
            "new": new,
            "metrics": {each.metric: each.to_dict() for each in self.decisions},
            "fell_most": [
                {
                    "question_id": row["question_id"],
                    "question": row["question"],
                    "base": row["mean_b"],
                    "new": row["mean_a"],
                    "difference": row["difference"],
                }
                for row in self.fell_most()
            ],
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
    if isinstance(base, str | PathLike) and isinstance(new, str | PathLike) and base == new:
        raise InputError("given twice: name another run", path=fspath(base))
    results = [
        run if isinstance(run, Result) else score_file(run, benchmark, **scoring)
        for run in (base, new)
    ]
    names = _names(results)
    of_base, of_new = (
        replace(sample, name=name)
        for sample, name in zip(comparison_samples(results), names, strict=True)
    )
    _, left_out = check_comparable([of_base, of_new])
    if left_out:
        raise InputError(
            f"{counted(len(left_out), 'question')} answered by only one of the runs "
            f"({', '.join(left_out[:5])}): a gate needs the same questions in both"
        )
    rows = by_question([of_new, of_base], [(0, 1)], metrics, level)
    texts = [results[0].benchmark[name].text for name in rows["question_id"]]
    return Gate(
        names,
        tuple(decide(of_base, of_new, rule, metric=each, questions=questions) for each in metrics),
        of_new.signature,
        rows.with_columns(question=pl.Series(texts, dtype=pl.String)),
    )


def _names(results: Sequence[Result]) -> tuple[str, str]:
    """Returns the names of the two runs or, if they have the same, their files."""
    base, new = results
    for one, other in ((base.name, new.name), (base.place, new.place)):
        if one != other:
            return one, other
    return "base", "new"
