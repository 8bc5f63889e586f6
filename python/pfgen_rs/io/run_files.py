"""Which files are runs: their names in folders, patterns on the command line, and packing finished trials.

A packed file has all lines of all finished trials, sorted bytewise. Trial files are kept, because only they
show which trials need not be generated again.
"""

from __future__ import annotations

import glob
import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, count
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pfgen_rs.errors import InputError, OutputError, unreadable
from pfgen_rs.io import compression
from pfgen_rs.io.atomic import portable_name
from pfgen_rs.io.remote import urls
from pfgen_rs.io.text import counted, plural

if TYPE_CHECKING:
    from pfgen_rs.io.remote.storage import Storage


STEM = "trials"
PACKED, PLAIN = f"{STEM}.jsonl.xz", f"{STEM}.jsonl"
RESPONSES = (PACKED, PLAIN, f"{STEM}.jsonl.zst", f"{STEM}.jsonl.gz")
"""Names of the file with a run's responses, in order of precedence."""
CONFIG, RESULT, README = "config.json", "result.json", "README.md"
ANSWERS = "journal.jsonl"
"""The journal of a run's answers, of unfinished trials too."""
GENERATION = "generation.json"
"""What the journal says of all answers of a run."""
EXAMPLES = "questions.jsonl"
"""Questions with example answers, in a benchmark's folder."""
_FIRST_LINE = 1 << 16  # bytes, of which the first answer has fewer
_TRIAL = re.compile(r"trial_([0-9]+)\.jsonl")


@dataclass(frozen=True)
class Trials:
    """The lines of a run's finished trials (or of its plain `trials.jsonl`), and the unfinished files."""

    lines: list[bytes]
    unfinished: list[Path] = field(default_factory=list)


def is_trial_file(name: str) -> bool:
    """Whether a file with this name is a finished trial."""
    return _TRIAL.fullmatch(name) is not None


def trial_file_name(trial: int) -> str:
    """Returns the name of a finished trial's file."""
    return f"trial_{trial:03d}.jsonl"


def trial_number(name: str) -> int | None:
    """Returns the number of the finished trial in a file with this name; `None` for other files."""
    match = _TRIAL.fullmatch(name)
    return None if match is None else int(match[1])


def run_file(folder: Path) -> Path | None:
    """Returns the file with the responses in a run's folder, if there is one."""
    return next((folder / name for name in RESPONSES if (folder / name).is_file()), None)


def run_date(folder: Path) -> date | None:
    """Returns the day of the first answer in a run's file of responses (`timestamp`), `None` if unknown."""
    path = run_file(folder)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content, _ = compression.read_some(compression.unpacking(file), _FIRST_LINE)
        record = json.loads(content.partition(b"\n")[0])
        return datetime.fromisoformat(record["timestamp"]).date()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None  # what is wrong with the file, scoring says


def runs_below(place: str) -> list[str]:
    """Returns the folders of runs below a folder, sorted; empty if it is a run itself.

    Skips runs within runs and hidden folders. Raises `InputError` if a run is not packed yet.
    """
    found = []
    if place == "-" or not os.path.isdir(place) or run_file(Path(place)):  # noqa: PTH112 - "a\0b"
        return []
    for path, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if run_file(Path(path)):
            found.append(path)
            folders.clear()
        elif path != place and any(map(is_trial_file, files)):
            raise InputError(unpacked_trials_advice(Path(path)), path=path)
    return sorted(found)


def unpacked_trials_advice(folder: Path) -> str:
    """Returns what to do about a run with finished trials (`trial_001.jsonl` …) but no `trials.jsonl`."""
    trials = sum(is_trial_file(path.name) for path in folder.iterdir())
    if not trials:
        return ""
    return (
        f"the run has {counted(trials, 'finished trial')} ({trial_file_name(1)} …) but no {PACKED}: resume "
        f"generation, which packs them at the end, or score their lines: cat trial_*.jsonl | pfgen-rs score -"
    )


def is_system(config: Mapping[str, Any]) -> bool:
    """Whether the run with this `config.json` is an unranked reference system rather than a model."""
    return "system" in (config.get("engine"), config.get("mode"))


