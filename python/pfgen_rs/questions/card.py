"""The card of a set: its README.md, in Japanese and English, made of the question files and the provenance.

Its first line has the digest of the others, so that a card that somebody has changed is recognised, and kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import BenchmarkError
from pfgen_rs.io.text import inert
from pfgen_rs.metrics.settings import STATED, Settings
from pfgen_rs.questions.about import STATED as SAID, About
from pfgen_rs.questions.question import Question

CARD = "README.md"
UNKNOWN = "unknown / 不明"
_NOT_STATED = "not stated / 記載なし"
_MARK = "<!-- Written by pfgen-rs, which leaves this file alone once it is changed: {} -->\n"
_MARKED = re.compile(_MARK.format("([0-9a-f]{16})"))
_URL = re.compile(r"https?://[A-Za-z0-9./_~%?=-]+")
_DETAILS = ("licence", "source", "family", "generation")

Provenance = Mapping[str, Any]


def card(
    questions: Sequence[Question], settings: Settings, metadata_hash: str, made: Provenance | None
) -> bytes:
    """Returns the card of a set. `made`: its provenance, if it was built."""
    about = questions[0].about or About()
    said = {name: inert(getattr(about, name)) or _NOT_STATED for name in SAID}
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    shown = {name: getattr(settings, name) for name in STATED if name != "skipped"}
    cite = f"Please name the set (`set:{metadata_hash[:8]}`). / セット名と上記の識別子を明記してください。"
    values = {
        "title": inert(about.name) or "Reference answers / 参照回答",
        "questions": f"{len(questions):,}",
        "answers": f"{sum(len(own) for q in questions for own in q.answers.values()):,}",
        "sources": inert(", ".join(dict.fromkeys(s for q in questions for s in q.sources))),
        "settings": ", ".join(f"{name} = {value}" for name, value in shown.items()),
        "hash": metadata_hash[:8],
        "models": _models(questions, made or {}),
        "funnel": _funnel(made)
        if made
        else "Answers were given, not selected. / 与えられた回答です。",
        "quality": _quality(settings, made or {}),
        **said,
        "citation": inert(about.citation) or cite,
    }
    body = text.format_map(values)
    return f"{_MARK.format(_digest(body))}{body}".encode()


def is_own(content: bytes) -> bool:
    """Whether a README.md is a card, as it was written."""
    text = content.decode(errors="replace")
    found = _MARKED.match(text)
    return found is not None and found[1] == _digest(text[found.end() :])


def may_write(folder: Path) -> bool:
    """Whether a folder has no README.md but a card, as it was written."""
    try:
        return is_own((folder / CARD).read_bytes())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def read_provenance(path: Path) -> dict[str, Any] | None:
    """Returns the provenance of a set, if there is one. Raises `BenchmarkError` for a damaged one."""
    try:
        found = json.loads(path.read_bytes())
        return {**found, "questions": dict(found["questions"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise BenchmarkError(f"is not the provenance of a set: {error}", path=path) from None


def makers_of(questions: Iterable[Question]) -> dict[str, int]:
    """Returns how many reference answers each model wrote, the most first; "" stands for unknown ones."""
    found: Counter[str] = Counter()
    for question in questions:
        for source, own in question.answers.items():
            places = question.makers.get(source, [None] * len(own))
            found.update("" if place is None else question.models[place] for place in places)
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _models(questions: Sequence[Question], made: Provenance) -> str:
    counts, details = makers_of(questions), made.get("makers", {})
    headings = ["model / モデル", "answers / 回答数", "share / 割合"]
    headings += [
        "licence / ライセンス",
        "source / 入手元",
        "family / 系列",
        "generation / 生成条件",
    ]
    rows = [
        [
            name or UNKNOWN,
            f"{count:,}",
            f"{count / sum(counts.values()):.1%}",
            *(_said(details.get(name, {}).get(key)) for key in _DETAILS),
        ]
        for name, count in counts.items()
    ]
    return _table(headings, rows)


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {own}" for name, own in value.items())
    return str(value or UNKNOWN)


def _funnel(made: Provenance) -> str:
    """Returns a table of what each step left, over all questions."""
    left: Counter[str] = Counter()
    for question in made["questions"].values():
        left["candidates / 候補"] += question["candidates"]
        for step in question["steps"]:
            left[step["step"]] += step["after"]
    rows = [[name, f"{count:,}"] for name, count in left.items()]
    return _table(["step / 段階", "answers left / 残った回答"], rows)


def _quality(settings: Settings, made: Provenance) -> str:
    """Returns what a build knows, as a list: lengths, agreement of the answers, and its warnings."""
    lengths, facts = made.get("lengths", {}), []
    if lengths.get("mean") is not None:
        spread = f"{lengths['mean']:.1f} ±{lengths['std']:.1f} ({settings.unit})"
        facts.append(f"length of answers / 参照回答の長さ: {spread}")
    steps = (step for question in made.get("questions", {}).values() for step in question["steps"])
    sources = (own for step in steps for own in step["details"].get("sources", {}).values())
    least = [own["least"] for own in sources if own.get("least") is not None]
    if least:
        facts.append(
            "least agreement (Truthfulness) of an answer with the others / "
            f"ほかの回答との一致度（Truthfulness）の最小値: {min(least):.3f}"
        )
    facts += [f"warning / 警告: {warning}" for warning in made.get("warnings", [])]
    return "\n".join(f"- {inert(fact)}" for fact in facts) or f"- {UNKNOWN}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *([*map(_cell, row)] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return f"<{text}>" if _URL.fullmatch(text) else inert(text)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]
