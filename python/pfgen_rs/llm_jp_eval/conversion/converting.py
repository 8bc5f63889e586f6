"""`convert`: raw files to evaluation and tuning files, byte for byte as the reference writes them."""

import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pfgen_rs.errors import InputError, Item, unreadable
from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.llm_jp_eval import evaluation_files, registry
from pfgen_rs.llm_jp_eval.conversion import installing, raw_files, wikipedia
from pfgen_rs.llm_jp_eval.prompts import PROMPT
from pfgen_rs.registry import Registry

Pair = tuple[str, str]
"""Input and output of a sample."""
Splits = dict[str, list[Pair]]
"""Samples of train, dev and test."""
Reader = Callable[..., Iterator[Pair]]
"""Yields the samples of raw files."""
Samples = Callable[[Any], Iterable[Pair]]
"""Yields the samples of a record, such as a line."""
Converter = Callable[[Sequence[raw_files.RawFile]], Splits]

GROUP = "pfgen_rs.llm_jp_eval_converters"
"""Entry points of packages that have converters of their own."""
CONVERTERS: Registry[Converter] = Registry("converter", __package__, GROUP)
"""What makes splits from the raw files of a task (in the order of `needs`), by the name that tasks use."""


def converter(name: str) -> Callable[[Converter], Converter]:
    """Register the decorated function as a converter: from raw files, in a task's order, to its splits."""
    return partial(CONVERTERS.add, name)


# Splits.


def shares(samples: Iterable[Pair], *ends: float) -> list[list[Pair]]:
    """Returns samples, in the order of CPython's `random.Random(42).shuffle`, cut at these shares."""
    mixed = list(samples)
    random.Random(42).shuffle(mixed)  # noqa: S311 - published files depend on it
    cuts = [0, *(int(len(mixed) * end) for end in ends), len(mixed)]
    return [mixed[start:end] for start, end in pairwise(cuts)]


def _splits(*parts: list[Pair]) -> Splits:
    return dict(zip(registry.SPLITS, parts, strict=True))


def with_test(samples: Iterable[Pair], test: Iterable[Pair]) -> Splits:
    """Split published training samples into train and dev; `test` keeps its order."""
    return _splits(*shares(samples, 0.9), list(test))


def without_test(samples: Iterable[Pair]) -> Splits:
    """Split samples that are published without a split."""
    return _splits(*shares(samples, 0.8, 0.9))


def halved(examples: Iterable[Pair], questions: Iterable[Pair]) -> Splits:
    """Use worked examples for train, in their order, and shuffled questions for dev and test, half each."""
    return _splits(list(examples), *shares(questions, 0.5))


# Readers: they take a file's text apart into records, and samples from each record.


def _reader(
    records: Callable[[str], Iterable[Any]], samples: Samples, item: Item = "element"
) -> Reader:
    """Returns what reads the samples of files; errors name the file and the number of the record."""

    def read(*files: raw_files.RawFile) -> Iterator[Pair]:
        for file in files:
            number = None
            try:
                text = raw_files.raw_text(file.content)
                for number, record in enumerate(records(text), start=1):  # noqa: B007 - errors name it
                    for sample in samples(record):
                        "".join(sample).encode()  # fails for lone surrogates
                        yield sample
            except (LookupError, RecursionError, SyntaxError, TypeError, ValueError) as error:
                problem = unreadable(error)
                raise InputError(problem, path=file.label, line=number, item=item) from error

    return read


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _json_lines(samples: Samples) -> Reader:
    return _reader(_lines, lambda line: samples(json.loads(line)), "line")


def tsv_rows(text: str, columns: int) -> list[list[str]]:
    """Returns the rows of a TSV file after its header, split at tabs, without quoting.

    Raises `ValueError` for headers of fewer than `columns` columns and rows that do not match the header.
    """
    header, *rows = [line.split("\t") for line in _lines(text)]
    for number, row in enumerate([header, *rows], start=1):
        if len(row) < columns or len(row) != len(header):
            raise ValueError(
                f"line {number} has {len(row)} columns, separated by tabs: expected {columns} or more, "
                "and as many in every line"
            )
    return rows


