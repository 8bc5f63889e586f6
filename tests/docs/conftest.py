"""The documentation site, built once for all tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfgen_rs.io.locks import locked
from places import ROOT


@pytest.fixture(scope="session")
def built_docs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the site, which workers of a session share. Warnings are errors, as mkdocs.yml says."""
    pytest.importorskip("mkdocs_static_i18n", reason="mkdocs-static-i18n is not installed")
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    folder, done = shared / "docs-site", shared / "docs-site.txt"
    with locked(shared):
        if not done.exists():
            done.write_text(_build(folder), "utf-8")
    said = done.read_text("utf-8")
    assert said == "", said
    return folder


def _build(folder: Path) -> str:
    """Builds the site; returns what the generator says if it says anything or fails."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return built.stdout + built.stderr if built.stdout or built.stderr or built.returncode else ""
