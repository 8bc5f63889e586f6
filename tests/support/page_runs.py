"""Follows pages: runs their code, saves their files, compares what they show with what is printed."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import page_blocks
import page_world
from page_blocks import Block, blocks
from page_checks import OUTPUT, PYTHON, SHELL
from shell_lines import statements
from tutorial_pages import shows

__all__ = ["Elsewhere", "Fate", "fate", "run_page"]

TIMEOUT = 600
"""Seconds for a block, far more than any takes: a busy machine is no fault of a page."""

BETWEEN = "\x1e"
"""Printed between the statements of a script."""

Elsewhere = Callable[[Block], bool]
"""Whether another test runs a block."""

Fate = Literal["elsewhere", "marked", "compared", "saved", "run", "read"]


def fate(block: Block, elsewhere: Elsewhere) -> Fate:
    """What becomes of a block."""
    if elsewhere(block):
        return "elsewhere"
    if not block.is_run:
        return "marked"
    if block.language == OUTPUT:
        return "compared"
    if block.file:
        return "saved"
    return "run" if block.language in PYTHON | SHELL else "read"


def run_page(page: Path, folder: Path, env: Mapping[str, str], elsewhere: Elsewhere) -> None:
    """Do in a folder, which is the current one, what a page says from top to bottom."""
    namespace: dict[str, Any] = {"__name__": "page"}
    output: str | None = None
    for block in blocks(page):
        becomes = fate(block, elsewhere)
        if becomes == "compared":
            assert output is not None, f"{block.place}: nothing above printed it"
            _assert_shown(block.code, output, block.place)
        elif becomes == "saved":
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8", newline="\n")
        is_run = becomes == "run"
        output = _run(block, namespace, folder, env) if is_run else None


def _run(block: Block, namespace: dict[str, Any], folder: Path, env: Mapping[str, str]) -> str:
    if block.language in PYTHON:
        return _run_python(block, namespace)
    return _run_shell(block, folder, env)


def _run_python(block: Block, namespace: dict[str, Any]) -> str:
    before = "\n" * (block.line - 1)  # so that a traceback has the line of the page
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(before + block.code, str(block.page), "exec"), namespace)
    return printed.getvalue()


def _run_shell(block: Block, folder: Path, env: Mapping[str, str]) -> str:
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
            _assert_shown(statement.output, text, block.place)
    return "".join(printed)


def _assert_shown(shown: str, printed: str, place: str) -> None:
    assert shows(shown.rstrip(), printed), (
        f"{place}: shows\n{shown}\nbut this is printed:\n{printed}"
    )
