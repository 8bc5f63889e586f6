"""Answers tried in a page: what the page computes, and the same of `Benchmark.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfgen_rs import Benchmark, Question
from pfgen_rs.questions.unknown import order
from pfgen_rs.report.site import payload
from pfgen_rs.report.site.benchmark_page import (
    benchmark_page,
    references_payload,
    references_payload_name,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCORES = """async ([number, texts, expressions]) => {
  const { questions, ...shared } = pfgen.data("trial");
  const details = document.querySelector(`details.trial[data-question="${number}"]`);
  const { answers } = await pfgen.load(details.dataset.payload);
  const scorer = pfgen.scorer({ ...shared, ...questions[number], answers });
  const found = [];
  for (const text of texts) found.push(await scorer.score(text));
  scorer.stop();
  pfgen.forget(details.dataset.payload);
  return found;
}"""


def written(folder: Path, benchmark: Benchmark, samples: Mapping[str, str] | None = None) -> str:
    """Write the page of a benchmark with its payloads; returns its address."""
    place = folder / "benchmark"
    place.mkdir(parents=True)
    (place / "index.html").write_bytes(benchmark_page(benchmark, samples=samples))
    for question in benchmark:
        name = references_payload_name(question)
        content = payload.payload_file(name, references_payload(question))
        (folder / f"{name}.js").write_bytes(content)
    return (place / "index.html").as_uri()


def scores_in_page(page: Page, number: int, texts: list[str]) -> list[dict[str, Any]]:
    """What the open page computes of some answers to a question, given by its number from 0."""
    found: list[dict[str, Any]] = page.evaluate(SCORES, [number, texts])
    return found


def bits(value: Any) -> Any:
    """The same with every number written so that each of its bits counts."""
    if isinstance(value, bool) or not isinstance(value, int | float | list | dict):
        return value
    if isinstance(value, dict):
        return {key: bits(part) for key, part in value.items()}
    return [bits(part) for part in value] if isinstance(value, list) else float(value).hex()


def explained(benchmark: Benchmark, question: Question, text: str) -> dict[str, Any]:
    """What the page has to compute of an answer, from `explain`; sources in the page's order."""
    found = benchmark.explain(question.id, text)
    score, details = found.score, found.score.details
    sources = [question.sources[i] for i in order(question.sources)]
    return {
        "average": score.average,
        "helpfulness": score.helpfulness,
        "shares": {
            "fluency": [score.fluency[source] for source in sources],
            "truthfulness": [score.truthfulness[source] for source in sources],
        },
        "sources": [
            {
                "fluency": {
                    "value": details.fluency[source],
                    "cut": details.fluency_cut[source],
                },
                "truthfulness": {
                    "value": details.truthfulness[source],
                    "cut": details.truthfulness_cut[source],
                },
            }
            for source in sources
        ],
        "helpful": {
            "value": details.helpfulness,
            "cut": details.helpfulness_cut,
            "rules": [
                {
                    "label": rule.label,
                    "importance": rule.importance,
                    "position": float("inf") if rule.position is None else rule.position,
                    "met": rule.met,
                }
                for rule in found.rules
            ],
        },
    }


def assert_equal(page: Page, benchmark: Benchmark, number: int, texts: list[str]) -> None:
    """Every number of the page is that of `explain`, bit by bit."""
    question = list(benchmark)[number]
    for text, found in zip(texts, scores_in_page(page, number, texts), strict=True):
        wanted = explained(benchmark, question, text)
        assert bits({key: found[key] for key in wanted}) == bits(wanted), repr(text)
        assert_shades(found["table"], question, text)


def assert_shades(table: dict[str, Any], question: Question, text: str) -> None:
    """The windows of the answer's first characters with their counts, by searching the reference answers."""
    marked = f"^{text}$"
    windows = {marked[i : i + 3] for i in range(min(len(text), table["shaded"] + 1))}
    sources = [question.answers[question.sources[i]] for i in order(question.sources)]
    counts = {
        window: [sum(window in answer for answer in answers) for answers in sources]
        for window in windows
    }
    known = {window: of for window, of in counts.items() if any(of)}
    found = [table["text"][i : i + 3] for i in range(0, len(table["text"]), 3)]
    assert dict(zip(found, zip(*table["counts"], strict=True), strict=True)) == {
        window: tuple(of) for window, of in known.items()
    }


def variations(text: str) -> list[str]:
    """An answer, and what is made of it to reach every limit of a score."""
    long = (text + "、") * (2100 // (len(text) + 1) + 2)
    middle = len(text) // 2
    limits = (1, 99, 100, 101, 149, 150, 151, 199, 200, 201, 202, 203, 999, 1000, 1001, 1002)
    return [
        text,
        *(long[:length] for length in limits),
        f"{text[:middle]}😀が\u0304𠮷\x00\u2028\r\n{text[middle:]}",
        f"^{text}$",
        f"{text}{text}{text[::-1]}",
    ]


ODD = ["", "の", "。", "😀", "^", "$", "、。「」" * 60, "\x00", "a\u0301", "ﷺ" * 1003]
"""Answers that score little, at any question."""
