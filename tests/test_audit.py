"""What `make audit` asks of dependencies: the part that needs neither cargo-deny nor the network."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


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
