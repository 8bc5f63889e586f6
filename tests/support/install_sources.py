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


LENGTH, CHUNKED = "Content-Length", {"Transfer-Encoding": "chunked"}
CLOSE = {"Connection": "close"}
REPLIES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "good": (200, {LENGTH: str(len(GOOD))}, GOOD),
    "chunked": (
        200,
        CHUNKED,
        b"64\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (GOOD[:100], len(GOOD[100:]), GOOD[100:]),
    ),
    "unannounced": (200, CLOSE, GOOD),
    "short": (200, {LENGTH: str(len(GOOD) + 1), **CLOSE}, GOOD),
    "cutchunk": (200, {**CHUNKED, **CLOSE}, b"%x\r\n%s" % (len(GOOD), GOOD[:100])),
    "cutbetween": (200, {**CHUNKED, **CLOSE}, b"%x\r\n%s\r\n" % (len(GOOD), GOOD)),
    "huge": (200, {LENGTH: str(2**40), **CLOSE}, b""),
    "wrong": (200, CLOSE, tar_gz(in_tree(WRONG))),
    "loop": (302, {"Location": "/loop", LENGTH: "0"}, b""),
    "empty": (204, {}, b""),
    "missing": (404, {LENGTH: "0"}, b""),
    "stalls": (200, {LENGTH: str(len(GOOD))}, GOOD[:100]),
}
"""Status, headers and body by the path that asks for them."""


class Handler(BaseHTTPRequestHandler):
    """Serves GOOD in the way that the path asks for."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        kind, _, rest = self.path.lstrip("/").partition("/")
        if kind == "nonsense":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
        elif kind != "silent":
            redirect = (302, {"Location": rest, LENGTH: "0"}, b"")
            status, headers, body = REPLIES.get(kind, redirect)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        if kind in ("silent", "stalls"):
            self.server.released.wait()
        self.close_connection = self.close_connection or kind in ("nonsense", "silent", "stalls")

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
