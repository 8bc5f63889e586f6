"""Files of web servers and the hub; servers that redirect and lie learn no secrets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from engine_tasks import tasks
from helpers import GOOD, lines
from pfgen_rs import InputError, PfgenError, SettingsError, score_file, score_runs
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.errors import GenerationError
from pfgen_rs.install.installer import download
from pfgen_rs.io.remote.storage import RemoteTarget, Storage
from pfgen_rs.io.remote.web import hub_headers
from pfgen_rs.io.run_files import expand_runs

pytest.importorskip("obstore")


TOKEN = "hf_" + "x" * 20
MANY = GOOD * 4_000  # 2 MB: several requests


class Handler(BaseHTTPRequestHandler):
    """Sends what the server `answers`, or files, or parts of them, as its `how` says."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Web

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, f"{self.headers}\n{sent!r}"))
        if self.server.how == "hang":
            self.server.ended.wait(20)
        if self.server.answers is not None:
            self._answer(*self.server.answers(self.path))
        elif path.startswith("/private/") and self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, {}, b"{}")
        elif path.removeprefix("/private") not in self.server.files:
            self._answer(404, {}, b"")
        else:
            self._send(self.server.files[path.removeprefix("/private")])

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815

    def _send(self, content: bytes) -> None:
        asked = self.headers.get("Range")
        if asked is None or self.server.how == "whole":
            self._answer(200, {"ETag": self.server.etag}, content)
            return
        first, last = asked.removeprefix("bytes=").split("-")
        start, end = int(first), min(int(last or len(content)) + 1, len(content))
        if start >= len(content):
            self._answer(416, {}, b"")
            return
        part = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
        self._answer(206, {"ETag": self.server.etag, **part}, content[start:end])

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        sent = {"hiccup": max(100_000, len(content) // 2), "cut": 1000}.get(self.server.how)
        self.wfile.write(content[:sent])
        self.close_connection = sent is not None

    def log_message(self, *_: object) -> None:
        pass


Answer = tuple[int, dict[str, str], bytes]


class Web(ThreadingHTTPServer):
    """A web server. `how`: `parts`, `whole` (files only), `hang`, or `cut` (answers short).

    `hiccup`: only large answers are cut, so that there is progress.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: Callable[[str], Answer] | None = None
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.how, self.etag = "parts", 'W/"1"'
        self.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A web server, which is also the hub, of a user without a token."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@contextmanager
def serving() -> Iterator[Web]:
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("how", ["parts", "whole"])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_files_of_web_servers(how: str, suffix: str, web: Web, bench: Path, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    if suffix == ".jsonl":
        path.write_bytes(lines(MANY))
    else:
        questions, answers = zip(*MANY, strict=True)
        notes = [f"{row:0100d}" for row in range(len(MANY))]
        frame = pl.DataFrame({"question": questions, "answer": answers, "note": notes})
        frame.write_parquet(path, compression="uncompressed")
    assert path.stat().st_size > 1 << 20
    web.how = how
    web.files[f"/x{suffix}"] = path.read_bytes()
    remote = score_file(f"{web.url}/x{suffix}?signature=secret", bench)
    assert remote.to_bytes() == score_file(path, bench).to_bytes()
    assert remote.path == f"{web.url}/x{suffix}"
    assert {asked for asked, _ in web.asked} == {f"/x{suffix}?signature=secret"}  # no config.json


@pytest.mark.parametrize("how", ["parts", "whole"])
def test_a_file_that_is_replaced_is_not_mixed(how: str, web: Web, bench: Path) -> None:
    web.files["/x.jsonl"], web.how = lines(MANY), how

    def replace(*_: object) -> None:
        web.etag = 'W/"2"'

    if how == "parts":
        with pytest.raises(InputError, match=r"/x\.jsonl: the file changed while it was in use"):
            score_runs(f"{web.url}/x.jsonl", bench, progress=replace)[0].to_bytes()
    else:  # a copy of the first version is there
        score_runs(f"{web.url}/x.jsonl", bench, progress=replace)[0].to_bytes()


def test_answers_that_are_cut_are_continued(web: Web, bench: Path, tmp_path: Path) -> None:
    web.files["/x.jsonl"], web.how = lines(MANY), "hiccup"
    (tmp_path / "x.jsonl").write_bytes(lines(MANY))
    remote = score_file(f"{web.url}/x.jsonl", bench)
    assert remote.to_bytes() == score_file(tmp_path / "x.jsonl", bench).to_bytes()


@pytest.mark.parametrize(("how", "options"), [("cut", {}), ("hang", {"timeout": "100ms"})])
def test_a_server_that_does_not_answer_is_asked_again_and_then_an_error(
    how: str, options: dict[str, str], web: Web, bench: Path
) -> None:
    web.files["/x.jsonl"], web.how = lines(MANY), how
    begun = time.monotonic()
    with pytest.raises(InputError, match=rf"^{web.url}/x\.jsonl: cannot be reached: "):
        score_file(f"{web.url}/x.jsonl", bench, storage_options=options)
    assert len(web.asked) > 1
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.jsonl", "no such object"),
        ("private/x.jsonl", "access was denied .401"),
        ("empty.jsonl", "no responses found"),
    ],
)
def test_missing_private_and_empty_files(name: str, words: str, web: Web, bench: Path) -> None:
    web.files |= {"/x.jsonl": lines(), "/empty.jsonl": b""}
    with pytest.raises(InputError, match=words) as caught:
        score_file(f"{web.url}/{name}?token=secret", bench)
    assert "secret" not in str(caught.value)


def test_the_hub(web: Web, bench: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = b'{"model": "m"}'
    files = {"1.jsonl": lines(), "2.jsonl": lines(GOOD[:2]), "config.json": config}
    web.files |= {f"/datasets/u/n/resolve/main/a/{name}": text for name, text in files.items()}
    urls = [f"hf://datasets/u/n/a/{name}.jsonl" for name in (1, 2)]
    results = score_runs(urls, bench)
    assert [result.path for result in results] == urls
    assert [result.config for result in results] == [{"model": "m"}] * 2
    (tmp_path / "1.jsonl").write_bytes(lines())
    local = score_file(tmp_path / "1.jsonl", bench)
    assert (results[0].score, results[0].input_hash) == (local.score, local.input_hash)

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    web.files["/datasets/p/n/resolve/v1/x.jsonl"] = lines()
    monkeypatch.setenv("HF_ENDPOINT", f"{web.url}/private")
    assert score_file("hf://datasets/p/n@v1/x.jsonl", bench).score == local.score
    monkeypatch.setenv("HF_TOKEN", "")
    with pytest.raises(InputError, match=r"^hf://datasets/p/n@v1/x\.jsonl: access was denied"):
        score_file("hf://datasets/p/n@v1/x.jsonl", bench)
    with pytest.raises(InputError, match=r"expected hf://datasets/USER/NAME/PATH"):
        score_file("hf://datasets/n", bench)


def test_what_is_set_for_the_hub(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", f" {TOKEN}\n")
    assert hub_headers() == {"authorization": f"Bearer {TOKEN}"}
    for token in (f"{TOKEN}\n{TOKEN}", f"{TOKEN}\t{TOKEN}", f"{TOKEN}é"):
        monkeypatch.setenv("HF_TOKEN", token)
        with pytest.raises(SettingsError, match="invalid token for the hub") as caught:
            Storage().object("hf://datasets/u/n/x")
        assert TOKEN not in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    assert not web.asked
    monkeypatch.setenv("HF_ENDPOINT", "localhost:80")
    with pytest.raises(SettingsError, match="invalid HF_ENDPOINT"):
        Storage().object("hf://datasets/u/n/x")


def test_folders_of_web_servers_are_not_read(web: Web) -> None:
    for url in (f"{web.url}/a/", f"{web.url}/", "hf://datasets/u/n/"):
        with pytest.raises(InputError, match="folders are read in object storage alone"):
            expand_runs([url], Storage())
    signed = f"{web.url}/a.jsonl?signature=a/"
    assert expand_runs([signed], Storage()) == [signed]
    assert not web.asked


SECRET = "hf_" + "s3cret" * 4
FILE = "hf://datasets/u/n/x.jsonl"


@pytest.fixture
def other() -> Iterator[Web]:
    """Another server, which has files and lists, and should learn nothing."""
    with serving() as server:
        server.answers = lambda _: (200, {"ETag": '"1"'}, lines())
        yield server


@pytest.fixture
def own(web: Web, monkeypatch: pytest.MonkeyPatch) -> Web:
    """The server that the secrets are for."""
    monkeypatch.setenv("HF_TOKEN", SECRET)
    return web


def generate(url: str) -> None:
    pytest.importorskip("aiohttp")
    engine = OpenAIEngine("m", base_url=f"{url}/v1", api_key=SECRET, retries=0)
    list(engine.generate(tasks(1), Parameters()))


def s3(url: str) -> dict[str, str]:
    keys = {name: f"{name} {SECRET}" for name in ("access_key_id", "secret_access_key")}
    return {"endpoint": url, "region": "a", "session_token": SECRET, **keys}


CLIENTS: dict[str, Callable[[str, Path], object]] = {
    "a file of the hub": lambda _, bench: score_file(FILE, bench),
    "a signed address": lambda url, bench: score_file(f"{url}/x.jsonl?sig={SECRET}", bench),
    "an address with a password": lambda url, bench: score_file(
        f"{url}/x.jsonl".replace("//", f"//u:{SECRET}@"), bench
    ),
    "a bucket": lambda url, bench: score_file("s3://b/x.jsonl", bench, storage_options=s3(url)),
    "writing to a bucket": lambda url, _: RemoteTarget("s3://b/x", Storage(s3(url))).put(b"x"),
    "an engine": lambda url, _: generate(url),
    "an archive": lambda url, bench: download(f"{url}/a?sig={SECRET}", bench / "a.tar.gz"),
}


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 302), ("localhost", 308)])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_redirect_to_another_server_does_not_take_credentials_along(
    client: str, host: str, status: int, own: Web, other: Web, bench: Path
) -> None:
    place = f"http://{host}:{other.server_port}"
    own.answers = lambda path: (status, {"Location": place + path.partition("?")[0]}, b"")
    try:
        CLIENTS[client](own.url, bench)
    except PfgenError as error:
        assert "s3cret" not in str(error) or client == "an archive"  # noqa: PT017
    assert own.asked
    assert not any("s3cret" in text for asked in other.asked for text in asked), other.asked


def test_a_redirect_within_the_hub_keeps_the_token(own: Web, bench: Path) -> None:
    def how(path: str) -> Answer:
        if path == "/renamed":
            return 200, {"ETag": '"1"'}, lines(GOOD)
        return (404, {}, b"") if "config" in path else (307, {"Location": "/renamed"}, b"")

    own.answers = how
    score_file(FILE, bench)
    assert len(own.asked) > 1
    assert all(SECRET in headers for _, headers in own.asked)


@pytest.mark.parametrize("client", ["a file of the hub", "a signed address"])
@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("file:///etc/passwd", "redirects to 'file:///etc/passwd', which is not allowed"),
        ("ftp://127.0.0.1/x", "redirects to 'ftp://127.0.0.1/x', which is not allowed"),
        ("data:,[]", "which is not allowed"),
        ("http://[", "redirects to an invalid address"),
        ("?again", "infinite loop"),
    ],
)
def test_redirects_to_files_of_this_machine_and_in_circles_are_errors(
    client: str, target: str, problem: str, own: Web, bench: Path
) -> None:
    own.answers = lambda _: (302, {"Location": target}, b"")
    with pytest.raises(InputError, match=problem) as caught:
        CLIENTS[client](own.url, bench)
    assert "s3cret" not in str(caught.value)


def test_an_engine_says_where_a_server_redirects(own: Web) -> None:
    own.answers = lambda _: (308, {"Location": f"https://other.example/v1/x?key={SECRET}"}, b"")
    told = "the server answered 308 and leads to https://other.example/v1/x, where"
    with pytest.raises(GenerationError, match=told):
        generate(own.url)
    assert len(own.asked) == 1


def test_an_endpoint_that_redirects_is_named(own: Web, other: Web, bench: Path) -> None:
    own.answers = lambda _: (301, {"Location": f"{other.url}/b?x=1"}, b"")
    words = f"s3://b/x.jsonl: the endpoint redirects to {other.url}/b: name the address that"
    with pytest.raises(InputError, match=words):
        CLIENTS["a bucket"](own.url, bench)
