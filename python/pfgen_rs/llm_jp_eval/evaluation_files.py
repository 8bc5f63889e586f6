"""Evaluation files: samples of a task in a split and the examples for its prompts, and where they are."""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.io.lines import parse_line
from pfgen_rs.llm_jp_eval import measures, registry
from pfgen_rs.llm_jp_eval.extraction import CUSTOM, answer_pattern
from pfgen_rs.llm_jp_eval.registry import SPLITS, plain_name

_ABOUT = re.compile("dataset|description|homepage|licen[cs]e|name|task|url|version")
"""Keys that mean nothing for scores."""
Folder = str | os.PathLike[str] | None
_DIGEST = 8  # hex digits of digests in signatures


@dataclass(frozen=True, slots=True)
class Sample:
    """An input and the output that is expected, as they stand in the file."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """What evaluation files say, from version 1.0 on, by our names (`_NAMES`); the first four are in all.

    `output_length`: maximum number of new tokens. `num_few_shots`: number of examples, if it is stated.
    `answer_pattern`: a regular expression (see `extraction`). `template`: of prompts. `reading`: steps from
    outputs to predictions.
    """

    instruction: str
    output_length: int
    metrics: tuple[str, ...]
    samples: tuple[Sample, ...]
    few_shots: tuple[Sample, ...] = ()
    num_few_shots: int | None = None
    answer_pattern: str | None = None
    answer_extract_pattern: str | None = None
    labels: tuple[str, ...] = ()
    language: str = "ja"
    template: str | None = None
    profile: str | None = None
    reading: tuple[str, ...] = ()


_NAMES = {
    "label_list": "labels",
    "answer_pattern_id": "answer_pattern",
    "custom_prompt_template": "template",
    "language": "language",
}
"""Our names of what evaluation files state, or else the task's own file, though it is empty."""
_OF_TASKS = ("instruction", "output_length", "metrics", "reading", "labels", "template", "language")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskData(EvaluationFile):
    """The samples of a task in a split, in file order, and what its file says, or else the task's own file.

    `shots`: the samples from which prompts take their first examples: the evaluation file's `few_shots`, or
    else all samples of the task's train file. `sha256`, `shots_sha256`: digests of both files, empty if there
    is none. `task_sha256`: digest of the file that describes a task of your own.
    """

    task: str
    split: str
    shots: tuple[Sample, ...] = ()
    sha256: str = ""
    shots_sha256: str = ""
    task_sha256: str = ""

    def number_of_shots(self, default: int) -> int:
        """Returns the number of examples in prompts, the one that is stated if there is one."""
        return default if self.num_few_shots is None else self.num_few_shots


def item_id(task: str, split: str, index: int) -> str:
    """Returns the id of a sample, such as `jamp/test/0`; `index` counts from 0 in file order."""
    return f"{plain_name(task)}/{split}/{index}"


def find_data(folder: Folder = None) -> Path:
    """Returns the folder that has `train`, `dev` and `test` with evaluation files.

    `folder`: that folder, or one that contains it as `evaluation`. `None`: the installed data. Raises
    `InputError` if there is none.
    """
    place = installed_data() if folder is None else Path(folder)
    for candidate in (place, place / "evaluation"):
        if any((candidate / split).is_dir() for split in SPLITS):
            return candidate
    raise InputError(
        "no evaluation files: expected evaluation/{train,dev,test}/TASK.json; install raw files with "
        "'pfgen-rs llm-jp-eval install' and convert them with 'pfgen-rs llm-jp-eval convert', or name a "
        "folder of converted files with --data",
        path=place,
    )


def read_task(folder: Folder, task: str, split: str = "test", shots: int | None = None) -> TaskData:
    """Read a task's samples and examples.

    The files are those of a folder of converted files (see `find_data`); if it has none of the task, or no
    folder is named, those that the task's own file names; else the installed ones. What an evaluation file
    states counts, then what the task's file does. `shots`: number of examples, whatever files say.

    Raises `InputError` with the file, also if the train file is missing, from which prompts take their
    examples even if there are none, unless the task has no such split.
    """
    info = registry.tasks().get(task, registry.TaskInfo(task, ()))
    if split not in info.splits:
        expected = ", ".join(info.splits)
        raise InputError(f"{task} has no split {split}: choose among {expected}")
    path = _path_of(folder, info, split)
    if not path.is_file():
        raise InputError(f"no file of the task {task!r} in the split {split}", path=path)
    file, digest = _read_file(path, info)
    examples, examples_digest = file.few_shots, ""
    if not examples and "train" in info.splits:
        train, examples_digest = _read_file(_path_of(folder, info, "train"), info)
        examples = train.samples
    own_number = len(file.few_shots) or info.few_shots
    numbers = (shots, file.num_few_shots, own_number, None if "train" in info.splits else 0)
    stated = {each.name: getattr(file, each.name) for each in fields(file)}
    stated["num_few_shots"] = next((number for number in numbers if number is not None), None)
    return TaskData(
        **stated,
        task=task,
        split=split,
        shots=examples,
        sha256=digest,
        shots_sha256=examples_digest,
        task_sha256=hashlib.sha256(info.path.read_bytes()).hexdigest() if info.is_own else "",
    )


