"""Judges grade answers in dialogues: their prompts, a rating per answer kept in a folder, and means."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from pfgen_rs.ask import Answered, Engine, loop
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.request import Group, Request
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io import atomic, json_lines, locks
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.judge import grading, requests as asking
from pfgen_rs.judge.dialogues import fastchat_files
from pfgen_rs.judge.dialogues.answering import Item
from pfgen_rs.judge.dialogues.association import MEAN, OVERALL, mean_rating
from pfgen_rs.judge.requests import Judge, Prompt
from pfgen_rs.lazy import pl

EXPORT = "judgments.jsonl"
"""The ratings in FastChat's format."""
_GRADES, _VERSIONS, _REQUESTS = "grades.jsonl", "versions.json", "requests.json"
"""The journal; the dialogues of each version; the digests of what is asked about a version's answers."""
_KEY = ("item", "model", "turn", "sample", "digest")
_MULTI_TURN, _MATH = "-multi-turn", "-math"
_MT_BENCH = {"writing", "roleplay", "extraction", "stem", "humanities"}
_MT_BENCH_WITH_REFERENCES = {"math", "reasoning", "coding"}
"""Some files have references for MT-bench's other categories, too, which its published scores do not use."""
_DIALOGUE = {"user1", "user2", "assistant1", "assistant2"}


class GradingPrompts:
    """The prompts of a grading: one that shows the dialogue, or a family for single answers.

    A prompt that shows the dialogue, such as `mtbench++-10`, grades the last answer. The prompt `NAME` that
    shows a question and an answer grades first answers, and `NAME-multi-turn` of the same file, if any,
    later ones. The same with `-math` (as in `single-math-v1`), if the file has them, grade answers to which
    there is a reference answer.
    """

    def __init__(self, prompts: Mapping[str, Prompt], name: str) -> None:
        if name not in prompts or prompts[name].kind != "grade":
            fitting = ", ".join(p.name for p in prompts.values() if p.kind == "grade") or "none"
            raise SettingsError(f"unknown prompt {name!r}: expected one of {fitting}")
        self.name = name
        self._whole = not _DIALOGUE.isdisjoint(prompts[name].placeholders)
        names = [name]
        if not self._whole:
            names += [_math_name(name), name + _MULTI_TURN, _math_name(name) + _MULTI_TURN]
        self.prompts = {each: prompts[each] for each in names if each in prompts}

    @property
    def brief(self) -> bool:
        """Whether the judge answers with a number only."""
        return not any(prompt.brackets for prompt in self.prompts.values())

    @property
    def max_tokens(self) -> int | None:
        """The largest limit on the judge's output that a prompt has."""
        limits = [p.max_tokens for p in self.prompts.values() if p.max_tokens is not None]
        return max(limits, default=None)

    def turns_of(self, item: Item) -> list[int]:
        """Returns the turns whose answers are graded, from 1. Raises `SettingsError` for none."""
        last = len(item.users)
        if self._whole:
            return [last]
        several = self.name + _MULTI_TURN in self.prompts
        turns = [n for n in range(len(item.given) + 1, last + 1) if n == 1 or several]
        if not turns:
            raise SettingsError(
                f"prompt {self.name!r} shows one turn only, but answers to a second one are graded: choose a "
                f"prompt with {{user1}}, or a file that also has {self.name + _MULTI_TURN!r}"
            )
        return turns

    def prompt(self, item: Item, turn: int) -> Prompt:
        """Returns the prompt for the answer to a turn."""
        more = _MULTI_TURN if turn > 1 and not self._whole else ""
        with_reference = _math_name(self.name) + more
        known = any(text.strip() for text in item.reference[turn - 1 : turn])
        if known and with_reference in self.prompts:
            return self.prompts[with_reference]
        return self.prompts[self.name + more]

    def notes(self, items: Iterable[Item]) -> list[str]:
        """Returns what to tell a user: that references are missing which some prompt could show."""
        if _math_name(self.name) not in self.prompts or any(item.reference for item in items):
            return []
        return [
            f"no question has a reference answer, so {_math_name(self.name)!r} is not used: pass "
            "--references if there are any"
        ]

    def config(self) -> dict[str, Any]:
        """Returns the prompts as they are recorded."""
        names = ("scale", "brackets", "system", "text")
        return {
            prompt.name: {n: getattr(prompt, n) for n in names} | {"scale": list(prompt.scale)}
            for prompt in self.prompts.values()
        }


def find_grading_prompts(name: str, file: str | os.PathLike[str] | None = None) -> GradingPrompts:
    """Returns prompts by name, from a user's file (such as `judge_prompts.jsonl`) or the built-in ones.

    Raises `SettingsError` if the name is unknown, and what `read_prompts` raises.
    """
    return GradingPrompts(
        asking.built_in_prompts() if file is None else asking.read_prompts(file), name
    )


