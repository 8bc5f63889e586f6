"""The page of a benchmark: questions, rules and reference answers, and scores of answers that readers try."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from pfgen_rs import InputError, Question, Settings
from pfgen_rs.checkout.entries import Entry
from pfgen_rs.checkout.items import analysed_items
from pfgen_rs.metrics import expressions, helpfulness
from pfgen_rs.questions import question_set, unknown
from pfgen_rs.report.answers import SHADED
from pfgen_rs.report.site import folder, pages

LENGTHS = (2, 3, 4, 6, 10)
"""Lengths of the listed n-grams."""

TOP = 20
"""Number of listed n-grams of each length."""


def benchmark_page(
    benchmark: question_set.QuestionSet,
    *,
    frame: pages.Frame = pages.ALONE,
    samples: Mapping[str, str] | None = None,
    entries: Sequence[Entry] = (),
) -> bytes:
    """Returns the page of a benchmark; `samples`: example answers by text of the question.

    `entries`: runs, best first, by which its questions are analysed, if enough models answer just these.
    """
    questions = list(benchmark)
    places = {question.id: place for place, question in enumerate(questions, 1)}
    refusal = _scoring_refusal(benchmark.settings)
    scoring = [
        None if refusal else _page_scoring(benchmark, question, samples or {})
        for question in questions
    ]
    return pages.render(
        "benchmark",
        parts=("windows", "inspector", "answers", "scoring", "scorer", "trial", "benchmark"),
        frame=frame,
        here="benchmark",
        signature=benchmark.signature,
        benchmark=benchmark,
        questions=questions,
        baselines={question.id: benchmark._baselines(question) for question in questions},
        samples=samples or {},
        counts={question.id: _reference_counts(question) for question in questions},
        explained=unknown.explained(name for each in questions for name in each.sources),
        payload_name=references_payload_name,
        analysis=_analysis([entry for entry in entries if entry.questions.keys() == places.keys()]),
        places=places,
        is_literal=helpfulness.is_literal,
        refused=refusal,
        data={"trial": {**page_settings(benchmark.settings), "questions": scoring}},
    )


_SPLITS = 100  # of models, for subsets: half a second for 500 of them


def is_fitted() -> bool:
    """Whether the two-parameter model can be fitted (extra `study`), on which the page depends."""
    return find_spec("scipy") is not None


def _analysis(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Returns the item analysis of these runs, or `None` where there is none: of too few models, say."""
    try:
        return analysed_items(entries, splits=_SPLITS, fitted=is_fitted())
    except InputError:
        return None


def references_payload_name(question: Question) -> str:
    """Returns the name of the payload with a question's reference answers."""
    return f"benchmark/{folder.slug(question.id)}"


def references_payload(question: Question) -> dict[str, Any]:
    """Returns a question's payload: reference answers of each source, and the most frequent n-grams.

    `sources`: names; `answers`: by source; `tokens`: whether answers are ids, written with spaces; `ngrams`:
    by length, rows of an n-gram and its document frequency in each source. Time and memory are linear in the
    answers' length, for the index.
    """
    sources = list(_reference_counts(question))
    return {
        "sources": sources,
        "answers": [[*map(_reference_text, question.answers[source])] for source in sources],
        "tokens": question.has_tokens,
        "ngrams": {str(n): _ngrams(question, n, sources) for n in LENGTHS},
    }


def _reference_counts(question: Question) -> dict[str, int]:
    """Returns the number of reference answers of each source, in the order of `sources.order`."""
    return {
        question.sources[i]: len(question.answers[question.sources[i]])
        for i in unknown.order(question.sources)
    }


def _reference_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else " ".join(map(str, answer))


def _ngrams(question: Question, n: int, sources: Sequence[str]) -> list[list[Any]]:
    found = question.index.ngrams(n, top=TOP)
    return [
        [
            _reference_text(g.text),
            *(g.document_frequency.by_source[source] for source in sources),
        ]
        for g in found
    ]


# What the page of a benchmark needs to score answers in the browser, or why it cannot.


_MOST_NGRAMS = 1 << 13
"""Maximum number of n-grams of an answer; the page's table has a row for each."""


def _scoring_refusal(settings: Settings) -> str | None:
    """Returns the name of the string that says why a page cannot score answers, or `None` if it can."""
    if settings.variant != "pfgen-bench":
        return "try_no_variant"
    if settings.unit != "character":
        return "try_no_unit"
    if (settings.max_length + 2) * max(settings.max_n, settings.truthfulness_n) > _MOST_NGRAMS:
        return "try_no_room"
    return None


def page_settings(settings: Settings) -> dict[str, Any]:
    """Returns the settings as the page's scripts need them."""
    names = ("min_n", "max_n", "truthfulness_n", "threshold", "skipped", "helpfulness")
    lengths = ("target_length", "zero_length", "max_length")
    return {
        "settings": {name: getattr(settings, name) for name in (*names, *lengths)},
        "compensated": settings.compensated,
        "shaded": SHADED,
    }


def _page_scoring(
    benchmark: question_set.QuestionSet, question: Question, samples: Mapping[str, str]
) -> dict[str, Any]:
    """Returns what scoring needs besides a question's reference answers and the settings.

    `baselines`: by source, in the order of `sources.order`. `order`: where the sources of the question file,
    in whose order the scores are added, are among them. `rules`: as in the file, with numbers of `patterns`.
    """
    places = unknown.order(question.sources)
    baselines = benchmark._baselines(question)
    patterns: dict[str, int] = {}
    rules = [_rule(rule, patterns) for rule in question.rules]
    return {
        "id": question.id,
        "sample": samples.get(question.text),
        "baselines": [baselines[question.sources[i]] for i in places],
        "order": [places.index(i) for i in range(len(places))],
        "rules": rules,
        "patterns": [_pattern(pattern) for pattern in patterns],
    }


def _rule(rule: helpfulness.Rule, patterns: dict[str, int]) -> dict[str, Any]:
    common = {"name": rule.name, "importance": rule.importance}
    if rule.kind == "t":
        return {"t": patterns.setdefault(rule.pattern, len(patterns)), **common}
    return {rule.kind: [_rule(part, patterns) for part in rule.parts], **common}


def _pattern(pattern: str) -> dict[str, Any]:
    """Returns `text` and, for regular expressions, `expression` in JavaScript's syntax or `unknown`."""
    if helpfulness.is_literal(pattern):
        return {"text": pattern}
    expression = script_expression(pattern)
    return {
        "text": pattern,
        **({"unknown": True} if expression is None else {"expression": expression}),
    }


def script_expression(pattern: str) -> str | None:
    r"""Returns a valid expression of Python in JavaScript's syntax (flag `u`), or `None`.

    Translates what `linear_expression` does: it writes characters and classes as code points, and
    alternatives and repetitions are tried in the same order everywhere.

    >>> script_expression("犬$")
    '\\u{72AC}(?=\\n?$)'
    """
    linear = expressions.linear_expression(pattern)
    if linear is None:
        return None
    for of_crate, of_script in (
        (expressions.DOLLAR, r"(?=\n?$)"),
        (r"\A", "^"),
        (r"\z", "$"),
        (r"\x{", r"\u{"),
    ):
        linear = linear.replace(of_crate, of_script)
    return linear
