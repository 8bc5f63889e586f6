"""What contributors read is true: paths, targets, hooks, and the files for hosts."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from places import DOCS, ROOT

FENCE = re.compile(r"^```sh\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s:]+)\)")
PATH = re.compile(r"\.?[\w.-]+(/[\w.-]+)+|[\w-]+\.(md|toml|cff)")
NAMED = re.compile(r"`((?:benches|data/mini|docs|examples|python|rust|tests)/[\w./-]+)`")
MADE = {"rust/fuzz/artifacts"}
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CONTRIBUTING.ja.md"])
def test_paths_and_targets_that_contributors_read_of_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = [code for code in CODE.findall(FENCE.sub("", text)) if PATH.fullmatch(code)]
    named += LINK.findall(text)
    # Pages are named by x.md and x.ja.md, and pytest and pre-commit are in an environment.
    missing = [n for n in named if not (ROOT / n).exists() and not n.startswith((".venv", "x."))]
    assert missing == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"\bmake ([a-z-]+)", text)
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_files_that_pages_name_are_there() -> None:
    named = {name for page in DOCS.rglob("*.md") for name in NAMED.findall(page.read_text("utf-8"))}
    assert {name for name in named - MADE if not (ROOT / name).exists()} == set()


def test_hooks_run_what_lint_runs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    lines = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    assert [hook["entry"] for hook in config["repos"][0]["hooks"]] == lines


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("citation-file-format", ROOT / "CITATION.cff"),
        ("github-issue-config", TEMPLATES / "config.yml"),
        *(
            ("github-issue-forms", TEMPLATES / f"{name}.yml")
            for name in ("bug", "wrong-number", "feature")
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_files_for_hosts_have_their_schema(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, "--force-filetype", "yaml", str(path)], check=False)
    assert done.returncode == 0


def test_the_citation_is_of_the_papers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    english, japanese = citation["preferred-citation"], citation["references"][0]
    assert english["url"] == project["urls"]["Paper (English)"]
    assert project["urls"]["Paper (Japanese)"] == f"https://doi.org/{japanese['doi']}"
    assert citation["license"] == project["license"]