def packed_trials(folder: Path, questions: int) -> tuple[bytes | None, list[Path]]:
    """Returns the new content of `trials.jsonl.xz` (`None` if it is up to date), and the unfinished trials.

    `questions`: number of lines in a finished trial. Raises `InputError` if the packed file has lines that
    are not in the trial files, because it is unclear which of them are right.
    """
    trials = _trial_files(folder, questions)
    target = folder / PACKED
    if not trials.lines:
        return None, trials.unfinished
    if target.exists():
        old = _trial_lines(_read_packed(target))
        if Counter(old) == Counter(trials.lines):
            return None, trials.unfinished
        _refuse_loss(old, trials.lines, target)
    return lzma.compress(b"".join(line + b"\n" for line in trials.lines)), trials.unfinished


def _trial_files(folder: Path, questions: int) -> Trials:
    paths = sorted(path for path in folder.iterdir() if is_trial_file(path.name))
    if not paths:
        plain = folder / PLAIN
        return Trials(_trial_lines(_read_trial(plain)) if plain.is_file() else [])
    lines: list[bytes] = []
    unfinished = []
    for path in paths:
        content = _read_trial(path)
        found = _trial_lines(content)
        if content.endswith(b"\n") and len(found) == questions:
            lines += found
        else:
            unfinished.append(path)
    return Trials(sorted(lines), unfinished)


def _trial_lines(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if line.strip()]


