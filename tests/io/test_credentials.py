"""Every client of ours against a server that redirects, links and lies: what is secret stays with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine_tasks import tasks
from helpers import GOOD, lines, write_benchmark
from pfgen_rs import InputError, PfgenError, score_file
from pfgen_rs.ask.engines.openai import OpenAIEngine
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.errors import GenerationError
from pfgen_rs.install.installer import download
from pfgen_rs.io.remote.storage import RemoteTarget, Storage

pytest.importorskip("obstore")
pytest.importorskip("aiohttp")
SECRET = "hf_" + "s3cret" * 4
FILE = "hf://datasets/u/n/x.jsonl"


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's `how` says: (status, headers, content)."""

    server: Web

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.server.asked.append(f"{self.path}\n{self.headers}\n{self.rfile.read(length)!r}")
        status, headers, content = self.server.how(self.path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


Answer = tuple[int, dict[str, str], bytes]


class Web(ThreadingHTTPServer):
    def __init__(self, how: Callable[[str], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.how, self.asked = how, list[str]()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def knows_a_secret(self) -> bool:
        """Whether anything that was asked here has a secret in it, wherever."""
        return any("s3cret" in asked for asked in self.asked)


@contextmanager
def web(how: Callable[[str], Answer]) -> Iterator[Web]:
    with Web(how) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def other() -> Iterator[Web]:
    """Another server, which has files and lists, and should learn nothing."""
    with web(lambda _: (200, {"ETag": '"1"'}, lines())) as server:
        yield server


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """The server that the secrets are for."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with web(lambda _: (404, {}, b"")) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def generate(url: str) -> None:
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
    client: str, host: str, status: int, own: Web, other: Web, tmp_path: Path
) -> None:
    bench = write_benchmark(tmp_path / "bench")
    place = f"http://{host}:{other.server_port}"
    own.how = lambda path: (status, {"Location": place + path.partition("?")[0]}, b"")
    try:
        CLIENTS[client](own.url, bench)
    except PfgenError as error:
        assert "s3cret" not in str(error) or client == "an archive"  # noqa: PT017
    assert own.asked
    assert not other.knows_a_secret(), other.asked


def test_a_redirect_within_the_hub_keeps_the_token(own: Web, tmp_path: Path) -> None:
    def how(path: str) -> Answer:
        if path == "/renamed":
            return 200, {"ETag": '"1"'}, lines(GOOD)
        return (404, {}, b"") if "config" in path else (307, {"Location": "/renamed"}, b"")

    own.how = how
    score_file(FILE, write_benchmark(tmp_path / "bench"))
    assert len(own.asked) > 1
    assert all(SECRET in asked for asked in own.asked)


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
    client: str, target: str, problem: str, own: Web, tmp_path: Path
) -> None:
    own.how = lambda _: (302, {"Location": target}, b"")
    with pytest.raises(InputError, match=problem) as caught:
        CLIENTS[client](own.url, write_benchmark(tmp_path / "bench"))
    assert "s3cret" not in str(caught.value)


def test_an_engine_says_where_a_server_redirects(own: Web) -> None:
    own.how = lambda _: (308, {"Location": f"https://elsewhere.example/v1/x?key={SECRET}"}, b"")
    with pytest.raises(GenerationError) as caught:
        generate(own.url)
    assert "the server answered 308 and leads to https://elsewhere.example/v1/x, where" in str(
        caught.value
    )
    assert len(own.asked) == 1


def test_an_endpoint_that_redirects_is_named(own: Web, other: Web, tmp_path: Path) -> None:
    own.how = lambda _: (301, {"Location": f"{other.url}/b?x=1"}, b"")
    words = f"s3://b/x.jsonl: the endpoint redirects to {other.url}/b: name the address that"
    with pytest.raises(InputError, match=words):
        CLIENTS["a bucket"](own.url, write_benchmark(tmp_path / "bench"))
