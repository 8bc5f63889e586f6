"""docs/studies.md: its commands run, and print the coefficients that its tables have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helpers import pfgen
from places import DOCS
from study_tables import public_table, write_published

PAGE = (DOCS / "studies.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^pfgen-rs (study .*)$", PAGE, flags=re.MULTILINE)
COEFFICIENT = re.compile(r"-?\d\.\d{4}(?: to -?\d\.\d{4})?")


@pytest.fixture(scope="module")
def folder(
    studies_dir: Path, published_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files that the page speaks of."""
    place = tmp_path_factory.mktemp("page")
    (place / "pfgen-bench").symlink_to(published_dir)
    (place / "shaberi.csv").symlink_to(studies_dir / "shaberi.csv")
    public_table("swallow-leaderboard.json", studies_dir, place)
    write_published(place / "published.csv", studies_dir)
    return place


def run(command: str) -> str:
    done = pfgen(*shlex.split(command), env={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("heading", "kind", "rows"),
    [
        ("Experiment 1: metrics", "metrics", 3),
        ("Experiment 1: sources", "sources", 6),
        ("Experiment 3: other benchmarks", "against", 5),
    ],
)
def test_commands_print_what_the_page_says(
    folder: Path, heading: str, kind: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    commands = [command for command in COMMANDS if command.split()[1] == kind]
    text = "".join(map(run, commands))
    if kind == "against":
        text += run(commands[0].partition(" --plot")[0].replace("ja_pre.*", "en_pre.avg"))
    for command in commands:
        assert (folder / command.rpartition("--plot ")[2]).stat().st_size
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    tables = [line for line in part.splitlines() if line.startswith("|")]
    told = [found for line in tables if (found := COEFFICIENT.findall(line))]
    assert len(told) == rows
    assert {each for found in told for each in found} <= set(COEFFICIENT.findall(text))
