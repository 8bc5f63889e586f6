"""Runs of the tests say what they left out, and `.ci/run` says it last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skips import FILE, need_of, summary

HERE = Path(__file__).parent
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_data(n):
    pytest.skip("PFGEN_BENCH_DIR is not set")

@pytest.mark.skipif(True, reason="needs POSIX signals")
def test_signals():
    pass

@pytest.fixture
def browser():
    pytest.skip("there is no chromium")

def test_page(browser):
    pass

@pytest.mark.xfail
def test_fails():
    assert 0

def test_passes():
    pass
"""
SAID = (
    "5 tests and 1 module were skipped: 3 need PFGEN_BENCH_DIR, 1 needs POSIX signals, 1 needs chromium, "
    "1 module needs no_such_package"
)


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "--numprocesses", "2"]])
def test_a_run_says_what_it_skipped(workers: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test_import.py").write_text(
        "import pytest\npytest.importorskip('no_such_package')\n", encoding="utf-8"
    )
    found = tmp_path / "skips.jsonl"
    environment = {
        **os.environ,
        FILE: str(found),
        "PYTHONPATH": str(HERE / "support"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "skips", *workers]
    ran = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert SAID in ran.stdout.splitlines(), ran.stdout + ran.stderr
    assert ran.returncode == 0
    found.write_text(found.read_text(encoding="utf-8") * 2, encoding="utf-8")  # as by two runs
    script = [sys.executable, str(HERE / "support" / "skips.py"), str(found)]
    both = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert both.startswith("10 tests and 2 modules were skipped: 6 need PFGEN_BENCH_DIR, 2 need ")


def test_nothing_skipped() -> None:
    assert summary([]) == "no tests were skipped"


@pytest.mark.parametrize(
    ("reason", "need"),
    [
        ("Skipped: PFGEN_BENCH_DIR, the path of a checkout, is not set", "need PFGEN_BENCH_DIR"),
        ("the package openai is not installed", "need openai"),
        ("could not import 'torch.nn': No module named 'torch'", "need torch"),
        ("vllm is not installed: make test-harnesses", "need vllm"),
        ("no named pipes on this system", "no named pipes on this system"),
    ],
)
def test_needs(reason: str, need: str) -> None:
    assert need_of(reason) == need


def test_ci_says_it_last() -> None:
    lines = (HERE.parent / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == '.venv/bin/python tests/support/skips.py "$PFGEN_SKIPS_FILE"'
