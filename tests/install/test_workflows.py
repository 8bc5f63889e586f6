"""Workflows agree with the project's files and may only read; so do pinned dependencies."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from places import ROOT

BIN = str(Path(sys.executable).parent)
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
COMMIT = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
ALLOWED = {
    "actions/attest-build-provenance",
    "actions/checkout",
    "actions/download-artifact",
    "actions/setup-python",
    "actions/upload-artifact",
    "PyO3/maturin-action",
    "pypa/gh-action-pypi-publish",
}
"""Actions whose commits were looked up; a new one is looked up first."""

WRITES = {("release", "publish"): {"id-token": "write", "attestations": "write"}}
"""The one job that may do more than read."""


class Step(NamedTuple):
    workflow: str
    job: str
    content: dict[str, Any]


def loaded(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in loaded(path)["jobs"].items():
            yield path.stem, name, job


STEPS = [
    Step(workflow, name, step) for workflow, name, job in jobs() for step in job.get("steps", ())
]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_actions_are_pinned_to_commits_that_were_looked_up() -> None:
    used = [step.content["uses"] for step in STEPS if "uses" in step.content]
    assert used
    for action in used:
        assert COMMIT.fullmatch(action), action
        assert action.partition("@")[0] in ALLOWED
    assert len(set(used)) == len({action.partition("@")[0] for action in used})
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert len(re.findall(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n", text)) == len(used)


@pytest.mark.skipif(not shutil.which("zizmor", path=BIN), reason="zizmor is not installed")
def test_no_workflow_has_a_known_weakness() -> None:
    command: list[str | Path] = [
        Path(BIN) / "zizmor",
        "--offline",
        "--quiet",
        "--no-progress",
        ROOT / ".github",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not shutil.which("check-jsonschema", path=BIN), reason="it is not installed")
@pytest.mark.parametrize(
    ("schema", "files"),
    [("github-workflows", WORKFLOWS), ("dependabot", [ROOT / ".github" / "dependabot.yml"])],
)
def test_workflows_follow_their_schema(schema: str, files: list[Path]) -> None:
    command: list[str | Path] = [
        Path(BIN) / "check-jsonschema",
        "--builtin-schema",
        f"vendor.{schema}",
        *files,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


def test_workflows_may_only_read() -> None:
    for path in WORKFLOWS:
        assert loaded(path)["permissions"] == {}, path.name
    for workflow, name, job in jobs():
        expected = WRITES.get((workflow, name), {"contents": "read"})
        assert job["permissions"] == expected, (workflow, name)


def test_workflows_use_pythons_and_rust_of_the_project() -> None:
    oldest = project()["project"]["requires-python"].removeprefix(">=")
    pythons = re.findall(r'"(3\.\d+)"', (FOLDER / "ci.yml").read_text(encoding="utf-8"))
    assert oldest in pythons
    assert all(tuple(map(int, p.split("."))) >= tuple(map(int, oldest.split("."))) for p in pythons)
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    rust = cargo["workspace"]["package"]["rust-version"]
    scripts = " ".join(step.content.get("run", "") for step in STEPS)
    assert set(re.findall(r"cargo \+([\d.]+)", scripts)) == {rust}
    assert set(re.findall(r"toolchain install ([\d.]+)", scripts)) == {rust}


def test_workflows_build_with_the_maturin_that_is_pinned() -> None:
    [pinned] = re.findall(
        r"^maturin==([\d.]+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.M
    )
    used = {
        step.content["with"]["maturin-version"]
        for step in STEPS
        if step.content.get("uses", "").startswith("PyO3/maturin-action@")
    }
    assert used == {f"v{pinned}"}


def test_what_is_published_is_what_was_tested() -> None:
    """Every artifact that is published comes from a job that installs it and scores before it uploads."""
    release = loaded(FOLDER / "release.yml")["jobs"]
    [pattern] = [
        s["with"]["pattern"] for s in release["publish"]["steps"] if "pattern" in s.get("with", {})
    ]
    assert pattern == "dist-*"
    published = []
    for name, job in loaded(FOLDER / "wheels.yml")["jobs"].items():
        runs = [number for number, step in enumerate(job["steps"]) if "run" in step]
        uploads = [
            n for n, step in enumerate(job["steps"]) if "upload-artifact" in step.get("uses", "")
        ]
        if job["steps"][uploads[0]]["with"]["name"].startswith("dist-"):
            published.append(name)
            scored = job["steps"][runs[-1]]["run"]
            assert ".ci/check-wheel" in scored
            assert runs[-1] < uploads[0]
    assert published == ["sdist", "manylinux", "musllinux", "others"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("tag", "changelog", "said"),
    [
        ("v0.2.0", "## [0.2.0] - 2025-06-01\n", "v0.2.0 may be released"),
        (
            "v0.2.0",
            "## [0.2.0] - Unreleased\n",
            "CHANGELOG.md has no section for 0.2.0 with a date",
        ),
        ("v0.3.0", "## [0.2.0]\n", "the tag is v0.3.0, and Cargo.toml has version 0.2.0"),
        (
            "v0.2.0",
            "## [0.2.01] - 2025-06-01\n",
            "CHANGELOG.md has no section for 0.2.0 with a date",
        ),
    ],
)
def test_a_tag_is_the_version_and_in_the_changelog(
    tmp_path: Path, tag: str, changelog: str, said: str
) -> None:
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "check-tag", tmp_path / ".ci")
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\nversion = "9"\n[workspace.package]\nversion = "0.2.0"\n[x]\nversion = "8"\n'
    )
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    done = subprocess.run([script, tag], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.strip() == said
    assert done.returncode == (0 if "may be" in said else 1)
