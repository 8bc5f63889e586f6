"""What the page of a benchmark needs to score answers in the browser, or why it cannot."""

from __future__ import annotations

from typing import Any

from pfgen_rs.metrics.helpfulness import Rule, is_literal
from pfgen_rs.metrics.linear_expressions import DOLLAR, linear_expression
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet
from pfgen_rs.questions.sources import order
from pfgen_rs.report.windows import SHADED

__all__ = ["page_scoring", "page_settings", "scoring_refusal", "script_expression"]

_MOST_NGRAMS = 1 << 13
"""Maximum number of n-grams of an answer; the page's table has a row for each."""


def scoring_refusal(benchmark: QuestionSet, question: Question, shown: int | None) -> str | None:
    """Returns the name of the string that says why a page cannot score answers, or `None` if it can.

    `shown`: as for `benchmark_page.references_payload`.
    """
    settings = benchmark.settings
    if settings.variant != "pfgen-bench":
        return "try_no_variant"
    if settings.unit != "character":
        return "try_no_unit"
    if (settings.max_length + 2) * max(settings.max_n, settings.truthfulness_n) > _MOST_NGRAMS:
        return "try_no_room"
    if shown is not None and any(len(answers) > shown for answers in question.answers.values()):
        return "try_incomplete"
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


def page_scoring(benchmark: QuestionSet, question: Question) -> dict[str, Any]:
    """Returns what scoring needs besides a question's reference answers and the settings.

    `baselines`: by source, in the order of `sources.order`. `order`: where the sources of the question file,
    in whose order the scores are added, are among them. `rules`: as in the file, with numbers of `patterns`.
    """
    places = order(question.sources)
    baselines = benchmark.baselines(question)
    patterns: dict[str, int] = {}
    rules = [_rule_in_page(rule, patterns) for rule in question.rules]
    return {
        "baselines": [baselines[question.sources[i]] for i in places],
        "order": [places.index(i) for i in range(len(places))],
        "rules": rules,
        "patterns": [_pattern_in_page(pattern) for pattern in patterns],
    }


def _rule_in_page(rule: Rule, patterns: dict[str, int]) -> dict[str, Any]:
    common = {"name": rule.name, "importance": rule.importance}
    if rule.kind == "t":
        return {"t": patterns.setdefault(rule.pattern, len(patterns)), **common}
    return {rule.kind: [_rule_in_page(part, patterns) for part in rule.parts], **common}


def _pattern_in_page(pattern: str) -> dict[str, Any]:
    """Returns `text` and, for regular expressions, `expression` in JavaScript's syntax or `unknown`."""
    if is_literal(pattern):
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
    linear = linear_expression(pattern)
    if linear is None:
        return None
    for of_crate, of_script in (
        (DOLLAR, r"(?=\n?$)"),
        (r"\A", "^"),
        (r"\z", "$"),
        (r"\x{", r"\u{"),
    ):
        linear = linear.replace(of_crate, of_script)
    return linear
