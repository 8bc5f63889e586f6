"""Reading from and writing to S3, as `moto` serves it on 127.0.0.1, and connections that are cut."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers import GOOD, SCRIPT, environment, lines, pfgen, write_benchmark
from pfgen_rs import scan, score_file, score_runs

boto3 = pytest.importorskip("boto3")
pytest.importorskip("obstore")
if find_spec("moto") is None or find_spec("flask") is None:
    # It is only imported by the server: it needs a package called like one of our modules.
    pytest.skip("moto[server] is not installed", allow_module_level=True)
BUCKET = "bucket"
SERVER = """
import sys
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""
MANY = GOOD * 25_000  # 100,000 responses: a table of three parts, and a journal
_BEGIN = 20_000  # bytes of a connection that are never cut: heads, and what is no upload


class Storage:
    """A server of S3 with one bucket, in a process that ends with this one."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        assert self._server.stdout is not None
        self.port = int(self._server.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )

    def fill(self) -> None:
        """Start over with an empty bucket."""
        self._command("reset")
        self.client.create_bucket(Bucket=BUCKET)

    def check_users(self, *, after: str) -> None:
        """Refuse unknown users after this many requests."""
        self._command("reset-auth", after.encode())

    def _command(self, name: str, data: bytes = b"") -> None:
        headers = {"Content-Type": "application/octet-stream"}
        request = urllib.request.Request(
            f"{self.url}/moto-api/{name}", data, headers, method="POST"
        )
        urllib.request.urlopen(request).close()

    def put(self, **files: bytes) -> None:
        for name, content in files.items():
            self.client.put_object(Bucket=BUCKET, Key=name, Body=content)

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()  # type: ignore[no-any-return]

    def keys(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return sorted(entry["Key"] for entry in found)

    def unfinished(self) -> list[Any]:
        """Uploads that were begun, and neither completed nor aborted."""
        return self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])  # type: ignore[no-any-return]

    def close(self) -> None:
        self._server.communicate(timeout=30)


@pytest.fixture(scope="module")
def served() -> Iterator[Storage]:
    storage = Storage()
    yield storage
    storage.close()


@pytest.fixture
def storage(served: Storage, monkeypatch: pytest.MonkeyPatch) -> Storage:
    served.fill()
    for name, value in {
        "AWS_ENDPOINT_URL": served.url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    return served


class Proxy:
    """Forwards connections to a server, and cuts them while data passes.

    `up`, `down`: bytes after which a connection that sends so much, or receives it, is cut; so are all such
    connections after it. `cuts`: how many were. `slow`: seconds that it waits instead, after each 64 kB.
    """

    def __init__(
        self, port: int, *, up: int | None = None, down: int | None = None, slow: float = 0
    ) -> None:
        self._port, self._limits, self._slow = port, {"up": up, "down": down}, slow
        self._passed = {"up": 0, "down": 0}
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._port))
            for way, a, b in (("up", client, server), ("down", server, client)):
                threading.Thread(target=self._pass, args=(way, a, b), daemon=True).start()

    def _pass(self, way: str, source: socket.socket, target: socket.socket) -> None:
        seen, limit = 0, self._limits[way]
        try:
            while data := source.recv(1 << 16):
                seen += len(data)
                self._passed[way] += len(data)
                if limit is not None and self._passed[way] > limit and seen > _BEGIN:
                    self.cuts += 1
                    if not self._slow:
                        break
                    time.sleep(self._slow)
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # the other thread may be waiting for it
            end.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "bench")


FORMS: dict[str, Callable[[bytes], bytes]] = {
    ".jsonl": bytes,
    ".jsonl.gz": gzip.compress,
    ".jsonl.xz": lzma.compress,
}


TABLES: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
    ".csv": pl.DataFrame.write_csv,
}


@pytest.mark.parametrize("suffix", [*FORMS, *TABLES])
def test_runs_are_read_and_results_written(
    suffix: str, storage: Storage, bench: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"x{suffix}"
    if suffix in FORMS:
        path.write_bytes(FORMS[suffix](lines()))
    else:
        TABLES[suffix](pl.read_ndjson(lines()), path)
    content = path.read_bytes()
    storage.put(**{f"in/a b/日本{suffix}": content, f"in/c/x{suffix}": content, "in/c/y": b"-"})
    for source, target in (
        (path, tmp_path / "local"),
        (f"s3://bucket/in/**/*{suffix}", "s3://bucket"),
    ):
        done = pfgen("score", source, "-b", bench, "--out", f"{target}/out", "--per-response",
                     f"{target}/scores{suffix.partition('.gz')[0].partition('.xz')[0]}")  # fmt: skip
        assert done.returncode == 0, done.stderr
    expected = (tmp_path / "local" / "out" / "result.json").read_bytes()
    for name in ("日本", "x"):
        assert storage.get(f"out/{name}/result.json") == expected
    assert json.loads(expected)["input_hash"] == hashlib.sha1(content).hexdigest()
    assert storage.unfinished() == []


def test_scan_and_python(storage: Storage, bench: Path, tmp_path: Path) -> None:
    for name, answers in (("1", GOOD), ("2", GOOD[:3])):
        storage.put(**{f"a/{name}.jsonl": lines(answers)})
        (tmp_path / f"{name}.jsonl").write_bytes(lines(answers))
    local = scan(str(tmp_path / "*.jsonl"), bench).collect()
    for pattern in ("s3://bucket/a/*.jsonl", ["s3://bucket/a/1.jsonl", "s3://bucket/a/2.jsonl"]):
        scan(pattern, bench).sink_parquet(tmp_path / "x.parquet")
        found = pl.read_parquet(tmp_path / "x.parquet")
        assert found.drop("file").equals(local.drop("file"))
    scores = [result.score for result in score_runs("s3://bucket/a/*.jsonl", bench)]
    assert scores == [result.score for result in score_runs(str(tmp_path / "*.jsonl"), bench)]
    score_file("s3://bucket/a/1.jsonl", bench).to_json("s3://bucket/result.json")
    assert storage.get("result.json") == score_file(tmp_path / "1.jsonl", bench).to_bytes()


def test_options_instead_of_the_environment(
    storage: Storage, bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.put(**{"x.jsonl": lines()})
    for name in ("ENDPOINT_URL", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ALLOW_HTTP"):
        monkeypatch.delenv(f"AWS_{name}")
    options = {"endpoint": storage.url, "access_key_id": "key", "secret_access_key": "secret"}
    score = score_file("s3://bucket/x.jsonl", bench, storage_options=options).score
    given = [
        word for key, value in options.items() for word in ("--storage-option", f"{key}={value}")
    ]
    done = pfgen("score", "s3://bucket/x.jsonl", "-b", bench, "-f", "json", *given)
    assert json.loads(done.stdout)[0]["score"] == score


def test_a_large_table_is_uploaded_in_parts(storage: Storage, bench: Path, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(lines(MANY))
    for target in ("s3://bucket/x.jsonl", tmp_path / "y.jsonl"):
        done = pfgen("score", tmp_path / "x.jsonl", "-b", bench, "--per-response", target)
        assert done.returncode == 0, done.stderr
    content = storage.get("x.jsonl")
    assert content == (tmp_path / "y.jsonl").read_bytes()
    assert len(content) > 16 << 20
    assert "-" in storage.client.head_object(Bucket=BUCKET, Key="x.jsonl")["ETag"]  # of parts
    assert storage.unfinished() == []


@pytest.mark.parametrize("before", [None, b"old"])
def test_an_upload_that_is_cut_leaves_nothing(
    before: bytes | None, storage: Storage, bench: Path, tmp_path: Path
) -> None:
    if before is not None:
        storage.put(**{"x.jsonl": before})
    begun = storage.client.create_multipart_upload(Bucket=BUCKET, Key="other")
    assert len(storage.unfinished()) == 1  # so the list would show ours
    storage.client.abort_multipart_upload(Bucket=BUCKET, Key="other", UploadId=begun["UploadId"])
    (tmp_path / "in.jsonl").write_bytes(lines(MANY))
    (tmp_path / "temporary").mkdir()
    keys = storage.keys()
    proxy = Proxy(storage.port, up=12 << 20)
    env = {"AWS_ENDPOINT_URL": proxy.url, "TMPDIR": str(tmp_path / "temporary")}
    done = pfgen("score", tmp_path / "in.jsonl", "-b", bench, "--per-response", "s3://bucket/x.jsonl",
                 env=env)  # fmt: skip
    proxy.close()
    assert proxy.cuts > 1  # it was tried again
    assert done.returncode == 2, done
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "error: s3://bucket/x.jsonl: cannot be written: cannot be reached: http://127"
    )
    assert storage.keys() == keys
    if before is not None:
        assert storage.get("x.jsonl") == before
    assert storage.unfinished() == []
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_upload_that_is_interrupted_leaves_nothing(
    number: int, code: int, storage: Storage, bench: Path, tmp_path: Path
) -> None:
    # More parts than are uploaded at once: those can only be waited for.
    (tmp_path / "in.jsonl").write_bytes(lines(MANY * 3))
    (tmp_path / "temporary").mkdir()
    proxy = Proxy(storage.port, up=4 << 20, slow=0.01)
    env = {"AWS_ENDPOINT_URL": proxy.url, "TMPDIR": str(tmp_path / "temporary")}
    command = ["score", "in.jsonl", "-b", str(bench), "--per-response", "s3://bucket/x.jsonl"]
    with subprocess.Popen([SCRIPT, *command], cwd=tmp_path, env=environment(**env)) as process:
        while not proxy.cuts and process.poll() is None:
            time.sleep(0.01)
        assert storage.unfinished() != []
        process.send_signal(number)
    proxy.close()
    assert process.returncode == code
    assert storage.keys() == storage.unfinished() == []
    assert not list((tmp_path / "temporary").iterdir())


def test_a_download_that_is_cut_is_one_error(storage: Storage, bench: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    frame = pl.read_ndjson(lines(MANY)).with_row_index("note")
    frame = frame.with_columns(pl.col("note").cast(pl.String).str.zfill(100))
    frame.write_parquet(tmp_path / "x.parquet", compression="uncompressed")
    storage.put(**{"x.jsonl": lines(MANY), "x.parquet": (tmp_path / "x.parquet").read_bytes()})
    for name in ("x.jsonl", "x.parquet"):
        proxy = Proxy(storage.port, down=3 << 20)
        target = tmp_path / "scores.parquet"
        done = pfgen("score", f"s3://bucket/{name}", "-b", bench, "--per-response", target,
                     env={"AWS_ENDPOINT_URL": proxy.url, "TMPDIR": str(temporary)})  # fmt: skip
        proxy.close()
        assert not list(temporary.iterdir())
        assert proxy.cuts > 1, (name, done)
        assert done.returncode == 2, done
        assert done.stderr.startswith(f"error: s3://bucket/{name}: cannot be reached: ")
        assert len(done.stderr.splitlines()) <= 2  # with what is said of kept scores
        assert not target.exists()


def test_wrong_credentials_are_one_line(storage: Storage, bench: Path, tmp_path: Path) -> None:
    storage.put(**{"x.jsonl": lines()})
    (tmp_path / "x.jsonl").write_bytes(lines())
    storage.check_users(after="0")
    try:
        commands: list[tuple[str | Path, str, list[str]]] = [
            ("s3://bucket/x.jsonl", "s3://bucket/x.jsonl: ", []),
            ("s3://bucket/*.jsonl", "s3://bucket/*.jsonl: ", []),
            (
                tmp_path / "x.jsonl",
                "s3://bucket/o/result.json: cannot be written: ",
                ["--out", "s3://bucket/o"],
            ),
        ]
        for source, begin, more in commands:
            done = pfgen("score", source, "-b", bench, *more)
            reason = "access was denied (403 Forbidden, InvalidAccessKeyId): check the credentials"
            assert (done.returncode, done.stderr) == (2, f"error: {begin}{reason}\n")
    finally:
        storage.check_users(after="1000000")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["s3://none/x.jsonl"], "s3://none/x.jsonl: there is no such bucket"),
        (["s3://bucket/none.jsonl"], "s3://bucket/none.jsonl: there is no such object"),
        (["s3://bucket/*.none"], "s3://bucket/*.none: no file matches this pattern"),
        (
            ["s3://bucket/bad.jsonl", "--out", "s3://none/x"],  # before the input is read
            "s3://none/x/result.json: cannot be written: there is no such bucket",
        ),
    ],
)
def test_what_is_not_there_is_one_line(
    arguments: list[str], line: str, storage: Storage, bench: Path
) -> None:
    storage.put(**{"bad.jsonl": b"{}\n"})
    done = pfgen("score", *arguments, "-b", bench)
    assert (done.returncode, done.stderr.splitlines()) == (2, [f"error: {line}"])


def test_a_server_that_accepts_and_says_nothing(bench: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    options = {"endpoint": f"http://127.0.0.1:{listener.getsockname()[1]}", "timeout": "200ms"}
    options |= {"access_key_id": "key", "secret_access_key": "secret"}
    given = [
        word for key, value in options.items() for word in ("--storage-option", f"{key}={value}")
    ]
    begun = time.monotonic()
    done = pfgen("score", "s3://bucket/x.jsonl", "-b", bench, *given)
    listener.close()
    assert done.returncode == 2
    assert "cannot be reached: http://127.0.0.1" in done.stderr
    assert time.monotonic() - begun < 30
