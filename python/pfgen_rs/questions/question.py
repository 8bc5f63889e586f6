"""Questions, and reading and checking question files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pfgen_rs import _native
from pfgen_rs.errors import (
    BenchmarkError,
    BenchmarkNotFoundError,
    InputError,
    SettingsError,
    unreadable,
)
from pfgen_rs.install.store import PROVENANCE, may_be_question
from pfgen_rs.io import compression
from pfgen_rs.io.atomic import portable_name
from pfgen_rs.io.text import shortened
from pfgen_rs.metrics.helpfulness import Rule, parse_rules
from pfgen_rs.metrics.ngram_index import NgramIndex
from pfgen_rs.metrics.settings import STATED, Settings
from pfgen_rs.metrics.units import UNITS, Unit
from pfgen_rs.questions.about import About, Makers, parse_about, parse_makers


@dataclass(frozen=True)
class Question:
    """One question: text, keyword rules (as in the file, and parsed), and reference answers by source.

    Reference answers are texts or, if the units are tokens, lists of ids. `note` describes a correct answer
    for human readers; it does not affect scores.

    >>> import pfgen_rs
    >>> question = pfgen_rs.load_benchmark("mini")["Q02"]
    >>> question.text, question.category, question.sources
    ('光合成とは何ですか？', 'biology', ['A'])
    """

    id: str
    text: str
    category: str
    note: str
    keywords: Sequence[Mapping[str, Any]]
    answers: Mapping[str, Sequence[Any]]
    rules: tuple[Rule, ...] = field(repr=False)
    scoring: Mapping[str, Any] | None = field(default=None, repr=False)
    """Settings by which answers are scored, as the question file states them; `None` if it states none."""
    about: About | None = field(default=None, repr=False)
    """What the set says of itself; `None` in question files of format 1, which say nothing."""
    models: Sequence[str] = field(default=(), repr=False)
    """Names of the models that wrote the reference answers, as far as the question file says."""
    makers: Makers = field(default_factory=dict, repr=False)
    """By source, the index in `models` of who wrote each reference answer; empty if nobody is known."""
    digest: str | None = field(default=None, init=False, repr=False, compare=False)
    """SHA-1 of the question file's content; `None` if the question was not read from a file."""
    file: str | None = field(default=None, init=False, repr=False, compare=False)
    """Name of the question file, likewise."""

    def __repr__(self) -> str:
        """Show the question and the number of reference answers and rules."""
        counts = {source: len(answers) for source, answers in self.answers.items()}
        answers = shortened(", ".join(f"{source}: {count}" for source, count in counts.items()))
        return (
            f"Question({shortened(self.id)!r}, {shortened(self.text)!r}, "
            f"answers: {{{answers}}}, rules: {len(self.rules)})"
        )

    def _repr_html_(self) -> str:
        """Show the question with its note, the numbers of reference answers, and the rules in notebooks."""
        from pfgen_rs.io import notebook  # which scoring does without

        rules = [(_rule_text(rule), rule.importance) for rule in self.rules]
        counts = [(source, str(len(answers))) for source, answers in self.answers.items()]
        return notebook.document(
            [
                notebook.heading(f"{self.id} {self.text}"),
                notebook.paragraph(self.category),
                notebook.paragraph(self.note),
                notebook.table(("source", "reference answers"), counts),
                notebook.table(("rule", "importance"), rules) if rules else "",
            ]
        )

    @property
    def has_tokens(self) -> bool:
        """Whether the reference answers are lists of token ids rather than texts."""
        if isinstance(self.answers, UnreadAnswers):
            return False
        first = [answer for answers in self.answers.values() for answer in answers[:1]]
        return any(hasattr(answer, "__len__") and not isinstance(answer, str) for answer in first)

    @cached_property
    def index(self) -> NgramIndex:
        """Suffix-array index over the characters (or token ids) of the reference answers.

        Built on first use. The benchmark's `index` method returns the one for its own unit.
        """
        return NgramIndex(self.answers, "token" if self.has_tokens else "character")

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle without the index, which is rebuilt when needed."""
        return {key: value for key, value in vars(self).items() if key != "index"}

    @property
    def sources(self) -> list[str]:
        """Names of the sources in the file's order, in which shares are summed."""
        return list(self.answers)


