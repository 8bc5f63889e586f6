"""A program as `CommandEngine` starts it, with the faults that tests ask for by name.

    answering_program.py LOG [FAULT [AFTER]]

LOG gets a line a task: trial, tab, question. After AFTER answers, FAULT happens.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT = 30.0


def main(log: str, fault: str = "", after: str = "0") -> None:
    lift_limits()
    tasks = []
    for done, line in enumerate(sys.stdin.buffer):
        task = json.loads(line)
        if fault and done >= int(after):
            FAULTS[fault](task, log)
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{task['trial']}\t{task['question']}\n")
        tasks.append(task)
        if fault == "error" and done >= int(after):
            put({"id": task["id"], "error": "too\u202elong" * 100})
        elif fault != "backwards":
            give(task)
        elif len(tasks) == int(after):
            for held in reversed(tasks):
                give(held)


def lift_limits() -> None:
    """A disk that is full for whoever started this is not full for the log."""
    if os.name == "posix":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def give(task: dict[str, Any]) -> None:
    answer = f"試行{task['trial']}の答え：{task['question'][:3]}"
    put({"id": task["id"], "answer": answer})


def put(record: dict[str, Any]) -> None:
    write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def write(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def hold(_: dict[str, Any], log: str) -> None:
    """Wait until whoever started this is gone."""
    Path(f"{log}.holding").touch()
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.02)
    os._exit(0)


def meet(_: dict[str, Any], log: str) -> None:
    """Wait until another such program has a task, too."""
    Path(f"{log}.{os.getpid()}.met").touch()
    deadline = time.monotonic() + WAIT
    while len(list(Path(log).parent.glob("*.met"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)


def die(_: dict[str, Any], log: str) -> None:
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(3)


FAULTS: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "hold": hold,
    "meet": meet,
    "die": die,
    "kill": lambda *_: os.kill(os.getpid(), 9),
    "silence": lambda *_: time.sleep(60),
    "garbage": lambda *_: write(b"loading \x1b[31m model\n"),
    "blank": lambda *_: write(b"\n"),
    "list": lambda *_: write(b"[1]\n"),
    "bytes": lambda *_: write(b'{"id": 1, "answer": "\xff"}\n'),
    "unknown": lambda *_: put({"id": 99, "answer": "x"}),
    "twice": lambda *_: put({"id": 1, "answer": "x"}),
    "true": lambda *_: put({"id": True, "answer": "x"}),
    "no answer": lambda task, _: put({"id": task["id"]}),
    "wrong type": lambda task, _: put({"id": task["id"], "answer": ["x"]}),
    "endless": lambda *_: write(b"x" * (6 << 20)),
    "deep": lambda *_: write(b"[" * 200_000 + b"\n"),
    "backwards": lambda *_: None,  # these two are seen to where answers are given
    "error": lambda *_: None,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
