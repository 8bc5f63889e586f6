"""What the tests of harnesses share: whether one is here, running its command, and a run to repeat in it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from helpers import environment
from pfgen_rs import Benchmark, Result, score_file
from pfgen_rs.generate import Mode, Prompter, Task, read_examples
from pfgen_rs.questions.locate import bundled_path
from places import DOCS, ROOT

HARNESSES = ROOT / "tests" / "integrations" / "harnesses"
TIMEOUT = 300


def needs(package: str) -> pytest.MarkDecorator:
    """A mark for tests of a harness that need not be installed. It is not imported: they warn."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed: make test-harnesses")


def section(page: str, title: str) -> str:
    """A section of a page in `docs/how-to`."""
    text = (DOCS / "how-to" / page).read_text(encoding="utf-8")
    [found] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    return str(found)


def example(harness: str, language: str) -> str:
    """The one example of a harness that is in this language."""
    text = section("harnesses.md", harness)
    [code] = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return str(code)


def command(folder: Path, name: str, *args: str | Path, **env: str) -> str:
    """Run a harness's command in a folder without network; its output."""
    paths = [str(ROOT / "python"), str(HARNESSES)]
    done = subprocess.run(
        [Path(sys.executable).parent / name, *map(str, args)],
        capture_output=True,
        timeout=TIMEOUT,
        env=environment(PYTHONPATH=os.pathsep.join(paths), HF_HUB_OFFLINE="1", **env),
        cwd=folder,
        check=False,
    )
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output


def bundled_run(mini: Benchmark, name: str) -> Result:
    """The scores of a bundled run, from its file."""
    return score_file(bundled_path() / "runs" / name, mini)


def by_task(result: Result, mode: Mode) -> Iterator[tuple[Task, str]]:
    """The tasks that a run of the bundled benchmark answers, and its answers."""
    trials = pl.int_range(1, pl.len() + 1).over("question_id").alias("trial")
    prompter = Prompter(read_examples("mini"), mode)
    for row in result.frame.with_columns(trials).iter_rows(named=True):
        [task] = prompter.tasks(row["trial"], [row["question"]])
        yield task, row["answer"]
