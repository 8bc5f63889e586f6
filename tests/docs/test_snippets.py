"""All code in the READMEs and in docs/ is run, or, where it says why not, checked as far as that goes."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import page_blocks
import page_world
from page_blocks import PAGES, Block, blocks, inline_commands, marks, unfenced
from page_commands import check_command, check_inline, check_python
from pfgen_rs.generate.asking.costs import read_prices
from pfgen_rs.judge.dialogues.fields import read_fields
from pfgen_rs.judge.pairs import read_pairs
from pfgen_rs.judge.prompts import read_prompts
from pfgen_rs.references.config import read_config
from pfgen_rs.references.ng_rules import read_answer_rules
from pfgen_rs.references.outlines import read_outlines
from pfgen_rs.report.site.model_facts import read_facts
from pfgen_rs.studies.model_names import read_aliases
from places import DOCS, ROOT
from shell_lines import programs, statements
from tutorial_pages import shows

PYTHON = {"python", "py"}
SHELL = {"sh", "bash", "console"}
OUTPUT = "text"
TIMEOUT = 120
BETWEEN = "\x1e"
"""Printed between the statements of a script."""

SOURCES = [page for page in PAGES if not page.name.endswith(page_blocks.JAPANESE)]
TRANSLATED = [page for page in PAGES if page.name.endswith(page_blocks.JAPANESE)]

HARNESSES = "integrations/harnesses"
ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "how-to/arrow.md": {"python": "integrations/test_arrow.py::test_examples_of_the_page_run"},
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
    "how-to/ray.md": {"python": "distributed/test_ray.py::test_examples_of_the_page_run"},
    "how-to/slurm.md": {"bash": "cli/test_merge.py::test_the_array_of_the_page_scores_and_merges"},
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


def ids(pages: list[Path]) -> list[str]:
    return [page_blocks.name(page) for page in pages]


def is_run_elsewhere(block: Block) -> bool:
    place = block.page.relative_to(ROOT).as_posix()
    return any(
        block.language in languages and fnmatch(place, f"docs/{pages}")
        for pages, languages in ELSEWHERE.items()
    )


@pytest.mark.parametrize("pages", ELSEWHERE)
def test_what_is_run_elsewhere_is(pages: str) -> None:
    known = {block.language for page in DOCS.glob(pages) for block in blocks(page)}
    for language, test in ELSEWHERE[pages].items():
        assert language in known or "*" in pages
        file, _, function = test.partition("::")
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert Path(pages).name in source
        assert f"\ndef {function}(" in source


# Checks of all blocks, whether they are run or not.


def check_shell(block: Block) -> None:
    saved = {each.file for each in blocks(block.page)}
    for statement in statements(block.code, prompted=block.language == "console"):
        for words in programs(statement.text):
            check_command(words, saved)


def check_toml(block: Block, folder: Path) -> None:
    """The package's reader of such a configuration accepts it."""
    table = tomllib.loads(block.code)
    read = next((read for keys, read in READERS.items() if keys & table.keys()), read_aliases)
    path = folder / ("models.toml" if read is facts else "block.toml")
    path.write_text(block.code, encoding="utf-8")
    assert read(path), block.place


def facts(path: Path) -> object:
    return read_facts(path.parent)


def prices(path: Path) -> object:
    models = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
    return [read_prices(path, model) for model in models]


READERS: dict[frozenset[str], Callable[[Path], object]] = {
    frozenset({"candidates"}): read_config,
    frozenset({"pairwise", "grade", "criteria"}): read_prompts,
    frozenset({"currency", "models"}): prices,
    frozenset({"fields"}): read_fields,
    frozenset({"released", "parameters"}): facts,
    frozenset({"Q01", "Q02"}): read_answer_rules,
    frozenset({"question"}): read_outlines,
}
"""Configurations by keys that only they have; other tables are other names of models."""


def check_json(block: Block, folder: Path) -> None:
    """Lines, or one value; a pair to be judged is one."""
    try:
        records = [json.loads(block.code)]
    except json.JSONDecodeError:
        records = [json.loads(line) for line in block.code.splitlines()]
    if "answers" in records[0]:
        path = folder / "pairs.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        assert len(read_pairs(path)) == len(records)


