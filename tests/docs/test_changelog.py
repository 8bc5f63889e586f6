"""CHANGELOG.md has the form of keepachangelog.com 1.1.0."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence

import pytest

from places import ROOT

SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
RELEASE = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d{2}-\d{2}|Unreleased)")


def parts(text: str, mark: str) -> list[tuple[str, str]]:
    """Headings of one level and what follows them; what precedes the first one has an empty heading."""
    cut = re.split(rf"^({mark} .*)$", f"\n{text}", flags=re.MULTILINE)
    return list(zip(["", *cut[1::2]], cut[0::2], strict=True))


def changelog_faults(text: str) -> Iterator[str]:
    """What keeps a text from being such a changelog."""
    (_, head), *releases = parts(text, "##")
    if not head.startswith("\n# Changelog\n") or "\n- " in head:
        yield "a changelog begins with its title"
    if [name for name, _ in releases][:1] != ["## [Unreleased]"]:
        yield "the first part is what is not released"
    found = [RELEASE.fullmatch(name) for name, _ in releases[1:]]
    versions = [tuple(map(int, match.groups()[:3])) for match in found if match]
    if len(versions) != len(found) or versions != sorted(set(versions), reverse=True):
        yield "the others are versions with a date, the newest first"
    if any(match and match[4] == "Unreleased" for match in found[1:]):
        yield "only the newest version may be without a date"
    for name, content in releases:
        yield from (f"{name}: {fault}" for fault in section_faults(parts(content, "###")))


def section_faults(sections: Sequence[tuple[str, str]]) -> Iterator[str]:
    names = [name.removeprefix("### ") for name, _ in sections[1:]]
    if names != [name for name in SECTIONS if name in names]:
        yield f"{names} are not sections in their order"
    if "\n- " in sections[0][1]:
        yield "a change belongs to a section"
    for name, content in sections[1:]:
        if not re.search("^- ", content, flags=re.MULTILINE):
            yield f"{name} is empty"


def test_the_changelog_has_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert list(changelog_faults(text)) == []
    package = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"][
        "package"
    ]
    newest = next(match for match in map(RELEASE.fullmatch, text.splitlines()) if match)
    assert newest[4] == "Unreleased" or ".".join(newest.groups()[:3]) == package["version"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Changelog", "# Changes"),
        ("## [Unreleased]\n", ""),
        ("- 2026-01-02", "- soon"),
        (" - 2026-01-02", ""),
        ("2025-01-02", "Unreleased"),
        ("### Added", "### New"),
        ("## [0.2.0]", "## 0.2.0"),
        ("[0.1.0]", "[0.3.0]"),
        ("### Fixed\n- b", "### Added\n- b"),
        ("### Added\n", ""),
        ("### Added\n- a\n### Fixed\n- b", "### Fixed\n- b\n### Added\n- a"),
        ("- b", "b"),
        ("\n## [Unreleased]", "- x\n## [Unreleased]"),
    ],
)
def test_changelogs_without_the_form_are_found(old: str, new: str) -> None:
    good = (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-01-02\n### Added\n- a\n### Fixed\n- b\n"
        "## [0.1.0] - 2025-01-02\n### Changed\n- c\n"
    )
    assert list(changelog_faults(good)) == []
    assert old in good
    assert list(changelog_faults(good.replace(old, new, 1))) != []
