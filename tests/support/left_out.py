"""The obvious way to leave an answer out of its own references."""

from __future__ import annotations

from collections import Counter

import oracle


def without(answers: list[str], number: int, settings: oracle.Settings) -> oracle.Reference:
    """The source as if one of its answers had never been there; without a baseline of its own."""
    others = answers[:number] + answers[number + 1 :]
    reference = object.__new__(oracle.Reference)
    reference.settings, reference.size = settings, len(others)
    lengths = settings.ngram_lengths()
    reference.df = Counter(gram for text in others for gram in oracle.substrings(text, lengths))
    return reference
