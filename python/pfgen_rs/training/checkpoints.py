"""Finding checkpoints in a folder, and detecting which are complete."""

import fnmatch
import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pfgen_rs import errors

_DIGITS = r"(?<![0-9])([0-9]{1,18})(?![0-9])"
_NUMBER = rf"{_DIGITS}(?![^\W_]|[._,][0-9])"  # not that of 2k, 1e5, 1.5k or 1_000_000
_PLACE = "{step}"  # of the number in a pattern
# Behind the step: metrics, and the mark of a copy. Others (-EMA, _optim, .bak) mark other things.
_REST = r"(?:[-_][^=]+=-?(?:[0-9.]+(?:e[-+]?[0-9]+)?|nan|inf))*(?:-last|-v[0-9]+)?"


class Convention(NamedTuple):
    """How a trainer names its checkpoints, and what it writes when one is complete.

    `form`: a regular expression for the whole name, with a group for the step. `tracker`: a file beside the
    checkpoints with the step of the last complete one. `within`: files of which a complete one has any.
    """

    name: str
    form: str
    tracker: str | None = None
    within: tuple[str, ...] = ()


# The first one that fits a name counts.
CONVENTIONS = (
    Convention("Megatron-LM", f"iter_{_NUMBER}", tracker="latest_checkpointed_iteration.txt"),
    Convention("NeMo", rf"(?:.*[-_])?step={_NUMBER}(?=-consumed_samples=){_REST}(\.ckpt|\.nemo)?"),
    Convention(
        "torchtitan", f"step-{_NUMBER}", within=(".metadata", "model.safetensors.index.json")
    ),
    Convention("nanotron", _NUMBER, tracker="latest.txt", within=("model_config.json",)),
    Convention("DeepSpeed", f"global_step{_NUMBER}", tracker="latest"),
    Convention("verl", f"global_step_{_NUMBER}", tracker="latest_checkpointed_iteration.txt"),
    Convention("Lightning", rf"(?:.*[-_])?step={_NUMBER}{_REST}\.ckpt"),
    Convention("transformers", f"checkpoint-{_NUMBER}", within=("trainer_state.json",)),
    Convention("Composer", rf"ep[0-9]+-ba{_NUMBER}(?:-rank0\.pt)?"),
    Convention("others", rf"step_{_NUMBER}{_REST}(?:\.(?:ckpt|nemo|pth?|safetensors))?"),
)
_FOLDERS = ("checkpoints", "checkpoint")  # where trainers put them within the folder of a run
_FILES = (".ckpt", ".nemo", ".pt", ".pth", ".safetensors")  # checkpoints that are one file
_OTHER = "tmp|partial|incomplete|unfinished|deleting|bak"
_TEMPORARY = re.compile(rf"(?i)^\.|(?:^|[._-])(?:{_OTHER})(?:[._-]|$)")
# Before the step: epoch=1-step=500, global_step500, iter_0000500 (Megatron); else the last number counts.
_WORDS = (r"(?i:step)[=_-]?", r"(?i:iter(?:ation)?)[=_-]?")
_SHARD = re.compile(r"(\w+)-[0-9]{5}-of-[0-9]{5}\.(safetensors|bin)")  # has an index, written later
_INDEX_LIMIT = 100_000_000  # bytes: the format's own limit for the header of a safetensors file
# Path, size and modification time (ns) of every file.
Print = tuple[tuple[str, int, int], ...]


