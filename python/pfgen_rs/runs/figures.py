"""The figures of runs that were scored in parts, whose answers are elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import Mode
from pfgen_rs.io.counted import counted, plural
from pfgen_rs.metrics.signature import signature
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.runs.summaries import Summaries
from pfgen_rs.runs.summary_row import summary_row
from pfgen_rs.runs.values import RunValues

__all__ = ["Evaluation", "RunFigures", "left_out_note"]


@dataclass(frozen=True)
class RunFigures(RunValues):
    """The figures of a run: its values are those of `Result`, as `Benchmark.evaluate` gives them.

    `is_ordered`: whether the order of the answers was known. If not, sums are exact, `score` is the mean of
    the questions' means of all answers, `score_std` is NaN, and the signature has the part `order:none`.
    `near_ties` then names figures (`Q02 fluency_P`) that sums in some order may round to another last digit.
    `left_out`: how many rows of the run could not be scored, by reason.
    """

    benchmark: QuestionSet = field(repr=False)
    summaries: Summaries = field(repr=False)
    run: str | None
    is_ordered: bool
    clean: Mode | None = None
    near_ties: list[str] = field(default_factory=list, repr=False)
    left_out: Counter[str] = field(default_factory=Counter)
    config: dict[str, Any] | None = field(default=None, repr=False)
    path = input_hash = planned = cut_short = None

    def __repr__(self) -> str:
        """Show name, values and signature."""
        values = f"score={self.score:.4f}, answers={self.height}"
        return f"{type(self).__name__}({self.run!r}, {values}, signature={self.signature!r})"

    @property
    def name(self) -> str:
        """The run's name; `all rows` if rows name none."""
        return "all rows" if self.run is None else self.run

    @property
    def problems(self) -> list[InputError]:  # type: ignore[override]
        """Nothing: `left_out` counts them."""
        return []

    @property
    def unclean(self) -> Counter[str]:  # type: ignore[override]
        """Nothing: texts are not looked at."""
        return Counter()

    @property
    def height(self) -> int:
        """Number of scored answers."""
        return sum(self._counts.values())

    @property
    def questions(self) -> list[dict[str, Any]]:
        """An object a question, with the figures of `questions` in `result.json`, `answers` and `id`."""
        return [
            {"id": id_, "answers": one.count, **one.spread, "scores": one.scores}
            for id_, one in self.summaries.questions.items()
        ]

    @property
    def scores(self) -> dict[str, Any]:
        """The run's `scores` in `result.json`: each source's share of the metrics, and the others."""
        return self._scores

    @property
    def row(self) -> dict[str, Any]:
        """The run's values as one flat object, as in `pfgen-rs score --format json`; NaN is None."""
        return summary_row(self)

    @property
    def left_out_count(self) -> int:
        """Number of rows that could not be scored."""
        return self.left_out.total()

    @property
    def signature(self) -> str:
        """One line that makes the figures reproducible."""
        return signature(
            self.benchmark.metadata_hash,
            self.benchmark.settings,
            answered=(len(self._counts), len(self.benchmark)),
            clean=self.clean,
            ordered=self.is_ordered,
        )

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {id_: one.count for id_, one in self.summaries.questions.items()}

    @property
    def _summaries(self) -> Summaries:
        return self.summaries


class Evaluation(Mapping[str | None, RunFigures]):
    """Runs by name (`None` if rows name none), in the order of names.

    `left_out`: how many rows could not be scored, by run and reason; rows that name no run are under `None`.
    """

    def __init__(
        self, runs: Mapping[str | None, RunFigures], left_out: Mapping[str | None, Counter[str]]
    ) -> None:
        self._runs = dict(sorted(runs.items(), key=lambda item: item[0] or ""))
        self.left_out = dict(left_out)

    def __getitem__(self, run: str | None) -> RunFigures:
        """Returns the run of that name."""
        return self._runs[run]

    def __iter__(self) -> Iterator[str | None]:
        """Iterate over the names."""
        return iter(self._runs)

    def __len__(self) -> int:
        """Count the runs."""
        return len(self._runs)

    def __repr__(self) -> str:
        """Show the scores."""
        scores = ", ".join(f"{name!r}: {run.score:.4f}" for name, run in self.items())
        return f"{type(self).__name__}({{{scores}}})"

    @property
    def frame(self) -> pl.DataFrame:
        """A row a run, in the order of names, with the columns of `RunFigures.row`."""
        return pl.DataFrame([run.row for run in self.values()], infer_schema_length=None)


def left_out_note(left_out: Mapping[str | None, Counter[str]]) -> str | None:
    """Returns how many rows were left out and why, the most frequent reasons first; None without any."""
    reasons: Counter[str] = sum(left_out.values(), Counter())
    if not reasons:
        return None
    shown = [f"{reason} ({count:,})" for reason, count in reasons.most_common(5)]
    more = len(reasons) - len(shown)
    if more:
        shown.append(f"and {counted(more, 'other reason')}")
    total = reasons.total()
    verb = plural(total, "was", "were")
    return f"{counted(total, 'row')} that cannot be scored {verb} left out: {', '.join(shown)}"
