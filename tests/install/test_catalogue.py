"""The catalogue: members, digests, and the entry of the published files."""

from __future__ import annotations

import pytest

from install_sources import PUBLISHED
from pfgen_rs.errors import InstallError
from pfgen_rs.install import store
from pfgen_rs.install.store import CatalogEntry


@pytest.mark.parametrize("member", ["../a", "/a", "a//b", "a/.b", "", "a\\b", "C:/a"])
def test_members_of_an_entry_stay_inside(member: str) -> None:
    with pytest.raises(InstallError, match="invalid member path"):
        CatalogEntry("tiny", "", "", {member: "0"})


def test_members_of_an_entry_have_names_of_their_own() -> None:
    with pytest.raises(InstallError, match="share a file name"):
        CatalogEntry("tiny", "", "", {"a/x": "0", "b/x": "1"})


@pytest.mark.parametrize("line", ["", "12  a", "g" * 64 + "  a", "0" * 64 + "  a"])
def test_digest_file_is_checked(line: str) -> None:
    good = "0" * 64 + "  a\n" + "1" * 64 + " *b\n"
    assert store.parse_digests(good, "list") == {"a": "0" * 64, "b": "1" * 64}
    with pytest.raises(InstallError, match="list, line 3"):
        store.parse_digests(f"{good}{line}\n", "list")


def test_catalogue_names_the_published_files() -> None:
    entry = PUBLISHED
    questions = [f"data/Q{number:02}.json" for number in range(1, 51)]
    assert list(entry.digests) == [*questions, "data/questions.jsonl"]
    assert entry.revision in entry.url