def grade_requests(
    items: Iterable[Item],
    answers: Iterable[fastchat_files.ModelAnswers],
    prompts: GradingPrompts,
) -> Iterator[Request]:
    """Yield the requests for ratings of each model's answers to the items.

    Raises `InputError` if a model has not answered an item, or an item lacks the reference answer that its
    prompt needs, and `SettingsError` for prompts that need something else.
    """
    known, names = _as_published(items), set[str]()
    for model in answers:
        if model.model in names:
            raise InputError(
                f"answers of {model.model!r:.80} occur twice: each model needs its own name"
            )
        names.add(model.model)
        for item in known:
            turns = _answered_turns(item, model)
            for turn in prompts.turns_of(item):
                yield _grade_request(item, turn, turns, model.model, prompts)


def grade_answers(
    version: str,
    items: Sequence[Item],
    answers: Sequence[fastchat_files.ModelAnswers],
    engine: Engine,
    judge: Judge,
    prompts: GradingPrompts,
    out: str | os.PathLike[str],
    **limits: Unpack[loop.Limits],
) -> loop.Asked:
    """Ask for ratings of models' answers and keep them in the folder `out`.

    `version`: a name for the items, such as "lite"; several versions may share a folder, and a dialogue
    that is in more than one is graded once. Nothing is asked twice. Invalid ratings are stored with their
    reason. Afterwards `judgments.jsonl` has all ratings in FastChat's format. `limits` are those of `ask`.
    Raises `InputError`, `SettingsError`, and what `ask` raises.
    """
    requests = list(grade_requests(items, answers, prompts))
    folder = Path(out)
    config = {"engine": judge.engine, **judge.identity()}
    asking.write_folder_config(
        folder, {"kind": "dialogue grades", "judge": config, "prompts": prompts.config()}
    )
    _record_version(folder, version, items, requests, judge)

    def read(request: Request, said: Answered) -> Mapping[str, Any]:
        return grading.read_grading(said, prompts.prompts[request.about["prompt"]])

    with grade_journal(folder) as journal:
        asked = loop.ask(journal, [Group(judge, requests)], engine, read, **limits)
    if any(True for _ in journal_records(folder / _GRADES)):
        records = map(fastchat_files.judgment_record, _present_grades(folder)[0])
        json_lines.write_objects(folder / EXPORT, records)
    return asked


def _math_name(name: str) -> str:
    """Returns the name of the prompt with a reference answer: `single-v1` and `single-math-v1`."""
    before, dash, version = name.rpartition("-")
    return f"{before}{_MATH}-{version}" if dash else f"{name}{_MATH}"


def _as_published(items: Iterable[Item]) -> list[Item]:
    """Returns the items, those of MT-bench without the references that FastChat does not show."""
    known, shown = list(items), _MT_BENCH_WITH_REFERENCES
    if not {item.category for item in known} <= _MT_BENCH | shown:
        return known
    return [each if each.category in shown else replace(each, reference=()) for each in known]


def _answered_turns(item: Item, model: fastchat_files.ModelAnswers) -> tuple[str, ...]:
    turns = model.answers.get(item.id)
    if turns is None or len(turns) < len(item.users):
        what = "no answer" if turns is None else f"only {len(turns)} of {len(item.users)} answers"
        raise InputError(f"{model.model!r:.80} has {what} to {item.id!r:.80}")
    if turns[: len(item.given)] != item.given:
        raise InputError(
            f"{model.model!r:.80} answered {item.id!r:.80} after another first answer than the dialogue's: "
            "choose --turns both if it wrote both answers"
        )
    return turns


def _grade_request(
    item: Item, turn: int, answers: Sequence[str], model: str, prompts: GradingPrompts
) -> Request:
    prompt = prompts.prompt(item, turn)
    values = _grade_values(item, turn, answers)
    if "reference" in prompt.placeholders and "reference" not in values:
        raise InputError(
            f"{item.id!r:.80} has no reference answer, which prompt {prompt.name!r} needs: pass "
            "--references, or choose another prompt"
        )
    messages = prompt.filled(values)
    about = {
        "item": item.id,
        "model": model,
        "turn": turn,
        "category": item.category,
        "prompt": prompt.name,
        "user_prompt": messages[-1][1],
    }
    return Request(f"{item.id} ({model})", messages, about)


def _grade_values(item: Item, turn: int, answers: Sequence[str]) -> dict[str, str]:
    """Returns the values of all placeholders that there are for an answer."""
    values = {"question": item.users[turn - 1], "answer": answers[turn - 1]}
    for number in range(turn):
        values[f"user{number + 1}"] = item.users[number]
        values[f"assistant{number + 1}"] = answers[number]
    for number, reference in enumerate(item.reference):
        values["reference" if number == 0 else f"reference{number + 1}"] = reference
    return values


# The folder of ratings


_SCORES = {
    "version": pl.String,
    "model": pl.String,
    "category": pl.String,
    "dialogues": pl.Int64,
    "invalid": pl.Int64,
    "missing": pl.Int64,
    "rating": pl.Float64,
}


def is_grade_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder was made by `grade_answers`."""
    return (Path(path) / _VERSIONS).is_file()


def graded_categories(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the categories of all dialogues of a folder, by id. Raises `InputError`."""
    return {d: c for version in _read(folder, _VERSIONS).values() for d, c in version.items()}


