"""`convert`: raw files to evaluation and tuning files, byte for byte as the reference writes them."""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pfgen_rs.errors import InputError
from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.llm_jp_eval import evaluation_files, registry
from pfgen_rs.llm_jp_eval.conversion import installing, raw_files, wikipedia
from pfgen_rs.registry import Registry

Pair = tuple[str, str]
"""Input and output of a sample."""
Splits = dict[str, list[Pair]]
"""Samples of train, dev and test."""
Reader = Callable[[raw_files.RawFile], Iterable[Pair]]
RecordReader = Callable[[raw_files.Place, object], Pair]
Converter = Callable[[Sequence[raw_files.RawFile]], Splits]

_SEED = 42
_SKIPPED_ANSWERS = frozenset({"", "infelicitous", "unacceptable", "weakacceptable"})
_CHOICES = 5
_ANSWER_BEGINS = "\n解答："


def shuffled(samples: Sequence[Pair]) -> list[Pair]:
    """Returns the samples in the order of CPython's `random.Random(42).shuffle`."""
    mixed = list(samples)
    random.Random(_SEED).shuffle(mixed)  # noqa: S311 - published files depend on it
    return mixed


def with_test(samples: Sequence[Pair], test: Sequence[Pair]) -> Splits:
    """Split published training samples into train and dev; `test` keeps its order."""
    mixed = shuffled(samples)
    cut = int(len(mixed) * 0.9)
    return {"train": mixed[:cut], "dev": mixed[cut:], "test": list(test)}


def without_test(samples: Sequence[Pair]) -> Splits:
    """Split samples that are published without a split."""
    mixed = shuffled(samples)
    first, second = int(len(mixed) * 0.8), int(len(mixed) * 0.9)
    return {"train": mixed[:first], "dev": mixed[first:second], "test": mixed[second:]}


def halved(examples: Sequence[Pair], questions: Sequence[Pair]) -> Splits:
    """Use worked examples for train, in their order, and shuffled questions for dev and test, half each."""
    mixed = shuffled(questions)
    cut = int(len(mixed) / 2)
    return {"train": list(examples), "dev": mixed[:cut], "test": mixed[cut:]}


def _with_test(read: Reader) -> Converter:
    """Returns what converts a training file and a test file, both read in this way."""
    return lambda files: with_test(*(list(read(file)) for file in files))


def _without_test(read: Reader) -> Converter:
    """Returns what converts files without a split."""
    return lambda files: without_test([pair for file in files for pair in read(file)])


def _json_lines(read: RecordReader) -> Reader:
    return lambda file: (read(*line) for line in raw_files.json_lines(file))


def _sentences(premise: str, hypothesis: str, label: str) -> Pair:
    return f"前提：{premise}\n仮説：{hypothesis}", label


def _columns(width: int, first: int) -> Reader:
    return lambda file: (_sentences(*row[first:][:3]) for row in raw_files.tsv_rows(file, width))


def _janli(files: Sequence[raw_files.RawFile]) -> Splits:
    [file] = files
    train: list[Pair] = []
    test: list[Pair] = []
    for row in raw_files.tsv_rows(file, 5):
        (test if row[-1].strip() == "test" else train).append(_sentences(*row[1:4]))
    return with_test(train, test)


def _jsem(file: raw_files.RawFile) -> Iterator[Pair]:
    for problem in raw_files.xml_tree(file, "jsem-dataset").all("problem"):
        if "answer" not in problem.attributes:
            problem.fail("<problem> has no attribute 'answer'")
        answer = problem.attributes["answer"]
        if answer in _SKIPPED_ANSWERS:
            continue
        premises = [p.one("script").required_text() for p in problem.all("p")]
        if not premises:
            problem.fail("<problem> has no <p>")
        hypothesis = problem.one("h").one("script").required_text()
        yield _sentences("".join(premises), hypothesis, answer)


def _niilc(file: raw_files.RawFile) -> Iterator[Pair]:
    for question in raw_files.xml_tree(file, "questions").all("question"):
        text = question.one("text").required_text()
        answers = question.one("answers")
        texts = list(filter(None, (each.text for each in answers.all("answer"))))
        if not texts:
            answers.fail("<answers> has no <answer> with text")
        if texts != ["-"]:
            yield f"質問：{text}", ",".join(texts)


def _jnli(place: raw_files.Place, record: object) -> Pair:
    return _sentences(*(place.text(record, key) for key in ("sentence1", "sentence2", "label")))


