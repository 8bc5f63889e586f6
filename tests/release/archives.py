"""What can be said of wheels and sdist without installing them."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from release.commands import output
from release.outcomes import CheckFailedError, CheckSkippedError

__all__ = ["abi3", "machine_of", "manylinux", "metadata", "sdist_content", "traces"]

NEWEST_GLIBC = (2, 28)
"""Wheels may ask for this glibc at most."""

WANTED = (
    ".ci/run",
    ".github/workflows/ci.yml",
    "Cargo.lock",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "benches/run.py",
    "data/mini-en/questions.jsonl",
    "docs/index.md",
    "mkdocs.yml",
    "pyproject.toml",
    "python/pfgen_rs/data/mini/questions.jsonl",
    "requirements-dev.lock",
    "rust/core/Cargo.toml",
    "tests/conftest.py",
    "tests/slow.txt",
)
"""Files of an sdist from which the package can be built, tested and documented; some for many."""

UNWANTED = re.compile(
    r"(^|/)(target|dist|\.venv[^/]*|\.git|__pycache__|\.[a-z]+_cache|\.hypothesis)/|\.(so|pyd|pyc)$"
)
LARGEST = 8 * 2**20
"""An sdist above this has caught something that does not belong there."""


def metadata(archives: Sequence[Path], python: Path) -> str:
    """`twine check --strict`: the README renders on a package index, and no field is missing."""
    text = output([python, "-m", "twine", "check", "--strict", *archives])
    passed = text.count("PASSED")
    if passed != len(archives):
        raise CheckFailedError(f"twine passes {passed} of {len(archives)} files\n{text}")
    return f"twine passes {passed} files"


def machine_of(wheel: Path) -> str:
    """The processor that a wheel is for."""
    found = re.search(r"(x86_64|aarch64)\.whl$", wheel.name)
    if not found:
        raise CheckFailedError(f"{wheel.name} is for neither x86_64 nor aarch64")
    return found[1]


def manylinux(wheel: Path, python: Path) -> str:
    """`auditwheel show`: the wheel asks for no more than the old glibc that its name promises."""
    text = output([python, "-m", "auditwheel", "show", wheel])
    found = re.search(r'platform\s+tag:\s+"manylinux_(\d+)_(\d+)_', text)
    if not found:
        raise CheckFailedError(f"auditwheel finds no manylinux tag for {wheel.name}\n{text}")
    asked = (int(found[1]), int(found[2]))
    promised = [(int(a), int(b)) for a, b in re.findall(r"manylinux_(\d+)_(\d+)_", wheel.name)]
    if not promised or asked > min(promised) or asked > NEWEST_GLIBC:
        raise CheckFailedError(f"{wheel.name} asks for glibc {asked[0]}.{asked[1]}")
    if "external shared libraries are required" in re.sub(r"\s+", " ", text):
        raise CheckFailedError(f"{wheel.name} needs libraries that a machine may lack\n{text}")
    return f"glibc {asked[0]}.{asked[1]}, no other libraries"


def abi3(wheel: Path, auditor: Path) -> str:
    """`abi3audit`: the native library uses the stable interface alone."""
    if not re.search(r"-cp311-abi3-", wheel.name):
        raise CheckFailedError(f"{wheel.name} is not tagged cp311-abi3")
    if not auditor.exists():
        raise CheckSkippedError("abi3audit could not be installed from the package index")
    text = " ".join(output([auditor, "--strict", "--summary", wheel]).split())
    if "1 extensions scanned; 0 ABI version mismatches and 0 ABI violations found" not in text:
        raise CheckFailedError(f"abi3audit: {text}")
    return "stable interface of Python 3.11 alone"


def sdist_content(sdist: Path) -> str:
    """The sdist has what building, testing and documenting needs, and nothing that was built."""
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
    missing = sorted(set(WANTED) - set(names))
    unwanted = sorted(name for name in names if UNWANTED.search(name))
    size = sdist.stat().st_size
    if missing:
        raise CheckFailedError(f"the sdist lacks {', '.join(missing)}")
    if unwanted:
        raise CheckFailedError(f"the sdist has {', '.join(unwanted[:5])}")
    if size > LARGEST:
        raise CheckFailedError(f"the sdist has {size / 2**20:.1f} MiB")
    return f"{len(names)} files, {size / 2**20:.1f} MiB"


def traces(archive: Path, folders: Sequence[Path]) -> str:
    """No file of an sdist or wheel names one of these folders of the machine that built it."""
    paths = sorted({str(folder).encode() for folder in folders if len(folder.parts) > 2})
    named = [name for name, content in _members(archive) if any(path in content for path in paths)]
    if named:
        raise CheckFailedError(
            f"{archive.name} names folders of this machine in {', '.join(named[:5])}"
        )
    return "no folder of this machine"


def _members(archive: Path) -> list[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return [(name, wheel.read(name)) for name in wheel.namelist()]
    with tarfile.open(archive) as sdist:
        files = [(member.name, sdist.extractfile(member)) for member in sdist if member.isfile()]
        return [(name, file.read()) for name, file in files if file]
