"""All code in the READMEs and in docs/ is run, or, where it says why not, checked as far as that goes."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

import page_blocks
import page_world
from page_blocks import PAGES, Block, blocks, inline_commands
from page_checks import check
from page_commands import check_inline
from page_runs import fate, run_page

SOURCES = [page for page in PAGES if not page.name.endswith(page_blocks.JAPANESE)]
"""Pages whose code is run; `test_translations.py` compares the code of the Japanese ones with them."""

ELSEWHERE: Mapping[str, Collection[str]] = {
    "how-to/harnesses.md": {"jsonnet", "python"},  # integrations
    "how-to/scale.md": {
        "bash",
        "python",
    },  # integrations/test_arrow.py, runs/test_results_from_scores.py
    "reference/messages.md": {"text"},  # docs/test_message_pages.py
    "studies.md": {"sh"},  # studies/test_study_docs.py
    "tutorial/*.md": {"json", "jsonl", "python", "sh", "text", "toml"},  # test_tutorial.py
}
"""Languages of pages whose blocks other tests run; here they are only checked."""


def languages_elsewhere(page: Path) -> set[str]:
    place = page_blocks.name(page)
    return {
        language
        for pages, languages in ELSEWHERE.items()
        if fnmatch(place, f"docs/{pages}")
        for language in languages
    }


def is_run_elsewhere(block: Block) -> bool:
    return block.language in languages_elsewhere(block.page)


each_source = pytest.mark.parametrize("page", SOURCES, ids=page_blocks.name)


@each_source
def test_code_is_sound(page: Path, tmp_path: Path) -> None:
    faults = []
    for block in blocks(page):
        try:
            check(block, tmp_path, languages_elsewhere(page))
        except (AssertionError, ValueError) as fault:
            faults.append(f"{block.place}: {fault}")
    for command in inline_commands(page):
        try:
            check_inline(command)
        except AssertionError as fault:
            faults.append(f"{page_blocks.name(page)}: {fault}")
    assert faults == []


def has_something_to_run(page: Path) -> bool:
    return any(fate(block, is_run_elsewhere) in ("run", "compared") for block in blocks(page))


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "page", [page for page in SOURCES if has_something_to_run(page)], ids=page_blocks.name
)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    page_world.furnish(folder, page_blocks.name(page).removeprefix("docs/"))
    monkeypatch.chdir(folder)
    with page_world.outside(tmp_path) as env:
        run_page(page, folder, env, is_run_elsewhere)
