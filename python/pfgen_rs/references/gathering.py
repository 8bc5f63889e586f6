"""The candidates of a build in one pool per question: sorted now, or as an earlier build left them.

`gathered-KEY.json` has the inputs, questions and counts; it is written last. `questions/ID/candidates-KEY` is
the pool of a question.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io import Source, write_atomic, writing_failed
from pfgen_rs.io.system import put_in_place
from pfgen_rs.references import candidates
from pfgen_rs.references.candidates import Gathered, GatherProgress, Input
from pfgen_rs.references.checkpoints import CANDIDATES, Checkpoints
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.pool import damaged
from pfgen_rs.references.step_keys import gathering_key, pool_key

__all__ = ["gathered_anew", "gathered_before", "has_gathered", "question_folder", "save_gathered"]

_RECORD = "gathered-{}.json"


def has_gathered(work: Path) -> bool:
    """Whether the candidates of a build have been sorted into pools."""
    return any(work.glob(_RECORD.format("*")))


def question_folder(work: Path, outline: Outline) -> Path:
    """Returns the folder of a question's pools and steps."""
    return work / "questions" / outline.question_id


def gathered_before(
    config: BuildConfig, work: Path, sources: Sequence[Source], outlines: Sequence[Outline] | None
) -> Gathered | None:
    """Returns what an earlier build gathered from the same files, for these questions or all, if it is left.

    Raises `InputError` for unreadable files and `BuildError` for a damaged record.
    """
    for only in dict.fromkeys((config.only, ())):
        found = _load_gathered(work / _record_name(config, sources, outlines, only))
        if found is not None and _has_pools(config, work, found):
            return found.narrowed(config.only, outlines)
    return None


def gathered_anew(
    config: BuildConfig,
    work: Path,
    sources: Sequence[Source],
    outlines: Sequence[Outline] | None,
    *,
    memory: int,
    progress: GatherProgress,
) -> Gathered:
    """Sort all candidates into pools, replacing equal ones; raises the same errors as `candidates.gather`."""
    record = work / _record_name(config, sources, outlines, config.only)
    record.unlink(missing_ok=True)  # first: it stands for the pools
    pools = work / "gathering"
    shutil.rmtree(pools, ignore_errors=True)
    try:
        found = candidates.gather(
            config, sources, outlines, pools, memory=memory, progress=progress
        )
        for outline, count in found.questions:
            if count:
                target = _pool_place(config, work, found.inputs, outline)
                _place_pool(pools / outline.question_id, target)
    finally:
        shutil.rmtree(pools, ignore_errors=True)
    save_gathered(record, found)
    return found


def save_gathered(record: Path, gathered: Gathered) -> None:
    """Record that all candidates have been sorted into pools."""
    questions = [[asdict(outline), count] for outline, count in gathered.questions]
    data = {"inputs": [asdict(each) for each in gathered.inputs], "questions": questions}
    write_atomic(record, json.dumps(data, ensure_ascii=False).encode())


def _load_gathered(record: Path) -> Gathered | None:
    if not record.is_file():
        return None
    try:
        data = json.loads(record.read_bytes())
        questions = [(Outline(**outline), count) for outline, count in data["questions"]]
        return Gathered([Input(**each) for each in data["inputs"]], questions)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise damaged(record) from error


def _record_name(
    config: BuildConfig,
    sources: Sequence[Source],
    outlines: Sequence[Outline] | None,
    only: Sequence[str],
) -> str:
    files = [(source.path, *_gathered_file_state(source.path)) for source in sources]
    return _RECORD.format(gathering_key(config, files, outlines, only))


def _gathered_file_state(path: str) -> tuple[int, int]:
    """Returns the size of a file and the time of its last modification (ns), to detect changes."""
    if path == "-":
        return 0, 0
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    return found.st_size, found.st_mtime_ns


def _has_pools(config: BuildConfig, work: Path, gathered: Gathered) -> bool:
    return all(
        _pool_place(config, work, gathered.inputs, outline).is_dir()
        for outline, count in gathered.questions
        if count
    )


def _pool_place(config: BuildConfig, work: Path, inputs: Sequence[Input], outline: Outline) -> Path:
    checkpoints = Checkpoints(question_folder(work, outline))
    return checkpoints.pool(CANDIDATES, pool_key(config, inputs, outline))


def _place_pool(pool: Path, target: Path) -> None:
    """Move a pool to its question, in place of an equal one of an earlier build."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        put_in_place(pool, target)
    except OSError as error:
        raise writing_failed(target, error) from error
