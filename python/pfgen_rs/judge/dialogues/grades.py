"""A folder of ratings of dialogues as it is read: which count, and the means of models."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.request import Request
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.json_lines import write_objects
from pfgen_rs.io.locks import locked
from pfgen_rs.judge.dialogues.answering import Item
from pfgen_rs.judge.dialogues.association import MEAN
from pfgen_rs.judge.dialogues.mt_bench import (
    Ratings,
    judgment_record,
    ratings_of,
)
from pfgen_rs.judge.requests import Judge, folder_config

_GRADES, _VERSIONS, _REQUESTS = "grades.jsonl", "versions.json", "requests.json"
"""The journal; the dialogues of each version; the digests of what is asked about a version's answers."""


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
    return {
        dialogue: category
        for version in _read_versions(Path(folder)).values()
        for dialogue, category in version.items()
    }


def ratings_of_folder(folder: str | os.PathLike[str]) -> Ratings:
    """Returns the ratings of a folder as those of FastChat's files. Raises `InputError`."""
    config = folder_config(Path(folder))
    judge = str(config.get("judge", {}).get("model"))
    return ratings_of(
        [
            (
                str(record["item"]),
                str(record["model"]),
                judge,
                str(record["prompt"]),
                int(record["turn"]),
                record["rating"],
            )
            for record in _grade_records(Path(folder))
        ]
    )


