"""Damaged files: read the same at once and in parts, or refused by name. `make fuzz` tries more."""

from __future__ import annotations

import re
import time
from pathlib import Path
from random import Random

import pytest

import mutations
from pfgen_rs.metrics import limited_expressions
from places import ROOT

# Seeds that `make fuzz` found; those of CSV have stray quotation marks.
SEEDS = [("csv", 239), ("csv", 1099), ("csv", 1275)]


@pytest.mark.parametrize("target", mutations.TARGETS)
def test_some_damaged_files(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_expressions, "TIME_LIMIT", 0.2)
    for seed in range(40):
        mutations.check(target, seed)


@pytest.mark.parametrize(("target", "seed"), SEEDS)
def test_what_was_found(target: str, seed: int) -> None:
    mutations.check(target, seed)


def test_make_fuzz_has_all_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = dict(re.findall(r"^(FUZZED|DAMAGED) := (.*)$", makefile, flags=re.MULTILINE))
    programs = sorted(path.stem for path in (ROOT / "rust/fuzz/fuzz_targets").glob("*.rs"))
    assert named["FUZZED"].split() == programs
    assert named["DAMAGED"].split() == list(mutations.TARGETS)
    seeds = sorted(path.name for path in (ROOT / "rust/fuzz/seeds").iterdir())
    assert seeds == programs


def test_fuzzing_names_the_seed_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(random: Random, folder: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(mutations.TARGETS, "csv", fails)
    monkeypatch.setattr(mutations, "_PATIENCE", 0.1)
    with pytest.raises(ZeroDivisionError):
        mutations.run("csv", 5)
    time.sleep(2)  # the watchdog would end this process after one
    assert re.match(r"failed: add \('csv', \d+\) to SEEDS of", capsys.readouterr().err)