def _read_trial(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error


def _read_packed(path: Path) -> bytes:
    try:
        return compression.read_whole(path)
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except compression.UnpackingError as error:
        problem = f"{error}; or remove it, and the trials beside it are packed again"
        raise InputError(problem, path=path) from None


def _refuse_loss(old: list[bytes], new: list[bytes], path: Path) -> None:
    lost = (Counter(old) - Counter(new)).total()
    if lost:
        raise InputError(
            f"has {counted(lost, 'line')} that {plural(lost, 'is', 'are')} not in the trial files beside it, "
            "so it was left unchanged: remove this file to pack the trial files again, or remove the trial "
            "files to keep it",
            path=path,
        )


# Which files the patterns and folders of a command line mean, and what must not be overwritten.


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path or glob, or several."""

STANDARD_INPUT = "-"


def expand(patterns: Iterable[str], storage: Storage | None = None) -> list[str]:
    """Returns the paths that the patterns match, in order and without duplicates.

    A pattern is a path, `-` (standard input), or a glob (`**` matches any number of folders), whose matches
    are sorted; with `storage`, also a URL. Raises `InputError` if a glob matches nothing.
    """
    paths: dict[str, None] = {}
    for pattern in patterns:
        paths.update(dict.fromkeys(_paths_of_pattern(pattern, storage)))
    return list(paths)


def expand_runs(patterns: Iterable[str], storage: Storage | None = None) -> list[str]:
    """Like `expand`, but replaces a folder that only contains runs in subfolders by these, sorted.

    Does not look for runs within a run's folder. Raises `InputError` if one of the folders has finished
    trials that are not packed yet, since its run would otherwise be missing.
    """
    paths: dict[str, None] = {}
    for path in expand(patterns, storage):
        paths.update(dict.fromkeys(_runs_of_path(path, storage)))
    return list(paths)


def _runs_of_path(path: str, storage: Storage | None) -> list[str]:
    if not urls.is_url(path):
        return runs_below(path) or [path]
    if storage is None or not path.endswith("/"):
        return [path]
    from pfgen_rs.io.remote.files import runs_below_url

    return runs_below_url(path, storage)


def _paths_of_pattern(pattern: str, storage: Storage | None) -> list[str]:
    if urls.is_url(pattern):
        if storage is None:
            raise urls.refused_url(pattern, urls.COPY_FIRST)
        from pfgen_rs.io.remote.files import expanded_url

        return expanded_url(urls.url_text(pattern), storage)
    # A file may actually be named "a[1].jsonl".
    if not urls.MAGIC.intersection(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - keeps absolute patterns
    if not found:
        raise InputError("no file matches this pattern", path=pattern)
    return found


def refuse_overwriting(target: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise `OutputError` if `target` is one of the inputs."""
    try:
        place = _identity_of_path(target)
    except InputError as error:
        raise OutputError(str(error)) from None
    if any(place == _identity_of_path(path) for path in inputs if path != STANDARD_INPUT):
        raise OutputError(f"{urls.shown_url(target)}: is one of the inputs: choose another name")


def _identity_of_path(path: str | os.PathLike[str]) -> object:
    return urls.identity_of_url(urls.url_text(path)) if urls.is_url(path) else Path(path).resolve()


# Names runs after the paths of their files.


_LONGEST = 200  # maximum length of a name in bytes
_ENDINGS = re.compile(
    r"(\.(jsonl?|ndjson|csv|tsv|txt|parquet|arrow|feather|ipc|eval))?(\.(gz|xz|zst))?$",
    re.IGNORECASE,
)
"""What a file's name ends with that does not name its run."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str | None: ...


R = TypeVar("R", bound=_Named)


def named_results(results: Sequence[R]) -> dict[str, R]:
    """Returns scored runs by name.

    Repeated names get what tells the paths apart, whatever the order, or a number if the paths are the same.
    """
    counts = Counter(name for name, _ in {(each.name, each.path) for each in results})
    named: dict[str, R] = {}
    for result in results:
        name = result.name
        if counts[name] > 1:
            name = f"{name} ({_telling_part(result, [r for r in results if r.name == name])})"
        tries = chain([name], (f"{name} ({i})" for i in count(2)))
        named[next(free for free in tries if free not in named)] = result
    return named


def _telling_part(result: _Named, same: Sequence[_Named]) -> str:
    """Returns the shortest end of a run's path that others of the same name do not have."""
    paths = list(dict.fromkeys(each.path or STANDARD_INPUT for each in same))
    own = result.path or STANDARD_INPUT
    try:
        return output_names(paths)[paths.index(own)]
    except InputError:
        return own


def stated_model(config: Mapping[str, Any] | None) -> str | None:
    """Returns the model that a run's configuration names, if any."""
    model = (config or {}).get("model")
    return model if isinstance(model, str) and model else None


def run_name(path: str | None) -> str:
    """Returns the name of a run's folder or, if it has none of its own or the path omits it, of its file."""
    return _naming_parts(path or STANDARD_INPUT)[-1]


def output_names(paths: Sequence[str]) -> list[str]:
    """Returns a unique relative folder name for each path.

    The name is that of the run's folder, or of the file without its suffixes; if names collide, as many
    parents as necessary are prepended, and finally suffixes are kept. Raises `InputError` if names still
    collide.
    """
    shapes: list[Callable[[str], tuple[str, ...]]] = [_naming_parts, _whole_parts]
    for shape in shapes:
        parts = [shape(path) for path in paths]
        for depth in range(1, max(map(len, parts), default=0) + 1):
            names = ["/".join(part[-depth:]) for part in parts]
            if len({name.casefold() for name in names}) == len(names):
                return names
    raise InputError("two files have the same path: results need different names")


def result_names(runs: Sequence[tuple[str, str | None]]) -> list[str]:
    """Returns a unique relative folder name for each run, given the path of its file and its name in it.

    The name is empty for a single file with one run. Several files are named as by `output_names`; runs
    within a file by their names, with characters that file names cannot contain replaced by `__`. Raises
    `InputError` if two names become the same.
    """
    files = list(dict.fromkeys(path for path, _ in runs))
    folders = dict(zip(files, output_names(files), strict=True)) if len(files) > 1 else {}
    names = [
        "/".join(filter(None, [folders.get(path), None if run is None else _name_for_folder(run)]))
        for path, run in runs
    ]
    seen: dict[str, tuple[str, str | None]] = {}
    for name, run in zip(names, runs, strict=True):
        if name.casefold() in seen:
            first = seen[name.casefold()]
            raise InputError(
                f"the runs {first[1]!r} and {run[1]!r} would have the same folder {name!r}: rename one",
                path=run[0],
            )
        seen[name.casefold()] = run
    return names


def _name_for_folder(run: str) -> str:
    """Convert a run's name to a folder name, as evaluation harnesses do with names of models."""
    name = re.sub(r'[\x00-\x1f\x7f"*/:<>?\\|\[\]]+', "__", run.encode(errors="replace").decode())
    name = name.strip(" ") if name.strip(" .") else "_" * len(name)
    return portable_name(name.encode()[:_LONGEST].decode(errors="ignore"))


def _whole_parts(path: str) -> tuple[str, ...]:
    if path == STANDARD_INPUT:
        return ("stdin",)
    if urls.is_url(path):
        url = urls.split_url(path)
        return tuple(part for part in (url.scheme, url.host, *url.path.split("/")) if part)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolves "..", which must not get into names
    return tuple(part for part in place.parts if part != place.anchor)


def _naming_parts(path: str) -> tuple[str, ...]:
    *parents, name = _whole_parts(path) or ("root",)
    stem = _ENDINGS.sub("", name) or name
    # A run's file has the same name in every run; its folder distinguishes the runs. The bare name of the
    # file does not imply that the current folder is a run's.
    if stem == STEM and PurePath(name).suffix and parents and PurePath(path).parent.name:
        return tuple(parents)
    return (*parents, stem)
