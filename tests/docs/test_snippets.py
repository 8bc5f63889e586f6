"""All code in the READMEs and in docs/ is run, or, where it says why not, checked as far as that goes."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

import page_blocks
import page_world
from page_blocks import PAGES, Block, blocks, inline_commands, marks, unfenced
from page_checks import check
from page_commands import check_inline
from page_runs import fate, run_page
from places import DOCS, ROOT

SOURCES = [page for page in PAGES if not page.name.endswith(page_blocks.JAPANESE)]
"""Pages whose code is run; `test_translations.py` compares the code of the Japanese ones with them."""

HARNESSES = "integrations/harnesses"
ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "how-to/datasets.md": {
        "python": "integrations/test_datasets.py::test_the_example_of_the_page_runs"
    },
    "how-to/flexeval.md": {
        "jsonnet": f"{HARNESSES}/test_flexeval.py::test_a_run_scores_as_its_file_does"
    },
    "how-to/inspect.md": {
        "python": "integrations/test_inspect.py::test_the_scorer_in_somebody_elses_task"
    },
    "how-to/lighteval.md": {"python": f"{HARNESSES}/test_lighteval.py::test_tasks_of_ones_own"},
    "how-to/lm-eval.md": {
        "python": "integrations/test_lm_eval.py::test_the_command_line_gives_our_scores"
    },
    "how-to/scale.md": {
        "python": "integrations/test_arrow.py::test_examples_of_the_page_run",
        "bash": "runs/test_results_from_scores.py::test_the_array_job_of_the_page",
    },
    "reference/messages.md": {
        "text": "docs/test_message_pages.py::test_every_quoted_message_is_tried"
    },
    "studies.md": {"sh": "studies/test_study_docs.py::test_metrics"},
    "tutorial/*.md": dict.fromkeys(
        ("json", "jsonl", "python", "sh", "text", "toml"),
        "docs/test_tutorial.py::test_a_page_of_the_tutorial_can_be_followed",
    ),
}
"""Tests that run all blocks of a language on a page, with what it is about; here they are only checked."""


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


each_page = pytest.mark.parametrize("page", PAGES, ids=page_blocks.name)
each_source = pytest.mark.parametrize("page", SOURCES, ids=page_blocks.name)


@pytest.mark.parametrize("pages", ELSEWHERE)
def test_what_is_run_elsewhere_is(pages: str) -> None:
    known = {block.language for page in DOCS.glob(pages) for block in blocks(page)}
    for language, test in ELSEWHERE[pages].items():
        assert language in known or "*" in pages
        file, _, function = test.partition("::")
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert Path(pages).name in source
        assert f"\ndef {function}(" in source


@each_page
def test_code_is_fenced_and_marks_are_read(page: Path) -> None:
    assert unfenced(page) == [], "indented code has no language"
    assert marks(page) == sum(block.reason is not None for block in blocks(page))


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


def test_most_code_is_run(record_property: Callable[[str, object], None]) -> None:
    counts = Counter(fate(block, is_run_elsewhere) for page in SOURCES for block in blocks(page))
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    for kind, count in counts.items():
        record_property(kind, count)
    assert counts["run"] + counts["compared"] + counts["elsewhere"] > 2 * counts["marked"]


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