def _path_of(folder: Folder, info: registry.TaskInfo, split: str) -> Path:
    """Returns where a task's evaluation file is, or would be."""
    if split in info.data and folder is None:
        return info.data[split]
    path = find_data(folder) / split / f"{info.name}.json"
    return path if path.is_file() else info.data.get(split, path)


def read_tasks(
    folder: Folder, tasks: Iterable[str], split: str = "test", shots: int | None = None
) -> list[TaskData]:
    """Read several tasks, in this order. Raises `InputError` as `read_task` does, and without any task."""
    if not (found := [read_task(folder, task, split, shots) for task in tasks]):
        place = find_data(folder) / split
        raise InputError(f"no files of these tasks in the split {split}", path=place)
    return found


def without_file(folder: Folder, tasks: Iterable[str], split: str) -> list[str]:
    """Returns the tasks that have no evaluation file of a split. Raises `InputError` as `find_data` does."""
    infos = [registry.find_task(name) for name in tasks]
    return [each.name for each in infos if not _path_of(folder, each, split).is_file()]


def used(data: TaskData, n: int | None) -> int:
    """Returns the number of samples that are used: the first `n`, or all (`None`, or below 1)."""
    count = len(data.samples)
    return n if n is not None and 0 < n < count else count


def files_of(data: TaskData) -> dict[str, str]:
    """Returns the digests of a task's file and of its train file by their names, `<split>/<task>.json`."""
    files = {data.split: data.sha256}
    if data.shots_sha256:
        files["train"] = data.shots_sha256
    return {f"{split}/{plain_name(data.task)}.json": digest for split, digest in files.items()}


def raw_digest(datas: Sequence[TaskData]) -> str:
    """Returns the first 8 hex digits of the SHA-256 of the evaluation files used, for signatures.

    It is that of the lines `<sha256>  <split>/<task>.json`, each task's file followed by its train file, and
    for a task of your own by `<sha256>  <task>.toml`.
    """
    lines: dict[str, None] = {}  # each once, though a task may be asked in several ways
    for data in datas:
        lines |= dict.fromkeys(f"{digest}  {name}\n" for name, digest in files_of(data).items())
        if data.task_sha256:
            lines[f"{data.task_sha256}  {plain_name(data.task)}.toml\n"] = None
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:_DIGEST]


def read_object(path: Path) -> tuple[dict[str, Any], str]:
    """Returns the object in a JSON file and the file's SHA-256. Raises `InputError`."""
    try:
        content = path.read_bytes()
        return parse_line(content), hashlib.sha256(content).hexdigest()
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except InputError as error:
        raise InputError(error.problem, path=path) from None


def _read_file(path: Path, info: registry.TaskInfo) -> tuple[EvaluationFile, str]:
    """Returns what an evaluation file says, or else the task's own file, and the SHA-256 of the first."""
    record, digest = read_object(path)
    try:
        stated = {key: getattr(info, key) for key in _OF_TASKS if getattr(info, key)}
        for key, value in record.items():
            if not _ABOUT.fullmatch(key) and value is not None and (value or key not in _NAMES):
                stated[_NAMES.get(key, key)] = value
        for key in ("samples", "few_shots"):
            if isinstance(values := record.get(key), list):
                stated[key] = [_sample(f"{key}[{n}]", each) for n, each in enumerate(values)]
        file: EvaluationFile = registry.typed(EvaluationFile, stated)
        return _checked(file, info), digest
    except (InputError, SettingsError) as error:
        raise InputError(str(error), path=path) from None


def _checked(file: EvaluationFile, info: registry.TaskInfo) -> EvaluationFile:
    """Returns a file with the regular expression of its pattern, and the steps of its profile."""
    if file.output_length < 1 or (file.num_few_shots or 0) < 0:
        raise InputError("'output_length' must be positive, and 'num_few_shots' not negative")
    for name, items in (("metrics", file.metrics), ("samples", file.samples)):
        if not items:
            raise InputError(f"{name!r} is empty")
    for name in file.metrics:
        measures.unavailable(name)  # raises for unknown ones
    pattern = file.answer_pattern
    if (pattern or CUSTOM).upper() == CUSTOM:
        pattern = file.answer_extract_pattern or pattern
    return replace(
        file,
        answer_pattern=answer_pattern(pattern) if pattern else info.answer_pattern,
        reading=registry.find_profile(file.profile).steps(info.name)
        if file.profile
        else file.reading,
    )


def _sample(name: str, sample: Any) -> Sample:
    match sample:
        case {"input": str(given), "output": str(expected)}:
            return Sample(given, expected)
    raise InputError(f"{name} must be an object with the texts 'input' and 'output'")


# Where raw files and converted data are installed.


def installed_raw() -> Path:
    """Returns the folder of installed raw files, by the reference's names; it need not exist."""
    return cache_folder() / "llm-jp-eval" / "raw_files"


def installed_data() -> Path:
    """Returns the folder with the installed `evaluation/` and `tuning/`; it need not exist."""
    return cache_folder() / "llm-jp-eval" / "data"


def sample_path() -> Path:
    """Returns the folder of the bundled sample.

    It has raw files of every task in `raw_files/`, named as the published tool names them, and the outputs of
    SmolLM2-135M for their test splits in `outputs/`. The texts are made up to contain edge cases: scores on
    them say nothing about models.
    """
    return Path(__file__).parents[1] / "data" / "llm-jp-eval-mini"
