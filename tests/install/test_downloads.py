"""Installing from a real local server: redirects, cut answers, silence."""

import re
import socket
from pathlib import Path

import pytest

import install_sources as made
from pfgen_rs.errors import InstallError
from pfgen_rs.install import installer, store


@pytest.mark.parametrize(
    ("path", "total"),
    [
        ("/good", len(made.GOOD)),
        ("/chunked", None),
        ("/unannounced", None),
        ("/to//good", len(made.GOOD)),
        ("/to//to//chunked", None),
    ],
)
def test_download(path: str, total: int | None, server: made.Server, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    folder = installer.install("tiny", server.url + path, lambda *now: seen.append(now))
    made.assert_installed(folder)
    assert made.leftovers(cache) == []
    assert seen[-1] == (len(made.GOOD), total)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_publisher_is_the_default(server: made.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made.use(monkeypatch, made.entry_of(made.FILES, url=f"{server.url}/good"))
    made.assert_installed(installer.install("tiny"))
    assert server.requests == ["/good"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/short", f"ended after {len(made.GOOD)} of {len(made.GOOD) + 1} bytes"),
        ("/cutchunk", "cut short"),
        ("/cutbetween", "cut short"),
        ("/huge", "larger than 1073741824 bytes"),
        ("/wrong", f"expected SHA-256 {made.RIGHT_DIGEST}, found {made.WRONG_DIGEST}"),
        ("/to/file:///etc/passwd", "redirects to 'file:///etc/passwd', which is not allowed"),
        ("/to/ftp://127.0.0.1/x", "redirects to 'ftp://127.0.0.1/x', which is not allowed"),
        ("/loop", "infinite loop"),
        ("/missing", r"answered 404 \(Not Found\)"),
        ("/empty", "answered 204"),
        ("/nonsense", "cannot be downloaded"),
        ("/silent", "no data for 0.3 seconds"),
        ("/stalls", "no data for 0.3 seconds"),
    ],
)
def test_failed_download_leaves_nothing(
    path: str, words: str, server: made.Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "TIMEOUT", 0.3)
    with pytest.raises(InstallError, match=words) as caught:
        installer.install("tiny", server.url + path)
    assert server.url in str(caught.value)
    assert made.leftovers(cache) == []
    assert store.installed_path("tiny") is None


def test_https_is_not_left(https_server: made.Server, server: made.Server, cache: Path) -> None:
    source = f"{https_server.url}/to/{https_server.url}/to/{server.url}/good"
    problem = (
        f"{https_server.url}/to/{server.url}/good: redirects from https to '{server.url}/good', which is not "
        "encrypted: expected a redirect to https; download the archive yourself"
    )
    with pytest.raises(InstallError, match=re.escape(problem)):
        installer.install("tiny", source)
    assert server.requests == []
    assert made.leftovers(cache) == []
    assert store.installed_path("tiny") is None


def test_unknown_certificates_are_refused(
    https_server: made.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(InstallError, match="CERTIFICATE_VERIFY_FAILED"):
        installer.install("tiny", f"{https_server.url}/good")


def test_unannounced_size_is_limited(
    server: made.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "DOWNLOAD_LIMIT", 10)
    target = tmp_path / "out"
    with pytest.raises(InstallError, match="larger than 10 bytes"):
        installer.download(f"{server.url}/chunked", target)
    assert not target.exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        *(
            (url, "not an http or https URL: give a path")
            for url in ("file:///x", "ftp://h/x", "s3://b/x")
        ),
        *((f"http://{rest}", "http") for rest in ("", "[::1", "127.0.0.1:port/x", "127.0.0.1/a b")),
    ],
)
def test_other_urls(url: str, said: str) -> None:
    with pytest.raises(InstallError, match=said):
        installer.install("tiny", url)


def test_refused_connection() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/x"
        with pytest.raises(InstallError, match=r"cannot be downloaded: .*refused.*try again"):
            installer.install("tiny", url)
