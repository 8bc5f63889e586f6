"""Removing what a judge thought before it answered, from texts and from tokens."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.judge.tokens import Token, TokenText

__all__ = ["CUT", "THOUGHT_BEGIN", "THOUGHT_END", "answer_tokens", "without_thoughts"]

THOUGHT_BEGIN, THOUGHT_END = "<think>", "</think>"
CUT = "cut off by the token limit"
"""The problem of an output that ended before what was asked for, thoughts included."""


def without_thoughts(text: str) -> str:
    """Returns what follows the last `</think>`, or the whole text without any."""
    return text.rpartition(THOUGHT_END)[2]


def answer_tokens(tokens: Sequence[Token], content: str) -> list[Token] | None:
    """Returns the tokens of an answer whose text, without thoughts, is `content`.

    Servers list the tokens of thoughts, too, even if they send these as `reasoning_content`, and tokens that
    end the text. `None` if the tokens do not spell the content.
    """
    joined = TokenText(tokens)
    wanted = content.strip()
    if not wanted:
        return []
    behind = joined.text.rfind(THOUGHT_END)
    start = joined.text.rfind(wanted, 0 if behind < 0 else behind + len(THOUGHT_END))
    return None if start < 0 else joined.slice(start, start + len(wanted))
