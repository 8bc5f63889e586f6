"""Workflows agree with the project's files and may only read; dependencies are pinned and audited."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from places import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yml")}
WRITES = {("release", "publish"): {"id-token": "write", "attestations": "write"}}
"""The one job that may do more than read."""


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for workflow, text in TEXTS.items():
        for name, job in yaml.safe_load(text)["jobs"].items():
            yield workflow, name, job


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def test_actions_are_pinned_each_to_one_commit() -> None:
    text = "".join(TEXTS.values())
    used = set(re.findall(r"uses: (\S+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+\n", text))
    assert len(re.findall(r"uses: (?!\./)", text)) == len(
        re.findall(r"uses: \S+@[0-9a-f]{40} # v", text)
    )
    assert len({action for action, _ in used}) == len(used) > 0


def test_workflows_may_only_read() -> None:
    assert all(yaml.safe_load(text)["permissions"] == {} for text in TEXTS.values())
    for workflow, name, job in jobs():
        expected = WRITES.get((workflow, name), {"contents": "read"})
        assert job["permissions"] == expected, (workflow, name)


def test_workflows_use_the_versions_of_the_project() -> None:
    oldest = toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")
    pythons = re.findall(r'"3\.(\d+)"', TEXTS["ci"])
    assert min(map(int, pythons)) == int(oldest.removeprefix("3."))
    text = "".join(TEXTS.values())
    rust = toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    assert set(re.findall(r"(?:cargo \+|toolchain install )([\d.]+)", text)) == {rust}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    maturin = re.findall(r"^maturin==([\d.]+)", lock, re.MULTILINE)
    assert set(re.findall(r"maturin-version: v([\d.]+)", text)) == set(maturin)


def test_what_is_published_is_what_was_tested() -> None:
    """Every artifact that is published comes from a job that installs it and scores before it uploads."""
    published = []
    for workflow, name, job in jobs():
        steps = job.get("steps", ()) if workflow == "wheels" else ()
        [upload, *_] = [
            n for n, s in enumerate(steps) if "upload-artifact" in s.get("uses", "")
        ] or [0]
        if steps and steps[upload]["with"]["name"].startswith("dist-"):
            published.append(name)
            assert any(".ci/check-wheel" in step.get("run", "") for step in steps[:upload])
    assert published == ["sdist", "manylinux", "musllinux", "others"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("tag", "section", "said"),
    [
        ("v0.2.0", "0.2.0] - 2025-06-01", "v0.2.0 may be released"),
        ("v0.2.0", "0.2.0] - Unreleased", "CHANGELOG.md has no section for 0.2.0 with a date"),
        ("v0.2.0", "0.2.01] - 2025-06-01", "CHANGELOG.md has no section for 0.2.0 with a date"),
        ("v0.3.0", "0.2.0]", "the tag is v0.3.0, and Cargo.toml has version 0.2.0"),
    ],
)
def test_a_tag_is_the_version_and_in_the_changelog(
    tmp_path: Path, tag: str, section: str, said: str
) -> None:
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "check-tag", tmp_path / ".ci")
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\nversion = "9"\n[workspace.package]\nversion = "0.2.0"\n[x]\nversion = "8"\n'
    )
    (tmp_path / "CHANGELOG.md").write_text(f"## [{section}\n")
    done = subprocess.run([script, tag], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.returncode) == (said, 0 if "may be" in said else 1)


# What `make audit` asks of dependencies: the part that needs neither cargo-deny nor the network.


CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


@pytest.mark.parametrize("lock", ["Cargo.lock", "rust/fuzz/Cargo.lock"])
def test_crates_come_from_crates_io(lock: str) -> None:
    packages = toml(lock)["package"]
    sources = {package["source"] for package in packages if "source" in package}
    assert sources == {CRATES_IO}
    own = {package["name"] for package in packages if "source" not in package}
    assert all(name.startswith("pfgen-") for name in own)


def test_unknown_sources_and_advisories_are_errors() -> None:
    deny = toml("deny.toml")
    assert deny["sources"] == {"unknown-registry": "deny", "unknown-git": "deny"}
    assert all(set(entry) == {"id", "reason"} for entry in deny["advisories"]["ignore"])


def test_development_tools_are_pinned_by_digest() -> None:
    lines = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
    pins = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    assert pins
    assert all("--hash=sha256:" in lines[number + 1] for number in pins)
