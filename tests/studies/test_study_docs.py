"""docs/studies.md: its commands run, and its figures are what they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import environment
from pfgen_rs.studies import model_key
from places import DOCS
from study_tables import public_table, write_published

PAGE = (DOCS / "studies.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(pfgen-rs study .*)$", PAGE, flags=re.MULTILINE)
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


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", *arguments],
        cwd=folder,
        capture_output=True,
        env=environment(COLUMNS="200"),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def rows_under(heading: str) -> list[str]:
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in part.splitlines() if COEFFICIENT.search(line) and line.startswith("|")]


def commands_of(kind: str) -> Iterator[list[str]]:
    for command in COMMANDS:
        _, *arguments = shlex.split(command)
        if arguments[1] == kind:
            yield arguments


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def printed_row(text: str, names: list[str], n: str) -> str:
    """The line of a printed table that begins with a row's names, and its n."""
    begin = r"\s+".join(map(re.escape, [*names, n]))
    [line] = re.findall(rf"^ *{begin}\s.*$", text, flags=re.MULTILINE)
    return str(line)


def outliers_of(text: str, column: str) -> str:
    [line] = re.findall(rf"^  {re.escape(column)}: (.*)$", text, flags=re.MULTILINE)
    return str(line)


def check_row(row: str, text: str, names: list[str], n: str) -> None:
    """Every coefficient of a row of the page is in the printed row of the same names and n."""
    told = COEFFICIENT.findall(row)
    assert told
    assert set(told) <= set(COEFFICIENT.findall(printed_row(text, names, n))), row


def test_metrics(folder: Path) -> None:
    [command] = commands_of("metrics")
    text = run(folder, *command)
    rows = rows_under("Experiment 1: metrics")
    assert len(rows) == 3
    for row in rows:
        one, other, n, *_ = cells_of(row)
        check_row(row, text, [one, other], n)
    assert (folder / "metrics.svg").read_bytes().startswith(b"<?xml")


def test_sources(folder: Path) -> None:
    [command] = commands_of("sources")
    text = run(folder, *command)
    rows = rows_under("Experiment 1: sources")
    assert len(rows) == 6
    some, every = text.split("average over all questions")
    for row in rows:
        one, other, n, *figures = cells_of(row)
        for part, figure in zip((some, every), figures, strict=True):
            check_row(figure, part, [one, other], n)
    assert "37 questions with all of P, T, S" in text
    assert (folder / "sources.svg").exists()


def test_against(folder: Path) -> None:
    commands = list(commands_of("against"))
    assert len(commands) == 2
    more = [part if part != "ja_pre.*" else "en_pre.avg" for part in commands[0][:-2]]
    text = "".join(run(folder, *command) for command in (*commands, more))
    rows = rows_under("Experiment 3: other benchmarks")
    assert len(rows) == 5
    for row in rows:
        named, n, *_, furthest = cells_of(row)
        column = named.split("`")[1]
        check_row(row, text, [column], n)
        assert outliers_of(text, column).startswith(furthest)
    assert (folder / "swallow.svg").exists()
    assert (folder / "ja-mt.svg").exists()
    without = [
        *commands[1][:-2],
        *("--exclude", "weblab-GENIAC/Tanuki-8x8B-dpo-v1.0", "--exclude", "sarashina2.2-3b"),
    ]
    told = re.search(r"r\s+is\s+(\S+)\s+\(([^)]*)\)\s+over\s+(\d+)\s+models", PAGE)
    assert told is not None
    assert re.search(rf" {told[3]}  {told[1]}  {' '.join(told[2].split())} ", run(folder, *without))


def test_the_page_says_how_names_are_compared() -> None:
    shown = re.search(r"`(\S+/\S+)` is `(\S+)`", PAGE)
    assert shown is not None
    assert model_key(shown[1]) == shown[2]
    [aliases] = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert all(map(model_key, tomllib.loads(aliases).values()))
