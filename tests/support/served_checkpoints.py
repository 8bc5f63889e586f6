"""Made-up checkpoints, servers and programs for tests of `watch`, and what they have left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine_tasks import until
from places import ROOT

SERVER = str(ROOT / "tests" / "support" / "model_server.py")
PYTHON = [sys.executable, "-S"]

ANSWER = """
import sys, json
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "answer": "a"}), flush=True)
"""


def checkpoint(place: Path, step: int, weights: str = "5", convert: str = "") -> Path:
    folder = place / "checkpoints" / f"step_{step}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text(weights)
    if convert:
        (folder / "convert").write_text(convert)
    return folder


def serve(place: Path) -> list[str]:
    return [*PYTHON, SERVER, "{checkpoint}", "{port}", str(place / "pids")]


def log_of(place: Path, step: int) -> Path:
    return place / "checkpoints" / "pfgen" / "logs" / f"step_{step:08d}.log"


def noted(place: Path) -> list[tuple[int, int]]:
    """The processes and ports of servers."""
    path = place / "pids"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(process), int(port)) for process, port in map(str.split, lines)]


def is_running(process: int) -> bool:
    """Whether a process runs; those that have ended may wait for somebody to notice."""
    try:
        status = Path(f"/proc/{process}/stat").read_text() if Path("/proc").is_dir() else ""
        os.kill(process, 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(") ")[2][:1] != "Z"


def check_none_is_left(place: Path, servers: int) -> None:
    assert len(noted(place)) == servers
    until(lambda: not any(is_running(process) for process, _ in noted(place)))
