"""Evaluation files: samples of a task in a split and the examples for its prompts, and where they are."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, unreadable
from pfgen_rs.io.known_files import cache_folder
from pfgen_rs.io.lines import parse_line
from pfgen_rs.llm_jp_eval.measures import score_metrics
from pfgen_rs.llm_jp_eval.registry import SPLITS, plain_name

_LIST = (lambda value: isinstance(value, list) and value != [], "a list that is not empty")
_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "instruction": (lambda value: isinstance(value, str), "text"),
    "output_length": (lambda value: type(value) is int and value > 0, "a number of tokens"),
    "metrics": _LIST,
    "samples": _LIST,
}
"""What evaluation files must have, whether a value is that, and what it is called."""
_DIGEST = 8  # hex digits of digests in signatures


@dataclass(frozen=True, slots=True)
class Sample:
    """An input and the output that is expected, as they stand in the file."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class TaskData:
    """The samples of a task in a split, in file order.

    `output_length`: maximum number of new tokens. `shots`: all samples of the task's train file, from which
    prompts take their first examples. `sha256`, `shots_sha256`: digests of both files.
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
    num_few_shots: int | None = None

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


def read_task(folder: str | os.PathLike[str] | None, task: str, split: str = "test") -> TaskData:
    """Read a task's samples and examples from a folder of converted files (see `find_data`).

    Instruction, output length and metrics are those of the split's file. Raises `InputError` with the file,
    also if the train file is missing, from which prompts take their examples even if there are none.
    """
    place = find_data(folder)
    path = place / split / f"{task}.json"
    if not path.is_file():
        raise InputError(f"no file of the task {task!r} in the split {split}", path=path)
    own = _read_file(path)
    train = own if split == "train" else _read_file(place / "train" / f"{task}.json")
    return TaskData(
        task=task, split=split, shots=train["samples"], shots_sha256=train["sha256"], **own
    )


def read_tasks(
    folder: str | os.PathLike[str] | None, tasks: Iterable[str], split: str = "test"
) -> list[TaskData]:
    """Read several tasks, in this order. Raises `InputError` as `read_task` does, and without any task."""
    place = find_data(folder)
    if not (found := [read_task(place, task, split) for task in tasks]):
        raise InputError(f"no files of these tasks in the split {split}", path=place / split)
    return found


def used(data: TaskData, n: int | None) -> int:
    """Returns the number of samples that are used: the first `n`, or all (`None`, or below 1)."""
    count = len(data.samples)
    return n if n is not None and 0 < n < count else count


def files_of(data: TaskData) -> dict[str, str]:
    """Returns the digests of a task's file and of its train file by their names, `<split>/<task>.json`."""
    files = {data.split: data.sha256, "train": data.shots_sha256}
    return {f"{split}/{plain_name(data.task)}.json": digest for split, digest in files.items()}


def raw_digest(datas: Sequence[TaskData]) -> str:
    """Returns the first 8 hex digits of the SHA-256 of the evaluation files used, for signatures.

    It is that of the lines `<sha256>  <split>/<task>.json`, each task's file followed by its train file.
    """
    lines: dict[str, None] = {}  # each once, though a task may be asked in several ways
    for data in datas:
        lines |= dict.fromkeys(f"{digest}  {name}\n" for name, digest in files_of(data).items())
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


def _read_file(path: Path) -> dict[str, Any]:
    """Returns fields of `TaskData` from an evaluation file."""
    record, digest = read_object(path)
    try:
        for key, (is_valid, expected) in _KEYS.items():
            if not is_valid(record.get(key)):
                raise InputError(f"is not an evaluation file: {key!r} must be {expected}")
        known = score_metrics()
        for name in record["metrics"]:
            if name not in known:
                raise InputError(f"unknown metric {name!r}: expected one of {', '.join(known)}")
        samples = tuple(_sample(index, sample) for index, sample in enumerate(record["samples"]))
    except InputError as error:
        raise InputError(error.problem, path=path) from None
    return {
        "instruction": record["instruction"],
        "output_length": record["output_length"],
        "metrics": tuple(record["metrics"]),
        "samples": samples,
        "sha256": digest,
    }


def _sample(index: int, sample: Any) -> Sample:
    match sample:
        case {"input": str(given), "output": str(expected)}:
            return Sample(given, expected)
    raise InputError(f"sample {index} must be an object with the texts 'input' and 'output'")


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
