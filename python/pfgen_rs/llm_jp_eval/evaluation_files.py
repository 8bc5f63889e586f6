"""Evaluation files: samples of a task in a split and the examples for its prompts, and where they are."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.io.lines import parse_line
from pfgen_rs.llm_jp_eval import registry
from pfgen_rs.llm_jp_eval.extraction import CUSTOM, answer_pattern
from pfgen_rs.llm_jp_eval.measures import score_metrics
from pfgen_rs.llm_jp_eval.registry import SPLITS, plain_name

_ABOUT = frozenset(
    {"author", "citation", "created_at", "dataset", "dataset_name", "description", "homepage"}
)
_ABOUT |= {
    "licence",
    "license",
    "name",
    "references",
    "source",
    "source_url",
    "tags",
    "target_dataset",
}
_ABOUT |= {"task", "title", "updated_at", "url", "version"}
"""Keys that mean nothing for scores."""
_DIGEST = 8  # hex digits of digests in signatures


@dataclass(frozen=True, slots=True)
class Sample:
    """An input and the output that is expected, as they stand in the file."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """What evaluation files say, from version 1.0 on; the first four keys are in all of them."""

    instruction: str
    output_length: int
    metrics: tuple[str, ...]
    samples: tuple[Any, ...]
    few_shots: tuple[Any, ...] = ()
    num_few_shots: int | None = None
    answer_pattern_id: str | None = None
    answer_extract_pattern: str | None = None
    label_list: tuple[str, ...] = ()
    language: str | None = None
    custom_prompt_template: str | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class TaskData:
    """The samples of a task in a split, in file order, and what its file says, or else the task's own file.

    `output_length`: maximum number of new tokens. `shots`: the samples from which prompts take their first
    examples: the evaluation file's `few_shots`, or else all samples of the task's train file. `sha256`,
    `shots_sha256`: digests of both files, empty if there is none. `num_few_shots`: number of examples, if it
    is stated. `answer_pattern`: a regular expression (see `extraction`). `template`: of prompts. `reading`:
    steps from outputs to predictions. `task_sha256`: digest of the file that describes a task of your own.
    """

    task: str
    split: str
    instruction: str
    output_length: int
    metrics: tuple[str, ...]
    samples: tuple[Sample, ...]
    shots: tuple[Sample, ...]
    sha256: str
    shots_sha256: str
    few_shots: tuple[Sample, ...] = ()
    num_few_shots: int | None = None
    answer_pattern: str | None = None
    labels: tuple[str, ...] = ()
    language: str = "ja"
    template: str | None = None
    reading: tuple[str, ...] = ()
    task_sha256: str = ""

    def number_of_shots(self, default: int) -> int:
        """Returns the number of examples in prompts, the one that is stated if there is one."""
        return default if self.num_few_shots is None else self.num_few_shots


def item_id(task: str, split: str, index: int) -> str:
    """Returns the id of a sample, such as `jamp/test/0`; `index` counts from 0 in file order."""
    return f"{plain_name(task)}/{split}/{index}"


def find_data(folder: str | os.PathLike[str] | None = None) -> Path:
    """Returns the folder that has `train`, `dev` and `test` with evaluation files.

    `folder`: that folder, or one that contains it as `evaluation`. `None`: the installed data. Raises
    `InputError` if there is none.
    """
    place = installed_data() if folder is None else Path(folder)
    if not place.is_dir():
        if folder is None:
            raise InputError(
                "no data is installed: install raw files with 'pfgen-rs llm-jp-eval install' and convert "
                "them with 'pfgen-rs llm-jp-eval convert', or name a folder of converted files with --data",
                path=place,
            )
        raise InputError("not a directory" if place.exists() else "not found", path=place)
    for candidate in (place, place / "evaluation"):
        if any((candidate / split).is_dir() for split in SPLITS):
            return candidate
    raise InputError(
        "no evaluation files: expected evaluation/{train,dev,test}/TASK.json, as 'pfgen-rs llm-jp-eval "
        "convert' writes them",
        path=place,
    )


def read_task(
    folder: str | os.PathLike[str] | None,
    task: str,
    split: str = "test",
    shots: int | None = None,
) -> TaskData:
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
    own = _read_file(path, info)
    examples: dict[str, Any] = {"samples": own["few_shots"], "sha256": ""}
    if not own["few_shots"] and "train" in info.splits:
        train = _path_of(folder, info, "train")
        examples = own if split == "train" else _read_file(train, info)
    elif not own["few_shots"] and own["num_few_shots"] is None:
        own["num_few_shots"] = 0
    if shots is not None:
        own["num_few_shots"] = shots
    return TaskData(
        task=task, split=split, shots=examples["samples"], shots_sha256=examples["sha256"], **own
    )


def _path_of(folder: str | os.PathLike[str] | None, info: registry.TaskInfo, split: str) -> Path:
    """Returns where a task's evaluation file is, or would be."""
    if split in info.data and folder is None:
        return info.data[split]
    path = find_data(folder) / split / f"{info.name}.json"
    return path if path.is_file() else info.data.get(split, path)


