"""The examples of `watch`, run as people run them: a converter, and the script for Slurm."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helpers
from pfgen_rs.training import read_curve
from places import ROOT
from served_checkpoints import PYTHON, checkpoint, log_of, serve

EXAMPLES = ROOT / "examples"

# Answers with as many letters as the sum of the joined weights says, if all files are there.
MODEL = """
import json, sys, os, numpy
whole = numpy.load(os.path.join(sys.argv[1], "model.npz"))
assert json.load(open(os.path.join(sys.argv[1], "config.json"))) == {"like": "this"}
assert whole["row.weight"].tolist() == [[1, 2, 1, 2]], whole["row.weight"]
length = int(whole["column.weight"].sum() + whole["norm"].sum())
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a" * length}), flush=True)
"""


def test_a_checkpoint_of_megatron_is_converted(tmp_path: Path) -> None:
    for rank in range(2):
        folder = tmp_path / "checkpoints" / "iter_0000100" / f"mp_rank_{rank:02d}"
        folder.mkdir(parents=True)
        weights: Any = {"column.weight": [[rank + 1]], "row.weight": [[1, 2]], "norm": [1]}
        np.savez(folder / "model.npz", **weights)
    (tmp_path / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("100")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "config.json").write_text('{"like": "this"}')
    (tmp_path / "model.py").write_text(MODEL)
    program = [sys.executable, str(EXAMPLES / "convert_megatron.py"), "{checkpoint}", "{out}"]
    done = helpers.pfgen(
        *("watch", tmp_path / "checkpoints", "--once", "--settle", "0", "--limit", "3"),
        *("--convert", shlex.join([*program, "--like", str(tmp_path / "base")])),
        *("--command", shlex.join([sys.executable, str(tmp_path / "model.py"), "{checkpoint}"])),
    )
    assert done.returncode == 0, done.stderr
    frame, _ = read_curve(tmp_path / "checkpoints" / "pfgen" / "curve.parquet")
    assert frame.select("step", "length").rows() == [(100, 4)]
    assert log_of(tmp_path, 100).read_text() == "2 shards, 7 weights\n"
    broken = [*program[:2], str(tmp_path / "no"), str(tmp_path / "x")]
    said = subprocess.run([*broken, "--like", str(tmp_path)], capture_output=True, check=False)
    assert (said.returncode, (tmp_path / "x").exists()) == (1, False)


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_the_script_for_slurm(tmp_path: Path) -> None:
    """As Slurm runs it, with what stands in for vLLM's server under the name `vllm`."""
    checkpoint(tmp_path, 1, "4")
    programs = tmp_path / "bin"
    programs.mkdir()
    server = serve(tmp_path)[2]
    words = [*PYTHON, server, "$2", "$4", str(tmp_path / "pids")]
    line = " ".join(f'"{word}"' for word in words)
    (programs / "vllm").write_text(f'#!/bin/sh\n[ "$1 $3" = "serve --port" ] && exec {line}\n')
    (programs / "vllm").chmod(0o755)
    path = os.pathsep.join([str(programs), str(helpers.SCRIPT.parent), os.environ["PATH"]])
    environment = helpers.environment(PATH=path, PFGEN_BENCHMARK="mini")
    checkpoints = str(tmp_path / "checkpoints")
    done, again = (
        subprocess.run(
            ["bash", EXAMPLES / "slurm_watch.sh", checkpoints],
            capture_output=True,
            text=True,
            env=environment,
            timeout=helpers.TIMEOUT,
            check=False,
        )
        for _ in range(2)
    )
    assert (done.returncode, done.stdout[:14]) == (0, "step_1: score "), done.stderr
    assert (tmp_path / "checkpoints" / "curve.svg").exists()
    assert (again.returncode, again.stdout) == (0, "")
