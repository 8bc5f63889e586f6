"""A program as the engine `command` starts it: a model that answers dialogues, or a judge that rates answers.

    dialogue_program.py LOG [STOP [SECONDS]]

LOG gets a line a task: what the program was asked. After STOP tasks (0: never) it ends
as if it had been killed. An answer takes SECONDS.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(log: str, stop: str = "0", seconds: str = "0") -> None:
    for done, line in enumerate(sys.stdin.buffer):
        task = json.loads(line)
        if stop != "0" and done == int(stop):
            os._exit(9)
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(task, ensure_ascii=False) + "\n")
        time.sleep(float(seconds))
        record = {"id": task["id"], "answer": answered(task)}
        sys.stdout.buffer.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        sys.stdout.buffer.flush()


def messages(task: dict[str, Any]) -> list[tuple[str, str]]:
    """Roles and texts."""
    if "messages" in task:
        return [(each["role"], each["content"]) for each in task["messages"]]
    return [("user", task["prompt"])]


def answered(task: dict[str, Any]) -> str:
    """A rating that depends on the length of the graded answer, or an answer that names its turn."""
    found = messages(task)
    text = found[-1][1]
    if "段階で評価し" in text:
        return f" {1 + len(text.rpartition('[アシスタント]')[2].strip()) % 10}点"
    if "[[rating]]" in text or any("[[rating]]" in each for _, each in found):
        return f"Rating: [[{1 + len(text) % 10}]]"
    turn = sum(role == "user" for role, _ in found)
    return f"<think>考え中</think>回答{turn}：{text[:4]}"


if __name__ == "__main__":
    main(*sys.argv[1:])