def read_tasks(
    folder: str | os.PathLike[str] | None,
    tasks: Iterable[str],
    split: str = "test",
    shots: int | None = None,
) -> list[TaskData]:
    """Read several tasks, in this order. Raises `InputError` as `read_task` does, and without any task."""
    if not (found := [read_task(folder, task, split, shots) for task in tasks]):
        place = find_data(folder) / split
        raise InputError(f"no files of these tasks in the split {split}", path=place)
    return found


def without_file(
    folder: str | os.PathLike[str] | None, tasks: Iterable[str], split: str
) -> list[str]:
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


def _read_file(path: Path, info: registry.TaskInfo) -> dict[str, Any]:
    """Returns fields of `TaskData` from an evaluation file, and from the task's own file what it lacks."""
    record, digest = read_object(path)
    known = {key: getattr(info, key) for key in ("instruction", "output_length", "metrics")}
    stated = {key: value for key, value in known.items() if value} | {
        key: value for key, value in record.items() if key not in _ABOUT and value is not None
    }
    try:
        made = registry.typed(EvaluationFile, stated)
        return {**_fields(made, info), "sha256": digest, "task_sha256": _task_digest(info)}
    except (InputError, SettingsError) as error:
        raise InputError(str(error), path=path) from None


def _fields(file: EvaluationFile, info: registry.TaskInfo) -> dict[str, Any]:
    if file.output_length < 1 or (file.num_few_shots or 0) < 0:
        raise InputError("'output_length' must be positive, and 'num_few_shots' not negative")
    for name, items in (("metrics", file.metrics), ("samples", file.samples)):
        if not items:
            raise InputError(f"{name!r} is empty")
    known = score_metrics()
    for name in file.metrics:
        if name not in known:
            raise InputError(f"unknown metric {name!r}: expected one of {', '.join(known)}")
    examples = tuple(_sample("example", n, each) for n, each in enumerate(file.few_shots))
    number = file.num_few_shots if file.num_few_shots is not None else len(examples) or None
    pattern = file.answer_pattern_id or info.answer_pattern
    if file.answer_extract_pattern and (file.answer_pattern_id or CUSTOM).upper() == CUSTOM:
        pattern = file.answer_extract_pattern
    profile = registry.find_profile(file.profile) if file.profile else None
    return {
        "instruction": file.instruction,
        "output_length": file.output_length,
        "metrics": file.metrics,
        "samples": tuple(_sample("sample", n, each) for n, each in enumerate(file.samples)),
        "few_shots": examples,
        "num_few_shots": info.few_shots if number is None else number,
        "answer_pattern": None if pattern is None else answer_pattern(pattern),
        "labels": file.label_list or info.labels,
        "language": file.language or info.language,
        "template": file.custom_prompt_template or info.template,
        "reading": profile.steps(info.name) if profile else info.reading,
    }


def _task_digest(info: registry.TaskInfo) -> str:
    if not info.is_own or not info.path.is_file():
        return ""
    return hashlib.sha256(info.path.read_bytes()).hexdigest()


def _sample(name: str, index: int, sample: Any) -> Sample:
    match sample:
        case {"input": str(given), "output": str(expected)}:
            return Sample(given, expected)
    raise InputError(f"{name} {index} must be an object with the texts 'input' and 'output'")


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
