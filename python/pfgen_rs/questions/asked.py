"""Finds the question in a prompt: rendered by a template, after examples, or as it is."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pfgen_rs import _native
from pfgen_rs.io.messages import spoken
from pfgen_rs.questions.question_set import QuestionSet

_PROMPTS = 4096  # cached, since every prompt comes with several completions


class Asked:
    """Finds the question in a prompt. Thread-safe."""

    def __init__(self, benchmark: QuestionSet) -> None:
        names = [(name, q.id) for q in benchmark for name in (q.id, q.text)]
        self._ids = dict(names)
        self._texts = [(question.text, question.id) for question in benchmark]
        self._last_known = lru_cache(maxsize=_PROMPTS)(self._standing_last)

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
        return self.found(prompt_text(prompt))[0]

    def found(self, prompt: str) -> tuple[str | None, bool]:
        """Returns what `id` returns, and whether other questions of the benchmark stand in the prompt, too.

        Takes O(questions · length of the prompt), unless the question stands where it is expected.
        """
        line, _, rest = prompt[prompt.rfind("Q: ") + 3 :].partition("\n")
        if rest in ("", "A:") and (named := self._ids.get(line)) is not None:
            return named, False
        named = self._ids.get(prompt.strip())
        return self._last_known(prompt) if named is None else (named, False)

    def _standing_last(self, prompt: str) -> tuple[str | None, bool]:
        ends = ((prompt.rfind(text) + len(text), text, found) for text, found in self._texts)
        # If two end at the same position, one is a suffix of the other: take the longer one.
        known = [(end, len(text), found, text) for end, text, found in ends if end >= len(text)]
        if not known:
            return None, False
        _, _, named, last = max(known)
        return named, any(text not in last for *_, text in known)


def in_prompts(
    asked: Asked, ids: Sequence[str], codes: _native.Codes, questions: _native.Texts
) -> tuple[_native.Codes, int, int]:
    """Returns numbers of questions, in which unknown ones are those of questions found in prompts.

    `ids`: of all questions, by number. `questions`: the prompts. Also returns how many were found,
    and how many of these prompts have several questions.
    """
    numbers, prompts, several = codes.array(), 0, 0
    for row in codes.unknown():
        found, others = asked.found(questions[row])
        if found is not None:
            numbers[row] = ids.index(found)
            prompts += 1
            several += others
    return _native.Codes(numbers), prompts, several


def prompt_text(prompt: Any) -> str:
    """Returns the text of a prompt: a string, or the last user message of a chat."""
    return spoken(prompt, "user").text
