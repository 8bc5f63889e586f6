"""The tables of versions say what the project states, and what they name is tested."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import versions
from places import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.mark.parametrize("page", versions.PAGES, ids=lambda page: page.name)
def test_a_table_is_that_of_now(page: Path) -> None:
    assert versions.written(page) == versions.rows(), (
        "make lock, or python tests/support/versions.py"
    )


def test_what_the_table_names_is_tested_by_a_workflow() -> None:
    weekly = yaml.safe_load((WORKFLOWS / "weekly.yml").read_text(encoding="utf-8"))
    asked = set(weekly["jobs"]["test"]["strategy"]["matrix"]["target"])
    assert {"schedule", "workflow_dispatch"} <= weekly[True].keys()  # YAML's "on"
    assert versions.targets() - {"test"} <= asked
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    patterns = {
        f"test-{name}"
        for line in made.splitlines()
        if line.startswith("HARNESSES")
        for name in line.split()[2:]
    }
    for target in asked - patterns:
        assert f"\n{target}: " in made, target


@pytest.mark.parametrize("page", versions.PAGES, ids=lambda page: page.name)
def test_a_page_names_the_versions_of_python_that_are_tested(page: Path) -> None:
    jobs = yaml.safe_load((WORKFLOWS / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    tested = {*matrix["python"], *(each["python"] for each in matrix["include"])}
    text = page.read_text(encoding="utf-8")
    lowest = versions.project()["requires-python"].removeprefix(">=")
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    assert set(re.findall(r"Python (3\.\d+)", text)) == {*tested, lowest}
    assert re.findall(r"Rust (1\.\d+)", text) == [rust["rust-version"]]


def test_rows_of_packages_that_are_known() -> None:
    rows = {row.split("`")[1]: row for row in versions.rows()}
    assert rows["polars"].startswith("| `polars` | 2.1 | ")
    assert rows["vllm"] == "| `vllm` | 0.12 | – | – |"
    assert rows["torch"] == "| `torch` | 2.4 | newest | `make test-torch` |"
    assert {"nemo-curator", "datatrove", "pyspark", "ray", "lm-eval"} <= rows.keys()