def ratings_of_folder(folder: str | os.PathLike[str]) -> fastchat_files.Ratings:
    """Returns the ratings of a folder as those of FastChat's files. Raises `InputError`."""
    judge = str(asking.folder_config(Path(folder)).get("judge", {}).get("model"))
    rows = [
        (each["item"], each["model"], judge, each["prompt"], each["turn"], each["rating"])
        for each in _present_grades(folder)[0]
    ]
    return fastchat_files.ratings_of(
        pl.DataFrame(rows, schema=fastchat_files.RATINGS, orient="row")
    )


def stale_grades(folder: str | os.PathLike[str]) -> int:
    """Returns how many ratings of a folder are of earlier answers. Raises `InputError`."""
    return _present_grades(folder)[1]


def model_scores(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """Returns table 6: the mean rating of each model's answers by version and category.

    One row per version, model and category, one for the mean of the categories' means (category "overall"),
    and one for the mean over all dialogues ("mean"): `version`, `model`, `category`, `dialogues` (rated),
    `invalid` and `missing` (dialogues without a valid rating, or without any), `rating`. Ratings of a
    dialogue's turns are averaged first. Raises `InputError`.
    """
    by_model: dict[str, list[dict[str, Any]]] = {}
    for record in _stored_grades(folder):
        by_model.setdefault(record["model"], []).append(record)
    asked, rows = _read(folder, _REQUESTS), []
    for version, members in _read(folder, _VERSIONS).items():
        for model, places in asked.get(version, {}).items():
            ratings: dict[str, list[float | None]] = {}
            for record in by_model.get(model, []):
                if _is_present(record, places) and record["item"] in members:
                    ratings.setdefault(record["item"], []).append(record["rating"])
            means: list[float | None] = []
            for category in [*dict.fromkeys(members.values()), OVERALL, MEAN]:
                chosen = [d for d, c in members.items() if category in (c, MEAN, OVERALL)]
                rated = [mean_rating(ratings[each]) for each in chosen if each in ratings]
                missing, invalid = len(chosen) - len(rated), rated.count(None)
                counts = len(rated) - invalid, invalid, missing
                means.append(mean_rating(means if category == OVERALL else rated))
                rows.append((version, model, category, *counts, means[-1]))
    return pl.DataFrame(rows, schema=_SCORES, orient="row")


def _read(folder: str | os.PathLike[str], name: str) -> dict[str, dict[str, Any]]:
    """Returns what a file of the folder says; nothing of one that is not there."""
    path = Path(folder) / name
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", path=path) from None
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise InputError("expected an object of objects", path=path)
    return found


def _write(path: Path, objects: Mapping[str, Any], indent: int | None = None) -> None:
    text = json.dumps(objects, ensure_ascii=False, indent=indent)
    atomic.write_atomic(path, f"{text}\n".encode("utf-8", "surrogatepass"))


def _stored_grades(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Returns all ratings, the last one of each request. Raises `InputError`."""
    found = {
        (record.get("model"), record.get("item"), record.get("turn"), record.get("digest")): record
        for record in journal_records(Path(folder) / _GRADES)
    }
    if not found:
        raise InputError("contains no ratings", path=Path(folder))
    return list(found.values())


def _is_present(record: Mapping[str, Any], places: Mapping[str, list[str]]) -> bool:
    """Whether a rating is of a model's present answer; `places`: its digests by item and turn."""
    return record["digest"] in places.get(f"{record['item']}/{record['turn']}", ())


def _present_grades(folder: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], int]:
    """Returns the ratings of the present answers of all versions, and the number of others."""
    stored, asked = _stored_grades(folder), _read(folder, _REQUESTS)
    present = [
        record
        for record in stored
        if any(_is_present(record, each.get(record["model"], {})) for each in asked.values())
    ]
    return present, len(stored) - len(present)


def grade_journal(folder: str | os.PathLike[str]) -> Journal:
    """Returns the journal of ratings, which is not open yet."""
    return Journal(Path(folder) / _GRADES, _KEY)


def _record_version(
    folder: Path, version: str, items: Iterable[Item], requests: Iterable[Request], judge: Judge
) -> None:
    """Record which dialogues a version has, and the digests of what is asked about its present answers.

    Raises `SettingsError` if the version had other dialogues.
    """
    members = {item.id: item.category for item in items}
    present: dict[str, dict[str, list[str]]] = {}
    for request in requests:
        about = request.about
        place = f"{about['item']}/{about['turn']}"
        present.setdefault(about["model"], {}).setdefault(place, []).append(request.digest(judge))
    with locks.locked(folder):
        known, asked = _read(folder, _VERSIONS), _read(folder, _REQUESTS)
        if known.setdefault(version, members) != members:
            raise SettingsError(
                f"{folder}: has version {version!r:.80} with other dialogues: choose another name with "
                "--version"
            )
        _write(folder / _VERSIONS, known, indent=1)
        asked.setdefault(version, {}).update(present)
        _write(folder / _REQUESTS, asked)
