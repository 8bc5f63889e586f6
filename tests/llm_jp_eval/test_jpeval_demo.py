"""The bundled sample of llm-jp-eval, and the demonstration on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pfgen_rs.io.json_lines import lines
from pfgen_rs.llm_jp_eval import convert
from pfgen_rs.llm_jp_eval.catalog import tasks
from pfgen_rs.llm_jp_eval.data import RUNS, item_id, read_tasks, sample_path
from places import ROOT


def test_the_package_has_the_folder_of_the_source_tree() -> None:
    assert sample_path().resolve() == (ROOT / "data" / "llm-jp-eval-mini").resolve()
    readme = (sample_path() / "README.md").read_text("utf-8")
    assert "Scores on them say nothing about models" in readme


def test_raw_files_are_those_of_the_golden_run(jpeval_dir: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        found = (path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}

    golden = jpeval_dir / "golden" / "mini" / "raw_files"
    assert files(sample_path() / "raw_files") == files(golden)


def test_outputs_are_recorded_for_every_sample(tmp_path: Path) -> None:
    convert(sample_path() / "raw_files", tmp_path, tuning=False)
    datas = read_tasks(tmp_path, tasks())
    ids = {item_id(d.task, "test", n) for d in datas for n in range(len(d.samples))}
    assert min(len(data.shots) for data in datas) == int(RUNS[0].partition("-")[0])
    for name in RUNS:
        records = [line.record for line in lines(sample_path() / "outputs" / f"{name}.jsonl")]
        assert {record["id"] for record in records} == ids
        assert len(records) == len(ids)


def test_the_demonstration_shows_every_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pfgen_rs", "llm-jp-eval", "demo"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ pfgen-rs")]
    assert [line.split()[3] for line in shown] == ["convert", "prompts", "score", "score", "report"]
    assert "AVR 0.1181" in done.stdout
    assert "AVR 0.0232" in done.stdout
    lines = [x for x in done.stdout.splitlines() if not x.startswith("llm-jp-eval|")]
    assert max(map(len, lines)) <= 110  # addresses of temporary files
    assert not list(tmp_path.iterdir())
