"""Counts with their nouns."""

from __future__ import annotations

import pytest

from pfgen_rs.io.text import counted, plural


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1200, "1,200 tasks")]
)
def test_nouns_agree_with_their_count(count: int, said: str) -> None:
    assert counted(count, "task") == said


def test_verbs_agree_with_their_count() -> None:
    assert [plural(count, "has", "have") for count in (0, 1, 2)] == ["have", "has", "have"]
