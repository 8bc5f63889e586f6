"""What `make test-llm` relies on: a server that dies is noticed at once, and its last words are shown."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from llm_server import Recorder, Server, served

SERVER = """
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        print("loading", *range(40), sep="\\n", flush=True)
        print("illegal instruction", file=sys.stderr, flush=True)
        os.{end}

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
ASKING = """
import sys, time, urllib.request
try:
    urllib.request.urlopen(sys.argv[1], b'{"prompt": "p"}')
except OSError:
    time.sleep(60)
"""


@contextmanager
def dying(folder: Path, end: str) -> Iterator[Server]:
    """A server that dies at the first request."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", SERVER.replace("{end}", end), str(port)]
    with served(command, port, folder / "log") as server:
        yield server


@pytest.mark.parametrize(
    ("end", "how"), [("abort()", "signal SIGABRT"), ("_exit(3)", "exit code 3")]
)
def test_a_dead_server_is_noticed_while_a_client_waits(tmp_path: Path, end: str, how: str) -> None:
    with dying(tmp_path, end) as server, Recorder(server.port) as recorder:
        client = [sys.executable, "-c", ASKING, f"{recorder.url}/completions"]
        begun = time.monotonic()
        with pytest.raises(SystemExit) as told:
            server.run(client, 50.0, {})
    assert time.monotonic() - begun < 20  # the client would wait for a minute
    first, *lines = str(told.value).split("\n")
    assert first == f"failed: the server ended ({how}); the end of its log:"
    assert lines[-1] == "illegal instruction"
    assert len(lines) == 20
    assert (len(recorder.asked), recorder.said) == (1, [])


def test_waiting_ends_with_the_server(tmp_path: Path) -> None:
    with dying(tmp_path, "_exit(3)") as server, Recorder(server.port) as recorder:
        with pytest.raises(SystemExit, match="exit code 3"):
            server.run([sys.executable, "-c", ASKING, f"{recorder.url}/x"], 50.0, {})
        with pytest.raises(SystemExit, match="exit code 3"):
            server.wait(lambda: False, 50.0, "nothing was done")


def test_waiting_has_an_end(tmp_path: Path) -> None:
    with dying(tmp_path, "_exit(3)") as server:
        with pytest.raises(SystemExit, match=r"failed: nothing was done within 0\.1 seconds"):
            server.wait(lambda: False, 0.1, "nothing was done")
        with pytest.raises(SystemExit, match=r"took 0\.3 seconds"):
            server.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.3, {})
        assert server.run([sys.executable, "-c", "print(5)"], 20.0, {}) == (0, "5\n")


def test_a_server_that_does_not_start_is_told_with_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such model')"]
    with (
        pytest.raises(SystemExit, match=r"exit code 1.*\nno such model"),
        served(command, 1, tmp_path / "log"),
    ):
        pytest.fail("it did not start")
