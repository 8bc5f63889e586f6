"""The page of questions quotes messages that are really given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_tables import codes, fences, japanese, prose
from places import DOCS

FAQ = DOCS / "faq.md"
MESSAGES = DOCS / "reference" / "messages.md"


def quoted(page: Path) -> list[str]:
    """Messages, which begin as on the command line."""
    return [code for code in codes(prose(page)) if code.startswith(("error: ", "warning: "))]


@pytest.mark.parametrize("page", [FAQ, japanese(FAQ)], ids=lambda page: page.name)
def test_messages_are_those_of_their_page(page: Path) -> None:
    """The page of messages is tried by its own test; here parts may be left out (…)."""
    known = [text.strip() for language, text in fences(MESSAGES) if language == "text"]
    assert len(quoted(page)) >= 5
    for message in quoted(page):
        pattern = ".*".join(re.escape(part) for part in message.split("…"))
        assert any(re.match(pattern, each) for each in known), message


def test_both_pages_ask_the_same() -> None:
    ours, theirs = (re.findall(r"^#+", prose(page), re.MULTILINE) for page in (FAQ, japanese(FAQ)))
    assert ours == theirs
    assert quoted(FAQ) == quoted(japanese(FAQ))
