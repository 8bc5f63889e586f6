"""Reference answers as the index knows them: a code point a unit."""

from __future__ import annotations

from pfgen_rs.benchmark import Benchmark
from pfgen_rs.questions.question import Question

__all__ = ["coded_answers"]


def coded_answers(benchmark: Benchmark, question: Question) -> dict[str, list[str]]:
    """The answers of each source, coded; where the units are characters, the answers themselves."""
    coder = benchmark.coder
    return {
        source: coder.encode(list(answers)).to_list()
        for source, answers in question.answers.items()
    }
