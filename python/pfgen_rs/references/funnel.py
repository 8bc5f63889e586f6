"""What each step received, kept and removed, with reasons and examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

__all__ = ["Removals", "Removed", "StepReport", "funnel"]


@dataclass(frozen=True)
class Removed:
    """Answers removed for the same reason: the reason, their number, and the first few of them."""

    reason: str
    count: int
    examples: list[str]


@dataclass(frozen=True)
class StepReport:
    """The report of one step for one question; `models`: remaining answers by model."""

    step: str
    before: int
    after: int
    removed: list[Removed] = field(default_factory=list)
    details: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        removed = [Removed(**each) for each in data["removed"]]
        return cls(**{**data, "removed": removed})


class Removals:
    """Counts removed answers by reason, and keeps the first examples of each."""

    def __init__(self, examples: int) -> None:
        self._examples = examples
        self._counts: dict[str, int] = {}
        self._shown: dict[str, list[str]] = {}

    def add(self, reason: str, answers: Sequence[str], count: int | None = None) -> None:
        """Add removed answers; `count` is their number if `answers` holds only the first of them."""
        number = len(answers) if count is None else count
        if number:
            self._counts[reason] = self._counts.get(reason, 0) + number
            shown = self._shown.setdefault(reason, [])
            shown.extend(answers[: self._examples - len(shown)])

    def missing(self, reason: str) -> int:
        """Returns how many more examples of a reason to collect."""
        return self._examples - len(self._shown.get(reason, []))

    def sorted(self) -> list[Removed]:
        """Returns all removals by descending count, then by reason."""
        order = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [Removed(reason, count, self._shown[reason]) for reason, count in order]


def funnel(candidates: int, reports: Iterable[StepReport]) -> str:
    """Format the counts as one line: `7,000 candidates, normalise 3,120, rules 3,000`."""
    steps = [f"{report.step} {report.after:,}" for report in reports]
    return ", ".join([f"{candidates:,} candidates", *steps])
