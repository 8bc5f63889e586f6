"""The page of a benchmark: questions, rules and reference answers, and scores of answers that readers try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pfgen_rs.metrics.helpfulness import is_literal
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.sources import explained, order
from pfgen_rs.report.site import names
from pfgen_rs.report.site.page_scoring import page_scoring, page_settings, scoring_refusal
from pfgen_rs.report.site.pages import render

__all__ = ["benchmark_page", "references_payload", "references_payload_name"]

LENGTHS = (2, 3, 4, 6, 10)
"""Lengths of the listed n-grams."""

TOP = 20
"""Number of listed n-grams of each length."""


def benchmark_page(
    benchmark: QuestionSet,
    *,
    nav: Sequence[tuple[str, str]] = (),
    samples: Mapping[str, str] | None = None,
    shown: int | None = None,
    root: str = "../",
    payloads: Mapping[str, Any] | None = None,
) -> bytes:
    """Returns the page of a benchmark.

    `samples`: example answers by text of the question. `shown`: as for `references_payload`, for a remark.
    `payloads`: values of `references_payload` by name, for a page in a single file.
    """
    questions = list(benchmark)
    refusals = [scoring_refusal(benchmark, question, shown) for question in questions]
    return render(
        "benchmark",
        parts=("windows", "inspector", "answers", "scoring", "scorer", "trial", "benchmark"),
        root=root,
        nav=nav,
        here="benchmark",
        signature=benchmark.signature,
        benchmark=benchmark,
        questions=questions,
        baselines={question.id: benchmark.baselines(question) for question in questions},
        samples=samples or {},
        counts={question.id: _reference_counts_of_benchmark(question) for question in questions},
        explained=explained(source for question in questions for source in question.sources),
        shown=shown,
        payload_name=references_payload_name,
        payloads=payloads or {},
        is_literal=is_literal,
        refusals=refusals,
        refused=refusals[0] if len(set(refusals)) == 1 else None,
        trial=_trials_on_page(benchmark, questions, refusals, samples or {}),
    )


def _trials_on_page(
    benchmark: QuestionSet,
    questions: Sequence[Question],
    refusals: Sequence[str | None],
    samples: Mapping[str, str],
) -> dict[str, Any]:
    """Returns what scripts need to score answers; `questions`: `None` where there is a refusal."""
    return {
        **page_settings(benchmark.settings),
        "questions": [
            {
                "id": question.id,
                "sample": samples.get(question.text),
                **page_scoring(benchmark, question),
            }
            if refusal is None
            else None
            for question, refusal in zip(questions, refusals, strict=True)
        ],
    }


def references_payload_name(question: Question) -> str:
    """Returns the name of the payload with a question's reference answers."""
    return f"benchmark/{names.slug(question.id)}"


def references_payload(question: Question, shown: int | None = None) -> dict[str, Any]:
    """Returns a question's payload: reference answers of each source, and the most frequent n-grams.

    `sources`: names; `answers`: by source, at most `shown` of each; `tokens`: whether answers are ids,
    written with spaces; `ngrams`: by length, rows of an n-gram and its document frequency in each source.
    Time and memory are linear in the answers' length, for the index.
    """
    sources = list(_reference_counts_of_benchmark(question))
    return {
        "sources": sources,
        "answers": [
            _reference_texts_on_page(question.answers[source], shown) for source in sources
        ],
        "tokens": question.has_tokens,
        "ngrams": {str(n): _benchmark_page_ngrams(question, n, sources) for n in LENGTHS},
    }


def _reference_counts_of_benchmark(question: Question) -> dict[str, int]:
    """Returns the number of reference answers of each source, in the order of `sources.order`."""
    return {
        question.sources[i]: len(question.answers[question.sources[i]])
        for i in order(question.sources)
    }


def _reference_texts_on_page(answers: Sequence[Any], shown: int | None) -> list[str]:
    return [_reference_text_on_page(answer) for answer in islice(answers, shown)]


def _reference_text_on_page(answer: Any) -> str:
    return answer if isinstance(answer, str) else " ".join(map(str, answer))


def _benchmark_page_ngrams(question: Question, n: int, sources: Sequence[str]) -> list[list[Any]]:
    found = question.index.ngrams(n, top=TOP)
    return [
        [
            _reference_text_on_page(g.text),
            *(g.document_frequency.by_source[source] for source in sources),
        ]
        for g in found
    ]
