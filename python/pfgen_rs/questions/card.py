"""The card of a set: its README.md, in Japanese and English, made of the question files and the provenance.

Its first line has the digest of the others, so that a card that somebody has changed is recognised, and kept.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.io.text import counted, inert
from pfgen_rs.metrics.settings import STATED, Settings
from pfgen_rs.questions.about import STATED as SAID, About
from pfgen_rs.questions.question import Question

CARD = "README.md"
UNKNOWN = "unknown / 不明"
_NOT_STATED = "not stated / 記載なし"
_MARK = "<!-- Written by pfgen-rs, which leaves this file alone once it is changed: {} -->"
_URL = re.compile(r"https?://[A-Za-z0-9./_~%?=-]+")
_DETAILS = ("licence", "source", "family", "generation")

Provenance = Mapping[str, Any]


def card(
    questions: Sequence[Question], settings: Settings, metadata_hash: str, made: Provenance | None
) -> bytes:
    """Returns the card of a set. `made`: its provenance, if it was built."""
    about, name = questions[0].about or About(), f"`set:{metadata_hash[:8]}`"
    values = {key: inert(getattr(about, key)) or _NOT_STATED for key in SAID}
    values |= {
        "title": inert(about.name) or "Reference answers / 参照回答",
        "asked": counted(len(questions), "question"),
        "questions": f"{len(questions):,}",
        "answers": f"{sum(makers_of(questions).values()):,}",
        "sources": inert(", ".join(dict.fromkeys(s for q in questions for s in q.sources))),
        "settings": ", ".join(f"{key} = {getattr(settings, key)}" for key in STATED[:-1]),
        "hash": name,
        "models": _models(questions, made or {}),
        "funnel": _funnel(made or {}),
        "quality": _quality(settings, made or {}),
        "citation": inert(about.citation)
        or f"Please name the set ({name}). / セット名と識別子（{name}）を明記してください。",
    }
    body = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").format_map(values)
    return f"{_mark(body)}\n{body}".encode()


def _mark(body: str) -> str:
    return _MARK.format(hashlib.sha256(body.encode()).hexdigest()[:16])


def may_write(folder: Path) -> bool:
    """Whether a folder has no README.md but a card, as it was written."""
    try:
        mark, _, body = (folder / CARD).read_text(encoding="utf-8").partition("\n")
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return mark == _mark(body)


def makers_of(questions: Iterable[Question]) -> dict[str, int]:
    """Returns how many reference answers each model wrote, the most first; "" stands for unknown ones."""
    found: Counter[str] = Counter()
    for question in questions:
        for source, own in question.answers.items():
            places = question.makers.get(source, [None] * len(own))
            found.update("" if place is None else question.models[place] for place in places)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _models(questions: Sequence[Question], made: Provenance) -> str:
    counts, known = makers_of(questions), made.get("makers", {})
    total, rows = sum(counts.values()), list[list[Any]]()
    for name, count in counts.items():
        details = [known.get(name, {}).get(key) or UNKNOWN for key in _DETAILS]
        rows.append([name or UNKNOWN, f"{count:,}", f"{count / total:.1%}", *details])
    return _rows(rows)


def _funnel(made: Provenance) -> str:
    """Returns a table of what each step left, over all questions."""
    left: Counter[str] = Counter()
    for question in made.get("questions", {}).values():
        left["candidates / 候補"] += question["candidates"]
        left.update({step["step"]: step["after"] for step in question["steps"]})
    rows = [[name, f"{count:,}"] for name, count in left.items()]
    return _rows(rows or [["answers were given / 回答は与えられたもの", "–"]])


def _quality(settings: Settings, made: Provenance) -> str:
    """Returns what a build knows, as a list: lengths, agreement of the answers, and its warnings."""
    lengths, facts = made.get("lengths", {}), []
    if lengths.get("mean") is not None:
        spread = f"{lengths['mean']:.1f} ±{lengths['std']:.1f} ({settings.unit})"
        facts.append(f"length of answers / 参照回答の長さ: {spread}")
    steps = (step for question in made.get("questions", {}).values() for step in question["steps"])
    sources = (own for step in steps for own in step["details"].get("sources", {}).values())
    if least := [own["least"] for own in sources if own.get("least") is not None]:
        what = "least agreement of an answer with the others / ほかの回答との一致度の最小値"
        facts.append(f"{what} (Truthfulness): {min(least):.3f}")
    facts += [f"warning / 警告: {warning}" for warning in made.get("warnings", [])]
    return "\n".join(f"- {inert(fact)}" for fact in facts) or f"- {UNKNOWN}"


def _rows(rows: Iterable[Iterable[Any]]) -> str:
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(value: Any) -> str:
    pairs = value.items() if isinstance(value, Mapping) else []
    text = ", ".join(f"{key} = {own}" for key, own in pairs) or str(value)
    return f"<{text}>" if _URL.fullmatch(text) else inert(text)
