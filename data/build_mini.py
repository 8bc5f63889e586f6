"""Rebuild the bundled benchmark `data/mini` from its grammars: same seed, same contents.

    python data/build_mini.py            write every file beside the grammars
    python data/build_mini.py --check    rebuild in memory and compare with what lies there

For each source of each grammar file, 20,000 distinct answers of 90 to 110 characters are drawn;
the first 1,000 of a shuffle become the reference answers, the others feed the sample runs.
Everything rests on `random.Random.random()`, so the contents are the same on every Python. The
bytes of the `.xz` files may differ with the version of liblzma: contents are compared unpacked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import random
import re
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from pfgen_rs.errors import BenchmarkError, PfgenError
from pfgen_rs.references.grammar import QuestionGrammar, distinct_answers, load

T = TypeVar("T")

MINI = Path(__file__).resolve().parent / "mini"
SEED = "pfgen-mini"
POOL = 20_000
REFERENCES = 1_000
MIN_LENGTH, MAX_LENGTH = 90, 110
TRIALS = 10
MARKOV_ORDER = 1
MARKOV_LIMIT = 160

_KANJI = re.compile(r"[\u4e00-\u9fff]")
_SENTENCE = re.compile(r"[^。]*。")
_CLAUSE = re.compile(r"[^、。]*[、。]?")


@dataclass(frozen=True, slots=True)
class BuiltQuestion:
    """A question with its reference answers by source, and further answers that are no reference.

    `spare` mixes the sources in a random order.
    """

    grammar: QuestionGrammar
    answers: Mapping[str, list[str]]
    spare: Sequence[str]

    @property
    def references(self) -> list[str]:
        """Return the reference answers of all sources."""
        return [answer for answers in self.answers.values() for answer in answers]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 1 after a difference or an error."""
    parser = argparse.ArgumentParser(description="Rebuild the bundled benchmark from its grammars.")
    parser.add_argument("--out", type=Path, default=MINI, help="folder to write or to check")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    try:
        contents = build(MINI / "grammar")
        if options.check:
            return report(differences(contents, options.out))
        for name, content in contents.items():
            write(options.out / name, content)
    except (PfgenError, OSError) as error:
        print(f"build_mini: {error}", file=sys.stderr)
        return 1
    print(f"wrote {len(contents)} files to {options.out}")
    return 0


def build(grammars: Path) -> dict[str, bytes]:
    """Return the unpacked contents by path; a path ending in `.xz` is to be compressed."""
    questions = [build_question(path) for path in sorted(grammars.glob("Q*.toml"))]
    if not questions:
        raise BenchmarkError("no grammar file Q*.toml here", path=grammars)
    contents = {f"{q.grammar.question_id}.json.xz": question_file(q) for q in questions}
    contents["questions.jsonl"] = json_lines(
        {"question": q.grammar.question, "answer": q.grammar.note} for q in questions
    )
    for name, write_answers in RUNS.items():
        config = {"engine": "system", "mode": "completion", "model": f"mini/{name}"}
        contents[f"runs/{name}/config.json"] = json_lines([dict(sorted(config.items()))])
        contents[f"runs/{name}/trials.jsonl.xz"] = trials_file(questions, write_answers(questions))
    return contents


def build_question(path: Path) -> BuiltQuestion:
    """Draw the answers to one question; its sources never share a drawn sequence."""
    grammar = load(path)
    if grammar.question_id != path.stem:
        raise BenchmarkError(f"question_id is {grammar.question_id!r}; name the file so", path=path)
    answers: dict[str, list[str]] = {}
    rest: list[str] = []
    for source, rules in grammar.sources.items():
        rng = generator("references", grammar.question_id, source)
        pool = distinct_answers(rules, rng, POOL, MIN_LENGTH, MAX_LENGTH)
        pool = shuffled(pool, rng)
        answers[source] = pool[:REFERENCES]
        rest += pool[REFERENCES:]
    taken = {answer for references in answers.values() for answer in references}
    spare = shuffled([each for each in rest if each not in taken], generator("spare", path.stem))
    return BuiltQuestion(grammar, answers, spare)