def _texts(element: ElementTree.Element, path: str) -> list[str]:
    """Returns the texts at a path; raises `ValueError` if there are none."""
    texts = ["".join(each.itertext()).strip() for each in element.findall(path)]
    if not any(texts):
        raise ValueError(f"expected <{path}> with text")
    return list(filter(None, texts))


def _value(record: Any, key: str, kind: Any = str) -> Any:
    """Returns a value of an object in JSON."""
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"expected {key!r}, of type {kind}, in {record!r:.200}")
    return value


# Samples of the data sets.


_SKIPPED_ANSWERS = frozenset({"", "infelicitous", "unacceptable", "weakacceptable"})
_ANSWER_BEGINS = "\n解答："


def _sentences(premise: str, hypothesis: str, label: str) -> Pair:
    return f"前提：{premise}\n仮説：{hypothesis}", label


def _columns(width: int, first: int, *, test: bool | None = None) -> Reader:
    """Returns a reader of premise, hypothesis and label in three columns.

    `test`: only of rows whose last column says `test`, or of the others (default: of all).
    """
    return _reader(
        lambda text: (r for r in tsv_rows(text, width) if test in (None, r[-1].strip() == "test")),
        lambda row: [_sentences(*row[first:][:3])],
        "row",
    )


def _jsem(problem: ElementTree.Element) -> Iterator[Pair]:
    if problem.attrib["answer"] not in _SKIPPED_ANSWERS:
        premise = "".join(_texts(problem, "p/script"))
        [hypothesis] = _texts(problem, "h/script")
        yield _sentences(premise, hypothesis, problem.attrib["answer"])


def _niilc(question: ElementTree.Element) -> Iterator[Pair]:
    [text] = _texts(question, "text")
    answers = _texts(question, "answers/answer")
    if answers != ["-"]:
        yield f"質問：{text}", ",".join(answers)


def _jnli(record: Any) -> Iterator[Pair]:
    yield _sentences(*(_value(record, key) for key in ("sentence1", "sentence2", "label")))


def _jsts(record: Any) -> Iterator[Pair]:
    label = _value(record, "label", int | float)
    if not math.isfinite(label):
        raise ValueError("'label' must be a finite number")
    yield f"文1：{_value(record, 'sentence1')}\n文2：{_value(record, 'sentence2')}", str(label)


def _jcommonsenseqa(record: Any) -> Iterator[Pair]:
    choices = ",".join(f"{n}.{_value(record, f'choice{n}')}" for n in range(5))
    asked = f"質問：{_value(record, 'question')}\n選択肢：{choices}"
    yield asked, str(_value(record, "label", int))


def _jsquad(article: Any) -> Iterator[Pair]:
    for paragraph in _value(article, "paragraphs", list):
        context = _value(paragraph, "context")
        for question in _value(paragraph, "qas", list):
            answer = _value(question, "answers", list)[0]
            asked = f"文章：{context}\n質問：{_value(question, 'question')}"
            yield asked, _value(answer, "text")


def _jemhopqa(record: Any) -> Iterator[Pair]:
    yield f"質問：{_value(record, 'question')}", _value(record, "answer")


def _chabsa(sentence: Any) -> Iterator[Pair]:
    opinions = [
        f"{_value(opinion, 'target')} {_value(opinion, 'polarity')}"
        for opinion in _value(sentence, "opinions", list)
    ]
    if opinions:
        yield f"文章：{_value(sentence, 'sentence')}", "\n".join(opinions)


def _mawps_question(record: Any) -> Iterator[Pair]:
    yield _value(record, "question").split(_ANSWER_BEGINS)[0], _value(record, "answer")


def _mawps_example(record: Any) -> Iterator[Pair]:
    question, *solutions = _value(record, "shot_example").split(_ANSWER_BEGINS)
    found = [re.search("答えは(.*?)です。", each, re.DOTALL) for each in solutions]
    if len(found) != 1 or found[0] is None:
        raise ValueError(
            "'shot_example' must have one line that begins with '解答：…答えは…です。'"
        )
    yield question, found[0][1]