def check(block: Block, folder: Path) -> None:
    if block.language in SHELL:
        check_shell(block)
    elif block.language in PYTHON:
        check_python(block.code)
    elif block.language == "toml":
        check_toml(block, folder)
    elif block.language in ("json", "jsonl"):
        check_json(block, folder)
    elif block.language == OUTPUT or is_run_elsewhere(block):
        assert block.code.strip()
    else:
        raise AssertionError(f"{block.language!r} is no language that is checked: name one")


@pytest.mark.parametrize("page", SOURCES, ids=ids(SOURCES))
def test_code_is_sound(page: Path, tmp_path: Path) -> None:
    faults = []
    for block in blocks(page):
        try:
            check(block, tmp_path)
        except (AssertionError, ValueError) as fault:
            faults.append(f"{block.place}: {fault}")
    for command in inline_commands(page):
        try:
            check_inline(command)
        except AssertionError as fault:
            faults.append(f"{page_blocks.name(page)}: {fault}")
    assert faults == []


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_code_is_fenced_and_marks_are_read(page: Path) -> None:
    assert unfenced(page) == [], "indented code has no language"
    assert marks(page) == sum(block.reason is not None for block in blocks(page))


# Running them.


def run_page(page: Path, folder: Path, env: Mapping[str, str]) -> Counter[str]:
    """Run a page's blocks from top to bottom in one folder; how many were, by what became of them."""
    done: Counter[str] = Counter()
    namespace: dict[str, Any] = {"__name__": "page"}
    output: str | None = None
    for block in blocks(page):
        if block.language == OUTPUT and block.reason is None and not is_run_elsewhere(block):
            assert output is not None, f"{block.place}: nothing above printed it"
            assert_shown(block.code, output, block.place)
            done["compared"] += 1
            continue
        output = None
        if is_run_elsewhere(block):
            done["elsewhere"] += 1
        elif not block.is_run:
            done["marked"] += 1
        elif block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8", newline="\n")
            done["saved"] += 1
        elif block.language in PYTHON:
            output = run_python(block, namespace)
            done["run"] += 1
        elif block.language in SHELL:
            output = run_shell(block, folder, env)
            done["run"] += 1
        else:
            done["read"] += 1
    return done


def run_python(block: Block, namespace: dict[str, Any]) -> str:
    before = "\n" * (block.line - 1)  # so that a traceback has the line of the page
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(before + block.code, str(block.page), "exec"), namespace)
    return printed.getvalue()


def run_shell(block: Block, folder: Path, env: Mapping[str, str]) -> str:
    """Run a block's statements in one shell; what they printed."""
    wanted = [
        statement
        for statement in statements(block.code, prompted=block.language == "console")
        if not any(part in statement.text for part in block.parts)
        and not statement.text.startswith("pip install")
    ]
    lines = ["set -euo pipefail", "exec 2>&1"]
    for statement in wanted:
        lines += [page_world.translated(statement.text, env), f"printf '{BETWEEN}'"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    *printed, rest = done.stdout.split(BETWEEN)
    if done.returncode or len(printed) < len(wanted):
        failed = wanted[min(len(printed), len(wanted) - 1)]
        place = f"{page_blocks.name(block.page)}:{block.line + failed.line}"
        raise AssertionError(f"{place}: {failed.text}\n{rest}{done.stderr}")
    for statement, text in zip(wanted, printed, strict=True):
        if statement.output is not None:
            assert_shown(statement.output, text, block.place)
    return "".join(printed)


def assert_shown(shown: str, printed: str, place: str) -> None:
    assert shows(shown.rstrip(), printed), (
        f"{place}: shows\n{shown}\nbut this is printed:\n{printed}"
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("page", SOURCES, ids=ids(SOURCES))
def test_code_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    if not any(block.is_run and not is_run_elsewhere(block) for block in blocks(page)):
        pytest.skip("no code to run")
    folder = tmp_path / "page"
    folder.mkdir()
    place = page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name
    page_world.furnish(folder, place)
    monkeypatch.chdir(folder)
    with page_world.outside(tmp_path) as env:
        done = run_page(page, folder, env)
    for kind, count in done.items():
        record_property(kind, count)
    print(f"{page_blocks.name(page)}: " + ", ".join(f"{n} {kind}" for kind, n in done.items()))
    assert sum(done.values()) == len(blocks(page))
