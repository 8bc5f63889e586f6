"""The published benchmarks that can be installed, each fixed by the digests of its files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from pfgen_rs.errors import InstallError

__all__ = ["CatalogEntry", "find", "known", "parse_digests"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")
_QUESTION = re.compile(r"Q[0-9]+\.json")
_PFGEN_REVISION = "03db7c4310c651171627ab327a4830d75d6bb1d0"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One published benchmark.

    `digests` maps a member's path inside the published tree (`data/Q01.json`) to its SHA-256 in
    lower-case hex. Members are stored under their last component, so those must differ.

    Raises `InstallError` for a name or a member that could not be stored safely.
    """

    name: str
    url: str
    revision: str
    digests: Mapping[str, str]

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise InstallError(f"invalid benchmark name {self.name!r}")
        for member in self.digests:
            if not all(_NAME.fullmatch(part) for part in member.split("/")):
                raise InstallError(f"{self.name}: invalid member path {member!r}")
        if len(self.files) != len(self.digests):
            raise InstallError(f"{self.name}: two members share a file name")

    @property
    def files(self) -> dict[str, str]:
        """File name, as stored, to digest."""
        return {PurePosixPath(member).name: hexa for member, hexa in self.digests.items()}


def is_name(name: str) -> bool:
    """Whether `name` is a plain name: no separator, no leading dot."""
    return _NAME.fullmatch(name) is not None


def count_questions(files: Mapping[str, str]) -> int:
    """How many of the stored file names are question files."""
    return sum(1 for name in files if _QUESTION.fullmatch(name))


@cache
def known() -> Mapping[str, CatalogEntry]:
    """Every benchmark this version can install, by name."""
    pfgen = CatalogEntry(
        name="pfgen-bench",
        url=f"https://github.com/pfnet-research/pfgen-bench/archive/{_PFGEN_REVISION}.tar.gz",
        revision=_PFGEN_REVISION,
        digests=_catalog_digests("pfgen-bench.sha256"),
    )
    return {pfgen.name: pfgen}


def find(name: str) -> CatalogEntry:
    """Return the entry called `name`; raises `InstallError` for an unknown name."""
    entries = known()
    if name not in entries:
        names = ", ".join(sorted(entries))
        raise InstallError(f"unknown benchmark {name!r}: expected one of {names}")
    return entries[name]


def parse_digests(text: str, origin: str) -> dict[str, str]:
    """Read lines as `sha256sum` prints them; `origin` names the text in errors."""
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in digests:
            raise InstallError(f"{origin}, line {number}: not a new SHA-256 and path: {line!r}")
        digests[match[2]] = match[1]
    return digests


def _catalog_digests(file_name: str) -> dict[str, str]:
    text = resources.files(__package__).joinpath(file_name).read_text(encoding="utf-8")
    return parse_digests(text, file_name)
