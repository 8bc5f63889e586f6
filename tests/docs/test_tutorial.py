"""Every page of the tutorial can be followed in an empty folder, and shows what happens then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from places import DOCS
from tutorial_pages import Block, blocks_of, differences, follow, shows

TUTORIAL = DOCS / "tutorial"
PAGES = sorted(TUTORIAL.glob("*.md"))
LANGUAGES = {"sh", "text", "python", "toml", "json", "jsonl"}
LONGEST = 145

needs_shell = pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell `sh`")


@needs_shell
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_the_tutorial_can_be_followed(page: Path, tmp_path: Path) -> None:
    done = follow(blocks_of(page.read_text(encoding="utf-8")), tmp_path)
    assert done
    assert differences(done) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_blocks_of_a_page_are_followed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    assert text.count("```") == 2 * len(blocks)
    assert len(text.splitlines()) <= LONGEST
    for before, block in zip([Block("", "", ""), *blocks], blocks, strict=False):
        assert block.language in LANGUAGES
        assert block.file or block.language in ("sh", "text"), f"not a file: {block.text}"
        assert block.language != "text" or before.language == "sh", f"no output: {block.text}"


@needs_shell
def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    page = '```python title="a.py"\nprint(1)\nprint(2)\n```\n\n```sh\npython a.py\n```\n\n```text\n{}\n```\n'
    assert differences(follow(blocks_of(page.format("1\n2")), tmp_path)) == []
    assert differences(follow(blocks_of(page.format("1\n3")), tmp_path)) != []
    with pytest.raises(AssertionError, match="exit 3"):
        follow(blocks_of("```sh\nexit 3\n```\n"), tmp_path)


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("a\nb", "a  \nb\n\n", True),
        ("a\nb", "a\nb\nc", False),
        ("a\n…\nd", "a\nb\nc\nd", True),
        ("a\n…\nd", "a\nd", True),
        ("…\nd", "a\nb\nd", True),
        ("a\n…", "a\nb\nc", True),
        ("a\n…", "b\nc", False),
        ("a … d", "a b c d", True),
        ("a … d", "a b\nc d", False),
        ("a … d", "a b c", False),
        ("a.c", "abc", False),
    ],
)
def test_ellipses_stand_for_what_is_left_out(shown: str, output: str, same: bool) -> None:
    assert shows(shown, output) is same
