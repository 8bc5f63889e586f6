"""Samples of each data set, shuffled and split as the reference does it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval.catalog import SPLITS
from pfgen_rs.llm_jp_eval.conversion import reading
from pfgen_rs.llm_jp_eval.conversion.knp import read_document
from pfgen_rs.llm_jp_eval.conversion.published import DOCUMENTED, RawFile, RawFiles, needs
from pfgen_rs.llm_jp_eval.conversion.wikipedia import WIKI_TASKS, document_samples

Pair = tuple[str, str]
"""Input and output of a sample."""
Splits = dict[str, list[Pair]]
"""Samples of train, dev and test."""
Reader = Callable[[RawFile], Iterable[Pair]]
RecordReader = Callable[[reading.Place, object], Pair]
Converter = Callable[[Sequence[RawFile]], Splits]

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
    return lambda file: (read(*line) for line in reading.json_lines(file))


def _sentences(premise: str, hypothesis: str, label: str) -> Pair:
    return f"前提：{premise}\n仮説：{hypothesis}", label


def _columns(width: int, first: int) -> Reader:
    return lambda file: (_sentences(*row[first:][:3]) for row in reading.tsv_rows(file, width))


def _janli(files: Sequence[RawFile]) -> Splits:
    [file] = files
    train: list[Pair] = []
    test: list[Pair] = []
    for row in reading.tsv_rows(file, 5):
        (test if row[-1].strip() == "test" else train).append(_sentences(*row[1:4]))
    return with_test(train, test)


def _jsem(file: RawFile) -> Iterator[Pair]:
    for problem in reading.xml_tree(file, "jsem-dataset").all("problem"):
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


def _niilc(file: RawFile) -> Iterator[Pair]:
    for question in reading.xml_tree(file, "questions").all("question"):
        text = question.one("text").required_text()
        answers = question.one("answers")
        texts = list(filter(None, (each.text for each in answers.all("answer"))))
        if not texts:
            answers.fail("<answers> has no <answer> with text")
        if texts != ["-"]:
            yield f"質問：{text}", ",".join(texts)


def _jnli(place: reading.Place, record: object) -> Pair:
    return _sentences(*(place.text(record, key) for key in ("sentence1", "sentence2", "label")))


def _jsts(place: reading.Place, record: object) -> Pair:
    first, second = place.text(record, "sentence1"), place.text(record, "sentence2")
    return f"文1：{first}\n文2：{second}", str(place.number(record, "label"))


def _jcommonsenseqa(place: reading.Place, record: object) -> Pair:
    question = place.text(record, "question")
    choices = ",".join(f"{n}.{place.text(record, f'choice{n}')}" for n in range(_CHOICES))
    label = place.number(record, "label")
    if not isinstance(label, int):
        place.fail(f"'label' must be the number of a choice, found {label}")
    return f"質問：{question}\n選択肢：{choices}", str(label)


def _jsquad(file: RawFile) -> Iterator[Pair]:
    root, document = reading.json_document(file)
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


def _jemhopqa(file: RawFile) -> Iterator[Pair]:
    for place, record in reading.json_list(file):
        yield f"質問：{place.text(record, 'question')}", place.text(record, "answer")


def _chabsa(file: RawFile) -> Iterator[Pair]:
    root, document = reading.json_document(file)
    for at_sentence, sentence in root.items(document, "sentences"):
        opinions = [
            f"{at.text(opinion, 'target')} {at.text(opinion, 'polarity')}"
            for at, opinion in at_sentence.items(sentence, "opinions")
        ]
        if opinions:
            yield f"文章：{at_sentence.text(sentence, 'sentence')}", "\n".join(opinions)


def _mawps(files: Sequence[RawFile]) -> Splits:
    zero_shot, shots, test = files
    examples = [
        _mawps_example(*each) for file in (zero_shot, shots) for each in reading.json_list(file)
    ]
    questions = [
        (place.text(record, "question").split(_ANSWER_BEGINS)[0], place.text(record, "answer"))
        for place, record in reading.json_list(test)
    ]
    return halved(examples, questions)


def _mawps_example(place: reading.Place, record: object) -> Pair:
    parts = place.text(record, "shot_example").split(_ANSWER_BEGINS)
    if len(parts) != 2:
        place.fail("'shot_example' must contain '解答：' at the beginning of one line")
    question, solution = parts
    _, begins, rest = solution.partition("答えは")
    answer, ends, _ = rest.partition("です。")
    if not begins or not ends:
        place.fail("'shot_example' must contain '答えは…です。' after '解答：'")
    return question, answer


def wikipedia_splits(raw: RawFiles) -> dict[str, Splits]:
    """Returns the splits of the tasks of the Wikipedia Annotated Corpus, which share all documents."""
    found: dict[str, Splits] = {task: {split: [] for split in SPLITS} for task in WIKI_TASKS}
    for split in SPLITS:
        for file in raw.of(f"{split}/"):
            document = read_document(file.label, file.content)
            for task, sample in document_samples(document).items():
                found[task][split].append(sample)
    return found


def task_splits(task: str, raw: RawFiles) -> Splits:
    """Returns the splits of a task that has raw files of its own. Raises `InputError` with file and line."""
    return CONVERTERS[task]([file for need in needs(task) for file in raw.of(need)])


def has_documented_count(file: RawFile) -> bool:
    """Whether a file has the shape and the number of samples that are documented for the published file.

    False for files whose published digest is known.
    """
    if file.name not in DOCUMENTED:
        return False
    read = _json_lines(_jnli) if file.name.startswith("jnli") else _jsquad
    try:
        return sum(1 for _ in read(file)) == DOCUMENTED[file.name]
    except InputError:
        return False


CONVERTERS: Mapping[str, Converter] = MappingProxyType(
    {
        "chabsa": _without_test(_chabsa),
        "jamp": _with_test(_columns(4, 1)),
        "janli": _janli,
        "jcommonsenseqa": _with_test(_json_lines(_jcommonsenseqa)),
        "jemhopqa": _with_test(_jemhopqa),
        "jnli": _with_test(_json_lines(_jnli)),
        "jsem": _without_test(_jsem),
        "jsick": _with_test(_columns(11, 8)),
        "jsquad": _with_test(_jsquad),
        "jsts": _with_test(_json_lines(_jsts)),
        "mawps": _mawps,
        "niilc": _with_test(_niilc),
    }
)
"""Samples from the raw files of a task (in the order of `needs`), for tasks that have files of their own."""
