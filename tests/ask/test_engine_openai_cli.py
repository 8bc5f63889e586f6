"""`pfgen-rs generate --engine openai`, as a process: what it leaves behind and what it never shows."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

import fault_server as faults
from fault_server import FaultServer
from helpers import pfgen

pytest.importorskip("aiohttp", reason="the package aiohttp is not installed")

KEY = "sk-0123456789-very-secret"
LOGGING = {"PYTHONASYNCIODEBUG": "1"}


def generate(server: FaultServer, results: Path, *more: str, key: str = KEY) -> tuple[int, str]:
    """Exit code and all output of one trial of the bundled benchmark."""
    args = (
        "generate",
        "org/m",
        "--engine",
        "openai",
        "-b",
        "mini",
        "--trials",
        "1",
        "--retries",
        "0",
    )
    env = {**LOGGING, "OPENAI_API_KEY": key, "OPENAI_BASE_URL": server.url}
    done = pfgen(*args, "--out", results, *more, env=env)
    return done.returncode, done.stdout + done.stderr


def _written(folder: Path) -> bytes:
    """Every file's name and contents, packed ones unpacked as well."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    packed = [lzma.decompress(path.read_bytes()) for path in files if path.suffix == ".xz"]
    return b"\n".join([*contents, *packed, *(str(path).encode() for path in files)])


def _answers(folder: Path) -> list[str]:
    [path] = folder.rglob("trials.jsonl.xz")
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return [json.loads(line)["answer"] for line in lines]


def test_answers_with_the_key_fail_and_the_key_is_left_nowhere(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(200)) as server:
        code, shown = generate(server, tmp_path, "--mode", "chat", "--keep-going")
    assert code == 1, shown
    assert len(server.asked) == 14
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
    assert b"the answer contains the API key (OPENAI_API_KEY) and was discarded" in _written(
        tmp_path
    )
    assert "very-secret" not in shown
    assert b"very-secret" not in _written(tmp_path)


def test_placeholders_for_keys_change_no_answer(tmp_path: Path) -> None:
    said = "1月1日に1時間当たり1回、none と EMPTY は x です。"
    for key in ("1", "x", "none", "EMPTY"):
        with FaultServer(default=faults.answer(said)) as server:
            code, shown = generate(server, tmp_path / key, key=key)
        assert code == 0, shown
        assert set(_answers(tmp_path / key)) == {said}


def test_failures_are_told_without_the_key_and_asked_again_when_wanted(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(400)) as server:
        code, shown = generate(server, tmp_path)
        assert code == 1, shown
        assert len(server.asked) == 14
        assert "very-secret" not in shown
        assert b"very-secret" not in _written(tmp_path)
        assert b"your key is Bearer ***" in _written(tmp_path)
    with FaultServer() as server:
        assert generate(server, tmp_path)[0] == 1
        assert server.asked == []
        assert generate(server, tmp_path, "--retry-failed")[0] == 0
        assert len(server.asked) == 14
    assert len(_answers(tmp_path)) == 14


def test_a_refused_key_ends_the_run_with_a_message(tmp_path: Path) -> None:
    with FaultServer(default=faults.echo_key(401)) as server:
        code, shown = generate(server, tmp_path)
    assert code == 2
    assert "Check the API key (OPENAI_API_KEY)" in shown
    assert "very-secret" not in shown
    assert b"very-secret" not in _written(tmp_path)
