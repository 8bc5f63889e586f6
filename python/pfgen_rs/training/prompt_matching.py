"""Finding the question in a prompt and the text in a completion, for strings and chats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pfgen_rs.errors import InputError, UnknownQuestionError
from pfgen_rs.questions.question_set import QuestionSet

__all__ = ["Asked", "completion_text", "prompt_text", "unknown_question"]

_PROMPTS = 4096  # cached, since every prompt comes with several completions


class Asked:
    """Finds the question in a prompt. Thread-safe and picklable."""

    def __init__(self, benchmark: QuestionSet) -> None:
        self._benchmark = benchmark
        names = [(name, q.id) for q in benchmark for name in (q.id, q.text)]
        self._ids = dict(names)
        self._texts = [(question.text, question.id) for question in benchmark]
        self._last_known = lru_cache(maxsize=_PROMPTS)(self._standing_last)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor arguments."""
        return Asked, (self._benchmark,)

    def ids(self, prompts: Iterable[Any]) -> list[str | None]:
        """Returns `id` of each prompt; several completions of one prompt come one after the other."""
        found: list[str | None] = []
        last: Any = None
        for prompt in prompts:
            if found and (prompt is last or (type(prompt) is str and prompt == last)):
                found.append(found[-1])
            else:
                found.append(self.id(prompt))
                last = prompt
        return found

    def id(self, prompt: Any) -> str | None:
        """Returns the id of the question asked by a prompt (a string or messages), or `None`.

        This is the question after the last `Q: ` if nothing but an `A:` follows; the prompt itself if it is a
        question or an id; or the known question that occurs last in it, for example in a prompt rendered by a
        chat template.
        """
        text = prompt_text(prompt)
        line, _, rest = text[text.rfind("Q: ") + 3 :].partition("\n")
        if rest in ("", "A:"):
            found = self._ids.get(line)
            if found is not None:
                return found
        return self._ids.get(text.strip()) or self._last_known(text)

    def _standing_last(self, prompt: str) -> str | None:
        ends = ((prompt.rfind(text) + len(text), text, found) for text, found in self._texts)
        # If two end at the same position, one is a suffix of the other: take the longer one.
        known = [(end, len(text), found) for end, text, found in ends if end >= len(text)]
        return max(known)[2] if known else None


def prompt_text(prompt: Any) -> str:
    """Returns the text of a prompt: a string, or the last user message of a chat."""
    return prompt if isinstance(prompt, str) else _last_prompt_message(prompt, "user")


def completion_text(completion: Any) -> str:
    """Returns the text of a completion: a string, or the last assistant message of a chat."""
    return (
        completion if isinstance(completion, str) else _last_prompt_message(completion, "assistant")
    )


def _last_prompt_message(messages: Any, role: str) -> str:
    """Returns the last message of a role in a chat; raises `InputError` if it is not a chat."""
    if not isinstance(messages, Sequence) or not all(isinstance(m, Mapping) for m in messages):
        raise InputError(f"expected a string or a list of messages, not {type(messages).__name__}")
    for message in reversed(messages):
        if message.get("role", role) == role:
            return _prompt_message_content(message.get("content"))
    return ""


def _prompt_message_content(content: Any) -> str:
    """Returns a message's text, without parts that are not text, such as images."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def unknown_question(prompt: Any) -> UnknownQuestionError:
    """Returns the error to raise for a prompt without a known question."""
    text = prompt_text(prompt)
    return UnknownQuestionError(
        "the prompt contains no question of the benchmark: name it in a column `question`, or set the reward "
        "of such prompts with `unknown`",
        question=text if len(text) <= 200 else "…" + text[-200:],
    )
