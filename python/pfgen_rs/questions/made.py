"""Makes questions of reference answers in memory, and writes the questions of benchmarks to files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pfgen_rs.errors import BenchmarkError, InputError, OutputError
from pfgen_rs.io.staged import staged_folder
from pfgen_rs.io.text import shortened
from pfgen_rs.metrics import settings as how, units
from pfgen_rs.metrics.helpfulness import parse_rules
from pfgen_rs.metrics.settings import Settings
from pfgen_rs.metrics.units import Unit
from pfgen_rs.questions import question as files
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet

_DEFAULTS: Mapping[str, Any] = {"question_id": "", "category": "", "note": "", "keywords": []}

Content = dict[str, Any]
"""That of a question file."""


def made_questions(
    records: Iterable[Mapping[str, Any]] | Mapping[str, Any],
    rules: Mapping[str, Sequence[Any]],
    source: str,
    unit: Unit,
    n: str | Sequence[int] | None,
    length: int | None,
) -> tuple[list[Question], str]:
    """Returns the questions of records, or of a mapping to answers, and the metadata hash of their files.

    The parameters are those of `Benchmark.from_references`. Raises `InputError`, and `SettingsError`.
    """
    numbered: Iterable[tuple[int | None, Any]] = enumerate(records)
    if isinstance(records, Mapping):
        numbered = ((None, {"question": q, "answers": own}) for q, own in records.items())
    found: dict[str, Content] = {}
    for row, record in numbered:
        _add(found, record, row, source, unit)
    if not found:
        raise InputError("no questions: expected reference answers to at least one")
    contents = list(found.values())
    _add_ids(contents)
    _add_rules(contents, rules)
    stated = how.stated_settings(_settings(contents, unit, n, length))
    scoring = {} if stated is None else {"scoring": stated}
    questions = [_question({**content, **scoring}) for content in contents]
    return questions, _metadata_hash({f"{each.id}.json": _content(each) for each in questions})


def _add(
    found: dict[str, Content], record: Mapping[str, Any], row: int | None, source: str, unit: Unit
) -> None:
    """Add what a record says about a question to what is known of it."""
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        names = ", ".join(map(repr, record))
        raise _error(f"expected the text of a question, not {text!r}: found {names}", row)
    if text in found and "answer" not in record:
        raise _error("duplicate question: put all of its answers into one list", row, text)
    content = found.setdefault(text, {"question": text, "answers": {}})
    for key in _DEFAULTS:
        value = record.get(key)
        if not _is_missing(value) and content.setdefault(key, value) != value:
            raise _error(f"two values of {key!r}: {content[key]!r} and {value!r}", row, text)
    for name, place, answer in _answers(record, row, text, source):
        if unit == "token" and isinstance(answer, Iterable):
            answer = list(map(int, answer))
        elif not isinstance(answer, str) or not answer.strip():
            raise _error(f"{place}expected a text, not {shortened(repr(answer))}", row, text)
        content["answers"].setdefault(name, []).append(answer)


def _answers(
    record: Mapping[str, Any], row: int | None, text: str, source: str
) -> Iterator[tuple[str, str, Any]]:
    """Yield the source, place and content of the `answer` of a record, or of each of its `answers`."""
    if "answer" in record:
        own = record.get("source")
        yield source if _is_missing(own) else str(own), "", record["answer"]
        return
    answers = record.get("answers")
    by_source = answers if isinstance(answers, Mapping) else {source: answers}
    for name, own in by_source.items():
        if own is None and by_source is answers:  # a struct has null for what others have
            continue
        if isinstance(own, str | Mapping) or not isinstance(own, Iterable):
            raise _error(f"expected a list of answers, not {shortened(repr(own))}", row, text)
        if not (listed := list(own)):
            raise _error("no reference answers", row, text)
        yield from ((str(name), f"answer {i}: ", answer) for i, answer in enumerate(listed))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # NaN, as of pandas


def _error(problem: str, row: int | None, question: str | None = None) -> InputError:
    return InputError(problem, line=row, question=question, item="row")


def _add_ids(contents: Sequence[Content]) -> None:
    """Number the questions that have no id; refuse ids that cannot be names of different files."""
    digits = max(2, len(str(len(contents))))
    seen: dict[str, str] = {}
    for number, content in enumerate(contents, 1):
        own, text = (
            str(content.setdefault("question_id", f"Q{number:0{digits}}")),
            content["question"],
        )
        other = seen.setdefault(own.casefold(), text)  # some file systems ignore the case
        same = f"has the same id {own!r} as {shortened(other)!r}" if other != text else None
        if problem := files.id_problem(own) or same:
            raise _error(problem, None, text)


def _add_rules(contents: Sequence[Content], rules: Mapping[str, Sequence[Any]]) -> None:
    known = {content[key]: content for content in contents for key in ("question_id", "question")}
    for name, own in rules.items():
        if name not in known:
            close = difflib.get_close_matches(str(name), known, 1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise InputError(f"rules for {name!r}, which is no question{hint}")
        if known[name].get("keywords"):
            raise _error("rules are given twice", None, known[name]["question"])
        listed = isinstance(own, Sequence) and not isinstance(own, str)
        known[name]["keywords"] = list(map(_rule, own)) if listed else own


def _rule(rule: Any) -> Any:
    """Returns a rule as question files have it: a text alone is a pattern."""
    if isinstance(rule, str):
        return {"t": rule}
    if not isinstance(rule, Mapping):
        return rule
    parts = {key: rule[key] for key in ("and", "or") if isinstance(rule.get(key), list | tuple)}
    return {**rule, **{key: list(map(_rule, own)) for key, own in parts.items()}}


def _settings(
    contents: Sequence[Content], unit: Unit, n: str | Sequence[int] | None, length: int | None
) -> Settings:
    """Returns the settings for answers as long as these, as `pfgen-rs build` chooses them."""
    if length is None:
        columns = [own for content in contents for own in content["answers"].values()]
        coder = units.coder(unit, *columns)
        mean = fmean(fmean(coder.column(own).coded.lengths()) for own in columns)
        length = how.fitting_length(mean, Settings.target_length)
    found = Settings.for_length(length, unit)
    ranges: dict[str, Any] = {} if n is None else how.ngram_range(n)
    return replace(found, max_length=max(found.max_length, *ranges.values(), 1), **ranges)


def _question(content: Content) -> Question:
    complete = {**_DEFAULTS, **content}
    try:
        parse_rules(complete["keywords"], "rules")
        return files.question_of(complete)
    except BenchmarkError as error:
        raise _error(error.problem, None, content["question"]) from None


def _content(question: Question) -> bytes:
    """Returns the file of a question."""
    about = {"question_id": question.id, "question": question.text, **vars(question)}
    return files.content_bytes(about, question.answers, question.scoring)


def _metadata_hash(contents: Mapping[str, bytes]) -> str:
    """Returns that of files by their names."""
    return files.combined_digest(files.file_digest(contents[name]) for name in sorted(contents))


# Writing questions to a folder.


def save_questions(bench: QuestionSet, folder: Path) -> Path:
    """Write question files; see `Benchmark.save`."""
    how.chosen_settings(bench.settings, next(iter(bench)).scoring or {})  # or they would be lost
    contents = {f"{(q.file or q.id).partition('.')[0]}.json": _saved(bench, q) for q in bench}
    if _metadata_hash(contents) != bench.metadata_hash:
        raise OutputError(
            "questions put together by hand: make them with Benchmark.from_references"
        )
    if any(each for place in (folder, folder / "data") for each in place.glob("Q*.json*")):
        if files.read_folder(folder)[1] == bench.metadata_hash:
            return folder
        raise OutputError(f"{folder}: contains another set: remove it, or choose another folder")
    with staged_folder(folder, "saving") as staged:
        for name, content in contents.items():
            (staged / name).write_bytes(content)
    return folder


def _saved(bench: QuestionSet, question: Question) -> bytes:
    if question.file is None or bench.folder is None:
        return _content(question)
    return files.read_question_file(files.question_paths(bench.folder)[0].parent / question.file)
