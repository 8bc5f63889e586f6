"""What several test files need: a tiny benchmark, runs for it, and the command line as a process."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

zstd = importlib.import_module(
    "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
)
SCRIPT = Path(sys.executable).parent / ("pfgen-rs.exe" if os.name == "nt" else "pfgen-rs")
TIMEOUT = 60

CATS, SEAS = "猫はなぜ眠るのですか？", "海はなぜ青いのですか？"
QUESTIONS: dict[str, dict[str, Any]] = {
    "Q01": {
        "question_id": "Q01",
        "question": CATS,
        "category": "biology",
        "note": "短い例",
        "keywords": [{"t": "狩り"}, {"or": [{"t": "体力"}, {"t": "力"}], "importance": 0.5}],
        "answers": {
            "A": ["猫は狩りのために体力を残して眠ります。", "猫は狩りに備えてよく眠ります。"],
            "B": ["狩りをする猫は力をためるために眠ります。"],
        },
    },
    "Q02": {
        "question_id": "Q02",
        "question": SEAS,
        "category": "physics",
        "note": "",
        "keywords": [{"t": "赤"}, {"t": "吸"}],
        "answers": {
            "A": [
                "海の水は赤い光を吸い取るので青く見えます。",
                "赤い光が水に吸われて青く見えます。",
            ],
            "B": ["水が赤い光を吸収し、青い光が残ります。"],
        },
    },
}
GOOD = [
    (CATS, "猫は狩りのために体力を残して眠ります。"),
    (SEAS, "海の水は赤い光を吸うので青いのです。"),
    (CATS, "猫は夜に遊ぶので昼に眠ります。"),
    (SEAS, "空の色が映るからです。"),
]


def write_benchmark(folder: Path, changes: Mapping[str, Mapping[str, Any]] | None = None) -> Path:
    """The tiny benchmark in `folder`; `changes` replaces keys of questions by id."""
    folder.mkdir(parents=True, exist_ok=True)
    for question_id, question in QUESTIONS.items():
        changed = {**question, **(changes or {}).get(question_id, {})}
        text = json.dumps(changed, ensure_ascii=False)
        (folder / f"{question_id}.json").write_text(text, encoding="utf-8")
    return folder


def lines(answers: Sequence[tuple[str, str]] = GOOD) -> bytes:
    """Responses as JSON lines."""
    records = ({"question": question, "answer": answer} for question, answer in answers)
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()


def write_run(
    folder: Path, answers: Sequence[tuple[str, str]] = GOOD, model: str | None = None
) -> Path:
    """A run's folder with `trials.jsonl` and, where there is a model, `config.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trials.jsonl").write_bytes(lines(answers))
    if model is not None:
        (folder / "config.json").write_text(json.dumps({"model": model}), encoding="utf-8")
    return folder


def environment(**changes: str) -> dict[str, str]:
    """The environment for a command: nothing of the user's that could change its output."""
    dropped = {"PFGEN_RS_BENCHMARK", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"}
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**kept, "PYTHONUTF8": "1", **changes}


def pfgen(
    *args: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the installed `pfgen-rs` to its end; output as text (UTF-8)."""
    done = subprocess.run(
        [SCRIPT, *map(str, args)],
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT,
        env=environment(**(env or {})),
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def python(
    script: str, *args: object, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(**(env or {})),
        check=False,
    )


def events(folder: Path) -> list[tuple[str, int, float]]:
    """Every scalar in the TensorBoard files of a folder, by the format: length, checksum, event, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in folder.iterdir():
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            event = Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
    return found


def on_terminal(
    arguments: list[str],
    columns: int,
    env: Mapping[str, str] | None = None,
    *,
    stdout: int | None = None,
) -> str:
    """What a command shows on a terminal of this width: standard output, or errors if `stdout` is given."""
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(
        [SCRIPT, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=follower if stdout is None else stdout,
        stderr=subprocess.PIPE if stdout is None else follower,
        env=environment(TERM="xterm-256color", **(env or {})),
    ) as process:
        os.close(follower)
        content = b""
        try:
            while chunk := os.read(leader, 1 << 16):
                content += chunk
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(leader)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err or b"") == (0, b"")
    return content.decode()


# The command line in a process whose files cannot grow beyond 100 bytes: a disk that is full.
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from pfgen_rs.cli import main
main()
"""
# The command line that says so and waits when its n-th file is complete but not yet in place.
SLOW_DISK = """
import os, sys, time
left = int(sys.argv.pop(1))
def fsync(_):
    global left
    left -= 1
    if left == 0:
        os.write(1, b"writing")
        time.sleep(60)
os.fsync = fsync
from pfgen_rs.cli import main
from pfgen_rs.io import known_files
known_files._TICK = 10**18  # no file counts as settled, so nothing is written into the cache
main()
"""