def _rule_text(rule: Rule) -> str:
    """Returns a rule's name or, without one, what it asks for."""
    if rule.name is not None:
        return rule.name
    if rule.kind == "t":
        return rule.pattern
    texts = [(_rule_text(part), part) for part in rule.parts]
    inner = [f"({text})" if part.parts and part.name is None else text for text, part in texts]
    return f" {rule.kind} ".join(inner)


def read_folder(folder: Path) -> tuple[list[Question], str]:
    """Read the question files of a folder (see `question_paths`). Returns questions and metadata hash.

    The hash is the SHA-1 of the files' SHA-1 digests in the order of their names. Digests are those of the
    decompressed contents, so compression does not change them. Raises `BenchmarkNotFoundError` or
    `BenchmarkError`.
    """
    paths = question_paths(folder)
    questions = [read_question(path) for path in paths]
    _reject_duplicate_questions(questions, paths)
    return questions, combined_digest(str(question.digest) for question in questions)


def read_question(path: Path) -> Question:
    """Read a question file. Raises `BenchmarkError`."""
    content = read_question_file(path)
    question = _parse_file(content, path)
    set_question_file(question, path.name, file_digest(content))
    return question


def set_question_file(question: Question, name: str, digest: str) -> None:
    """Set what is known of a question that is in a file.

    Not parameters: a modified copy of a question has no file, and must not have a digest.
    """
    object.__setattr__(question, "file", name)
    object.__setattr__(question, "digest", digest)


def _parse_file(content: bytes, path: Path) -> Question:
    try:
        data = json.loads(content.decode())
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"is not UTF-8: {error}", path=path) from None
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"is not JSON: {error}", path=path) from None
    escaped = b"\\u" in content  # in what was UTF-8, only escapes can be lone surrogates
    try:
        return question_of(data, escaped=escaped)
    except BenchmarkError as error:
        raise BenchmarkError(str(error), path=path) from None


def question_of(data: object, *, escaped: bool = True) -> Question:
    """Returns the question of a question file's content; raises `BenchmarkError`.

    `escaped`: whether texts may have lone surrogates, which takes a while to find out.
    """
    if not isinstance(data, dict):
        raise BenchmarkError(f"expected an object, not {type(data).__name__}")
    texts = {
        key: _question_text(data.get(key, default), key)
        for key, default in (
            ("question_id", None),
            ("question", None),
            ("category", ""),
            ("note", ""),
        )
    }
    about = parse_about(data.get("set"))
    rules = parse_rules(data.get("keywords"))
    answers = _question_answers(data.get("answers"), escaped=escaped)
    models, makers = parse_makers(data.get("models"), data.get("makers"), answers)
    return Question(
        id=texts["question_id"],
        text=texts["question"],
        category=texts["category"],
        note=texts["note"],
        rules=rules,
        keywords=data["keywords"],
        answers=answers,
        scoring=_question_scoring(data.get("scoring")),
        about=about,
        models=models,
        makers=makers,
    )


