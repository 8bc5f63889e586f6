"""Follows a page of the tutorial as readers do: saves its files, runs its commands, compares the outputs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from helpers import environment

__all__ = ["Block", "blocks_of", "differences", "follow", "shows"]

FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WIDTH = 80
"""Width of the window in which the pages were written."""

TIMEOUT = 300
ELISION = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the name of the file that it is, if it is one, and its text."""

    language: str
    file: str
    text: str


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(*found) for found in FENCE.findall(text)]


def follow(blocks: list[Block], folder: Path) -> list[tuple[str, str, str]]:
    """Do what the page says, in order; each command, what the page shows of its output, and its output."""
    done = []
    for block, following in pairwise([*blocks, Block("", "", "")]):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8", newline="\n")
        elif block.language == "sh":
            shown = following.text if following.language == "text" else ""
            done.append((block.text, shown, _run(block.text, folder)))
    return done


def differences(done: list[tuple[str, str, str]]) -> list[str]:
    """The commands whose output is not what the page shows, with both."""
    return [
        f"$ {command}shown:\n{shown}\nin fact:\n{output}"
        for command, shown, output in done
        if not shows(shown, output)
    ]


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


def _run(command: str, folder: Path) -> str:
    """Run commands in a shell that has the environment of these tests; what they print anywhere."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT,
        env=environment(PATH=path, COLUMNS=str(WIDTH)),
        check=False,
    )
    output = done.stdout.decode()
    assert done.returncode == 0, f"$ {command}{output}"
    return output