def question_file(question: BuiltQuestion) -> bytes:
    """Write a question as the published files do: this order of keys, no newline at the end."""
    grammar = question.grammar
    content = {
        "question_id": grammar.question_id,
        "question": grammar.question,
        "category": grammar.category,
        "note": grammar.note,
        "keywords": grammar.keywords,
        "answers": question.answers,
    }
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def json_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Write one JSON object a line, non-ASCII characters as they are."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


# Sample runs: one list of TRIALS answers for each question.


def trials_file(questions: Sequence[BuiltQuestion], answers: Sequence[Sequence[str]]) -> bytes:
    """Write all trials as JSON lines, sorted bytewise; trial j is stamped with minute j of 2026."""
    lines = [
        json_lines(
            [
                {
                    "question": question.grammar.question,
                    "answer": answer,
                    "timestamp": f"2026-01-01T00:{trial:02d}:00",
                }
            ]
        )
        for question, given in zip(questions, answers, strict=True)
        for trial, answer in enumerate(given)
    ]
    return b"".join(sorted(lines))


def faithful(questions: Sequence[BuiltQuestion]) -> list[list[str]]:
    """Give answers of the grammars that are no reference answers."""
    return [list(question.spare[:TRIALS]) for question in questions]


def careless(questions: Sequence[BuiltQuestion]) -> list[list[str]]:
    """Give other such answers, each spoilt by mistakes that a weak model makes."""
    return [
        [
            spoil(answer, elsewhere(questions, question), generator("careless", answer))
            for answer in question.spare[TRIALS : 2 * TRIALS]
        ]
        for question in questions
    ]


def babbling(questions: Sequence[BuiltQuestion]) -> list[list[str]]:
    """Give text of a character Markov chain over the reference answers of all questions."""
    chain = MarkovChain(
        (answer for question in questions for answer in question.references), MARKOV_ORDER
    )
    return [
        [
            chain.sample(generator("babbling", question.grammar.question_id, str(trial)))
            for trial in range(TRIALS)
        ]
        for question in questions
    ]


RUNS: dict[str, Callable[[Sequence[BuiltQuestion]], list[list[str]]]] = {
    "faithful": faithful,
    "careless": careless,
    "babbling": babbling,
}


def elsewhere(questions: Sequence[BuiltQuestion], question: BuiltQuestion) -> list[str]:
    """Collect answers to the other questions, the stuff of mix-ups."""
    return [each for other in questions if other is not question for each in other.spare[-50:]] or [
        *question.spare[-50:]
    ]


