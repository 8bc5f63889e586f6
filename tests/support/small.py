"""Benchmarks made in memory from what question files hold."""

from __future__ import annotations

from typing import Any

from pfgen_rs import Benchmark, Question, Settings
from pfgen_rs.metrics.helpfulness import parse_rules


def question(data: dict[str, Any]) -> Question:
    """A question of `answers` and, where given, `question_id`, `question` and `keywords`."""
    keywords = data.get("keywords", [])
    return Question(
        id=data.get("question_id", "Q1"),
        text=data.get("question", "何ですか？"),
        category="",
        note="",
        keywords=keywords,
        answers=data["answers"],
        rules=parse_rules(keywords),
    )


def benchmark(*questions: dict[str, Any], settings: Settings | None = None) -> Benchmark:
    """A benchmark of questions as `question` takes them."""
    return Benchmark([question(data) for data in questions], "0" * 40, settings)
