"""What the tests of installing share: a tiny benchmark, its archives, and a local server."""

from __future__ import annotations

import gzip
import hashlib
import io
import ssl
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pfgen_rs.install import store
from pfgen_rs.install.store import CatalogEntry

FILES = {
    "data/Q01.json": '{"question_id": "Q01", "question": "雲はなぜ白いのですか？"}\n'.encode(),
    "data/Q02.json": '{"question_id": "Q02", "question": "波はどうして起きますか？"}\n'.encode(),
    "data/questions.jsonl": b'{"question": "one"}\n{"question": "two"}\n',
}
PUBLISHED = store.known()["pfgen-bench"]  # before the fixture replaces the catalogue
TREE = "tiny-0123abcd"


def entry_of(files: dict[str, bytes], revision: str = "0123abcd", url: str = "") -> CatalogEntry:
    digests = {member: hashlib.sha256(content).hexdigest() for member, content in files.items()}
    return CatalogEntry("tiny", url or "http://127.0.0.1:9/none.tar.gz", revision, digests)


def use(monkeypatch: pytest.MonkeyPatch, entry: CatalogEntry) -> None:
    monkeypatch.setattr(store, "known", lambda: {entry.name: entry})


def leftovers(cache: Path) -> list[str]:
    """What lies in the store beside installations; sorted names."""
    folder = cache / "benchmarks"
    return sorted(p.name for p in folder.iterdir() if p.name != "tiny") if folder.exists() else []


def assert_installed(path: Path, files: dict[str, bytes] = FILES) -> None:
    assert {p.name for p in path.iterdir()} == {"installed.json"} | {Path(m).name for m in files}
    for member, content in files.items():
        assert (path / Path(member).name).read_bytes() == content


Member = tuple[str, bytes | tarfile.TarInfo]


def in_tree(files: dict[str, bytes], top: str = TREE) -> list[Member]:
    return [(f"{top}/{name}", content) for name, content in files.items()]


def tar_bytes(members: list[Member]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                content.name = name
                tar.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_gz(members: list[Member]) -> bytes:
    return gzip.compress(tar_bytes(members))


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo("replaced")
    info.type, info.linkname = kind, target
    return info


def zip_bytes(members: list[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members:
            out.writestr(name, content)
    return buffer.getvalue()


def saved(folder: Path, content: bytes, name: str = "given.bin") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


GOOD = tar_gz(in_tree({"README.md": b"# extra\n", **FILES, "result/a/b.json": b"{}"}))
WRONG = {**FILES, "data/Q02.json": b"{}"}
WRONG_DIGEST = hashlib.sha256(b"{}").hexdigest()
RIGHT_DIGEST = hashlib.sha256(FILES["data/Q02.json"]).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves GOOD in the way that the path asks for."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        kind, _, rest = self.path.lstrip("/").partition("/")
        getattr(self, f"serve_{kind}")(rest)

    def serve_good(self, _rest: str) -> None:
        self._head(200, {"Content-Length": str(len(GOOD))})
        self.wfile.write(GOOD)

    def serve_chunked(self, _rest: str) -> None:
        self._head(200, {"Transfer-Encoding": "chunked"})
        for chunk in (GOOD[:100], GOOD[100:], b""):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def serve_unannounced(self, _rest: str) -> None:
        self._head(200, {"Connection": "close"})
        self.wfile.write(GOOD)

    def serve_short(self, _rest: str) -> None:
        self._head(200, {"Content-Length": str(len(GOOD) + 1), "Connection": "close"})
        self.wfile.write(GOOD)

    def serve_cutchunk(self, _rest: str) -> None:
        self._head(200, {"Transfer-Encoding": "chunked", "Connection": "close"})
        self.wfile.write(b"%x\r\n%s" % (len(GOOD), GOOD[:100]))

    def serve_cutbetween(self, _rest: str) -> None:
        self._head(200, {"Transfer-Encoding": "chunked", "Connection": "close"})
        self.wfile.write(b"%x\r\n%s\r\n" % (len(GOOD), GOOD))

    def serve_huge(self, _rest: str) -> None:
        self._head(200, {"Content-Length": str(2**40)})
        self.close_connection = True

    def serve_wrong(self, _rest: str) -> None:
        content = tar_gz(in_tree(WRONG))
        self._head(200, {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def serve_to(self, rest: str) -> None:
        self._head(302, {"Location": rest, "Content-Length": "0"})

    def serve_loop(self, _rest: str) -> None:
        self._head(302, {"Location": "/loop", "Content-Length": "0"})

    def serve_empty(self, _rest: str) -> None:
        self._head(204, {})

    def serve_missing(self, _rest: str) -> None:
        self._head(404, {"Content-Length": "0"})

    def serve_silent(self, _rest: str) -> None:
        self.server.released.wait()
        self.close_connection = True

    def serve_stalls(self, _rest: str) -> None:
        self._head(200, {"Content-Length": str(len(GOOD))})
        self.wfile.write(GOOD[:100])
        self.serve_silent("")

    def serve_nonsense(self, _rest: str) -> None:
        self.wfile.write(b"this is no HTTP\r\n\r\n")
        self.close_connection = True

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = headers.get("Connection") == "close"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """The local server; `released` ends the handlers that stall."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        self.released = threading.Event()
        self.scheme = "http"

    def encrypt(self, certificate: Path) -> None:
        """Serve https with a file of a certificate and its key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the tests."""
