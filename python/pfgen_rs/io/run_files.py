"""The files of a run's folder: their names, and finished trials packed into `trials.jsonl.xz`.

A packed file has all lines of all finished trials, sorted bytewise. Trial files stay: they alone tell which
trials need not be generated again.
"""

from __future__ import annotations

import lzma
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io import compression

__all__ = [
    "CONFIG",
    "EXAMPLES",
    "PACKED",
    "README",
    "RESPONSES",
    "RESULT",
    "STEM",
    "Trials",
    "is_system",
    "is_trial",
    "packed",
    "partial_name",
    "run_file",
    "runs_below",
    "trial_name",
    "unpacked",
]

STEM = "trials"
PACKED, PLAIN = f"{STEM}.jsonl.xz", f"{STEM}.jsonl"
RESPONSES = (PACKED, PLAIN, f"{STEM}.jsonl.zst", f"{STEM}.jsonl.gz")
"""Names of the file with a run's responses; of several the first counts."""
CONFIG, RESULT, README = "config.json", "result.json", "README.md"
EXAMPLES = "questions.jsonl"
"""Questions with example answers, in the folder of a benchmark."""
_TRIAL = re.compile(r"trial_[0-9]+\.jsonl")


@dataclass(frozen=True)
class Trials:
    """The lines of a run's finished trials (or of its plain `trials.jsonl`), and the unfinished files."""

    lines: list[bytes]
    unfinished: list[Path] = field(default_factory=list)


def is_trial(name: str) -> bool:
    """Whether a file of this name holds one trial; what is being written has another name."""
    return _TRIAL.fullmatch(name) is not None


def trial_name(trial: int) -> str:
    """The name of the file with a finished trial."""
    return f"trial_{trial:03d}.jsonl"


def partial_name(trial: str) -> str:
    """The name of an unfinished trial's file, by that of the finished one."""
    return f".{trial.removesuffix('.jsonl')}.partial.jsonl"


def run_file(folder: Path) -> Path | None:
    """Returns the file with the responses of a run's folder, if there is one."""
    return next((folder / name for name in RESPONSES if (folder / name).is_file()), None)


def runs_below(place: str) -> list[str]:
    """Returns the folders of runs below a folder, sorted; none where it is a run itself.

    Runs within runs and hidden folders are left out. Raises `InputError` where a run is not packed yet.
    """
    found = []
    if place == "-" or not os.path.isdir(place) or run_file(Path(place)):  # noqa: PTH112 - "a\0b"
        return []
    for path, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if run_file(Path(path)):
            found.append(path)
            folders.clear()
        elif path != place and any(map(is_trial, files)):
            raise InputError(unpacked(Path(path)), path=path)
    return sorted(found)


def unpacked(folder: Path) -> str:
    """What to do about a run that has finished trials (`trial_001.jsonl` …) and no `trials.jsonl`."""
    trials = sum(is_trial(path.name) for path in folder.iterdir())
    if not trials:
        return ""
    return (
        f"the run has {trials} finished trials ({trial_name(1)} …) but no {PACKED}: continue generating, "
        f"which packs them at the end, or score their lines: cat trial_*.jsonl | pfgen-rs score -"
    )


def is_system(config: Mapping[str, Any]) -> bool:
    """Whether the run of this `config.json` is no model's but one to compare with, which takes no rank."""
    return "system" in (config.get("engine"), config.get("mode"))


def packed(folder: Path, questions: int) -> tuple[bytes | None, list[Path]]:
    """What `trials.jsonl.xz` must become, or nothing where it is right; and trials that are not finished.

    `questions`: how many lines a finished trial has. Raises `InputError` where the packed file holds lines
    that are nowhere else: which ones are meant cannot be known.
    """
    trials = _trials(folder, questions)
    target = folder / PACKED
    if not trials.lines:
        return None, trials.unfinished
    if target.exists():
        old = _lines(_unpacked(target))
        if Counter(old) == Counter(trials.lines):
            return None, trials.unfinished
        _refuse_loss(old, trials.lines, target)
    return lzma.compress(b"".join(line + b"\n" for line in trials.lines)), trials.unfinished


def _trials(folder: Path, questions: int) -> Trials:
    paths = sorted(path for path in folder.iterdir() if is_trial(path.name))
    if not paths:
        plain = folder / PLAIN
        return Trials(_lines(_read(plain)) if plain.is_file() else [])
    lines: list[bytes] = []
    unfinished = []
    for path in paths:
        content = _read(path)
        found = _lines(content)
        if content.endswith(b"\n") and len(found) == questions:
            lines += found
        else:
            unfinished.append(path)
    return Trials(sorted(lines), unfinished)


def _lines(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if line.strip()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _unpacked(path: Path) -> bytes:
    try:
        return compression.decompress(_read(path))
    except compression.TruncatedError as error:
        raise InputError(
            f"is damaged or cut short ({error}): remove it to have the trials beside it packed anew",
            path=path,
        ) from None


def _refuse_loss(old: list[bytes], new: list[bytes], path: Path) -> None:
    lost = (Counter(old) - Counter(new)).total()
    if lost:
        raise InputError(
            f"holds {lost} lines that the trial files beside it lack, so it was left as it is: remove it to "
            "have those packed alone, or remove those to keep it",
            path=path,
        )
