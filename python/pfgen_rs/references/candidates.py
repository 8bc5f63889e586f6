"""The candidates of a build in one pool per question: sorted now, or as an earlier build left them.

In the working folder of a build, `questions/ID/candidates-KEY` is the pool of a question, and
`gathered-KEY.json` has the inputs, questions and counts; it is written last.
"""

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pfgen_rs import _native, errors
from pfgen_rs.io import atomic, run_files
from pfgen_rs.io.chunk import Chunk, Options
from pfgen_rs.io.reading import Reading, read_ahead
from pfgen_rs.io.source import Source
from pfgen_rs.lazy import np, pl
from pfgen_rs.references.checkpoints import CANDIDATES, Checkpoints, key_of
from pfgen_rs.references.config import BuildConfig, Outline
from pfgen_rs.references.sorting import SortedPool
from pfgen_rs.references.steps import damaged

_ADVICE = (
    "set fields.question in the configuration to use another one",
    "set fields.answer in the configuration to use another one",
)

LOG = logging.getLogger("pfgen_rs.references")

BuildProgress = Callable[[str, str, float, float], None]
"""Called with the question (or the file being read), the step, the amount done and the total amount."""


@dataclass(frozen=True)
class Input:
    """A file of candidates: its name, the SHA-1 of its bytes, candidates read, and lines skipped."""

    name: str
    sha1: str
    candidates: int
    left_out: int


@dataclass(frozen=True)
class Gathered:
    """All input files, and each question with its number of candidates."""

    inputs: list[Input]
    questions: list[tuple[Outline, int]]


def input_files(config: BuildConfig) -> list[Source]:
    """Returns the files that match the configuration's `candidates`."""
    patterns = [name if name == "-" else str(config.path(name)) for name in config.candidates]
    return [Source(path) for path in run_files.expand(patterns)]


def asked(outlines: Sequence[Outline], only: Sequence[str]) -> list[Outline]:
    """Returns the questions with these ids, or all of them; raises `ConfigError` for an unknown id."""
    known = {outline.question_id for outline in outlines}
    for name in only:
        if name not in known:
            shown = ", ".join(sorted(known))
            raise errors.ConfigError(f"unknown question {name!r}: expected one of {shown}")
    return [outline for outline in outlines if outline.question_id in (only or known)]


def gather(
    config: BuildConfig,
    sources: Sequence[Source],
    outlines: Sequence[Outline] | None,
    folder: Path,
    *,
    memory: int,
    progress: BuildProgress | None = None,
) -> Gathered:
    """Write a pool for each question to `folder`, named by its id, holding at most `memory` bytes.

    A pool does not depend on the order of the files and their lines. Without `outlines`, questions are
    numbered in the order of their texts. Raises `InputError` for lines that
    cannot be read and for questions without an outline; with `skip_bad_lines` these are skipped and counted.
    """
    fields = config.fields
    options = Options(
        fields.question,
        fields.answer,
        config.skip_bad_lines,
        more_fields=(fields.source, fields.model),
        tokens=config.unit == "token",
        advice=_ADVICE,
        think="keep",
    )
    sorter = _Sorter(config, outlines, folder, memory)
    with read_ahead(sources, options) as readings:
        inputs = [sorter.take(reading, progress) for reading in readings]
    return Gathered(inputs, sorter.finish())