def _jsts(place: raw_files.Place, record: object) -> Pair:
    first, second = place.text(record, "sentence1"), place.text(record, "sentence2")
    return f"文1：{first}\n文2：{second}", str(place.number(record, "label"))


def _jcommonsenseqa(place: raw_files.Place, record: object) -> Pair:
    question = place.text(record, "question")
    choices = ",".join(f"{n}.{place.text(record, f'choice{n}')}" for n in range(_CHOICES))
    label = place.number(record, "label")
    if not isinstance(label, int):
        place.fail(f"'label' must be the number of a choice, found {label}")
    return f"質問：{question}\n選択肢：{choices}", str(label)


def _jsquad(file: raw_files.RawFile) -> Iterator[Pair]:
    root, document = raw_files.json_document(file)
    for at_article, article in root.items(document, "data"):
        for at_paragraph, paragraph in at_article.items(article, "paragraphs"):
            context = at_paragraph.text(paragraph, "context")
            for at_question, question in at_paragraph.items(paragraph, "qas"):
                answers = list(at_question.items(question, "answers"))
                if not answers:
                    at_question.fail("'answers' is empty")
                at_answer, answer = answers[0]
                asked = at_question.text(question, "question")
                yield f"文章：{context}\n質問：{asked}", at_answer.text(answer, "text")


def _jemhopqa(file: raw_files.RawFile) -> Iterator[Pair]:
    for place, record in raw_files.json_list(file):
        yield f"質問：{place.text(record, 'question')}", place.text(record, "answer")


def _chabsa(file: raw_files.RawFile) -> Iterator[Pair]:
    root, document = raw_files.json_document(file)
    for at_sentence, sentence in root.items(document, "sentences"):
        opinions = [
            f"{at.text(opinion, 'target')} {at.text(opinion, 'polarity')}"
            for at, opinion in at_sentence.items(sentence, "opinions")
        ]
        if opinions:
            yield f"文章：{at_sentence.text(sentence, 'sentence')}", "\n".join(opinions)


def _mawps(files: Sequence[raw_files.RawFile]) -> Splits:
    zero_shot, shots, test = files
    examples = [
        _mawps_example(*each) for file in (zero_shot, shots) for each in raw_files.json_list(file)
    ]
    questions = [
        (place.text(record, "question").split(_ANSWER_BEGINS)[0], place.text(record, "answer"))
        for place, record in raw_files.json_list(test)
    ]
    return halved(examples, questions)


def _mawps_example(place: raw_files.Place, record: object) -> Pair:
    parts = place.text(record, "shot_example").split(_ANSWER_BEGINS)
    if len(parts) != 2:
        place.fail("'shot_example' must contain '解答：' at the beginning of one line")
    question, solution = parts
    _, begins, rest = solution.partition("答えは")
    answer, ends, _ = rest.partition("です。")
    if not begins or not ends:
        place.fail("'shot_example' must contain '答えは…です。' after '解答：'")
    return question, answer


def wikipedia_splits(raw: raw_files.RawFiles) -> dict[str, Splits]:
    """Returns the splits of the tasks of the Wikipedia Annotated Corpus, which share all documents."""
    found: dict[str, Splits] = {
        task: {split: [] for split in registry.SPLITS} for task in wikipedia.WIKI_TASKS
    }
    for split in registry.SPLITS:
        for file in raw.of(f"{split}/"):
            for task, sample in wikipedia.document_samples(file).items():
                found[task][split].append(sample)
    return found


def task_splits(task: str, raw: raw_files.RawFiles) -> Splits:
    """Returns the splits of a task that has raw files of its own. Raises `InputError` with file and line."""
    info = registry.find_task(task)
    if info.source is None:
        raise InputError(f"{task} has no source to convert", path=info.path)
    convert = CONVERTERS.get(info.source.converter)
    return convert([file for need in raw_files.needs(task) for file in raw.of(need)])


GROUP = "pfgen_rs.llm_jp_eval_converters"
"""Entry points of packages that have converters of their own."""
CONVERTERS: Registry[Converter] = Registry("converter", __package__, GROUP)
"""What makes splits from the raw files of a task (in the order of `needs`), by the name that tasks use."""


def converter(name: str) -> Callable[[Converter], Converter]:
    """Register the decorated function as a converter: from raw files, in a task's order, to its splits."""

    def register(convert: Converter) -> Converter:
        CONVERTERS.add(name, convert)
        return convert

    return register


