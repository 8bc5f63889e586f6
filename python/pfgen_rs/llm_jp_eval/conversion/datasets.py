"""Samples of each data set."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pfgen_rs.llm_jp_eval.catalog import SPLITS
from pfgen_rs.llm_jp_eval.conversion.knp import read_document
from pfgen_rs.llm_jp_eval.conversion.published import RawFile, RawFiles, needs
from pfgen_rs.llm_jp_eval.conversion.reading import (
    Element,
    Place,
    json_document,
    json_lines,
    json_list,
    tsv_rows,
    xml_tree,
)
from pfgen_rs.llm_jp_eval.conversion.wikipedia import WIKI_TASKS, document_samples

_SKIPPED_ANSWERS = frozenset({"", "infelicitous", "unacceptable", "weakacceptable"})
_JSEM_TAGS = frozenset({"problem", "p", "h", "script"})
_NIILC_TAGS = frozenset({"question", "text", "answers", "answer"})
_CHOICES = 5
_ANSWER_BEGINS = "\n解答："


def _pair_of_sentences(premise: str, hypothesis: str, label: str) -> Pair:
    return f"前提：{premise}\n仮説：{hypothesis}", label


def _columns(file: RawFile, width: int, first: int) -> list[Pair]:
    rows = tsv_rows(file, width)
    return [_pair_of_sentences(*row[first : first + 3]) for row in rows]


def _jamp(raw: RawFiles) -> Splits:
    train, test = _files("jamp", raw)
    return with_test(_columns(train, 4, 1), _columns(test, 4, 1))


def _janli(raw: RawFiles) -> Splits:
    [file] = _files("janli", raw)
    train: list[Pair] = []
    test: list[Pair] = []
    for row in tsv_rows(file, 5):
        (test if row[-1].strip() == "test" else train).append(_pair_of_sentences(*row[1:4]))
    return with_test(train, test)


def _jsick(raw: RawFiles) -> Splits:
    train, test = _files("jsick", raw)
    return with_test(_columns(train, 11, 8), _columns(test, 11, 8))


def _jsem(raw: RawFiles) -> Splits:
    return without_test([pair for file in _files("jsem", raw) for pair in _jsem_problems(file)])


def _jsem_problems(file: RawFile) -> Iterator[Pair]:
    for problem in xml_tree(file, "jsem-dataset", _JSEM_TAGS).all("problem"):
        if "answer" not in problem.attributes:
            problem.fail("<problem> has no attribute 'answer'")
        answer = problem.attributes["answer"]
        if answer in _SKIPPED_ANSWERS:
            continue
        premises = [p.one("script").required_text() for p in problem.all("p")]
        if not premises:
            problem.fail("<problem> has no <p>")
        hypothesis = problem.one("h").one("script").required_text()
        yield _pair_of_sentences("".join(premises), hypothesis, answer)


def _niilc(raw: RawFiles) -> Splits:
    train, test = _files("niilc", raw)
    return with_test(list(_niilc_questions(train)), list(_niilc_questions(test)))


def _niilc_questions(file: RawFile) -> Iterator[Pair]:
    for question in xml_tree(file, "questions", _NIILC_TAGS).all("question"):
        text = question.one("text").required_text()
        answer = _niilc_answer(question.one("answers"))
        if answer != "-":
            yield f"質問：{text}", answer


def _niilc_answer(answers: Element) -> str:
    found = [each.text for each in answers.all("answer")]
    if not any(found):
        answers.fail("<answers> has no <answer> with text")
    return ",".join(filter(None, found))


def _jnli(raw: RawFiles) -> Splits:
    return _from_json_lines("jnli", raw, _jnli_pair)


def _jnli_pair(place: Place, record: object) -> Pair:
    return _pair_of_sentences(
        place.text(record, "sentence1"),
        place.text(record, "sentence2"),
        place.text(record, "label"),
    )


def _jsts(raw: RawFiles) -> Splits:
    return _from_json_lines("jsts", raw, _jsts_pair)


def _jsts_pair(place: Place, record: object) -> Pair:
    first, second = place.text(record, "sentence1"), place.text(record, "sentence2")
    return f"文1：{first}\n文2：{second}", str(place.number(record, "label"))


def _jcommonsenseqa(raw: RawFiles) -> Splits:
    return _from_json_lines("jcommonsenseqa", raw, _jcommonsenseqa_pair)


def _jcommonsenseqa_pair(place: Place, record: object) -> Pair:
    question = place.text(record, "question")
    choices = ",".join(f"{n}.{place.text(record, f'choice{n}')}" for n in range(_CHOICES))
    label = place.number(record, "label")
    if not isinstance(label, int):
        place.fail(f"'label' must be the number of a choice, found {label}")
    return f"質問：{question}\n選択肢：{choices}", str(label)


def _from_json_lines(task: str, raw: RawFiles, read: Callable[[Place, object], Pair]) -> Splits:
    train, test = ([read(*line) for line in json_lines(file)] for file in _files(task, raw))
    return with_test(train, test)


def _jsquad(raw: RawFiles) -> Splits:
    train, test = (list(_jsquad_questions(file)) for file in _files("jsquad", raw))
    return with_test(train, test)


def _jsquad_questions(file: RawFile) -> Iterator[Pair]:
    root, document = json_document(file)
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


def _jemhopqa(raw: RawFiles) -> Splits:
    train, test = (
        [
            (f"質問：{place.text(record, 'question')}", place.text(record, "answer"))
            for place, record in json_list(file)
        ]
        for file in _files("jemhopqa", raw)
    )
    return with_test(train, test)


def _chabsa(raw: RawFiles) -> Splits:
    return without_test(
        [pair for file in _files("chabsa", raw) for pair in _chabsa_sentences(file)]
    )


def _chabsa_sentences(file: RawFile) -> Iterator[Pair]:
    root, document = json_document(file)
    for at_sentence, sentence in root.items(document, "sentences"):
        opinions = [
            f"{at.text(opinion, 'target')} {at.text(opinion, 'polarity')}"
            for at, opinion in at_sentence.items(sentence, "opinions")
        ]
        if opinions:
            yield f"文章：{at_sentence.text(sentence, 'sentence')}", "\n".join(opinions)


def _mawps(raw: RawFiles) -> Splits:
    zero_shot, shots, test = _files("mawps", raw)
    examples = [_mawps_example(*each) for file in (zero_shot, shots) for each in json_list(file)]
    questions = [
        (place.text(record, "question").split(_ANSWER_BEGINS)[0], place.text(record, "answer"))
        for place, record in json_list(test)
    ]
    return halved(examples, questions)


def _mawps_example(place: Place, record: object) -> Pair:
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


def _files(task: str, raw: RawFiles) -> list[RawFile]:
    return [file for need in needs(task) for file in raw.of(need)]


CONVERTERS: Mapping[str, Callable[[RawFiles], Splits]] = MappingProxyType(
    {
        "chabsa": _chabsa,
        "jamp": _jamp,
        "janli": _janli,
        "jcommonsenseqa": _jcommonsenseqa,
        "jemhopqa": _jemhopqa,
        "jnli": _jnli,
        "jsem": _jsem,
        "jsick": _jsick,
        "jsquad": _jsquad,
        "jsts": _jsts,
        "mawps": _mawps,
        "niilc": _niilc,
    }
)
"""What makes a task's samples of its raw files, for the tasks that have raw files of their own."""


# Shuffling and splitting as the reference does it.


Pair = tuple[str, str]
"""Input and output of a sample."""
Splits = dict[str, list[Pair]]
"""Samples of train, dev and test."""

_SEED = 42


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
