"""The published checkout reported anew: every file byte for byte."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from checkouts import contents, times
from helpers import pfgen
from pfgen_rs import Benchmark
from pfgen_rs.checkout.entries import read_entries
from pfgen_rs.checkout.published import read_published
from pfgen_rs.checkout.rescoring import marks_of
from pfgen_rs.report import readme
from places import published_runs

pytestmark = pytest.mark.published

BEGIN, END = readme.BEGIN, readme.END
SYSTEM = ("data", "data/final")
KEPT = "data/final/result.json"  # its responses are not published
TABLES = {"leaderboard.parquet", "leaderboard.csv", "leaderboard.json"}


def emptied_copy(published: Path, folder: Path) -> Path:
    """The checkout as it is before anything is reported; what is only read is linked."""
    for path in published.rglob("*"):
        place = path.relative_to(published)
        if path.is_dir() or path.name in ("result.json", "README.md"):
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(path)
    shutil.copyfile(published / KEPT, folder / KEPT)
    before, _, rest = (published / "README.md").read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    (folder / "README.md").write_text(f"{before}{BEGIN}\nold\n{END}{after}", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def reported(
    published_dir: Path, published_benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A copy in which everything was made anew by one command; the cache has the index."""
    folder = emptied_copy(published_dir, tmp_path_factory.mktemp("checkout"))
    done = pfgen("report", folder)
    assert done.returncode == 0
    assert done.stderr.startswith("scoring 25 runs: no result.json: data, result/")
    assert done.stderr.count("\n") == 1
    assert done.stdout.startswith("26 runs: 25 scored;")
    return folder


def test_a_run_is_byte_identical(published_run: str, published_dir: Path, reported: Path) -> None:
    for name in ("result.json", "README.md"):
        same_bytes(reported / published_run / name, published_dir / published_run / name)


def test_other_readmes_are_byte_identical(published_dir: Path, reported: Path) -> None:
    files = [f"{run}/{name}" for run in SYSTEM for name in ("result.json", "README.md")]
    for name in ("README.md", *files):
        same_bytes(reported / name, published_dir / name)


def same_bytes(ours: Path, theirs: Path) -> None:
    """Equal contents; else say where they part rather than print megabytes."""
    got, wanted = ours.read_bytes(), theirs.read_bytes()
    if got != wanted:
        pairs = zip(got, wanted, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(got), len(wanted)))
        span = slice(max(0, at - 80), at + 80)
        pytest.fail(f"{ours.name} at {at}: {got[span]!r} rather than {wanted[span]!r}")


def test_no_other_file_appears(published_dir: Path, reported: Path) -> None:
    assert contents(reported).keys() - contents(published_dir).keys() == TABLES


def test_nothing_stale_nothing_written(reported: Path) -> None:
    before = times(reported)
    done = pfgen("report", reported)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "26 runs: 0 scored; 0 files written in the checkout\n",
        "",
    )
    assert times(reported) == before


def test_the_tables_agree(reported: Path) -> None:
    found = json.loads((reported / "leaderboard.json").read_bytes())
    parquet = pl.read_parquet(reported / "leaderboard.parquet")
    csv = pl.read_csv(reported / "leaderboard.csv", schema=parquet.schema)
    assert parquet.to_dicts() == csv.to_dicts() == found["runs"]
    assert found["signature"].startswith("pfgen|set:13581cc9|")
    runs = {*published_runs(), *SYSTEM}
    assert set(parquet["run"]) == runs
    results = [json.loads((reported / run / "result.json").read_bytes()) for run in parquet["run"]]
    for column in ("score", "score_std", "num_trials", "length", "length_std", "input_hash"):
        assert parquet[column].to_list() == [result[column] for result in results]
    assert parquet["score"].is_sorted(descending=True)


def test_ranks_of_the_published_runs(published_dir: Path) -> None:
    entries, problems = read_entries(published_dir)
    assert not problems
    systems = [entry.model for entry in entries if entry.rank is None]
    assert systems == ["system/ground-truth", "system/criteria"]
    ranked = [entry for entry in entries if entry.rank is not None]
    assert [entry.rank for entry in ranked] == list(range(1, 25))
    for entry in ranked:
        ranges: Any = (1, entry.rank_low, entry.own_rank_low)
        ranges += (entry.own_rank_high, entry.rank_high, 24)
        assert list(ranges) == sorted(ranges)
        bounds: Any = (entry.estimate.low, entry.score, entry.estimate.high)
        assert list(bounds) == sorted(bounds)
    assert (ranked[-1].rank_low, ranked[-1].rank_high) == (24, 24)  # it answers nothing
    [gpt] = [entry for entry in ranked if entry.model == "openai/gpt-4o"]
    assert (gpt.rank, gpt.rank_low, gpt.rank_high) == (3, 2, 6)
    assert (gpt.own_rank_low, gpt.own_rank_high) == (3, 4)


def test_marks_need_no_other_runs(published_dir: Path, published_benchmark: Benchmark) -> None:
    results = [read_published(published_dir / run, run).result for run in published_runs()[:3]]
    together = marks_of(published_benchmark, results)
    assert together == [marks_of(published_benchmark, [result])[0] for result in results]