def model_scores(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """Returns table 6: the mean rating of each model's answers by version and category.

    One row per version, model and category, and one for the mean over all dialogues (category "mean"):
    `version`, `model`, `category`, `dialogues` (rated), `invalid` and `missing` (dialogues without a valid
    rating, or without any), `rating`. Ratings of a dialogue (samples, turns) are averaged first. Raises
    `InputError`.
    """
    stored = _stored_grades(Path(folder))
    rows = []
    for version, members in _read_versions(Path(folder)).items():
        for model, present in _present_grades(Path(folder), version, stored).items():
            mine: dict[str, list[float | None]] = {}
            for record in present:
                if record["item"] in members:
                    mine.setdefault(record["item"], []).append(record["rating"])
            for category in [*dict.fromkeys(members.values()), MEAN]:
                chosen = [d for d, c in members.items() if category in (c, MEAN)]
                rows.append((version, model, category, *_score_cells(chosen, mine)))
    return pl.DataFrame(rows, schema=_SCORES, orient="row")


def _score_cells(
    dialogues: Sequence[str], ratings: Mapping[str, Sequence[float | None]]
) -> tuple[int, int, int, float | None]:
    means, invalid, missing = [], 0, 0
    for dialogue in dialogues:
        found = ratings.get(dialogue)
        valid = [rating for rating in found or () if rating is not None]
        if valid:
            means.append(math.fsum(valid) / len(valid))
        elif found:
            invalid += 1
        else:
            missing += 1
    mean = math.fsum(means) / len(means) if means else None
    return len(means), invalid, missing, mean


def _read_versions(folder: Path) -> dict[str, dict[str, str]]:
    return _read_objects(folder / _VERSIONS)


def _read_objects(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(unreadable(error), path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", path=path) from None
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise InputError("expected an object of objects", path=path)
    return found


Grades = Mapping[tuple[Any, ...], dict[str, Any]]


def _stored_grades(folder: Path) -> Grades:
    """Returns all ratings, the last one of each request. Raises `InputError`."""
    found = {
        (record.get("model"), record.get("item"), record.get("turn"), record.get("digest")): record
        for record in journal_records(folder / _GRADES)
    }
    if not found:
        raise InputError("contains no ratings", path=folder)
    return found


def _present_grades(folder: Path, version: str, stored: Grades) -> dict[str, list[dict[str, Any]]]:
    """Returns the ratings of a version's present answers by model, all models that were asked about.

    Of a version that an earlier release graded, whose answers are not recorded, the ratings of an answer
    count if the folder has none of another answer of that model to the same turn.
    """
    path = folder / _REQUESTS
    models = _read_objects(path).get(version) if path.exists() else None
    found: dict[str, list[dict[str, Any]]] = {}
    if models is None:
        alone = Counter((key[:3], each.get("sample")) for key, each in stored.items())
        for key, record in stored.items():
            mine = found.setdefault(str(key[0]), [])
            if alone[key[:3], record.get("sample")] == 1:
                mine.append(record)
        return found
    for key, record in stored.items():
        model, item, turn, digest = key
        if digest in models.get(model, {}).get(f"{item}/{turn}", ()):
            found.setdefault(str(model), []).append(record)
    return {model: found.get(model, []) for model in models}


def _grade_records(folder: Path) -> list[dict[str, Any]]:
    """Returns the ratings of the present answers of all versions, each once. Raises `InputError`."""
    stored = _stored_grades(folder)
    kept = {
        id(record): record
        for version in _read_versions(folder)
        for records in _present_grades(folder, version, stored).values()
        for record in records
    }
    return [record for record in stored.values() if id(record) in kept]


def stale_grades(folder: str | os.PathLike[str]) -> int:
    """Returns how many ratings of a folder are of earlier answers. Raises `InputError`."""
    return len(_stored_grades(Path(folder))) - len(_grade_records(Path(folder)))


EXPORT = "judgments.jsonl"
"""The ratings in FastChat's format."""


_KEY = ("item", "model", "turn", "sample", "digest")


def grade_journal(folder: str | os.PathLike[str]) -> Journal:
    """Returns the journal of ratings, which is not open yet."""
    return Journal(Path(folder) / _GRADES, _KEY)


def add_version(folder: Path, version: str, items: Iterable[Item]) -> None:
    """Record which dialogues a version has. Raises `SettingsError` if it had others."""
    members = {item.id: item.category for item in items}
    with locked(folder):
        known = _read_versions(folder) if is_grade_folder(folder) else {}
        if known.get(version, members) != members:
            raise SettingsError(
                f"{folder}: has version {version!r:.80} with other dialogues: choose another name with "
                "--version"
            )
        if version not in known:
            known[version] = members
            text = json.dumps(known, ensure_ascii=False, indent=1)
            write_atomic(folder / _VERSIONS, f"{text}\n".encode("utf-8", "surrogatepass"))


def add_digests(folder: Path, version: str, requests: Iterable[Request], judge: Judge) -> None:
    """Record the digests of what is asked about a version's present answers, by model.

    Those of further samples of the same answers stay.
    """
    present: dict[str, dict[str, list[str]]] = {}
    for request in requests:
        about = request.about
        place = f"{about['item']}/{about['turn']}"
        present.setdefault(about["model"], {}).setdefault(place, []).append(request.digest(judge))
    with locked(folder):
        known = _read_objects(folder / _REQUESTS) if (folder / _REQUESTS).exists() else {}
        models = known.setdefault(version, {})
        for model, places in present.items():
            old = models.get(model, {})
            models[model] = {
                place: old[place] if old.get(place, [])[: len(digests)] == digests else digests
                for place, digests in places.items()
            }
        text = json.dumps(known, ensure_ascii=False)
        write_atomic(folder / _REQUESTS, f"{text}\n".encode("utf-8", "surrogatepass"))


def export_judgments(folder: Path) -> None:
    """Export all ratings in FastChat's format, if there are any."""
    if not any(True for _ in journal_records(folder / _GRADES)):
        return
    records = (
        judgment_record(
            question_id=str(record["item"]),
            model=str(record["model"]),
            judge=str(record["judge"]["model"]),
            prompt=str(record["prompt"]),
            user_prompt=str(record["user_prompt"]),
            judgment=str(record["output"]),
            score=record["rating"],
            turn=int(record["turn"]),
            timestamp=datetime.fromisoformat(str(record["timestamp"])).timestamp(),
        )
        for record in _grade_records(folder)
    )
    write_objects(folder / EXPORT, records)
