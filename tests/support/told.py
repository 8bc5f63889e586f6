"""What the tests of harnesses share: whether one is here, running its command, and a run to repeat in it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from helpers import environment
from pfgen_rs import Benchmark, Result, score_file
from pfgen_rs.generate import Mode, Prompter, Task, read_examples
from pfgen_rs.integrations import harness_path
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


def python_example(folder: Path, page: str, title: str, begin: str) -> None:
    """Run the one Python example of a section that begins so, in a folder."""
    code = re.findall(
        r"^```python\n(.*?)^```", section(page, title), flags=re.DOTALL | re.MULTILINE
    )
    [found] = [each for each in code if each.startswith(begin)]
    program = folder / "example.py"
    program.write_text(found, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program],
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT / "python")),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


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


_LM_EVAL = ROOT / "tests" / "support" / "lm_eval_answers.py"


def run_lm_eval(folder: Path, arguments: list[str], stdin: str = "") -> str:
    """Run `lm_eval` with our model in a folder, without network; its output."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
    done = subprocess.run(
        [sys.executable, str(_LM_EVAL), *arguments],
        input=stdin,
        env=environment(**offline, PYTHONPATH=str(ROOT / "python")),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lm_eval_arguments(text: str, model_args: str) -> list[str]:
    """The arguments of the command in a part of the page, for our model."""
    [command] = re.findall(r"^lm_eval (.*)$", text.replace("\\\n", ""), flags=re.MULTILINE)
    path = "$(pfgen-rs harness-path lm_eval)"
    arguments = shlex.split(command.replace(path, str(harness_path("lm_eval"))))
    ours = {"hf": "recorded", "pretrained=some/model": model_args}
    assert ours.keys() <= set(arguments)
    return [ours.get(argument, argument) for argument in arguments]
