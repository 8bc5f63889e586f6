"""A run's `README.md`, byte for byte as published.

Needs only the run's `result.json` and the marks of its samples.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pfgen_rs.checkout.published import digest_line
from pfgen_rs.metrics.names import BY_SOURCE
from pfgen_rs.metrics.sums import left_sum
from pfgen_rs.questions.sources import sources_in_order
from pfgen_rs.report.markup import cell_text, escape, special_places

if TYPE_CHECKING:
    from pfgen_rs.checkout.marks import Marks

__all__ = ["run_readme"]

_ALIKE = re.compile(rb"\x00+|\x01+|\x02+")  # of `Marks`
_ELEMENTS = (("", ""), ("<b>", "</b>"), ("<s>", "</s>"))  # by mark
_SOURCES = {"P": "PFN", "T": "Titech", "S": "Stockmark", "R": "RAG"}


def run_readme(
    result: Mapping[str, Any], digest: str, marks: Mapping[tuple[str, int], Marks]
) -> bytes:
    """Returns the content for a result; `marks` by question and number of the sample."""
    questions = result["questions"]
    parts = [
        f"# Model: {cell_text(result['config']['model'])}\n\n{digest_line(digest)}\n\n",
        _readme_question_head(result),
        "## Questions\n\n",
        _readme_question_table(questions),
        f"\n## Config\n\n```json\n{_readme_config(result)}\n```\n\n",
    ]
    for key, entry in questions.items():
        samples = entry["samples"]
        parts.append(_readme_question(key, entry))
        parts += [_readme_sample(sample, marks[key, i]) for i, sample in enumerate(samples)]
        parts.append("</dl>\n\n")
    return "".join(parts).encode()


def _readme_config(result: Mapping[str, Any]) -> str:
    return json.dumps(result["config"], ensure_ascii=False, sort_keys=True)


def _readme_question_head(entry: Mapping[str, Any]) -> str:
    scores, spread = entry["scores"], str(entry["score_std"])  # a question's without trailing zeros
    if "num_trials" in entry:
        spread = f"{entry['score_std']:.4f}/√{entry['num_trials']}"
    lines = [f"- Score: {scores['average']:.3f} (±{spread})"]
    for metric in BY_SOURCE:
        shares = sources_in_order(scores[metric])
        named = "+".join(f"{_readme_source(s)}:{share:.4f}" for s, share in shares.items())
        lines.append(f"  - {metric.title()}: {left_sum(shares.values()):.3f} ({named})")
    lines.append(f"  - Helpfulness: {scores['helpfulness']:.3f}")
    return "\n".join(lines) + "\n"


def _readme_source(source: str) -> str:
    return _SOURCES.get(source) or escape(source)


def _readme_question_table(questions: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| Question | Score | Length |", "|----------|-------|--------|"]
    lines += [
        f"| [{_readme_question_title(key, entry)}](#{escape(key)}) "
        f"| <code>{entry['score']:.4f} (±{entry['score_std']:.4f})</code> "
        f"| <code>{entry['length']:.1f} (±{entry['length_std']:.1f})</code> |"
        for key, entry in questions.items()
    ]
    return "\n".join(lines) + "\n"


def _readme_question_title(key: str, entry: Mapping[str, Any]) -> str:
    return f"{escape(key)}. {escape(entry['question'])}"


def _readme_question(key: str, entry: Mapping[str, Any]) -> str:
    return (
        f'## <a name="{escape(key)}"></a>{_readme_question_title(key, entry)}\n\n'
        f"{_readme_question_head(entry)}"
        f"- Length: {entry['length']:.1f} (±{entry['length_std']:.1f})\n\n<dl>\n"
    )


def _readme_sample(sample: Mapping[str, Any], marks: Marks) -> str:
    scores = sample["scores"]
    fluency, truthfulness = (_readme_shares(scores[metric]) for metric in BY_SOURCE)
    missed = ", ".join([_readme_rule(*rule) for rule in scores["helpfulness_results"]])
    helpfulness = f"{scores['helpfulness']:.3f}" + (f" [{missed}]" if missed else "")
    head = f"{scores['average']:.3f} (=avg(f=({fluency}), t=({truthfulness}), h={helpfulness}))"
    return f"<dt>{head}</dt>\n<dd>{_readme_answer(sample['answer'], marks)}</dd>\n"


def _readme_shares(shares: Mapping[str, float]) -> str:
    names = _readme_names(tuple(shares))
    return "+".join([f"{name}:{shares[source]:.4f}" for source, name in names])


@lru_cache
def _readme_names(sources: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the sources in order, each with its escaped name."""
    return [(source, escape(source)) for source in sources_in_order(dict.fromkeys(sources, 0.0))]


@lru_cache(1 << 12)  # the same rules in all runs
def _readme_rule(label: str, weight: float) -> str:
    return escape(label) + (f"*{weight:.1f}" if weight else "")


def _readme_answer(answer: str, marks: Marks) -> str:
    special = special_places(answer)  # most stretches have none
    parts, start, found = [], 0, 0
    for alike in _ALIKE.findall(marks):
        end = start + len(alike)
        text = answer[start:end]
        if special[found] < end:
            text = escape(text)
            found = bisect_left(special, end, found)
        opening, closing = _ELEMENTS[alike[0]]
        parts.append(opening + text + closing)
        start = end
    return "".join(parts)
