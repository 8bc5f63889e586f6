"""Follows pages: runs their code, saves their files, compares what they show with what is printed."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import page_world
from page_blocks import Block, blocks, lines
from page_checks import PYTHON, SHELL

TIMEOUT = 600
"""Seconds for a block, far more than any takes: a busy machine is no fault of a page."""
ELISION = "…"


def run_page(
    page: Path, folder: Path, env: Mapping[str, str], elsewhere: Collection[str] = ()
) -> None:
    """Do in a folder, which is the current one, what a page says; `elsewhere`: languages that are not run."""
    namespace: dict[str, Any] = {"__name__": "page"}
    output: str | None = None
    for block in blocks(page):
        if not block.is_run or block.language in elsewhere:
            output = None
        elif block.language == "text":
            assert output is not None, f"{block.place}: nothing above printed it"
            assert shows(block.code, output), f"{block.place}: shows\n{block.code}\nnot\n{output}"
        elif block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8", newline="\n")
        elif block.language in PYTHON:
            output = _run_python(block, namespace)
        elif block.language in SHELL:
            output = _run_shell(block, folder, env)


def _run_python(block: Block, namespace: dict[str, Any]) -> str:
    before = "\n" * (block.line - 1)  # so that a traceback has the line of the page
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(before + block.code, str(block.page), "exec"), namespace)
    return printed.getvalue()


def _run_shell(block: Block, folder: Path, env: Mapping[str, str]) -> str:
    """Run a block in one shell, but for what its mark leaves out and installations; what it printed."""
    wanted = [
        page_world.translated(line, env)
        for line in lines(block.code)
        if not line.startswith("pip install") and not any(part in line for part in block.parts)
    ]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(wanted)],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, f"{block.place}:\n{done.stdout}"
    return done.stdout


def shows(shown: str, output: str) -> bool:
    """Whether `shown` is the output, with … for what is left out: within a line, or some lines."""
    pattern = "\n".join(map(_pattern_of_line, _lines(shown))).replace(f"\0{ELISION}\n", "(?:.*\n)*")
    pattern = pattern.replace(f"\n\0{ELISION}", "(?:\n.*)*")
    return re.fullmatch(pattern, "\n".join(_lines(output))) is not None


def _lines(text: str) -> list[str]:
    """Lines without the space at their ends, and without empty ones that do not separate."""
    stripped = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", stripped).split("\n")


def _pattern_of_line(line: str) -> str:
    if line.strip() == ELISION:
        return f"\0{ELISION}"
    return ".*".join(map(re.escape, line.split(ELISION)))
