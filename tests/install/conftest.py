"""A store of its own for every test, the local server, and the published data."""

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from install_sources import FILES, GOOD, PUBLISHED, Server, entry_of, saved, use
from places import needed


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
        yield from _served(running)


@pytest.fixture
def https_server(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server whose certificate is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Server() as running:
        running.encrypt(certificate)
        yield from _served(running)


def _served(running: Server) -> Iterator[Server]:
    with ThreadPoolExecutor(1) as threads:
        threads.submit(running.serve_forever, 0.02)
        yield running
        running.released.set()
        running.shutdown()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of 127.0.0.1 and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    extension = "subjectAltName=IP:127.0.0.1"
    made = subprocess.run(
        [openssl, *command.split(), "-addext", extension, "-keyout", "-", "-out", "-"],
        capture_output=True,
        check=True,
    )
    path.write_bytes(made.stdout)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return saved(tmp_path, GOOD, "good.tar.gz")


@pytest.fixture(scope="module")
def checkout() -> Path:
    return needed("pfgen-bench")


@pytest.fixture(scope="module")
def published_archive(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "archive.tar.gz"
    top = f"pfgen-bench-{PUBLISHED.revision}"
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        tar.add(checkout / "data", f"{top}/data")
    return path
