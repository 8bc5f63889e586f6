"""The examples and notebooks, run as people run them: real processes with a tiny model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import polars as pl
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from helpers import TIMEOUT, environment
from pfgen_rs import Benchmark
from places import ROOT

EXAMPLES = ROOT / "examples"
SMALL = {"width": 16, "layers": 2, "batch": 4, "trials": 2, "every": 4, "steps": 8}
METRICS = ("score", "fluency", "truthfulness", "helpfulness")
QUESTIONS, TRIALS = 14, 2
VOCABULARY, LENGTH = 20, 6
DEADLINE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs go, and what the first of them leaves to the others."""
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    """What a run into `first` prints."""
    return pretrain(folder, "first")


def pretrain(folder: Path, name: str, example: str = "pretrain_tiny") -> str:
    """Run an example into a folder; its output."""
    given = [f"--{key}={value}" for key, value in SMALL.items()]
    caches = {
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PFGEN_RS_CACHE": str(folder / "index"),
        "XLA_FLAGS": "--xla_backend_optimization_level=0",  # compiling takes longer than so few steps
    }
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{example}.py", f"--out={folder / name}", *given],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE,
        env=environment(**caches),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(run: Path, step: int) -> pl.DataFrame:
    return pl.read_parquet(run / "answers" / f"step_{step:08d}.parquet")


@pytest.mark.usefixtures("printed")
def test_the_curve_begins_with_a_baseline(folder: Path) -> None:
    curve = pl.read_parquet(folder / "first" / "curve.parquet")
    assert curve["step"].to_list() == [0, 4, 8]
    assert curve["tokens"][0] == 0
    assert curve["tokens"].is_sorted()
    assert curve["difference"].is_null().to_list() == [True, False, False]
    assert curve["difference"][2] == pytest.approx(curve["score"][2] - curve["score"][0])
    assert 0 <= curve["score"][0] < 0.05  # nothing is learnt yet
    assert curve["answers"].to_list() == [QUESTIONS * TRIALS] * 3
    assert (folder / "first" / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("printed")
def test_the_curve_is_what_the_stored_answers_score(folder: Path, mini: Benchmark) -> None:
    curve = pl.read_parquet(folder / "first" / "curve.parquet")
    assert len(list((folder / "first" / "answers").iterdir())) == len(curve)
    for row in curve.iter_rows(named=True):
        stored = answers(folder / "first", row["step"])
        assert stored["question_id"].n_unique() == QUESTIONS
        assert stored["answer"].n_unique() > QUESTIONS  # no two trials sample alike
        scored = mini.score_batch(stored.select("question", "answer"))
        assert row["score"] == pytest.approx(scored["average"].mean(), abs=1e-9)
        assert row["fluency"] == pytest.approx(scored["fluency"].mean(), abs=1e-9)


def test_a_row_is_printed_for_each_evaluation(folder: Path, printed: str) -> None:
    head, *rows = printed.split("\n\n")[0].splitlines()
    assert head.split() == ["step", "loss", *METRICS]
    curve = pl.read_parquet(folder / "first" / "curve.parquet")
    shown = [row.split() for row in rows]
    for line, row in zip(shown, curve.iter_rows(named=True), strict=True):
        assert line[0] == str(row["step"])
        assert line[2:] == [f"{row[name]:.3f}" for name in METRICS]
    losses = [float(line[1]) for line in shown[1:]]
    assert losses[1] < losses[0]
    summary = json.loads((folder / "first" / "summary.json").read_text(encoding="utf-8"))
    work = summary["seconds_of_steps"] + summary["seconds_of_generation"]
    assert summary["scoring_share"] == summary["seconds_held_up_by_scoring"] / work
    assert f"{summary['scoring_share']:.3%}" in printed


@pytest.mark.usefixtures("printed")
def test_the_same_seed_gives_the_same_curve(folder: Path) -> None:
    pretrain(folder, "second")
    first, second = (
        pl.read_parquet(folder / name / "curve.parquet").drop("generation_seconds")
        for name in ("first", "second")
    )
    assert first.equals(second)
    assert answers(folder / "first", 8).equals(answers(folder / "second", 8))


def small() -> Any:
    """Sizes of a model that is made in this process."""
    from pretrain_tiny import Config

    return Config(width=16, layers=2, heads=2)


def test_a_cache_gives_what_the_whole_text_gives() -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("optax")
    from pretrain_tiny import forward, initial

    heads = small().heads
    params = initial(jax.random.key(0), small(), VOCABULARY, LENGTH)
    tokens = np.random.default_rng(0).integers(VOCABULARY, size=(3, LENGTH))
    run = jax.jit(forward, static_argnums=2)
    whole, (keys, values) = run(params, tokens, heads, np.arange(LENGTH))
    caches = np.zeros_like(keys), np.zeros_like(values)
    for at in range(LENGTH):
        logits, caches = run(params, tokens[:, [at]], heads, np.array([at]), caches)
        assert np.allclose(logits[:, 0], whole[:, at], atol=1e-5)


@pytest.mark.slow
def test_the_same_with_transformers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pretrain(tmp_path, "run", "pretrain_trainer")
    curve = pl.read_parquet(tmp_path / "run" / "curve.parquet")
    assert curve["step"].to_list() == [0, 4, 8]
    assert 0 <= curve["score"][0] < 0.05
    assert answers(tmp_path / "run", 8).height == QUESTIONS * TRIALS


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SHOWN = {
    "compare_and_plot": {"image/png": 3, "text/html": 1},
    "score_and_explain": {"text/html": 7},
    "set_in_another_language": {"text/html": 3},
}
"""How many outputs of a kind a notebook has at least."""


NO_BOLD = "findfont: Failed to find font weight bold"
"""What matplotlib says where the installed Japanese font has one weight only."""


each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    found: NotebookNode = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    return found


def executed(path: Path, folder: Path) -> NotebookNode:
    """The notebook with outputs, as of a fresh kernel in a folder."""
    client = NotebookClient(
        read(path), timeout=TIMEOUT, resources={"metadata": {"path": str(folder)}}
    )
    found: NotebookNode = client.execute()
    return found


@each_notebook
def test_a_notebook_runs_in_an_empty_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    folder = tmp_path / "empty"
    folder.mkdir()
    outputs = [out for cell in executed(path, folder).cells for out in cell.get("outputs", ())]
    assert [out for out in outputs if out.output_type == "error"] == []
    told = [out.text for out in outputs if out.get("name") == "stderr"]
    assert [text for text in told if not text.startswith(NO_BOLD)] == []
    for kind, count in SHOWN[path.stem].items():
        assert sum(kind in out.get("data", ()) for out in outputs) >= count


@each_notebook
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert [cell.id for cell in notebook.cells] == [
        f"{number:02}" for number, _ in enumerate(notebook.cells, 1)
    ]
    for cell in notebook.cells:
        assert cell.metadata == {}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
