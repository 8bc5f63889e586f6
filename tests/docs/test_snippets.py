"""All code in the README and in docs/ is run, or, where it says why not, checked as far as that goes."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

import page_world
from page_blocks import PAGES, blocks, inline_commands, name
from page_checks import PYTHON, SHELL, check, check_inline
from page_runs import run_page
from pfgen_rs.llm_jp_eval import measures

ELSEWHERE: Mapping[str, Collection[str]] = {
    "docs/how-to/harnesses.md": {"jsonnet", "python"},  # integrations
    "docs/how-to/scale.md": {
        "bash",
        "python",
    },  # integrations/test_arrow.py, test_results_from_scores.py
    "docs/reference/messages.md": {"text"},  # docs/test_message_pages.py
    "docs/studies.md": {"sh"},  # studies/test_study_docs.py
}
"""Languages of pages whose blocks other tests run; here they are only checked."""
RUN = [
    page for page in PAGES if any(b.is_run and b.language in PYTHON | SHELL for b in blocks(page))
]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_is_sound(page: Path, tmp_path: Path) -> None:
    faults = []
    for block in blocks(page):
        try:
            check(block, tmp_path)
        except (AssertionError, ValueError, ImportError) as fault:
            faults.append(f"{block.place}: {fault}")
    for command in inline_commands(page):
        try:
            check_inline(command)
        except AssertionError as fault:
            faults.append(str(fault))
    assert faults == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("page", RUN, ids=name)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    if not fnmatch(name(page), "docs/tutorial/*"):  # which can be followed in an empty folder
        page_world.furnish(folder, name(page).removeprefix("docs/"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(measures, "_METRICS", dict(measures._METRICS))  # pages register some
    with page_world.outside(tmp_path) as env:
        run_page(page, folder, env, ELSEWHERE.get(name(page), ()))
