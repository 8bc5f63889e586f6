"""`score --shard` and `merge` as processes, and the array script of the documentation."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import helpers
from helpers import GOOD, pfgen
from pfgen_rs import InputError, merge_shards, score_shard
from pfgen_rs.cli.app import app
from places import DOCS

PAGE = (DOCS / "how-to" / "slurm.md").read_text("utf-8")
SCRIPTS = re.findall(r"^```bash\n(#!/bin/bash\n.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def write_runs(folder: Path) -> Path:
    """A folder of four runs, of which one is partial and one has unclean answers."""
    for number, answers in enumerate([GOOD, GOOD * 3, GOOD[:1], [(q, f" {a}") for q, a in GOOD]]):
        helpers.write_run(folder / f"run{number}", answers, f"model-{number}")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_output_is_that_of_one_command(tmp_path: Path) -> None:
    bench = ["-b", str(helpers.write_benchmark(tmp_path / "questions"))]
    runs, one, all_ = write_runs(tmp_path / "runs"), tmp_path / "one", tmp_path / "all"
    for number in (1, 2, 3):
        done = pfgen(
            "score",
            runs,
            *bench,
            "--shard",
            f"{number}/3",
            "--rows",
            "--out",
            tmp_path / f"s{number}",
        )
        assert done.returncode == 0, done.stderr
        assert not done.stdout
        assert f"shard {number} of 3: scored " in done.stderr
    shards = [tmp_path / "s3", tmp_path / "s1", tmp_path / "s2"]
    for form in ("json", "table"):
        output = ["--allow-partial", "--format", form]
        expected = pfgen(
            "score", runs, *bench, *output, "--out", one, "--per-response", one / "r.csv"
        )
        found = pfgen("merge", *shards, *output, "--out", all_, "--per-response", all_ / "r.csv")
        assert expected.returncode == 0
        assert (found.returncode, found.stdout, found.stderr) == (
            expected.returncode,
            expected.stdout,
            expected.stderr,
        )
        assert contents(all_) == contents(one)
    refused = pfgen("merge", *shards, "--out", tmp_path / "partial")
    assert refused.returncode == 2
    assert "--allow-partial" in refused.stderr
    missing = pfgen("merge", *shards[:2])
    assert missing.returncode == 2
    assert missing.stderr.strip() == "error: 1 of 3 shards is missing: 2"


WRONG = [
    (["--shard", "0/3", "--out", "s"], "expected 1/3 to 3/3"),
    (["--shard", "4/3", "--out", "s"], "expected 1/3 to 3/3"),
    (["--shard", "x", "--out", "s"], "expected I/N, such as 1/7"),
    (["--shard", "1/3"], "requires --out DIR"),
    (["--shard", "1/3", "--out", "s", "--resume"], "run the same command again"),
    (["--shard", "1/3", "--out", "s", "--format", "json"], "give it to pfgen-rs merge"),
    (["--shard", "1/3", "--out", "s", "--per-response", "a.csv"], "and --rows here"),
    (["--rows"], "requires --shard"),
]


@pytest.mark.parametrize(("arguments", "reason"), WRONG)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = str(helpers.write_run(tmp_path / "run"))
    done = CliRunner().invoke(app, ["score", run, *arguments])
    assert done.exit_code == 2
    assert reason in " ".join(re.sub("[│\n]", " ", done.output).split())
    assert not (tmp_path / "s").exists()


def test_standard_input_is_refused(tmp_path: Path) -> None:
    done = pfgen("score", "-", "--shard", "1/2", "--out", tmp_path / "s", stdin=helpers.lines())
    assert done.returncode == 2
    assert "standard input cannot be divided into shards" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_killed_shard_leaves_nothing_that_merges(tmp_path: Path) -> None:
    """And running it again replaces what it left."""
    bench = helpers.write_benchmark(tmp_path / "questions")
    runs, out = write_runs(tmp_path / "runs"), tmp_path / "shards/1"
    script = (
        "import sys, time\n"
        "from pfgen_rs import score_shard\n"
        "def wait(*_):\n"
        "    print('scoring', flush=True)\n"
        "    time.sleep(60)\n"
        "score_shard(sys.argv[1], '1/1', sys.argv[2], sys.argv[3], progress=wait)\n"
    )
    command = [sys.executable, "-c", script, str(runs), str(out), str(bench)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=helpers.environment()) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"scoring\n"
        killed.send_signal(signal.SIGKILL)
    (left,) = out.parent.iterdir()
    assert left.name.startswith(".1.")
    with pytest.raises(InputError, match="not a shard"):
        merge_shards(out.parent)
    score_shard(runs, "1/1", out, bench)
    assert list(out.parent.iterdir()) == [out]
    assert len(merge_shards(out.parent)) == 4


def run_script(
    script: str, folder: Path, bench: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a batch script as Slurm would, in a folder, with the installed command."""
    path = folder / "batch.sh"
    path.write_text(script, "utf-8")
    return subprocess.run(
        ["bash", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=helpers.environment(
            PATH=f"{helpers.SCRIPT.parent}{os.pathsep}{os.environ['PATH']}",
            PFGEN_RS_BENCHMARK=str(bench),
            SLURM_SUBMIT_DIR=str(folder),
            SLURM_CPUS_PER_TASK="1",
            **more,
        ),
    )


@pytest.mark.skipif(os.name == "nt", reason="the scripts are for bash")
def test_the_array_of_the_page_scores_and_merges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = helpers.write_benchmark(tmp_path / "questions")
    score, merge = SCRIPTS
    write_runs(tmp_path / "runs")
    (numbers,) = re.findall(r"^#SBATCH --array=1-(\d+)$", score, flags=re.MULTILINE)
    order = [str(number) for number in range(1, int(numbers) + 1)]
    random.Random(1).shuffle(order)
    for number in order:
        done = run_script(score, tmp_path, bench, SLURM_ARRAY_TASK_ID=number)
        assert done.returncode == 0, done.stderr
    wrong = run_script(score, tmp_path, bench, SLURM_ARRAY_TASK_ID="0")
    assert wrong.returncode
    done = run_script(merge.replace("--out", "--allow-partial --out"), tmp_path, bench)
    assert done.returncode == 0, done.stderr
    table = tmp_path / "expected.parquet"
    pfgen(
        "score", tmp_path / "runs", "-b", bench, "--allow-partial", "--out", tmp_path / "expected"
    )
    expected = contents(tmp_path / "expected")
    found = contents(tmp_path / "scored")
    assert found == expected
    monkeypatch.chdir(tmp_path)
    pfgen("score", "runs", "-b", bench, "--per-response", table)
    assert (tmp_path / "scores.parquet").read_bytes() == table.read_bytes()


@pytest.mark.published
def test_seven_shards_of_all_published_runs_are_as_one(published_dir: Path, tmp_path: Path) -> None:
    bench = ["-b", str(published_dir / "data")]
    one, all_ = tmp_path / "one", tmp_path / "all"
    order = list(range(1, 8))
    random.Random(time.time_ns()).shuffle(order)
    for number in order:
        out = tmp_path / f"shards/{number}"
        done = pfgen(
            "score",
            published_dir / "result",
            *bench,
            "--shard",
            f"{number}/7",
            "--rows",
            "--out",
            out,
        )
        assert done.returncode == 0, done.stderr
    random.shuffle(order)
    shards = [tmp_path / f"shards/{number}" for number in order]
    for suffix in ("parquet", "jsonl", "csv"):
        name = f"rows.{suffix}"
        expected = pfgen(
            "score", published_dir / "result", *bench, "--out", one, "--per-response", one / name
        )
        found = pfgen("merge", *shards, "--out", all_, "--per-response", all_ / name)
        assert (found.returncode, found.stdout, found.stderr) == (
            0,
            expected.stdout,
            expected.stderr,
        )
    assert len(contents(one)) == 24 + 3
    assert contents(all_) == contents(one)
