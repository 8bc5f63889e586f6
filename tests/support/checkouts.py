"""Small checkouts of the shape of pfgen-bench, for tests of reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import CATS, GOOD, SEAS, write_benchmark

MARKS = "<!-- leaderboard -->\n<!-- /leaderboard -->\n"
FIRST, SECOND = "result/some/model/1234567", "result/other/model/89abcde"
BETTER = [(CATS, GOOD[0][1]), (SEAS, "海の水は赤い光を吸い取るので青く見えます。")]
CONFIG = {"engine": "vllm", "mode": "completion", "model": "some/model"}


def line(question: str, answer: str, **more: Any) -> bytes:
    """One response as it stands in a file."""
    return json.dumps({"question": question, "answer": answer, **more}, ensure_ascii=False).encode()


def text(answers: Sequence[tuple[str, str]]) -> bytes:
    """Responses as JSON lines."""
    return b"".join(line(*answer) + b"\n" for answer in answers)


def add_run(
    checkout: Path,
    name: str,
    answers: Sequence[tuple[str, str]] = GOOD,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """A run of a checkout, as plain `trials.jsonl`."""
    folder = checkout / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trials.jsonl").write_bytes(text(answers))
    content = json.dumps({**CONFIG, **(config or {})}, ensure_ascii=False)
    (folder / "config.json").write_text(content, encoding="utf-8")
    return folder


def make_checkout(folder: Path, readme: str = f"# Title\n{MARKS}# End\n") -> Path:
    """A checkout with the tiny benchmark and two runs; nothing is scored yet."""
    write_benchmark(folder / "data")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    add_run(folder, FIRST)
    add_run(folder, SECOND, BETTER, {"model": "other/model", "mode": "chat"})
    return folder


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the object of a JSON file."""
    found = json.loads(path.read_bytes())
    change(found)
    path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder by their paths."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def times(folder: Path) -> dict[str, int]:
    """When each file below a folder was written."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in paths}
