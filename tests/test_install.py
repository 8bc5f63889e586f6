"""Installing published benchmarks: a real local server, damaged archives, crashes."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pfgen_rs.errors import InstallError
from pfgen_rs.install import archive, catalog, download, installer, store
from pfgen_rs.install.catalog import CatalogEntry

FILES = {
    "data/Q01.json": '{"question_id": "Q01", "question": "雲はなぜ白いのですか？"}\n'.encode(),
    "data/Q02.json": '{"question_id": "Q02", "question": "波はどうして起きますか？"}\n'.encode(),
    "data/questions.jsonl": b'{"question": "one"}\n{"question": "two"}\n',
}
PUBLISHED = catalog.known()["pfgen-bench"]  # before the fixture replaces the catalogue
TREE = "tiny-0123abcd"


def entry_of(files: dict[str, bytes], revision: str = "0123abcd", url: str = "") -> CatalogEntry:
    digests = {member: hashlib.sha256(content).hexdigest() for member, content in files.items()}
    return CatalogEntry("tiny", url or "http://127.0.0.1:9/none.tar.gz", revision, digests)


def use(monkeypatch: pytest.MonkeyPatch, entry: CatalogEntry) -> None:
    monkeypatch.setattr(catalog, "known", lambda: {entry.name: entry})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own, a tiny catalogue, and no proxy between the test and its server."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PFGEN_RS_CACHE", str(folder))
    monkeypatch.setenv("no_proxy", "*")
    use(monkeypatch, entry_of(FILES))
    return folder


def leftovers(cache: Path) -> list[str]:
    """What lies in the store beside installations; sorted names."""
    folder = cache / "benchmarks"
    return sorted(p.name for p in folder.iterdir() if p.name != "tiny") if folder.exists() else []


def assert_installed(path: Path, files: dict[str, bytes] = FILES) -> None:
    assert {p.name for p in path.iterdir()} == {"installed.json"} | {Path(m).name for m in files}
    for member, content in files.items():
        assert (path / Path(member).name).read_bytes() == content


# --- archives ------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(GOOD, id="tar.gz"),
        pytest.param(lzma.compress(tar_bytes(in_tree(FILES))), id="tar.xz"),
        pytest.param(tar_bytes(in_tree(FILES)), id="tar"),
        pytest.param(tar_bytes(in_tree(FILES, ".")), id="tar-of-dot"),
        pytest.param(tar_bytes(in_tree(FILES, f"./{TREE}")), id="tar-of-dot-tree"),
        pytest.param(zip_bytes([(f"{TREE}/{n}", c) for n, c in FILES.items()]), id="zip"),
        pytest.param(tar_gz([(Path(n).name, c) for n, c in FILES.items()]), id="bare-files"),
        pytest.param(
            tar_gz([*in_tree(FILES), (f"{TREE}/data/latest", special(tarfile.SYMTYPE, "/etc"))]),
            id="unwanted-link",
        ),
    ],
)
def test_archive_is_installed(content: bytes, tmp_path: Path, cache: Path) -> None:
    path = installer.install("tiny", saved(tmp_path, content))
    assert path == cache / "benchmarks" / "tiny"
    assert_installed(path)
    assert leftovers(cache) == []


@pytest.mark.parametrize("inner", ["", "data"], ids=["checkout", "data-folder"])
def test_folder_is_installed(inner: str, tmp_path: Path) -> None:
    for member, content in {**FILES, "data/config.json": b"{}"}.items():
        place = tmp_path / "checkout" / member
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    source = tmp_path / "checkout" / inner
    assert_installed(installer.install("tiny", source))


def test_path_may_be_a_string(tmp_path: Path) -> None:
    assert_installed(installer.install("tiny", str(saved(tmp_path, GOOD))))


WRONG = {**FILES, "data/Q02.json": b"{}"}
WRONG_DIGEST = hashlib.sha256(b"{}").hexdigest()
RIGHT_DIGEST = hashlib.sha256(FILES["data/Q02.json"]).hexdigest()
Q1 = f"{TREE}/data/Q01.json"


def huge(name: str) -> bytes:
    return tar_gz([(name, bytes(archive.MEMBER_LIMIT + 1))])


def claiming(size: int, kind: bytes = tarfile.REGTYPE, name: str = Q1) -> bytes:
    """A tar file of one header that claims `size` bytes, with none behind it."""
    info = special(kind)
    info.name, info.size = name, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


def zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


BAD: dict[str, tuple[bytes, list[str]]] = {
    "wrong-digest": (
        tar_gz(in_tree(WRONG)),
        ["data/Q02.json", WRONG_DIGEST, RIGHT_DIGEST, "use revision 0123abcd"],
    ),
    "missing": (
        tar_gz(in_tree({"data/Q01.json": FILES["data/Q01.json"]})),
        ["lacks 2 of 3 files", "data/Q02.json, data/questions.jsonl", "give revision 0123abcd"],
    ),
    "too-deep": (tar_gz(in_tree(FILES, "a/b")), ["lacks 3 of 3"]),
    "duplicate": (tar_gz(in_tree(FILES) * 2), ["data/Q01.json more than once"]),
    "two-trees": (
        tar_gz(in_tree(FILES) + in_tree(FILES, "other")),
        ["data/Q01.json more than once"],
    ),
    "climbs": (tar_gz([("../evil.txt", b"!")]), ["'../evil.txt' points outside"]),
    "climbs-inside": (
        tar_gz([*in_tree(FILES), (f"{TREE}/../../data/x", b"!")]),
        ["points outside the archive"],
    ),
    "absolute": (tar_gz([("/data/Q01.json", b"!")]), ["'/data/Q01.json' points outside"]),
    "drive": (tar_gz([("C:/data/Q01.json", b"!")]), ["'C:/data/Q01.json' points outside"]),
    "backslashes": (tar_gz([("..\\data\\Q01.json", b"!")]), ["points outside"]),
    "symlink": (tar_gz([(Q1, special(tarfile.SYMTYPE, "/etc/passwd"))]), ["is a link, device"]),
    "hard-link": (tar_gz([(Q1, special(tarfile.LNKTYPE, "a/b"))]), ["is a link, device"]),
    "device": (tar_gz([(Q1, special(tarfile.CHRTYPE))]), ["is a link, device"]),
    "fifo": (tar_gz([(Q1, special(tarfile.FIFOTYPE))]), ["is a link, device"]),
    "folder-member": (tar_gz([(Q1, special(tarfile.DIRTYPE))]), ["is a link, device or folder"]),
    "zip-climbs": (zip_bytes([("../data/Q01.json", b"!")]), ["points outside"]),
    "zip-absolute": (zip_bytes([("/data/Q01.json", b"!")]), ["points outside"]),
    "zip-symlink": (zip_bytes([(zip_link(Q1), b"/etc/passwd")]), ["is a link, device"]),
    "zip-bomb": (
        zip_bytes([(Q1, bytes(archive.MEMBER_LIMIT + 1))]),
        ["data/Q01.json is larger than 16777216 bytes"],
    ),
    "zip-cut": (zip_bytes([(Q1, b"!")])[:-8], ["not a readable"]),
    "bomb": (huge(Q1), ["data/Q01.json is larger than 16777216 bytes"]),
    "header-bomb": (claiming(2**30, tarfile.XHDTYPE), ["damaged archive: a header of"]),
    "cut-member": (claiming(10_000), ["not a readable", "unexpected end of data"]),
    "cut-gzip": (GOOD[: len(GOOD) // 2], ["not a readable .tar.gz"]),
    "cut-xz": (lzma.compress(tar_bytes(in_tree(FILES)))[:200], ["not a readable"]),
    "gzip-of-text": (gzip.compress(b"no tar in here" * 99), ["not a readable"]),
    "web-page": (b"<!DOCTYPE html><title>Sign in</title>" * 40, ["not a readable"]),
    "empty": (b"", ["not a readable"]),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD.keys())
def test_bad_archive_is_refused(
    content: bytes, words: list[str], tmp_path: Path, cache: Path
) -> None:
    source = saved(tmp_path, content)
    before = {path for path in tmp_path.rglob("*") if cache not in path.parents}
    with pytest.raises(InstallError) as caught:
        installer.install("tiny", source)
    for word in [*words, str(source)]:
        assert word in str(caught.value)
    assert leftovers(cache) == []
    assert store.installed() == []
    after = {path for path in tmp_path.rglob("*") if cache not in path.parents}
    assert after - {cache} == before


def test_duplicate_in_zip_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        content = zip_bytes([(Q1, FILES["data/Q01.json"])] * 2)
    with pytest.raises(InstallError, match="more than once"):
        installer.install("tiny", saved(tmp_path, content))


def test_negative_size_does_not_loop(tmp_path: Path) -> None:
    # The header's end, less its size, is the header itself: some readers come back for ever.
    header = claiming(-tarfile.BLOCKSIZE, name="unwanted")
    content = claiming(0, name="first")[: tarfile.BLOCKSIZE] + header
    with pytest.raises(InstallError, match=r"damaged archive|not a readable"):
        installer.install("tiny", saved(tmp_path, content))


FUZZED = {
    "tar": tar_bytes(in_tree(FILES)),
    "tar.gz": GOOD,
    "tar.xz": lzma.compress(tar_bytes(in_tree(FILES))),
    "zip": zip_bytes([(f"{TREE}/{name}", content) for name, content in FILES.items()]),
}


@pytest.mark.parametrize("kind", FUZZED)
def test_any_damage_is_an_install_error(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    for _ in range(60):
        content = bytearray(FUZZED[kind])
        for _ in range(rng.choice([1, 1, 1, 4, 40])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        # Damage that the formats cannot see is left to the digests.
        members = archive.read_members(saved(tmp_path, bytes(content)), FILES)
        with contextlib.suppress(InstallError):
            assert set(dict(members)) <= set(FILES)


def test_unpacked_size_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "UNPACKED_LIMIT", 10_000)
    content = tar_gz([("unwanted", bytes(20_000)), *in_tree(FILES)])
    with pytest.raises(InstallError, match="unpacks to more than 10000 bytes"):
        installer.install("tiny", saved(tmp_path, content))


def test_number_of_members_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBERS_LIMIT", 3)
    with pytest.raises(InstallError, match="too many members"):
        installer.install("tiny", saved(tmp_path, GOOD))


def test_source_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"absent\.zip: no such file or folder"):
        installer.install("tiny", tmp_path / "absent.zip")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipes_are_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Q01.json")
    with pytest.raises(InstallError, match=r"data/Q01\.json is not a regular file"):
        installer.install("tiny", tmp_path)
    with pytest.raises(InstallError, match="neither an archive file nor a folder"):
        installer.install("tiny", tmp_path / "Q01.json")


# --- downloads -----------------------------------------------------------------------------------


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

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the tests."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "total"),
    [
        ("/good", len(GOOD)),
        ("/chunked", None),
        ("/unannounced", None),
        ("/to//good", len(GOOD)),
        ("/to//to//chunked", None),
    ],
)
def test_download(path: str, total: int | None, server: Server, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    folder = installer.install("tiny", server.url + path, lambda *now: seen.append(now))
    assert_installed(folder)
    assert leftovers(cache) == []
    assert seen[-1] == (len(GOOD), total)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_publisher_is_the_default(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, entry_of(FILES, url=f"{server.url}/good"))
    assert_installed(installer.install("tiny"))
    assert server.requests == ["/good"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/short", f"ended after {len(GOOD)} of {len(GOOD) + 1} bytes"),
        ("/cutchunk", "cut short"),
        ("/cutbetween", "cut short"),
        ("/huge", "larger than 1073741824 bytes"),
        ("/wrong", f"expected SHA-256 {RIGHT_DIGEST}, found {WRONG_DIGEST}"),
        ("/to/file:///etc/passwd", "'file:///etc/passwd' is not allowed"),
        ("/to/ftp://127.0.0.1/x", "'ftp://127.0.0.1/x' is not allowed"),
        ("/loop", "infinite loop"),
        ("/missing", r"answered 404 \(Not Found\)"),
        ("/empty", "answered 204"),
        ("/nonsense", "cannot be downloaded"),
        ("/silent", "nothing came for 0.3 seconds"),
        ("/stalls", "nothing came for 0.3 seconds"),
    ],
)
def test_failed_download_leaves_nothing(
    path: str, words: str, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    with pytest.raises(InstallError, match=words) as caught:
        installer.install("tiny", server.url + path)
    assert server.url in str(caught.value)
    assert leftovers(cache) == []
    assert store.installed_path("tiny") is None


def test_unannounced_size_is_limited(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(InstallError, match="larger than 10 bytes"):
        download.download(f"{server.url}/chunked", target, limit=10)
    assert not target.exists()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "s3://bucket/x"])
def test_only_web_urls(url: str) -> None:
    with pytest.raises(InstallError, match="not an http or https URL; give a path"):
        installer.install("tiny", url)


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1", "http://127.0.0.1:port/x", "http://127.0.0.1/a b"]
)
def test_malformed_url(url: str) -> None:
    with pytest.raises(InstallError, match="http"):
        installer.install("tiny", url)


def test_refused_connection() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/x"
        with pytest.raises(InstallError, match=r"cannot be downloaded: .*refused.*try again"):
            installer.install("tiny", url)


def test_error_in_progress_passes_and_cleans_up(server: Server, cache: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        installer.install("tiny", f"{server.url}/good", stop)
    assert leftovers(cache) == []


# --- the store -----------------------------------------------------------------------------------

NEWER = {**FILES, "data/Q03.json": b'{"question_id": "Q03"}\n'}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return saved(tmp_path, GOOD, "good.tar.gz")


def test_nothing_is_installed_at_first(cache: Path) -> None:
    assert store.installed() == []
    assert store.installed_path("tiny") is None
    assert not cache.exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../tiny", "/tiny", "a/b", ".tiny", "a\\b"])
def test_a_path_is_no_name(name: str, good: Path) -> None:
    installer.install("tiny", good)
    assert store.installed_path(name) is None
    with pytest.raises(InstallError, match="choose one of: tiny"):
        installer.install(name, good)
    with pytest.raises(InstallError, match="cannot be the name"):
        CatalogEntry(name, "", "", {})


def test_installed_tells_what_is_there(good: Path) -> None:
    path = installer.install("tiny", good)
    assert store.installed() == [store.Installed("tiny", path, "0123abcd", 2)]
    assert store.installed_path("tiny") == path


def test_second_install_does_nothing(good: Path, tmp_path: Path) -> None:
    path = installer.install("tiny", good)
    before = path.stat()
    assert installer.install("tiny", tmp_path / "absent") == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_force_reads_the_source_again(good: Path, tmp_path: Path) -> None:
    path = installer.install("tiny", good)
    with pytest.raises(InstallError, match="no such file"):
        installer.install("tiny", tmp_path / "absent", force=True)
    assert_installed(path)
    assert installer.install("tiny", good, force=True) == path
    assert_installed(path)


def spoil(path: Path) -> None:
    (path / "Q01.json").write_bytes(b"[]")


def remove_file(path: Path) -> None:
    (path / "Q01.json").unlink()


def remove_record(path: Path) -> None:
    (path / "installed.json").unlink()


def spoil_record(path: Path) -> None:
    (path / "installed.json").write_text("[1, 2]")


def add_question(path: Path) -> None:
    (path / "Q99.json").write_text("{}")


@pytest.mark.parametrize("harm", [spoil, remove_file, remove_record, spoil_record, add_question])
def test_damaged_installation_is_repaired(
    harm: Callable[[Path], None], good: Path, cache: Path
) -> None:
    path = installer.install("tiny", good)
    harm(path)
    assert_installed(installer.install("tiny", good))
    assert leftovers(cache) == []


@pytest.mark.parametrize("harm", [remove_file, remove_record, spoil_record])
def test_incomplete_installation_is_not_listed(harm: Callable[[Path], None], good: Path) -> None:
    harm(installer.install("tiny", good))
    assert store.installed() == []
    assert store.installed_path("tiny") is None


@pytest.mark.parametrize("in_the_way", ["file", "folder", "dangling"])
def test_what_lies_in_the_way_is_replaced(in_the_way: str, good: Path, cache: Path) -> None:
    place = cache / "benchmarks" / "tiny"
    place.parent.mkdir(parents=True)
    if in_the_way == "file":
        place.write_text("x")
    elif in_the_way == "folder":
        place.mkdir()
    else:
        place.symlink_to(cache / "absent")
    assert_installed(installer.install("tiny", good))
    assert leftovers(cache) == []


def test_newer_revision_replaces_older(
    good: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer.install("tiny", good)
    use(monkeypatch, entry_of(NEWER, "4567"))
    assert [found.revision for found in store.installed()] == ["0123abcd"]
    path = installer.install("tiny", saved(tmp_path, tar_gz(in_tree(NEWER))))
    assert_installed(path, NEWER)
    assert [(found.revision, found.questions) for found in store.installed()] == [("4567", 3)]
    assert leftovers(cache) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PermissionError(13, "Permission denied")])
def test_failed_swap_restores_the_older(
    error: BaseException, good: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = installer.install("tiny", good)
    use(monkeypatch, entry_of(NEWER, "4567"))
    rename = Path.rename

    def fails_at_the_last_step(self: Path, target: Path) -> Path:
        if self.name == "files":
            assert not path.exists()
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_at_the_last_step)
    with pytest.raises((InstallError, KeyboardInterrupt)):
        installer.install("tiny", saved(tmp_path, tar_gz(in_tree(NEWER))))
    assert_installed(path)
    assert leftovers(cache) == []


@pytest.mark.parametrize("moment", ["tiny", "files"], ids=["taken-away", "filled-before"])
def test_lost_race_is_no_error(
    moment: str, good: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(installer.install("tiny", good))
    rename = Path.rename

    def after_another_process(self: Path, target: Path) -> Path:
        if self.name == moment:
            monkeypatch.setattr(Path, "rename", rename)
            if moment == "tiny":
                shutil.rmtree(self)
            else:
                installer.install("tiny", good)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", after_another_process)
    assert_installed(installer.install("tiny", good))
    assert leftovers(cache) == []


def test_concurrent_installs(good: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, entry_of({"data/Q09.json": b"{}"}, "older"))
    installer.install("tiny", saved(good.parent, tar_gz([("data/Q09.json", b"{}")])))
    use(monkeypatch, entry_of(FILES))
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: installer.install("tiny", good, force=True), range(40)))
    assert len(set(paths)) == 1
    assert_installed(paths[0])
    assert leftovers(cache) == []


def test_old_leftovers_are_removed_and_fresh_ones_kept(good: Path, cache: Path) -> None:
    old, fresh = (cache / "benchmarks" / f".tiny.{age}.tmp" for age in ("old", "fresh"))
    for folder in (old, fresh):
        (folder / "files").mkdir(parents=True)
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    installer.install("tiny", good)
    assert leftovers(cache) == [".tiny.fresh.tmp"]


def test_unusable_store(good: Path, cache: Path) -> None:
    cache.write_text("a file where the cache should be")
    with pytest.raises(InstallError, match=r"cannot store tiny: .*set PFGEN_RS_CACHE"):
        installer.install("tiny", good)


def test_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFGEN_RS_CACHE")
    assert store.place("tiny").parts[-2:] == ("benchmarks", "tiny")
    assert "pfgen_rs" in store.place("tiny").parts


# --- real processes ------------------------------------------------------------------------------

CHILD = """
import json, resource, sys
from pfgen_rs.errors import InstallError
from pfgen_rs.install import catalog, installer