def _json(key: str, samples: Samples) -> Reader:
    """Returns a reader of the list at a key."""
    return _reader(lambda text: _value(json.loads(text), key, list), samples)


def _xml(tag: str, samples: Samples) -> Reader:
    """Returns a reader of the root's elements with this tag; external document types are ignored."""

    def elements(text: str) -> list[ElementTree.Element]:
        if "<!ENTITY" in text:
            raise ValueError("entity declarations are not allowed")
        return ElementTree.fromstring(text).findall(tag)  # noqa: S314 - expat bounds what is left

    return _reader(elements, samples)


def _with_test(read: Reader, read_test: Reader | None = None) -> Converter:
    """Returns what converts a training file and a test file, or one that has both."""
    return lambda files: with_test(read(files[0]), (read_test or read)(files[-1]))


def _without_test(read: Reader) -> Converter:
    return lambda files: without_test(read(*files))


@lru_cache(maxsize=1)
def _wikipedia(files: tuple[raw_files.RawFile, ...]) -> dict[str, Splits]:
    """Returns the splits of the tasks of the Wikipedia Annotated Corpus, which share all documents."""
    found = {task: _splits([], [], []) for task in wikipedia.WIKI_TASKS}
    for file in files:
        for task, sample in wikipedia.document_samples(file).items():
            found[task][file.name.partition("/")[0]].append(sample)
    return found


_EXAMPLES, _QUESTIONS = _reader(json.loads, _mawps_example), _reader(json.loads, _mawps_question)
CONVERTERS.add("chabsa", _without_test(_json("sentences", _chabsa)))
CONVERTERS.add("jamp", _with_test(_columns(4, 1)))
CONVERTERS.add("janli", _with_test(_columns(5, 1, test=False), _columns(5, 1, test=True)))
CONVERTERS.add("jcommonsenseqa", _with_test(_json_lines(_jcommonsenseqa)))
CONVERTERS.add("jemhopqa", _with_test(_reader(json.loads, _jemhopqa)))
CONVERTERS.add("jnli", _with_test(_json_lines(_jnli)))
CONVERTERS.add("jsem", _without_test(_xml("problem", _jsem)))
CONVERTERS.add("jsick", _with_test(_columns(11, 8)))
CONVERTERS.add("jsquad", _with_test(_json("data", _jsquad)))
CONVERTERS.add("jsts", _with_test(_json_lines(_jsts)))
CONVERTERS.add("mawps", lambda files: halved(_EXAMPLES(*files[:-1]), _QUESTIONS(files[-1])))
CONVERTERS.add("niilc", _with_test(_xml("question", _niilc)))
for _task in wikipedia.WIKI_TASKS:
    CONVERTERS.add(_task, lambda files, task=_task: _wikipedia(tuple(files))[task])  # type: ignore[misc]


