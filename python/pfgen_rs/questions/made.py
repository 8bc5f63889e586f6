"""Makes questions of reference answers in memory, and writes the questions of benchmarks to files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import BenchmarkError, InputError, OutputError, meant
from pfgen_rs.io.atomic import staged_folder
from pfgen_rs.io.text import shortened
from pfgen_rs.metrics import settings as how
from pfgen_rs.metrics.helpfulness import parse_rules
from pfgen_rs.metrics.languages import LANGUAGES, language_of
from pfgen_rs.metrics.units import Unit, coder
from pfgen_rs.questions import question as files
from pfgen_rs.questions.about import About, about_of, indexed_makers
from pfgen_rs.questions.card import CARD, card
from pfgen_rs.questions.question import Question
from pfgen_rs.questions.question_set import QuestionSet

_DEFAULTS: Mapping[str, Any] = {"question_id": "", "category": "", "note": "", "keywords": []}

Record = Mapping[str, Any]
Content = dict[str, Any]
"""That of a question file."""


def made_questions(
    records: Any,
    rules: Record,
    source: str,
    unit: Unit | None,
    n: Any,
    length: int | None,
    skipped: str | None,
    about: Mapping[str, str],
) -> tuple[list[Question], str]:
    """Returns the questions of records, or of a mapping to answers, and the metadata hash of their files.

    The parameters are those of `Benchmark.from_references`. Raises `InputError`, and `SettingsError`.
    """
    given = {"unit": unit, "skipped": skipped, "length": length}
    chosen = {name for name, value in given.items() if value is not None}
    own = language_of(about.get("language", ""), chosen, tuple(given)) or LANGUAGES["ja"]
    unit, skipped = unit or own.unit, own.skipped if skipped is None else skipped
    said = about_of(about)
    numbered: Iterable[tuple[int | None, Any]] = enumerate(records)
    if isinstance(records, Mapping):
        numbered = ((None, {"question": q, "answers": own}) for q, own in records.items())
    found: dict[str, Content] = {}
    for row, record in numbered:
        text = record.get("question")
        try:
            _add(found, text, record, source, unit)
        except InputError as error:
            question = text if isinstance(text, str) else None
            raise InputError(error.problem, line=row, item="row", question=question) from None
    if not found:
        raise InputError("no questions: expected reference answers to at least one")
    contents = list(found.values())
    _add_ids(contents)
    _add_rules(contents, rules)
    questions = [_question(content) for content in contents]
    stated = how.stated_settings(_settings(questions, unit, skipped, n, length, own.length))
    if said is None and any(question.models for question in questions):
        said = About()
    questions = [replace(question, scoring=stated, about=said) for question in questions]
    return questions, _metadata_hash({f"{each.id}.json": _content(each) for each in questions})


def _add(found: dict[str, Content], text: Any, record: Record, source: str, unit: Unit) -> None:
    """Add what a record says about a question to what is known of it."""
    if not isinstance(text, str) or not text.strip():
        names = ", ".join(map(repr, record))
        raise InputError(f"expected a text called 'question', not {text!r}: found {names}")
    content = found.setdefault(
        " ".join(text.split()), {"question": text, "answers": {}, "makers": {}}
    )
    if content["answers"] and ("answer" not in record or content["question"] != text):
        raise InputError("duplicate question, at least but for white space")
    for key in _DEFAULTS:
        value = record.get(key)
        if not _is_missing(value) and content.setdefault(key, value) != value:
            raise InputError(f"two values of {key!r}: {content[key]!r} and {value!r}")
    model = record.get("model")
    maker = None if _is_missing(model) or not model else str(model)
    for name, own in _by_source(record, source).items():
        listed = _listed(own, unit)
        content["answers"].setdefault(name, []).extend(listed)
        content["makers"].setdefault(name, []).extend([maker] * len(listed))


def _by_source(record: Record, source: str) -> Record:
    """Returns lists of answers by source: the `answer` of a record, or its `answers`."""
    if "answer" in record:
        own = record.get("source")
        return {source if _is_missing(own) else str(own): [record["answer"]]}
    if "answers" not in record:
        found = ", ".join(map(repr, record))
        raise InputError(f"expected an 'answer', or a list of 'answers': found {found}")
    answers = record["answers"]
    if not isinstance(answers, Mapping):
        return {source: answers}
    return {str(name): own for name, own in answers.items() if own is not None}  # null in structs


def _listed(answers: Any, unit: Unit) -> list[Any]:
    if isinstance(answers, str | Mapping) or not isinstance(answers, Iterable):
        raise InputError(f"expected a list of answers, not {shortened(repr(answers))}")
    listed = list(answers)
    for number, answer in enumerate(listed):
        if unit != "token" and not (isinstance(answer, str) and answer.strip()):
            place = f"answer {number}: " * (len(listed) > 1)
            hint = ": lists are called 'answers'" * isinstance(answer, list)
            raise InputError(f"{place}expected a text, not {shortened(repr(answer))}{hint}")
    if not listed:
        raise InputError("no reference answers")
    return listed


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # NaN, as of pandas


def _add_ids(contents: Sequence[Content]) -> None:
    """Number the questions that have no id; refuse ids that cannot be names of different files."""
    seen = set()
    for number, content in enumerate(contents, 1):
        own = str(content.setdefault("question_id", f"Q{number:02}"))
        same = f"duplicate id {own!r}" if own.casefold() in seen else None  # cases may not differ
        if problem := files.id_problem(own) or same:
            raise InputError(problem, question=content["question"])
        seen.add(own.casefold())


def _add_rules(contents: Sequence[Content], rules: Record) -> None:
    if not isinstance(rules, Mapping):
        raise InputError(f"rules: expected a mapping of questions to lists of rules, not {rules!r}")
    known = {content[key]: content for content in contents for key in ("question_id", "question")}
    for name, own in rules.items():
        if name not in known:
            alike = meant(str(name), known)
            raise InputError(f"rules for {name!r}, which is not a question of the set{alike}")
        if known[name].get("keywords"):
            raise InputError("rules are given twice", question=known[name]["question"])
        known[name]["keywords"] = list(map(_rule, own)) if isinstance(own, list | tuple) else own


def _rule(rule: Any) -> Any:
    """Returns a rule as question files have it: a text alone is a pattern."""
    if isinstance(rule, str):
        return {"t": rule}
    if not isinstance(rule, Mapping):
        return rule
    parts = {key: rule[key] for key in ("and", "or") if isinstance(rule.get(key), list | tuple)}
    return {**rule, **{key: list(map(_rule, own)) for key, own in parts.items()}}


def _settings(
    questions: list[Question], unit: Unit, skipped: str, n: Any, length: int | None, usual: int
) -> how.Settings:
    """Returns the settings for answers as long as these, as `pfgen-rs build` chooses them."""
    if length is None:
        columns = [own for question in questions for own in question.answers.values()]
        encode = coder(unit, *columns, skipped=skipped).column
        means = [float(encode(own).coded.lengths().mean()) for own in columns]
        length = how.fitting_length(sum(means) / len(means), usual)
    found = replace(how.Settings.for_length(length, unit), skipped=skipped)
    ranges: dict[str, Any] = how.ngram_range(n)
    return replace(found, max_length=max(found.max_length, *ranges.values(), 1), **ranges)


def _question(content: Content) -> Question:
    models, makers = indexed_makers(content["makers"])
    complete = {**_DEFAULTS, **content, "models": models, "makers": makers or None}
    try:
        parse_rules(complete["keywords"], "rules")
        return files.question_of(complete)
    except BenchmarkError as error:
        raise InputError(error.problem, question=content["question"]) from None


def _content(question: Question) -> bytes:
    """Returns the file of a question."""
    about = {"question_id": question.id, "question": question.text, **vars(question)}
    return files.content_bytes(
        about,
        question.answers,
        question.scoring,
        question.about,
        question.models,
        question.makers,
    )


def _metadata_hash(contents: Mapping[str, bytes]) -> str:
    """Returns that of files by their names."""
    return files.combined_digest(files.file_digest(contents[name]) for name in sorted(contents))


# Writing questions to a folder.


def save_questions(bench: QuestionSet, folder: Path) -> Path:
    """Write question files; see `Benchmark.save`."""
    how.chosen_settings(bench.settings, next(iter(bench)).scoring or {})  # or they would be lost
    contents = {f"{q.id}.json": _content(q) for q in bench}
    if _metadata_hash(contents) != bench.metadata_hash:
        raise OutputError("the files would differ from those that were read: copy these instead")
    found = files.found_questions(folder) or files.found_questions(folder / "data")
    if found and files.read_folder(folder)[1] != bench.metadata_hash:
        raise OutputError(f"{folder}: contains another set: remove it, or choose another folder")
    if not found:
        with staged_folder(folder, "saving") as staged:
            for name, content in contents.items():
                (staged / name).write_bytes(content)
            content = card(list(bench), bench.settings, bench.metadata_hash, None)
            (staged / CARD).write_bytes(content)
    return folder
