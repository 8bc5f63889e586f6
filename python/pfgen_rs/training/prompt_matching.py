"""Which question a prompt asks, and what a completion says: texts and chats alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pfgen_rs.errors import InputError, UnknownQuestionError
from pfgen_rs.questions.question_set import QuestionSet

__all__ = ["Asked", "said", "unknown_question"]

_PROMPTS = 4096  # remembered, since every prompt comes with several completions


class Asked:
    """Finds the question in a prompt. Thread-safe; can be pickled."""

    def __init__(self, benchmark: QuestionSet) -> None:
        self._benchmark = benchmark
        names = [(name, q.id) for q in benchmark for name in (q.id, q.text)]
        self._ids = dict(names)
        self._texts = [(question.text, question.id) for question in benchmark]
        self._last_known = lru_cache(maxsize=_PROMPTS)(self._standing_last)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        return Asked, (self._benchmark,)

    def id(self, prompt: Any) -> str | None:
        """The id of the question that a prompt (a text, or messages) asks; `None` where there is none.

        That is what stands behind the last `Q: `, where the prompt ends there (but for an `A:`); the prompt
        itself, where it is a question or its id; or the known question that stands last in it, as in a prompt
        that a chat template has rendered.
        """
        text = prompt if isinstance(prompt, str) else _last(prompt, "user")
        line, _, rest = text[text.rfind("Q: ") + 3 :].partition("\n")
        if rest in ("", "A:"):
            found = self._ids.get(line)
            if found is not None:
                return found
        return self._ids.get(text.strip()) or self._last_known(text)

    def _standing_last(self, prompt: str) -> str | None:
        ends = ((prompt.rfind(text) + len(text), text, found) for text, found in self._texts)
        # Of two that end at the same place, one is the end of the other.
        known = [(end, len(text), found) for end, text, found in ends if end >= len(text)]
        return max(known)[2] if known else None


def said(completion: Any) -> str:
    """The text of a completion: itself, or what the assistant says last where it is a list of messages."""
    return completion if isinstance(completion, str) else _last(completion, "assistant")


def _last(messages: Any, role: str) -> str:
    """What somebody says last in a chat; raises `InputError` for what is none."""
    if not isinstance(messages, Sequence) or not all(isinstance(m, Mapping) for m in messages):
        raise InputError(f"expected a string or a list of messages, not {type(messages).__name__}")
    for message in reversed(messages):
        if message.get("role", role) == role:
            return _content(message.get("content"))
    return ""


def _content(content: Any) -> str:
    """A message's text; parts that are no text, such as images, are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def unknown_question(prompt: Any) -> UnknownQuestionError:
    """What to raise for a prompt without a question."""
    text = prompt if isinstance(prompt, str) else _last(prompt, "user")
    return UnknownQuestionError(
        "no question of the benchmark is asked there: name it in a column `question`, or say with `unknown` "
        "what such prompts are worth",
        question=text if len(text) <= 200 else "…" + text[-200:],
    )