class Checkpoint(NamedTuple):
    """A folder or file with a model, the step in its name, and whose name that is (`None`: a pattern's)."""

    step: int
    path: Path
    convention: Convention | None = None

    def lacking(self) -> str | None:
        """Returns what shows that the checkpoint is not complete, or `None`."""
        path, convention = self.path, self.convention or Convention("", "")
        marker = path.with_name(re.sub(r"(-EMA)?(\.ckpt|\.nemo)?$", "", path.name) + "-unfinished")
        if marker.exists():  # of NeMo, which has it also while it removes a checkpoint
            return f"{marker.name} exists"
        files = _files(path)
        if convention.tracker:
            tracker = path.with_name(convention.tracker)
            step, since = _tracked(tracker)
            if step < 0:
                fault = "names no step" if tracker.exists() else "is missing"
                pattern = convention.form.replace(_NUMBER, _PLACE)
                return f"{tracker.name} {fault}: --pattern '{pattern}' does without"
            if step < self.step:
                return f"{convention.tracker} does not name this step or a later one"
            # Of an earlier run, if this step is being written again.
            if step > self.step and since < max((changed for *_, changed in files), default=0):
                return f"{convention.tracker} names a later step, but is older than the checkpoint"
        if convention.within and not any((path / name).exists() for name in convention.within):
            return f"{' or '.join(convention.within)} is missing"
        torn = next((file for file, *_ in files if not _is_whole(Path(file))), None)
        return torn and f"{Path(torn).name} is cut short, or what it needs is missing"

    def files(self) -> Print:
        """Returns the paths, sizes and modification times of its files."""
        return _files(self.path)


def find_checkpoints(folder: str | os.PathLike[str], *patterns: str) -> list[Checkpoint]:
    """Returns the checkpoints in `folder`, and in `checkpoints` and `checkpoint` within it, by step.

    Without `patterns`, they are recognised by `CONVENTIONS`; with them, they are the folders, and the files
    such as `.ckpt`, whose names match one of these globs. The step is the number in the place of `{step}` in
    the glob; without that, the number behind `step` or `iter` in the name, else its last number. Names
    without a step are ignored, as are temporary ones (`….tmp`). Of several with the same step, the first
    complete one by name is used. Raises `InputError` if `folder` cannot be read.
    """
    named = _by_patterns(patterns) if patterns else _by_convention
    found: dict[int, list[Checkpoint]] = {}
    try:
        for path in sorted(_paths(Path(folder)), key=lambda path: (path.stem, path)):
            if checkpoint := named(path):
                found.setdefault(checkpoint.step, []).append(checkpoint)
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=Path(folder)) from error
    return [_best(found[step]) for step in sorted(found)]


def _paths(folder: Path, inner: tuple[str, ...] = _FOLDERS) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in inner and entry.is_dir():
                yield from _paths(Path(entry.path), ())
            elif not _TEMPORARY.search(entry.name) and (
                entry.is_dir() or entry.name.endswith(_FILES)
            ):
                yield Path(entry.path)


def _by_convention(path: Path) -> Checkpoint | None:
    for convention in CONVENTIONS:
        if match := re.fullmatch(convention.form, path.name, re.DOTALL):
            return Checkpoint(int(match[1]), path, convention)
    return None


def _by_patterns(patterns: tuple[str, ...]) -> Callable[[Path], Checkpoint | None]:
    forms = [
        fnmatch.translate(pattern.replace(f"{_PLACE}*", "\1*").replace(_PLACE, "\0"))
        .replace("\1", _NUMBER)
        .replace("\0", _DIGITS)
        for pattern in patterns
    ]

    def named(path: Path) -> Checkpoint | None:
        match = next(filter(None, (re.match(form, path.name) for form in forms)), None)
        if match is None:
            return None
        steps = match.groups()[:1] or _numbers(path.name)
        return Checkpoint(int(steps[-1]), path) if steps else None

    return named


def _numbers(name: str) -> list[str]:
    word = next((word for word in _WORDS if re.search(word + "[0-9]", name)), "")
    return re.findall(word + _NUMBER, name)


def _best(checkpoints: list[Checkpoint]) -> Checkpoint:
    """The first complete one, or else the first."""
    if len(checkpoints) == 1:
        return checkpoints[0]
    return min(checkpoints, key=lambda checkpoint: checkpoint.lacking() is not None)


