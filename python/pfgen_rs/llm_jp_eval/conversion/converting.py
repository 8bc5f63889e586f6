"""`convert`: raw files to evaluation and tuning files, byte for byte as the reference writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.catalog import SPLITS, TaskInfo, chosen_tasks
from pfgen_rs.llm_jp_eval.conversion import datasets
from pfgen_rs.llm_jp_eval.conversion.finding import find_raw
from pfgen_rs.llm_jp_eval.conversion.installing import (
    MissingFiles,
    missing_files,
    shown_names,
    staged_folder,
)
from pfgen_rs.llm_jp_eval.conversion.published import RawFiles, Status
from pfgen_rs.llm_jp_eval.data import installed_data, installed_raw


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file that was written: `path` is relative to the folder that contains `evaluation`.

    `split`: train, dev, test, or dev_first100.
    """

    path: str
    task: str
    split: str
    samples: int
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted task: number of samples by split, and what is known about its raw files."""

    task: str
    samples: dict[str, int]
    status: Status


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` wrote to `folder`, which contains `evaluation`, and which tasks it left out."""

    folder: Path
    tasks: tuple[Converted, ...]
    files: tuple[ConvertedFile, ...]
    missing: tuple[MissingFiles, ...]


def convert(
    raw: str | Path | None = None,
    out: str | Path | None = None,
    *,
    tasks: Iterable[str] | None = None,
    tuning: bool = True,
) -> Conversion:
    """Convert raw files to the evaluation and tuning files of llm-jp-eval, byte for byte.

    `raw`: a folder or archive of raw files: checkouts of the repositories side by side, archives of them, or
    the reference's raw_files/ (default: the installed raw files). `out`: where to write `evaluation/` and
    `tuning/` (default: the folder in which `run` looks for data). `tasks`: names or categories (default:
    all). `tuning`: whether to write tuning files.

    Tasks whose raw files are missing are left out and reported in `Conversion.missing`. Files appear only
    when everything is converted; in an existing folder, they replace files of the same name.

    Raises `InputError` for raw files that cannot be read or have too few samples, and if the raw files of all
    tasks or of a task named in `tasks` are missing; `SettingsError` for unknown tasks; `OutputError` if
    `out` cannot be written.
    """
    names = None if tasks is None else list(tasks)
    chosen = chosen_tasks(names)
    folder = installed_data() if out is None else Path(out)
    source = _installed_source() if raw is None else Path(raw)
    found = find_raw(source, [info.name for info in chosen])
    missing = tuple(filter(None, (missing_files(info.name, found) for info in chosen)))
    _check_missing(source, chosen, missing, names or ())
    absent = {each.task for each in missing}
    converted: list[Converted] = []
    files: list[ConvertedFile] = []
    # Digests and writing take a third of the time, and let Python do other work meanwhile.
    with staged_folder(folder, "converting") as content, ThreadPoolExecutor(1) as writer:
        writing: list[Future[ConvertedFile]] = []
        for info, splits in _splits_by_task(chosen, absent, found):
            counts = {split: len(splits[split]) for split in SPLITS}
            if empty := [split for split in SPLITS if not counts[split]]:
                problem = (
                    f"{info.name}: no samples for {empty[0]}: too few samples in its raw files"
                )
                raise InputError(problem, path=source)
            converted.append(Converted(info.name, counts, found.status(info.name)))
            jobs = _task_files(info, splits, tuning)
            started = [writer.submit(_write, content, *job) for job in jobs]
            files += [each.result() for each in writing]  # bounds what waits for the writer
            writing = started
        files += [each.result() for each in writing]
    return Conversion(folder, tuple(converted), tuple(files), missing)


def _installed_source() -> Path:
    source = installed_raw()
    if not source.is_dir():
        advice = "install them with `pfgen-rs llm-jp-eval install --from DIR`, or name a folder with --raw"
        raise InputError(f"no raw files are installed: {advice}", path=source)
    return source


def _check_missing(
    source: Path, chosen: Sequence[TaskInfo], missing: Sequence[MissingFiles], names: Sequence[str]
) -> None:
    advice = "`pfgen-rs llm-jp-eval install` lists what is published where"
    for each in missing:
        if each.task in names:
            problem = f"missing raw files of {each.task}: {shown_names(each.names)}: {advice}"
            raise InputError(problem, path=source)
    if len(missing) == len(chosen):
        raise InputError(f"found no task with all its raw files: {advice}", path=source)


