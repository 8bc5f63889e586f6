"""Checkpoints that are converted and served: real programs, and every way in which they fail."""

import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from engine_tasks import until
from pfgen_rs import SettingsError
from pfgen_rs.io import processes
from pfgen_rs.training import serving
from pfgen_rs.training.serving import EngineMaker
from pfgen_rs.training.watch import Evaluated, Watcher
from served_checkpoints import (
    ANSWER,
    PYTHON,
    SERVER,
    check_none_is_left,
    checkpoint,
    log_of,
    noted,
    serve,
)

# Copies a checkpoint, or does as its file `convert` says.
CONVERTER = """
import os, shutil, signal, sys, time
checkpoint, out, log = sys.argv[1:]
with open(log, "a") as file:
    file.write(os.path.basename(checkpoint) + "\\n")
path = os.path.join(checkpoint, "convert")
how = open(path).read() if os.path.exists(path) else ""
if how == "nothing":
    sys.exit()
if how == "hang":
    time.sleep(1000)
os.mkdir(out)
if how == "half":
    open(os.path.join(out, "half"), "w").close()
    sys.exit("shard 2 of 3 is missing")
if how == "killed":
    open(os.path.join(out, "half"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)
shutil.copy(os.path.join(checkpoint, "weights"), out)
"""


def convert(place: Path) -> list[str]:
    (place / "convert.py").write_text(CONVERTER)
    return [*PYTHON, str(place / "convert.py"), "{checkpoint}", "{out}", str(place / "converted")]


def watched(place: Path, more: dict[str, Any] | None = None, **maker: Any) -> list[Evaluated]:
    """What becomes of all checkpoints; answers are asked for once."""
    settings = {"benchmark": "mini", "questions": 3, "settle_seconds": 0, **(more or {})}
    if "serve" in maker:
        maker.setdefault("retries", 0)
    with Watcher(place / "checkpoints", EngineMaker(**maker), **settings) as watcher:
        return list(watcher.once())


def test_converted_and_served(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, "3")
    checkpoint(tmp_path, 2, "4")
    both = {"convert": convert(tmp_path), "serve": serve(tmp_path)}
    found = watched(tmp_path, {"workers": 2}, **both)
    assert [(e.checkpoint.step, e.error) for e in found] == [(1, None), (2, None)]
    assert [e.row["length"] for e in found if e.row] == [3, 4]
    check_none_is_left(tmp_path, 2)
    kept = sorted((tmp_path / "checkpoints" / "pfgen" / "converted").iterdir())
    assert [path.name[:14] for path in kept] == ["step_00000001-", "step_00000002-"]
    assert [path.name for path in kept[0].iterdir()] == ["weights"]
    assert log_of(tmp_path, 1).read_text().startswith("starting\n")
    # Another curve uses what is there, and another program does not.
    again = {"out": tmp_path / "again"}
    watched(tmp_path, again, converted=kept[0].parent, **both)
    assert sorted((tmp_path / "converted").read_text().split()) == ["step_1", "step_2"]


def test_what_is_converted_is_removed_on_request(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1)
    program = "import sys, os; assert os.listdir(sys.argv[1]) == ['weights']"
    command = [*PYTHON, "-c", f"{program}; sys.exit('no')", "{checkpoint}"]
    (found,) = watched(tmp_path, convert=convert(tmp_path), keep="remove", command=command)
    assert "before sending all results" in str(found.error)
    assert list((tmp_path / "checkpoints" / "pfgen" / "converted").iterdir()) == []


FAILING = {
    "nothing": r"the converter succeeded, but wrote nothing to {out}; its log is .*\.log$",
    "hang": "the converter did not end within 3 seconds; its log is ",
    "half": "the converter exited with code 1; its log is .*: shard 2 of 3 is missing$",
    "killed": "the converter was killed by signal 9",
}


def test_converters_that_fail(tmp_path: Path) -> None:
    for step, how in enumerate(FAILING):
        checkpoint(tmp_path, step, convert=how)
    checkpoint(tmp_path, 9)
    *failed, last = watched(
        tmp_path,
        {"workers": 5},
        convert=convert(tmp_path),
        convert_timeout=3,
        command=[*PYTHON, "-c", ANSWER, "{checkpoint}"],
    )
    for one, match in zip(failed, FAILING.values(), strict=True):
        with pytest.raises(Exception, match=match.replace("{", r"\{")):
            raise one.error or AssertionError
    assert (last.checkpoint.step, last.error) == (9, None)
    left = list((tmp_path / "checkpoints" / "pfgen" / "converted").iterdir())
    assert [path.name[:13] for path in left] == ["step_00000009"]


SERVING = {
    "exit": r"the server exited with code 1; its log is .*step_00000000\.log: starting \| no GPU$",
    "silent": "the server did not answer within 6 seconds; its log is ",
    "error": "500",
    "die": r"the server exited with code 3; its log is .*CUDA error: out of memory$",
    "hang": "3 of 3 answers were not given in time",
    "trickle": "the server did not answer within 6 seconds; its log is ",
    "key other": r"the server refuses the engine's API key \(status 401\)",
}


def test_servers_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.5)
    monkeypatch.setattr(serving, "_ATTEMPT", 1.0)
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for step, how in enumerate([*SERVING, "key mine", "stubborn 2", "7"]):
        checkpoint(tmp_path, step, how)
    *failed, keyed, stubborn, last = watched(
        tmp_path,
        {"workers": 10, "budget": 10, "questions": 3},
        serve=serve(tmp_path),
        serve_timeout=6,
        concurrency=1,
    )
    for one, match in zip(failed, SERVING.values(), strict=True):
        with pytest.raises(Exception, match=match):
            raise one.error or AssertionError
    assert [one.row["length"] for one in (keyed, stubborn, last) if one.row] == [1, 2, 7]
    check_none_is_left(tmp_path, 11)
    ports = {port for _, port in noted(tmp_path)}
    assert len(ports) == 10


def test_nobody_else_answers_at_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that another server took in between: its answers are not those of the checkpoint."""
    checkpoint(tmp_path, 1)
    with EngineMaker(serve="{checkpoint} {port}")._free_port() as port:
        foreign = [*PYTHON, SERVER, str(checkpoint(tmp_path / "other", 1)), str(port)]
        with subprocess.Popen([*foreign, str(tmp_path / "foreign")]) as process:
            until(lambda: serving._is_taken(port))
            monkeypatch.setattr(EngineMaker, "_free_port", lambda _: nullcontext(port))
            idle = [*PYTHON, "-c", "import time; time.sleep(99)", "{checkpoint}", "{port}"]
            (found,) = watched(tmp_path, serve=idle)
            process.kill()
    assert str(found.error) == f"another program answers at the server's port {port}"


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"serve": "vllm serve {checkpoint}"}, "--serve does not contain {port}"),
        ({"convert": "convert {checkpoint}", "command": "a {checkpoint}"}, "not contain {out}"),
        ({"engine": "transformers", "serve": "a {checkpoint} {port}"}, "requires the engine"),
        ({"serve": "a {checkpoint} {port}", "base_url": "http://x"}, "without its own address"),
        ({"serve": "a {checkpoint} {port}", "serve_timeout": 0}, "`serve_timeout` must be"),
        ({"engine": "nothing"}, "unknown engine 'nothing'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match.replace("{", r"\{")):
        EngineMaker(**settings)