class Settling:
    """Detects whether a checkpoint is complete.

    A checkpoint is complete if it contains the file `marker`. Without `marker`, it is complete if nothing is
    `lacking`, and the sizes and modification times of its files have not changed for at least `seconds`
    between two calls: some trainers write files after their tracker, and some write a checkpoint again.
    """

    def __init__(self, seconds: float, marker: str | None = None) -> None:
        self._seconds, self._marker = seconds, marker
        self._seen: dict[Path, tuple[Print, float]] = {}

    def settled(self, checkpoint: Checkpoint) -> Print | None:
        """Returns the files of a complete checkpoint, or `None` if it may still be written to."""
        path = checkpoint.path
        now, files = time.monotonic(), _files(path)
        if self._marker is not None:
            return files if (path / self._marker).exists() else None
        before, since = self._seen.get(path, ((), now))
        if files != before:
            since = now
        self._seen[path] = files, since
        rests = files and now - since >= self._seconds
        return files if rests and not checkpoint.lacking() else None


def _files(path: Path) -> Print:
    """Every file, also of linked folders; size -1 for a link to nothing, and a file that was just removed."""
    alone = [(str(path.parent), list[str](), [path.name])]
    found, seen = list[tuple[str, int, int]](), set[str]()
    for folder, folders, names in os.walk(path, followlinks=True) if path.is_dir() else alone:
        real = os.path.realpath(folder)
        folders[:] = [] if real in seen else sorted(folders)
        if real in seen:  # linked twice, or in a circle
            continue
        seen.add(real)
        for name in names:
            place = os.path.join(folder, name)  # noqa: PTH118 - `os.walk` returns strings
            try:
                about = os.stat(place)  # noqa: PTH116
                found.append((place, about.st_size, about.st_mtime_ns))
            except OSError:
                found.append((place, -1, 0))
    return tuple(sorted(found))


def _tracked(path: Path) -> tuple[int, int]:
    """The step that a tracker names and its time (ns); -1: there is none, or it names none (`release`)."""
    try:
        with path.open("rb") as file:
            steps, changed = _numbers(file.read(1000).decode()), os.fstat(file.fileno()).st_mtime_ns
    except (OSError, ValueError):
        return -1, 0
    return int(steps[-1]) if steps else -1, changed


def _is_whole(path: Path) -> bool:
    """Whether a file is as long as it says, and what it needs is beside it."""
    shard = _SHARD.fullmatch(path.name)
    if shard and not path.with_name(f"{shard[1]}.{shard[2]}.index.json").exists():
        return False
    check = next((check for ends, check in _CHECKS.items() if path.name.endswith(ends)), None)
    try:
        return path.exists() and (check is None or check(path))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False


def _has_shards(path: Path) -> bool:
    names = set(_json(path, 0, _INDEX_LIMIT)["weight_map"].values())
    return all(path.with_name(name).exists() for name in names)  # an error for names with folders


def _has_parts(path: Path) -> bool:
    """Whether there are all files that a `.metadata` of torch names; it is a pickle, so only searched."""
    names, end = set[bytes](), b""
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            names.update(re.findall(rb"__[0-9]+_[0-9]+\.distcp", end + part))
            end = part[-100:]
    return all(path.with_name(name.decode()).exists() for name in names)


def _is_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
    ends = (about.get("data_offsets", [0])[-1] for about in _json(path, 8, size).values())
    return path.stat().st_size == 8 + size + max(ends, default=0)


def _json(path: Path, start: int, size: int) -> Any:
    with path.open("rb") as file:
        file.seek(start)
        return json.loads(file.read(min(size, _INDEX_LIMIT)))


def _is_archive(path: Path) -> bool:
    """Whether what `torch.save` wrote, which is a zip file unless it is old, has its end."""
    with path.open("rb") as file:
        return not b"PK".startswith(file.read(2)) or zipfile.is_zipfile(file)


def _is_tar(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(2) == b"\x1f\x8b":  # packed, and its end is known only when it is unpacked
            return True
        file.seek(-1024, os.SEEK_END)
        return file.read() == bytes(1024)


_CHECKS: Mapping[tuple[str, ...], Callable[[Path], bool]] = {
    (".safetensors.index.json", ".bin.index.json"): _has_shards,
    (".distcp",): lambda path: path.with_name(".metadata").exists(),  # written last by torch
    (".metadata",): _has_parts,
    (".safetensors",): _is_safetensors,
    (".ckpt", ".pt", ".pth", ".bin"): _is_archive,
    (".nemo",): _is_tar,
}
