"""Leaves reference answers of given models out of a set, and finds a run's own model among its makers."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from pfgen_rs.errors import BenchmarkError, SettingsError
from pfgen_rs.install.store import PROVENANCE
from pfgen_rs.questions.question import Question, question_paths

LeaveOut = Literal["model", "family"]
"""Whose reference answers are left out: those of the run's own model, or of all of its organisation."""
_MAKERS = {
    "openai": r"(chat)?gpt-?[345](?!all)|o[134](-|$)|text-davinci",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm|bard",
    "meta-llama": r"(meta-)?llama",
    "mistralai": r"mistral|mixtral",
    "qwen": r"qwen|qwq",
    "deepseek-ai": r"deepseek",
}
"""Organisations whose models are often named without them, and how these names begin."""
_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def model_key(name: str) -> str:
    """Returns what spellings of a model's name have in common; empty if the name has no letter or digit.

    The name in Unicode's form NFKC and case-folded, without what is before the last slash, and with each run
    of other characters than letters and digits replaced by one hyphen.

    >>> model_key("meta-llama/Meta-Llama-3.1_8B")
    'meta-llama-3-1-8b'
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _NO_LETTER_OR_DIGIT.sub("-", folded.rpartition("/")[2]).strip("-")


def organisation_key(name: str) -> str:
    """Returns the part of a model's name before its last slash, as `model_key` does; empty without one."""
    return model_key(name.rpartition("/")[0])


def maker_key(model: str) -> str:
    """Returns what models of one maker share: the organisation in the name, or the one that the name tells.

    A name that tells none is its own. For names alone: `own_models` knows families that a set states.

    >>> maker_key("openai/gpt-4o") == maker_key("GPT-4") != maker_key("gpt-neox-20b")
    True
    """
    key = model_key(model)
    known = (name for name, begin in _MAKERS.items() if re.match(begin, key))
    return organisation_key(model) or next(known, key)


def own_models(
    models: Iterable[str],
    model: str,
    leave_out: LeaveOut = "model",
    families: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Returns those of `models` that are `model`, or of its family: of the same organisation.

    Names are compared by their keys (`model_key`); the organisation is what is before the last slash. Where
    `model` names none, it is that of the models which have its name. `families` names those of models whose
    family is not, or not only, their organisation. Raises `SettingsError` for another `leave_out`.

    >>> own_models(["a/m-7b", "a/m-70b", "b/n"], "M-7B", "family")
    ('a/m-7b', 'a/m-70b')
    >>> own_models(["a/m-7b", "a/x", "b/n"], "M-7B", "family", {"a/m-7b": "M", "b/n": "m"})
    ('a/m-7b', 'a/x', 'b/n')
    """
    if leave_out not in get_args(LeaveOut):
        known = " or ".join(map(repr, get_args(LeaveOut)))
        raise SettingsError(f"invalid leave_out {leave_out!r}: expected {known}")
    known_models, key = tuple(models), model_key(model)
    same = tuple(name for name in known_models if key and model_key(name) == key)
    if leave_out == "model":
        return same

    def kinds(name: str) -> set[str]:
        return {organisation_key(name), f"family {model_key(families.get(name, ''))}"}

    own = set().union(*map(kinds, (model, *same))) - {"", "family "}
    return tuple(name for name in known_models if name in same or kinds(name) & own)


def families_in(folder: Path | None) -> dict[str, str]:
    """Returns the families of models that the provenance of a set names, if it has any.

    Raises `BenchmarkError` for a damaged one.
    """
    if folder is None:
        return {}
    path = question_paths(folder)[0].with_name(PROVENANCE)
    try:
        makers = json.loads(path.read_bytes()).get("makers", {})
        return {name: str(own["family"]) for name, own in makers.items() if own.get("family")}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise BenchmarkError(f"is not the provenance of a set: {error}", path=path) from None


@dataclass(frozen=True)
class LeftOut:
    """The models whose reference answers a set lacks, and what makes its scores comparable (scoring 11).

    `models`: their names, sorted. `answers`: the number of theirs. `scales`: by question and source, the
    factors of Fluency and of Truthfulness.
    """

    models: tuple[str, ...]
    answers: int
    scales: Mapping[str, Mapping[str, tuple[float, float]]]

    @cached_property
    def mark(self) -> str | None:
        """What a signature says of answers left out: a digest of the names, which could break its line."""
        if not self.answers:
            return None
        digest = hashlib.sha256("\n".join(self.models).encode(errors="surrogatepass")).hexdigest()
        return f"{digest[:8]}-{self.answers}"


def count_answers(
    questions: Iterable[Question], models: Collection[str], source: str | None = None
) -> int:
    """Returns the number of reference answers that these models wrote, of one source or of all."""
    return sum(
        sum(_is_theirs(question, models, own))
        for question in questions
        for name, own in question.makers.items()
        if source in (None, name)
    )


def answers_of(question: Question, models: Collection[str]) -> dict[str, list[Any]]:
    """Returns the reference answers that these models wrote, by source."""
    return {
        source: list(compress(question.answers[source], _is_theirs(question, models, own)))
        for source, own in question.makers.items()
    }


def without_answers(question: Question, models: Collection[str]) -> Question | None:
    """Returns a question without the reference answers of these models, nor sources that have no others.

    It belongs to no file. `None` if no answers are left.
    """
    answers, makers = {}, {}
    for source, own in question.makers.items():
        kept = [not theirs for theirs in _is_theirs(question, models, own)]
        if any(kept):
            answers[source] = tuple(compress(question.answers[source], kept))
            makers[source] = tuple(compress(own, kept))
    return replace(question, answers=answers, makers=makers) if answers else None


def _is_theirs(
    question: Question, models: Collection[str], makers: Sequence[int | None]
) -> list[bool]:
    theirs = {place for place, name in enumerate(question.models) if name in models}
    return [maker in theirs for maker in makers]