converter("chabsa")(_without_test(_chabsa))
converter("jamp")(_with_test(_columns(4, 1)))
converter("janli")(_janli)
converter("jcommonsenseqa")(_with_test(_json_lines(_jcommonsenseqa)))
converter("jemhopqa")(_with_test(_jemhopqa))
converter("jnli")(_with_test(_json_lines(_jnli)))
converter("jsem")(_without_test(_jsem))
converter("jsick")(_with_test(_columns(11, 8)))
converter("jsquad")(_with_test(_jsquad))
converter("jsts")(_with_test(_json_lines(_jsts)))
converter("mawps")(_mawps)
converter("niilc")(_with_test(_niilc))


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
    """What `convert` wrote to `folder`, which contains `evaluation`, and which tasks it left out."""

    folder: Path
    tasks: tuple[Converted, ...]
    files: tuple[ConvertedFile, ...]
    missing: tuple[installing.MissingFiles, ...]


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
    chosen = registry.chosen_tasks(names)
    folder = evaluation_files.installed_data() if out is None else Path(out)
    source = evaluation_files.installed_raw() if raw is None else Path(raw)
    if raw is None and not source.is_dir():
        advice = "install them with `pfgen-rs llm-jp-eval install`, or name a folder with --raw"
        raise InputError(f"no raw files are installed: {advice}", path=source)
    found = installing.find_raw(source, [info.name for info in chosen])
    missing = tuple(filter(None, (installing.missing_files(info.name, found) for info in chosen)))
    _check_missing(source, chosen, missing, names or ())
    absent = {each.task for each in missing}
    converted: list[Converted] = []
    files: list[ConvertedFile] = []
    # Digests and writing take a third of the time, and let Python do other work meanwhile.
    with staged_folder(folder, "converting") as content, ThreadPoolExecutor(1) as writer:
        writing: list[Future[ConvertedFile]] = []
        for info, splits in _splits_by_task(chosen, absent, found):
            counts: dict[str, int] = {split: len(splits.get(split, ())) for split in info.splits}
            if empty := [split for split in info.splits if not counts[split]]:
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


def _check_missing(
    source: Path,
    chosen: Sequence[registry.TaskInfo],
    missing: Sequence[installing.MissingFiles],
    names: Sequence[str],
) -> None:
    advice = "`pfgen-rs llm-jp-eval install` installs what is published"
    for each in missing:
        if each.task in names:
            problem = (
                f"missing raw files of {each.task}: {installing.shown_names(each.names)}: {advice}"
            )
            raise InputError(problem, path=source)
    if len(missing) == len(chosen):
        raise InputError(f"found no task with all its raw files: {advice}", path=source)


def _splits_by_task(
    chosen: Sequence[registry.TaskInfo], absent: set[str], raw: raw_files.RawFiles
) -> Iterator[tuple[registry.TaskInfo, Splits]]:
    found = [info for info in chosen if info.name not in absent]
    # First, so that a missing package is told at once
    shared = any(info.name in wikipedia.WIKI_TASKS for info in found)
    corpus = wikipedia_splits(raw) if shared else {}
    for info in found:
        yield info, corpus[info.name] if info.name in corpus else task_splits(info.name, raw)


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
    info: registry.TaskInfo, splits: Splits, tuning: bool
) -> Iterator[tuple[ConvertedFile, Iterator[bytes]]]:
    """Yield files, without digests and sizes, and contents in blocks."""

    def file(folder: str, split: str, count: int) -> ConvertedFile:
        return ConvertedFile(f"{folder}/{split}/{info.name}.json", info.name, split, count, "", 0)

    for split in info.splits:
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


def encoded(samples: Iterable[Pair]) -> list[Encoded]:
    """Returns the texts of samples as they stand between the quotes of JSON."""
    return [(_inside_quotes(given), _inside_quotes(output)) for given, output in samples]


def _inside_quotes(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1].encode()


def evaluation_file(info: registry.TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
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


def tuning_file(info: registry.TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    """Yield a tuning file in blocks: samples with ids and complete texts."""
    return _in_blocks(b"[\n", _tuning_samples(info, samples), b"\n]")


def _tuning_samples(info: registry.TaskInfo, samples: Sequence[Encoded]) -> Iterator[bytes]:
    instruction = _inside_quotes(info.instruction or "")
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
