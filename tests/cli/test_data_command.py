"""`pfgen-rs data` as a process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from helpers import pfgen
from pfgen_rs.install import known
from pfgen_rs.questions.locate import bundled_path


def test_list_names_bundled_and_known_benchmarks() -> None:
    done = pfgen("data", "list")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["mini", "bundled", "14", str(bundled_path())] in rows
    assert ["pfgen-bench", "not", "installed", "50"] in [row[:4] for row in rows]
    mini, published = json.loads(pfgen("data", "list", "--format", "json").stdout)
    assert (mini["name"], mini["path"]) == ("mini", str(bundled_path()))
    assert published["revision"] == known()["pfgen-bench"].revision


def test_where_prints_a_folder_alone(tmp_path: Path) -> None:
    assert pfgen("data", "where", "mini").stdout == f"{bundled_path()}\n"
    chosen = {"PFGEN_RS_BENCHMARK": str(tmp_path)}
    assert pfgen("data", "where", env=chosen).stdout == f"{tmp_path}\n"
    done = pfgen("data", "where", "pfgen-bench")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pfgen-rs data install pfgen-bench" in done.stderr


def test_a_wrong_source_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Q01.json").write_text("{}")
    for source in (tmp_path, tmp_path / "none.tar.gz"):
        done = pfgen("data", "install", "pfgen-bench", "--from", source)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {source}: ")
    assert pfgen("data", "where", "pfgen-bench").returncode == 2


@pytest.mark.published
def test_install_from_a_checkout(published_dir: Path, tmp_path: Path) -> None:
    done = pfgen("data", "install", "--from", published_dir)
    folder = Path(os.environ["PFGEN_RS_CACHE"]) / "benchmarks" / "pfgen-bench"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"pfgen-bench is installed in {folder}\n"
    assert pfgen("data", "where", "pfgen-bench").stdout == f"{folder}\n"
    listed = pfgen("data", "list").stdout
    assert "not installed" not in listed
    run = published_dir / "result/openai/chatgpt-o1/9a61e92"
    assert pfgen("verify", run, "-b", "pfgen-bench").returncode == 0
