"""Installing the published data from an archive, a checkout and a server."""

import re
from pathlib import Path

import pytest

import install_sources
from install_sources import PUBLISHED, Server, use
from pfgen_rs.install import installer, store


@pytest.mark.published
def test_published_archive(
    published_archive: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = PUBLISHED
    use(monkeypatch, entry)
    path = installer.install(source=published_archive)
    assert path == cache / "benchmarks" / "pfgen-bench"
    assert [(i.revision, i.questions) for i in store.installed()] == [(entry.revision, 50)]
    assert installer.install() == path


@pytest.mark.published
@pytest.mark.parametrize("inner", ["", "data"])
def test_published_checkout(inner: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = PUBLISHED
    use(monkeypatch, entry)
    path = installer.install(source=checkout / inner)
    for name in entry.files:
        assert (path / name).read_bytes() == (checkout / "data" / name).read_bytes()


@pytest.mark.published
def test_published_archive_from_a_server(
    published_archive: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = published_archive.read_bytes()
    monkeypatch.setattr(install_sources, "GOOD", content)
    entry = PUBLISHED
    use(monkeypatch, entry)
    seen: list[int] = []
    path = installer.install(source=f"{server.url}/chunked", progress=lambda n, _: seen.append(n))
    assert seen[-1] == len(content)
    assert len(list(path.glob("Q*.json"))) == 50


def test_every_published_file_has_a_digest_and_a_name_of_its_own() -> None:
    questions = [f"data/Q{number:02}.json" for number in range(1, 51)]
    assert list(PUBLISHED.digests) == [*questions, "data/questions.jsonl"]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in PUBLISHED.digests.values())
    assert len(PUBLISHED.files) == len(PUBLISHED.digests)
    assert PUBLISHED.revision in PUBLISHED.url
