"""A million candidates for one question: what a build does to them, and in how much memory."""

import json
import lzma
import random
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import made
import timing
from grammar import load
from pfgen_rs import load_benchmark
from places import ROOT, part

MILLION = 1_000_000
GRAMMAR = ROOT / "data" / "mini" / "grammar" / "Q01.toml"
CANDIDATES = part("candidates")
CONFIG = """
candidates = ["*.parquet"]
out = "set"
preset = "paper"
steps = ["normalise", "duplicates", "singletons", "length", "select"]
select.proposals = 30_000_000
"""


def real_answers() -> list[str]:
    """Some thousand real answers, where they are at hand."""
    if not CANDIDATES:
        return []
    with lzma.open(Path(CANDIDATES, "Q01.jsonl.xz"), "rt", encoding="utf-8") as file:
        return [json.loads(line)["answer"] for line in file]


def write_million(path: Path) -> int:
    """Sentences of a grammar's answers put together anew, some with a wrong character; real answers, too."""
    question = load(GRAMMAR)
    rng, chance = random.Random(1), np.random.default_rng(1)
    drawn = [question.sources["A"].sample(rng) for _ in range(3_000)]
    sentences = [made.split_sentences(answer) for answer in drawn]
    first = pl.Series([each[0] for each in sentences])
    second = pl.Series(["".join(each[1:]) for each in sentences])
    rows = chance.integers(len(drawn), size=(2, MILLION))
    answers = first[rows[0]] + second[rows[1]]
    slips = pl.Series(chance.random(MILLION) < 0.1)
    wrong = pl.Series([chr(c) for c in chance.integers(0x4E00, 0x5600, size=MILLION)])
    slipped = answers.str.slice(0, 30) + wrong + answers.str.slice(31)
    whole = pl.concat(
        [slipped.zip_with(slips, answers), pl.Series(real_answers(), dtype=pl.String)]
    )
    pl.DataFrame({"answer": whole}).with_columns(question=pl.lit("q")).write_parquet(path)
    return len(whole)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is not told")
def test_a_million_candidates(tmp_path: Path) -> None:
    count = write_million(tmp_path / "candidates.parquet")
    (tmp_path / "set.toml").write_text(CONFIG, encoding="utf-8")
    command = ("-m", "pfgen_rs", "build", tmp_path / "set.toml", "--memory", "128MiB")
    done = timing.process(*command, "--format", "json")
    assert done.peak < 750 << 20
    [row] = json.loads(done.output)
    assert row["candidates"] == count > 0.99 * MILLION
    assert 0.5 * MILLION < row["singletons"] < row["duplicates"] <= row["normalise"]
    assert (row["length"], row["select"]) == (30_000, 1_000)
    [question] = load_benchmark(tmp_path / "set")
    [answers] = question.answers.values()
    lengths = [len(answer) for answer in answers]
    assert abs(sum(lengths) / len(lengths) - 100) < 1
