"""A task of one's own, made up: an exam of three questions with letters for answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TASK = """
category = "EXAM"
metrics = ["exact_match"]
answer_pattern = '答え[:：](.*)'
reading = ["nfkc"]
labels = ["A", "B", "C"]

[data]
test = "my_exam.json"
"""
SAMPLES = [
    {"input": "空の色は？ A 赤 B 青 C 緑", "output": "B"},
    {"input": "1+1は？ A 2 B 3 C 4", "output": "A"},
    {"input": "雪の色は？ A 黒 B 青 C 白", "output": "C"},
]
EXAM: dict[str, Any] = {
    "instruction": "A、B、Cから選び、最後に「答え：」に続けて書いてください。",
    "output_length": 50,
    "metrics": ["exact_match"],
    "samples": SAMPLES,
}
OUTPUTS = ("青だと思います。\n\n答え：Ｂ", "答え: A ", "わかりません")
RIGHT = (1.0, 1.0, 0.0)


def write_exam(folder: Path, file: Mapping[str, Any] = EXAM, task: str = TASK) -> Path:
    """Write the task's two files; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "my_exam.toml").write_text(task, encoding="utf-8")
    (folder / "my_exam.json").write_text(json.dumps(file, ensure_ascii=False), encoding="utf-8")
    return folder