def _question_scoring(value: object) -> dict[str, Any] | None:
    """Returns all settings that a set may state; those that the file leaves out are the published ones."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BenchmarkError(f"'scoring' must be an object of settings, not {value!r}")
    unknown = [name for name in value if name not in STATED]
    if unknown:
        raise BenchmarkError(
            f"'scoring' has an unknown setting {unknown[0]!r}: expected {', '.join(STATED)}"
        )
    for name, given in value.items():
        kind = type(getattr(Settings, name))
        if not (type(given) is kind or (kind is float and type(given) is int)):
            raise BenchmarkError(f"'scoring': {name} must be a {kind.__name__}, not {given!r}")
    try:
        settings = Settings(**value)
    except SettingsError as error:
        raise BenchmarkError(f"'scoring': {error}") from None
    return {name: getattr(settings, name) for name in STATED}


def _question_text(value: object, key: str) -> str:
    if value is None:
        raise BenchmarkError(f"missing key {key!r}")
    if not isinstance(value, str):
        raise BenchmarkError(f"{key!r} must be text, not {value!r}")
    if _question_has_surrogate(value):
        raise BenchmarkError(f"{key!r} contains a lone surrogate: {value!r}")
    return value


def _question_answers(value: object, *, escaped: bool) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise BenchmarkError("'answers' must map at least one source to its reference answers")
    for source, answers in value.items():
        _check_source(source, answers, escaped=escaped)
    kinds = {kind is str for answers in value.values() for kind in set(map(type, answers))}
    if len(kinds) > 1:
        raise BenchmarkError("'answers' must be all texts or all lists of token ids")
    return {source: tuple(answers) for source, answers in value.items()}


def _check_source(source: str, answers: object, *, escaped: bool) -> None:
    if _question_has_surrogate(source):
        raise BenchmarkError(f"the name of source {source!r} contains a lone surrogate")
    if not isinstance(answers, list) or not answers:
        raise BenchmarkError(f"source {source!r} must have a list of at least one answer")
    if all(isinstance(answer, list) for answer in answers):
        try:
            _native.code_tokens(answers)
        except InputError as error:
            raise BenchmarkError(f"answers of source {source!r}: {error}") from None
    else:
        _check_texts(source, answers, escaped=escaped)
    if not any(answers):
        raise BenchmarkError(
            f"source {source!r} has only empty answers, so its baseline would be 0"
        )


def _check_texts(source: str, answers: list[Any], *, escaped: bool) -> None:
    for i, answer in enumerate(answers):
        if not isinstance(answer, str):
            raise BenchmarkError(f"answer {i} of source {source!r} must be text, not {answer!r}")
        if escaped and _question_has_surrogate(answer):
            raise BenchmarkError(f"answer {i} of source {source!r} contains a lone surrogate")


def _question_has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _reject_duplicate_questions(questions: Sequence[Question], paths: Sequence[Path]) -> None:
    seen: dict[tuple[str, str], Path] = {}
    for question, path in zip(questions, paths, strict=True):
        for kind, value in (("id", question.id), ("question", question.text)):
            other = seen.setdefault((kind, value), path)
            if other is not path:
                raise BenchmarkError(f"has the same {kind} {value!r} as {other}", path=path)


# Finds, decompresses and hashes question files, without parsing them.


_KEY, _START = re.compile(rb'"question_id"\s*:'), 4096  # bytes


def question_paths(folder: Path) -> list[Path]:
    """Returns the question files of a folder (or of its `data` folder), plain or compressed, sorted by name.

    They are JSON, and their names begin with Q, or they have a `question_id` in their first 4,096 bytes.
    Raises `BenchmarkNotFoundError` if there are none.
    """
    if paths := found_questions(folder) or found_questions(folder / "data"):
        return paths
    problem = 'the folder has no question files (*.json, with a "question_id")'
    raise BenchmarkNotFoundError(problem, path=folder)


def found_questions(folder: Path) -> list[Path]:
    """Returns the question files of a folder itself, sorted by name."""
    return sorted(path for path in folder.glob("*.json*") if _is_question(path))


def read_question_file(path: Path) -> bytes:
    """Returns the decompressed content of a question file. Raises `BenchmarkError` if it cannot be read."""
    try:
        return compression.read_whole(path)
    except OSError as error:
        raise BenchmarkError(unreadable(error), path=path) from error
    except compression.UnpackingError as error:
        raise BenchmarkError(str(error), path=path) from None


def content_bytes(
    about: Mapping[str, Any],
    answers: Mapping[str, Sequence[Any]],
    scoring: Mapping[str, Any] | None,
    set_about: About | None = None,
    models: Sequence[str] = (),
    makers: Makers | None = None,
) -> bytes:
    """Returns a question file in the published format: keys in order, no newline at the end.

    `about` has the first of its keys. `scoring`: the settings by which answers are scored, if they are not
    the published ones. `set_about`, `models`, `makers`: as in `Question`, if the set says so.
    """
    content = {name: about[name] for name in ("question_id", "question", "category", "note")}
    content["keywords"] = [dict(rule) for rule in about["keywords"]]
    content |= {} if set_about is None else {"set": set_about.stated()}
    content |= {} if scoring is None else {"scoring": scoring}
    content |= {"models": list(models)} if models else {}
    content |= {"makers": {name: list(own) for name, own in makers.items()}} if makers else {}
    content["answers"] = {source: list(own) for source, own in answers.items()}
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return (lists_in_lines(text) if makers else text).encode()


def lists_in_lines(text: str) -> str:
    """Put each list of integers of an indented JSON text on one line; strings have no line breaks."""
    return re.sub(r"\[\n[\s\d,nul]+\]", lambda match: f"[{' '.join(match[0][1:-1].split())}]", text)


_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,60}")


def id_problem(question_id: str) -> str | None:
    """Returns what is wrong with the id of a question that is to have a file of that name."""
    name = f"{question_id}.json"
    if not _ID.fullmatch(question_id):
        expected = "letters, digits, -, _ or ., of which - and . do not come first"
    elif not may_be_question(name) or portable_name(name) != name:
        expected = f"another, since no question file can be called {name}"
    else:
        return None
    return f"invalid id {shortened(question_id)!r}: expected {expected}"


def file_digest(content: bytes) -> str:
    """Returns the SHA-1 of a file's content, in hexadecimal."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def combined_digest(digests: Iterable[str]) -> str:
    """Returns the metadata hash of a question set, given its files' digests in the order of their names."""
    return file_digest("".join(digests).encode())