given = json.loads(sys.argv[1])
entry = catalog.CatalogEntry("tiny", "http://127.0.0.1:9/", given["revision"], given["digests"])
catalog.known = lambda: {"tiny": entry}
if given["file_limit"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["file_limit"], given["file_limit"]))
report = (lambda done, total: print(done, flush=True)) if given["report"] else None
try:
    installer.install("tiny", given["source"], report)
except InstallError as error:
    print(error)
    sys.exit(3)
"""


def child(
    entry: CatalogEntry, source: str, *, file_limit: int = 0, report: bool = False
) -> subprocess.Popen[str]:
    given = {
        "revision": entry.revision,
        "digests": dict(entry.digests),
        "source": source,
        "file_limit": file_limit,
        "report": report,
    }
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


@posix
@pytest.mark.parametrize("by_download", [False, True], ids=["file", "download"])
def test_full_disk(by_download: bool, good: Path, server: Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    source = f"{server.url}/good" if by_download else str(good)
    with child(entry_of(FILES, "4567"), source, file_limit=40) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert out.startswith(f"{path}: cannot store tiny: File too large; make room or set")
    assert leftovers(cache) == []
    assert_installed(path)
    assert [found.revision for found in store.installed()] == ["0123abcd"]


@posix
def test_interrupt_keeps_what_was_installed(good: Path, server: Server, cache: Path) -> None:
    path = installer.install("tiny", good)
    newer = entry_of(FILES, "4567")
    with child(newer, f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert leftovers(cache) == []
    assert_installed(path)


@posix
def test_killed_install_harms_nothing(good: Path, server: Server, cache: Path) -> None:
    with child(entry_of(FILES), f"{server.url}/stalls", report=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "100\n"
        process.kill()
        process.communicate(timeout=60)
    assert len(leftovers(cache)) == 1
    assert store.installed() == []
    assert_installed(installer.install("tiny", good))


@posix
def test_concurrent_processes(good: Path, cache: Path) -> None:
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(child(entry_of(FILES), str(good))) for _ in range(4)]
        for process in started:
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
    assert_installed(cache / "benchmarks" / "tiny")
    assert leftovers(cache) == []


# --- the catalogue -------------------------------------------------------------------------------


@pytest.mark.parametrize("member", ["../a", "/a", "a//b", "a/.b", "", "a\\b", "C:/a"])
def test_members_of_an_entry_stay_inside(member: str) -> None:
    with pytest.raises(InstallError, match="cannot be the path of a member"):
        CatalogEntry("tiny", "", "", {member: "0"})


def test_members_of_an_entry_have_names_of_their_own() -> None:
    with pytest.raises(InstallError, match="share a file name"):
        CatalogEntry("tiny", "", "", {"a/x": "0", "b/x": "1"})


@pytest.mark.parametrize("line", ["", "12  a", "g" * 64 + "  a", "0" * 64 + "  a"])
def test_digest_file_is_checked(line: str) -> None:
    good = "0" * 64 + "  a\n" + "1" * 64 + " *b\n"
    assert catalog.parse_digests(good, "list") == {"a": "0" * 64, "b": "1" * 64}
    with pytest.raises(InstallError, match="list, line 3"):
        catalog.parse_digests(f"{good}{line}\n", "list")


# --- the published data --------------------------------------------------------------------------


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
    monkeypatch.setattr(sys.modules[__name__], "GOOD", content)
    entry = PUBLISHED
    use(monkeypatch, entry)
    seen: list[int] = []
    path = installer.install(source=f"{server.url}/chunked", progress=lambda n, _: seen.append(n))
    assert seen[-1] == len(content)
    assert len(list(path.glob("Q*.json"))) == 50


def test_catalogue_names_the_published_files() -> None:
    entry = PUBLISHED
    questions = [f"data/Q{number:02}.json" for number in range(1, 51)]
    assert list(entry.digests) == [*questions, "data/questions.jsonl"]
    assert entry.revision in entry.url
