"""Prompts once more, the obvious way, from their description alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

Pair = tuple[str, str]


def task(
    samples: Sequence[Pair],
    question: str,
    *,
    mode: str,
    trial: int,
    num_examples: int,
    seed_text: str,
    prefix: str,
) -> dict[str, Any]:
    """What a question becomes in a trial, with the keys of the golden prompts."""
    others = [pair for pair in samples if pair[0] != question]
    others.sort(key=lambda pair: sha1(f"{seed_text}::{trial}::{pair[0]}"))
    shown = "".join(f"Q: {q}\nA: {a}\n\n" for q, a in others[:num_examples])
    titled = "## 回答例\n" + shown
    seed = int(sha1(f"{seed_text}::{trial}"), 16) % 2**31
    if mode == "chat":
        rule = "例と同様の文体及び文字数で、ユーザの質問に1行で答えてください。"
        system = f"{rule}\n\n{titled}".strip()
        parts = {"system_prompt": prefix + system, "user_prompt": f"Q: {question}"}
    elif mode == "qa":
        rule = "例と同様の文体及び文字数で、質問に1行で答えてください。"
        examples = f"{rule}\n\n{titled}".strip()
        parts = {"prompt": f"{prefix}{examples}\n\n## 質問\nQ: {question}"}
    else:
        parts = {"prompt": f"{prefix}{titled.strip()}\n\nQ: {question}\nA:"}
    return {"question": question, **parts, "seed": seed}


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()