def task_splits(info: registry.TaskInfo, raw: raw_files.RawFiles) -> Splits:
    """Returns the splits of a task. Raises `InputError` with the file."""
    if info.source is None:
        raise InputError(f"{info.name} has no source to convert", path=info.path)
    convert = CONVERTERS.get(info.source.converter)
    return convert([file for need in info.source.files for file in raw.of(need)])


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
    status: raw_files.Status


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` wrote to `folder`, which contains `evaluation`, and which tasks it left out.

    `missing`: the data sets of tasks that were left out, with these tasks and what they lack.
    """

    folder: Path
    tasks: tuple[Converted, ...]
    files: tuple[ConvertedFile, ...]
    missing: tuple[installing.DataSet, ...]


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
    names = list(tasks or ())
    chosen = registry.chosen_tasks(names)
    folder = evaluation_files.installed_data() if out is None else Path(out)
    source = evaluation_files.installed_raw() if raw is None else Path(raw)
    if raw is None and not source.is_dir():
        advice = "install them with `pfgen-rs llm-jp-eval install`, or name a folder with --raw"
        raise InputError(f"no raw files are installed: {advice}", path=source)
    found = installing.find_raw(source, [info.name for info in chosen])
    absent = [info.name for info in chosen if found.missing(info.name)]
    lacking = [name for name in absent if name in names]
    if lacking or len(absent) == len(chosen):
        lacking = lacking or absent
        shown = installing.shown_names([need for name in lacking for need in found.missing(name)])
        advice = "`pfgen-rs llm-jp-eval install` installs what is published"
        raise InputError(
            f"missing raw files of {', '.join(lacking)}: {shown}: {advice}", path=source
        )
    converted, files = [], []
    with staged_folder(folder, "converting") as content:
        for info in chosen:
            if info.name in absent:
                continue
            splits = task_splits(info, found)
            counts: dict[str, int] = {split: len(splits.get(split, ())) for split in info.splits}
            if empty := [split for split, count in counts.items() if not count]:
                problem = f"no samples for {empty[0]}: too few samples in its raw files"
                raise InputError(f"{info.name}: {problem}", path=source)
            converted.append(Converted(info.name, counts, found.status(info.name)))
            files += [_write(content, info, *each) for each in _files(info, splits, tuning)]
    missing = installing.data_sets(absent, found)
    return Conversion(folder, tuple(converted), tuple(files), missing)


def _files(
    info: registry.TaskInfo, splits: Splits, tuning: bool
) -> Iterator[tuple[str, str, list[Pair]]]:
    """Yield folder, split and samples of each file."""
    for split in info.splits:
        yield "evaluation", split, splits[split]
        if tuning and split != "test":
            yield "tuning", split, splits[split]
        if tuning and split == "dev":
            yield "tuning", "dev_first100", splits[split][:100]


def _write(
    folder: Path, info: registry.TaskInfo, kind: str, split: str, samples: Sequence[Pair]
) -> ConvertedFile:
    path = f"{kind}/{split}/{info.name}.json"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    texts = (evaluation_file if kind == "evaluation" else tuning_file)(info, samples)
    with (folder / path).open("w+b") as file:
        file.writelines(map(str.encode, texts))
        size = file.tell()
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ConvertedFile(path, info.name, split, len(samples), digest, size)


# Evaluation and tuning files, byte for byte as the reference writes them.


def evaluation_file(info: registry.TaskInfo, samples: Iterable[Pair]) -> Iterator[str]:
    """Yield an evaluation file in pieces, as `json.dump(…, ensure_ascii=False, indent=4)` writes it."""
    head = {
        "instruction": info.instruction,
        "output_length": info.output_length,
        "metrics": list(info.metrics),
        "few_shots": [],
    }
    yield json.dumps(head, ensure_ascii=False, indent=4).removesuffix("\n}")
    yield ',\n    "samples": ['
    yield from _objects(({"input": given, "output": output} for given, output in samples), 8)
    yield "\n    ]\n}"


def tuning_file(info: registry.TaskInfo, samples: Iterable[Pair]) -> Iterator[str]:
    """Yield a tuning file in pieces: samples with ids and complete texts."""
    asking = PROMPT.replace("{few_shots_text}", "")
    telling = asking.replace("\n\n### 入力:\n{input}", "")
    records = (
        {
            "ID": f"{info.name}-{index}",
            "instruction": info.instruction or "",
            "input": given,
            "output": output,
            "text": (asking if given else telling).format(instruction=info.instruction, input=given)
            + output,
        }
        for index, (given, output) in enumerate(samples)
    )
    yield "["
    yield from _objects(records, 4)
    yield "\n]"


def _objects(records: Iterable[Any], indent: int) -> Iterator[str]:
    """Yield objects of texts as `json.dumps` with an indent does, which takes ten times as long."""
    outside, inside = "\n" + " " * indent, "\n" + " " * (indent + 4)
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(f",{inside}", ": "))
    for number, record in enumerate(records):
        content = encoder.encode(record)[1:-1]
        yield f"{',' if number else ''}{outside}{{{inside}{content}{outside}}}"
