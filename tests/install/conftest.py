"""A store of its own for every test, the local server, and the published data."""

from __future__ import annotations

import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from install_sources import FILES, GOOD, PUBLISHED, Server, entry_of, saved, use


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own, a tiny catalogue, and no proxy between the test and its server."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PFGEN_RS_CACHE", str(folder))
    monkeypatch.setenv("no_proxy", "*")
    use(monkeypatch, entry_of(FILES))
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return saved(tmp_path, GOOD, "good.tar.gz")


@pytest.fixture(scope="module")
def checkout() -> Path:
    folder = os.environ.get("PFGEN_BENCH_DIR")
    if not folder:
        pytest.skip("PFGEN_BENCH_DIR, the path of a pfgen-bench checkout, is not set")
    return Path(folder)


@pytest.fixture(scope="module")
def published_archive(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "archive.tar.gz"
    top = f"pfgen-bench-{PUBLISHED.revision}"
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        tar.add(checkout / "data", f"{top}/data")
    return path