class _Sorter:
    def __init__(
        self, config: BuildConfig, outlines: Sequence[Outline] | None, folder: Path, memory: int
    ) -> None:
        self._config, self._folder, self._memory = config, folder, memory
        self._fixed = outlines is not None
        self._outlines = list(outlines or [])
        self._ids = {each.question_id: each.question_id for each in self._outlines}
        self._ids |= {each.question: each.question_id for each in self._outlines}
        self._pools: dict[str, SortedPool] = {}

    def take(self, reading: Reading, progress: BuildProgress | None) -> Input:
        taken = left_out = 0
        source = reading.source
        for chunk in reading:
            before = len(chunk.problems)
            kept = self._known(chunk, source.path)
            self._add(kept)
            taken += len(kept)
            left_out += before + len(chunk) - len(kept)
            if chunk.cut_short is not None:
                LOG.warning("%s", chunk.cut_short)
            if progress is not None:
                progress(source.path, "reading", chunk.read, source.size or 0)
        name = os.path.relpath(source.path, self._config.folder)
        if name.startswith(os.pardir):  # do not disclose the layout of other folders
            name = Path(name).name
        return Input(Path(name).as_posix(), reading.input_hash, taken, left_out)

    def _known(self, chunk: Chunk, path: str) -> Chunk:
        texts = chunk.questions.unique(maintain_order=True).to_list()
        unknown = [text for text in texts if text not in self._ids]
        if not self._fixed:
            self._ids |= {text: f"{len(self._ids) + at}" for at, text in enumerate(unknown)}
            return chunk
        if not unknown:
            return chunk
        missing = chunk.questions.is_in(unknown).to_numpy()
        row = int(np.flatnonzero(missing)[0])
        if not self._config.skip_bad_lines:
            raise errors.UnknownQuestionError(
                "not the text or id of a configured question "
                "(set skip_bad_lines to skip such candidates)",
                path=path,
                line=int(chunk.lines[row]),
                question=chunk.questions[row],
            )
        return chunk.where(~missing)

    def _add(self, chunk: Chunk) -> None:
        own, model = chunk.more
        source = own.fill_null(self._config.source)
        if not self._config.per_source:
            source = pl.repeat(self._config.source, len(chunk), dtype=pl.String, eager=True)
        columns = {"answer": chunk.answers, "source": source, "model": model.fill_null("")}
        frame = pl.DataFrame({"question": chunk.questions, **columns})
        for (text,), rows in frame.group_by("question", maintain_order=True):
            question_id = self._ids[str(text)]
            if not self._fixed or not self._config.only or question_id in self._config.only:
                if question_id not in self._pools:
                    self._pools[question_id] = SortedPool(self._folder / question_id)
                self._pools[question_id].add(rows)
        while sum(pool.waiting for pool in self._pools.values()) > self._memory // 3:
            max(self._pools.values(), key=lambda pool: pool.waiting).spill()

    def finish(self) -> list[tuple[Outline, int]]:
        if self._fixed:
            asked(self._outlines, self._config.only)
        if not self._pools:
            raise errors.InputError("no candidates")
        for pool in self._pools.values():
            pool.finish(self._memory // 3)
        rows = {question_id: pool.rows for question_id, pool in self._pools.items()}
        if not self._fixed:
            for number, text in enumerate(sorted(self._ids), 1):
                before, question_id = self._ids[text], f"Q{number:02}"
                self._outlines.append(Outline(question_id, text))
                rows[question_id] = rows.pop(before)
                (self._folder / before).rename(self._folder / question_id)
        questions = asked(self._outlines, self._config.only)
        for other in rows.keys() - {each.question_id for each in questions}:
            shutil.rmtree(self._folder / other)
        return [(each, rows.get(each.question_id, 0)) for each in questions]


# Work that later builds reuse.


def question_folder(work: Path, outline: Outline) -> Path:
    """Returns the folder of a question's pools and steps."""
    return work / "questions" / outline.question_id


def gathered(
    config: BuildConfig,
    work: Path,
    sources: Sequence[Source],
    outlines: Sequence[Outline] | None,
    *,
    memory: int,
    progress: BuildProgress,
) -> Gathered:
    """Sort all candidates into pools, or return what an earlier build gathered from the same files.

    That may be for these questions or for all; standard input is read anew, since it may have other contents
    now. Raises the same errors as `gather`, and `BuildError` for a damaged record.
    """
    if all(source.path != "-" for source in sources):
        for only in dict.fromkeys((config.only, ())):
            before = _load(_record(config, work, sources, outlines, only))
            if before is not None and all(
                _pool_place(config, work, before.inputs, outline).is_dir()
                for outline, count in before.questions
                if count
            ):
                return _narrowed(before, config.only, outlines)
    record = _record(config, work, sources, outlines, config.only)
    record.unlink(missing_ok=True)  # first: it stands for the pools
    pools = work / "gathering"
    shutil.rmtree(pools, ignore_errors=True)
    try:
        anew = gather(config, sources, outlines, pools, memory=memory, progress=progress)
        for outline, count in anew.questions:
            if count:
                target = _pool_place(config, work, anew.inputs, outline)
                _place_pool(pools / outline.question_id, target)
    finally:
        shutil.rmtree(pools, ignore_errors=True)
    save_gathered(record, anew)
    return anew


def _narrowed(
    gathered: Gathered, only: Sequence[str], outlines: Sequence[Outline] | None
) -> Gathered:
    """Returns only the questions with these ids (or all), with their current `outlines`."""
    counts = {outline.question_id: count for outline, count in gathered.questions}
    current = {each.question_id: each for each in outlines or ()}
    questions = asked([outline for outline, _ in gathered.questions], only)
    found = [(current.get(o.question_id, o), counts[o.question_id]) for o in questions]
    return replace(gathered, questions=found)


def save_gathered(record: Path, gathered: Gathered) -> None:
    """Record that all candidates have been sorted into pools."""
    atomic.write_atomic(record, json.dumps(asdict(gathered), ensure_ascii=False).encode())


def _load(record: Path) -> Gathered | None:
    if not record.is_file():
        return None
    try:
        data = json.loads(record.read_bytes())
        questions = [(Outline(**outline), count) for outline, count in data["questions"]]
        return Gathered([Input(**each) for each in data["inputs"]], questions)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise damaged(record) from error


def _record(
    config: BuildConfig,
    work: Path,
    sources: Sequence[Source],
    outlines: Sequence[Outline] | None,
    only: Sequence[str],
) -> Path:
    files = [(source.path, *_file_state(source.path)) for source in sources]
    fixed = None if outlines is None else [(each.question_id, each.question) for each in outlines]
    folder = str(config.folder.absolute())  # the inputs' names are relative to it
    return work / f"gathered-{_key(config, folder, files, fixed, sorted(only))}.json"


def pool_key(config: BuildConfig, inputs: Sequence[Input], outline: Outline) -> str:
    """Returns the key of the candidates of one question, by the contents of all files."""
    contents = [(each.sha1, each.candidates, each.left_out) for each in inputs]
    return _key(config, contents, (outline.question_id, outline.question))


def _key(config: BuildConfig, *more: Any) -> str:
    """Returns the key of what sorting depends on: on `more`, and on settings."""
    settings = (config.source, config.per_source, config.skip_bad_lines, config.unit == "token")
    return key_of(_native.__version__, asdict(config.fields), settings, *more)


def _file_state(path: str) -> tuple[int, int]:
    """Returns the size of a file and the time of its last modification (ns), to detect changes."""
    if path == "-":
        return 0, 0
    try:
        state = os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=path) from error
    return state.st_size, state.st_mtime_ns


def _pool_place(config: BuildConfig, work: Path, inputs: Sequence[Input], outline: Outline) -> Path:
    checkpoints = Checkpoints(question_folder(work, outline))
    return checkpoints.pool(CANDIDATES, pool_key(config, inputs, outline))


def _place_pool(pool: Path, target: Path) -> None:
    """Move a pool to its question, in place of an equal one of an earlier build."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        atomic.put_in_place(pool, target)
    except OSError as error:
        raise atomic.writing_failed(target, error) from error