def spoil(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Make two different mistakes and a few slips of the pen."""
    kinds = shuffled([drop_clause, borrow_sentence, repeat_sentence, ramble_on, stop_early], rng)
    # The slips come last, so that they touch the borrowed parts as well.
    for mistake in (*kinds[:2], slip):
        answer = mistake(answer, others, rng)
    return answer


def drop_clause(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Leave out one clause, but not the last."""
    del others
    clauses = [clause for clause in _CLAUSE.findall(answer) if clause]
    if len(clauses) > 2:
        del clauses[index(len(clauses) - 1, rng)]
    return "".join(clauses)


def borrow_sentence(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Replace a sentence by one from the answer to another question."""
    sentences = split_sentences(answer)
    sentences[index(len(sentences), rng)] = pick(split_sentences(pick(others, rng)), rng)
    return "".join(sentences)


def repeat_sentence(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Say a sentence twice."""
    del others
    sentences = split_sentences(answer)
    place = index(len(sentences), rng)
    sentences.insert(place, sentences[place])
    return "".join(sentences)


def ramble_on(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Go on about other questions, past 150 characters."""
    while len(answer) <= 150:
        answer += pick(split_sentences(pick(others, rng)), rng)
    return answer


def stop_early(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Stop after 30 to 69 characters, wherever that is."""
    del others
    return answer[: 30 + index(40, rng)]


def slip(answer: str, others: Sequence[str], rng: random.Random) -> str:
    """Put three wrong digits or kanji, or as many as there are places for."""
    kanji = _KANJI.findall(pick(others, rng))
    characters = list(answer)
    places = [i for i, each in enumerate(characters) if each.isdecimal() or _KANJI.match(each)]
    for place in shuffled(places, rng)[:3]:
        choice = kanji if _KANJI.match(characters[place]) else list("123456789")
        characters[place] = pick([each for each in choice if each != characters[place]], rng)
    return "".join(characters)


def split_sentences(text: str) -> list[str]:
    """Split after full stops; text without any is one sentence."""
    return _SENTENCE.findall(text) or [text]


class MarkovChain:
    """Characters drawn by the `order` characters before them; an answer ends where one ended."""

    def __init__(self, texts: Iterable[str], order: int) -> None:
        """Count what follows every `order` characters in `texts`."""
        self.order = order
        counts: dict[str, Counter[str]] = {}
        for text in texts:
            padded = "\n" * order + text + "\n"
            for start in range(len(text) + 1):
                context = padded[start : start + order]
                counts.setdefault(context, Counter())[padded[start + order]] += 1
        self.followers = {
            context: (list(counter), list(accumulate(counter.values())))
            for context, counter in counts.items()
        }

    def sample(self, rng: random.Random) -> str:
        """Draw one text of at most `MARKOV_LIMIT` characters."""
        text = "\n" * self.order
        while len(text) < self.order + MARKOV_LIMIT:
            characters, totals = self.followers[text[-self.order :]]
            following = characters[bisect_right(totals, int(rng.random() * totals[-1]))]
            if following == "\n":
                break
            text += following
        return text[self.order :]


# Chance: only `Random.random()` is used, whose sequence Python keeps stable across versions.


def generator(*names: str) -> random.Random:
    """Return the stream of chance that belongs to these names."""
    digest = hashlib.sha1("::".join((SEED, *names)).encode(), usedforsecurity=False).hexdigest()
    return random.Random(int(digest, 16))


def index(count: int, rng: random.Random) -> int:
    """Draw one of 0 ... `count` - 1."""
    return int(rng.random() * count)


def pick(items: Sequence[T], rng: random.Random) -> T:
    """Draw one item."""
    return items[index(len(items), rng)]


def shuffled(items: Sequence[T], rng: random.Random) -> list[T]:
    """Return a shuffled copy (Fisher and Yates)."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = index(last + 1, rng)
        result[last], result[other] = result[other], result[last]
    return result


# Files.


def write(path: Path, content: bytes) -> None:
    """Write whole or not at all; a `.xz` path is compressed."""
    data = compress(content) if path.suffix == ".xz" else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def compress(content: bytes) -> bytes:
    """Compress as the `.xz` files of the published runs: LZMA2, CRC64."""
    return lzma.compress(
        content, lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9 | lzma.PRESET_EXTREME
    )


def read(path: Path) -> bytes | None:
    """Return the unpacked content; None where there is no file or it cannot be unpacked."""
    try:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    except (FileNotFoundError, lzma.LZMAError):
        return None


def differences(contents: Mapping[str, bytes], folder: Path) -> list[str]:
    """List what in `folder` is not as in `contents`: missing, different and extra files."""
    lines = [
        f"{name}: {'missing' if not (folder / name).exists() else 'differs'}"
        for name, content in contents.items()
        if read(folder / name) != content
    ]
    lying = [*folder.glob("Q*.json*"), *folder.glob("runs/*/*")]
    extra = {path.relative_to(folder).as_posix() for path in lying} - set(contents)
    return [*lines, *(f"{name}: not made from any grammar" for name in sorted(extra))]


def report(lines: Sequence[str]) -> int:
    """Print the differences and return the exit code."""
    for line in lines:
        print(line)
    print("the files differ from a rebuild" if lines else "the files are as rebuilt")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
