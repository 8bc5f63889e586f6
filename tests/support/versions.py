"""Which versions of other packages are supported, where each is tested, and the tables that say so.

Run as a script, it writes the tables anew.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "reference" / name for name in ("versions.md", "versions.ja.md")]
_TABLE = re.compile(r"(?<=\n)\| `[^\n]*\n(?:\|[^\n]*\n)*")
_DISTRIBUTED = ROOT / "tests" / "distributed" / "requirements.txt"
Tested = dict[str, tuple[str, str]]


def rows() -> list[str]:
    """Rows of the table: package, lowest version, tested version, and the target of make that tests it."""
    tested, lowest = _tested(), _lowest()
    return [
        f"| `{name}` | {lowest.get(name, '–')} | {' | '.join(tested.get(name, ('–', '–')))} |"
        for name in sorted(lowest.keys() | {*_pinned(_DISTRIBUTED)})
    ]


def targets() -> set[str]:
    """Targets of make that test a package of the table."""
    return {target.strip("`").removeprefix("make ") for _, target in _tested().values()}


def written(page: Path) -> list[str]:
    """The rows that a page has."""
    [table] = _TABLE.findall(page.read_text(encoding="utf-8"))
    return str(table).splitlines()


def project() -> Any:
    """What `pyproject.toml` says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _lowest() -> dict[str, str]:
    """What the package and its extras require."""
    extras = project()["optional-dependencies"].values()
    every = [*project()["dependencies"], *(each for extra in extras for each in extra)]
    found: dict[str, str] = {}
    for each in map(Requirement, every):
        low = [one.version for one in each.specifier if one.operator in (">=", "==")]
        name = canonicalize_name(each.name)
        assert found.setdefault(name, low[0] if low else "–") == (low[0] if low else "–"), name
    return found


def _pinned(path: Path) -> dict[str, str]:
    """The packages of which a file names the versions."""
    text = path.read_text(encoding="utf-8")
    every: dict[str, list[str]] = {}
    pins = re.findall(r"^([\w.-]+)(?:\[.*\])?==([^\s;\\]+)", text, re.MULTILINE)
    for name, version in pins:  # a lock file has several for several versions of Python
        every.setdefault(canonicalize_name(name), []).append(version)
    return {name: ", ".join(versions) for name, versions in every.items()}


def _tested() -> Tested:
    """The version and the target for each package; later files count more."""
    [recipe] = re.findall(
        r"^\.venv-torch/installed:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    [extras] = re.findall(r"'\.\[(.*)\]'", recipe)
    torch = [
        Requirement(each)
        for name in extras.split(",")
        for each in project()["optional-dependencies"][name]
    ]
    found: Tested = {each.name: ("newest", "`make test-torch`") for each in torch}
    harnesses = sorted((ROOT / "tests" / "integrations" / "harnesses").glob("*.txt"))
    files = {_DISTRIBUTED: "test-distributed"} | {path: f"test-{path.stem}" for path in harnesses}
    for path, target in {**files, ROOT / "requirements-dev.lock": "test"}.items():
        found |= {name: (version, f"`make {target}`") for name, version in _pinned(path).items()}
    return found


if __name__ == "__main__":
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(_TABLE.sub(lambda _: "\n".join([*rows(), ""]), text), encoding="utf-8")