def stated_unit(folder: Path) -> Unit:
    """Returns the unit that a set was built with before question files stated it; else `character`."""
    for place in (folder, folder / "data"):
        try:
            unit = json.loads((place / PROVENANCE).read_bytes())["settings"]["unit"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
        if unit in UNITS:
            return cast("Unit", unit)
    return "character"


def _is_question(path: Path) -> bool:
    if path.name.startswith("Q") or not may_be_question(path.name):
        return may_be_question(path.name)
    try:
        with path.open("rb") as file:
            start, damage = compression.read_some(compression.unpacking(file), _START)
    except OSError:
        return path.is_file()  # which is an error when it is read
    return damage is not None or _KEY.search(start) is not None


# Reference answers that stay in their file until somebody asks for them: scores need the index only.


class UnreadAnswers(Mapping[str, Sequence[str]]):
    """The reference answers of a question by source; `counts` says how many there are, `read` reads them."""

    def __init__(
        self, counts: Mapping[str, int], read: Callable[[], Mapping[str, Sequence[str]]]
    ) -> None:
        self._counts, self._read = counts, read

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """The answers themselves, which are kept once they have been read."""
        return self._read()

    def __getitem__(self, source: str) -> Sequence[str]:
        """Returns the answers of a source, which are not read yet."""
        return _UnreadSource(self, source, self._counts[source])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the sources."""
        return iter(self._counts)

    def __len__(self) -> int:
        """Count the sources."""
        return len(self._counts)


class _UnreadSource(Sequence[str]):
    """The answers of one source: their number is known."""

    def __init__(self, answers: UnreadAnswers, source: str, count: int) -> None:
        self._answers, self._source, self._count = answers, source, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        return self._answers.texts[self._source][place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers.texts[self._source])