def _splits_by_task(
    chosen: Sequence[TaskInfo], absent: set[str], raw: RawFiles
) -> Iterator[tuple[TaskInfo, datasets.Splits]]:
    corpus: dict[str, datasets.Splits] = {}
    for info in chosen:
        if info.name in absent:
            continue
        if info.name in datasets.CONVERTERS:
            yield info, datasets.task_splits(info.name, raw)
        else:
            corpus = corpus or datasets.wikipedia_splits(raw)
            yield info, corpus[info.name]


def _write(folder: Path, file: ConvertedFile, content: Iterator[bytes]) -> ConvertedFile:
    """Write a file and return it with its digest and size."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as opened:
        for block in content:
            digest.update(block)
            size += opened.write(block)
    return replace(file, sha256=digest.hexdigest(), size=size)


def _task_files(
    info: TaskInfo, splits: datasets.Splits, tuning: bool
) -> Iterator[tuple[ConvertedFile, Iterator[bytes]]]:
    """Yield files, without digests and sizes, and contents in blocks."""

    def file(folder: str, split: str, count: int) -> ConvertedFile:
        return ConvertedFile(f"{folder}/{split}/{info.name}.json", info.name, split, count, "", 0)

    for split in SPLITS:
        samples = encoded(splits[split])
        yield file("evaluation", split, len(samples)), evaluation_file(info, samples)
        if tuning and split != "test":
            yield file("tuning", split, len(samples)), tuning_file(info, samples)
        if tuning and split == "dev":
            first = samples[:FIRST]
            yield file("tuning", f"dev_first{FIRST}", len(first)), tuning_file(info, first)


# Evaluation and tuning files, byte for byte as the reference writes them.


FIRST = 100
"""Number of samples in `tuning/dev_first100`."""

Encoded = tuple[bytes, bytes]
"""Input and output of a sample as JSON in UTF-8, without the quotes."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_INTRODUCTION = (
    "以下は、タスクを説明する指示と、文脈のある入力の組み合わせです。"
    "要求を適切に満たす応答を書きなさい。"
)
_BLOCK = 1000  # samples
_EVALUATION_SAMPLE = b"""        {
            "input": "%b",
            "output": "%b"
        }"""
_TUNING_SAMPLE = b"""    {
        "ID": "%b",
        "instruction": "%b",
        "input": "%b",
        "output": "%b",
        "text": "%b"
    }"""


def encoded(samples: Iterable[datasets.Pair]) -> list[Encoded]:
    """Returns the texts of samples as they stand between the quotes of JSON."""
    return [(_inside_quotes(given), _inside_quotes(output)) for given, output in samples]


def _inside_quotes(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1].encode()


def evaluation_file(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    """Yield an evaluation file in blocks, as `json.dump(…, ensure_ascii=False, indent=4)` writes it."""
    head = {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
    }
    # json.dumps with an indent is written in Python and ten times as slow, so only the head is left to it.
    start = json.dumps(head, ensure_ascii=False, indent=4).removesuffix("\n}").encode()
    objects = (_EVALUATION_SAMPLE % sample for sample in samples)
    return _in_blocks(start + b',\n    "samples": [\n', objects, b"\n    ]\n}")


def tuning_file(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    """Yield a tuning file in blocks: samples with ids and complete texts."""
    return _in_blocks(b"[\n", _tuning_samples(info, samples), b"\n]")


def _tuning_samples(info: TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    instruction = _inside_quotes(info.instruction)
    start = _inside_quotes(f"{_INTRODUCTION}\n\n### 指示:\n{info.instruction}")
    before_input = _inside_quotes("\n\n### 入力:\n")
    before_output = _inside_quotes("\n\n### 応答:\n")
    for index, (given, output) in enumerate(samples):
        asked = before_input + given if given else b""
        text = start + asked + before_output + output
        sample_id = f"{info.name}-{index}".encode()
        yield _TUNING_SAMPLE % (sample_id, instruction, given, output, text)


def _in_blocks(start: bytes, objects: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    before = start
    while block := list(islice(objects, _BLOCK)):
        yield before + b",\n".join(block)
        before = b",\n"
    yield end
