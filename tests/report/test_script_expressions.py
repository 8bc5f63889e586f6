"""Regular expressions of rules in a browser: they end where those of Python do."""

from __future__ import annotations

import re
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from expressions import EXPRESSIONS, LINES, OTHER, SAME, TEXTS
from pfgen_rs.report.site.benchmark_page import script_expression

if TYPE_CHECKING:
    from playwright.sync_api import Page

ENDS = """cases => cases.map(([expression, texts]) => texts.map((text) => {
  const found = new RegExp(expression, "u").exec(text);
  return found && Array.from(text.slice(0, found.index + found[0].length)).length;
}))"""

OUTSIDE = """expression => {
  const matcher = new RegExp(`^(?:${expression})$`, "u");
  const edges = [];
  let before = false;
  for (let c = 0; c <= 0x110000; c += 1) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const now = c < 0x110000 && matcher.test(String.fromCodePoint(c));
    if (now !== before) edges.push(c);
    before = now;
  }
  return edges;
}"""


def python_ends(pattern: str, texts: list[str]) -> list[int | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = [re.search(pattern, text) for text in texts]
    return [None if match is None else match.end() for match in found]


def translated(pattern: str) -> str:
    expression = script_expression(pattern)
    assert expression is not None, pattern
    return expression


def test_the_table(page: Page) -> None:
    texts = [*TEXTS, "2024年12月", "a" * 20, "𠮷a", "😀b\n"]
    found = page.evaluate(ENDS, [[translated(pattern), texts] for pattern in SAME])
    for pattern, ends in zip(SAME, found, strict=True):
        assert ends == python_ends(pattern, texts), pattern


def test_outside_the_table() -> None:
    assert [pattern for pattern in OTHER[:-3] if script_expression(pattern) is not None] == []


@pytest.mark.parametrize("pattern", [".", r"\d", r"\w", r"\s", r"\D", r"[^\W_]", r"[^\S\n]"])
def test_classes_are_those_of_the_running_python(page: Page, pattern: str) -> None:
    compiled = re.compile(pattern)
    edges, before = [], False
    for c in [*range(0xD800), *range(0xE000, sys.maxunicode + 2)]:
        now = c <= sys.maxunicode and compiled.match(chr(c)) is not None
        if now != before:
            edges.append(c)
        before = now
    assert page.evaluate(OUTSIDE, translated(pattern)) == edges


@examples(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(cases=st.lists(st.tuples(EXPRESSIONS, st.lists(LINES, max_size=5)), max_size=10))
@example(cases=[("(?:a|ab)(?:c|bcd)*?$", ["abcd", "abcd\n"]), (r"(?:\s|a$)|\n$", ["a\n", "\n\n"])])
def test_the_end_is_pythons(page: Page, cases: list[tuple[str, list[str]]]) -> None:
    known = []
    for pattern, texts in cases:
        try:
            re.compile(pattern)
        except re.error:
            continue
        if (expression := script_expression(pattern)) is not None:
            known.append((pattern, expression, texts))
    found = page.evaluate(ENDS, [[expression, texts] for _, expression, texts in known])
    for (pattern, _, texts), ends in zip(known, found, strict=True):
        assert ends == python_ends(pattern, texts), pattern
