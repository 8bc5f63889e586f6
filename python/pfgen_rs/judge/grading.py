"""Grading single answers by a judge (judging 6)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pfgen_rs.ask.costs import Budget
from pfgen_rs.ask.journal import Journal, journal_records
from pfgen_rs.ask.loop import Asked, AskingProgress, ask
from pfgen_rs.ask.protocol import Answered, Details, Engine
from pfgen_rs.ask.request import Request
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.io.text import counted
from pfgen_rs.judge.prompts import Prompt
from pfgen_rs.judge.requests import Judge, folder_config, judge_of_config, write_folder_config
from pfgen_rs.judge.tokens import CUT, THOUGHT_BEGIN, without_thoughts
from pfgen_rs.judge.verdicts import expected_rating, read_rating, read_result

_RATINGS = "ratings.jsonl"
_KEY = ("trial", "sample", "digest")
"""A rating is found by the digest of its request, in which the answer stands, never by the name of a run."""
_RATING_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "item": pl.String,
    "question_id": pl.String,
    "model": pl.String,
    "trial": pl.Int64,
    "sample": pl.Int64,
    "digest": pl.String,
    "rating": pl.Float64,
    "expected": pl.Float64,
    "problem": pl.String,
}


@dataclass(frozen=True, slots=True)
class Graded:
    """Something to grade: `values` fill the prompt's placeholders; `about` is recorded with the rating.

    `id` is unique in a folder.
    """

    id: str
    question_id: str
    model: str
    values: Mapping[str, str]
    about: Mapping[str, Any]


@dataclass(frozen=True)
class RunRatings:
    """The ratings of the answers of some runs.

    `frame`: as `read_ratings` returns it, with the runs' present names as `model`. `missing`: for each run,
    the number of answers without a rating. `others`: ratings of other answers, which are kept and not used.
    """

    frame: pl.DataFrame
    missing: Mapping[str, int]
    others: int

    def notes(self) -> list[str]:
        """Returns what to tell a user."""
        found = [
            f"{name}: {counted(count, 'answer')} without a rating: run judge grade on it, or pass the "
            "options with which it was rated (-b, --clean)"
            for name, count in self.missing.items()
            if count
        ]
        if self.others:
            found.append(
                f"{counted(self.others, 'rating')} of answers that are not in these runs: kept, but not used"
            )
        return found


def answers_of_run(
    frame: pl.DataFrame,
    model: str,
    references: Mapping[str, str],
    trials: int | None = None,
    rubric: str | None = None,
) -> list[Graded]:
    """Returns the answers of a run, or those of the first `trials` trials of each question.

    `frame`: as `Result.frame`. `references`: reference answers by question. `rubric`: what `{rubric}` stands
    for in the prompt.
    """
    more = {} if rubric is None else {"rubric": rubric}
    numbered = frame.select(
        "question_id",
        "question",
        "answer",
        trial=pl.int_range(1, pl.len() + 1).over("question_id"),
    )
    if trials is not None:
        numbered = numbered.filter(pl.col("trial") <= trials)
    return [
        _graded_answer(model, references.get(question), more, question_id, question, answer, trial)
        for question_id, question, answer, trial in numbered.iter_rows()
    ]


def _graded_answer(
    model: str,
    reference: str | None,
    more: Mapping[str, str],
    question_id: str,
    question: str,
    answer: str,
    trial: int,
) -> Graded:
    values = {"question": question, "answer": answer, **more}
    if reference is not None:
        values["reference"] = reference
    about = {"question_id": question_id, "model": model, "trial": trial}
    return Graded(f"{question_id}/{trial}/{model}", question_id, model, values, about)


def grading_requests(
    graded: Iterable[Graded], prompt: Prompt, samples: int = 1
) -> Iterator[Request]:
    """Yield the requests for ratings. Raises `SettingsError` if a placeholder has no value."""
    if samples < 1:
        raise SettingsError(f"samples must be at least 1, not {samples}")
    for each in graded:
        if "reference" in prompt.placeholders and "reference" not in each.values:
            raise SettingsError(
                f"prompt {prompt.name!r} needs a reference answer, which {each.id!r:.80} lacks: choose "
                "another prompt, or give reference answers"
            )
        messages = prompt.filled(each.values)
        about = {"item": each.id, **each.about, "prompt": prompt.name}
        for sample in range(samples):
            yield Request(each.id, messages, about, sample)


def grade(
    graded: Sequence[Graded],
    engine: Engine,
    judge: Judge,
    prompt: Prompt,
    out: str | os.PathLike[str],
    *,
    samples: int = 1,
    budget: Budget | None = None,
    keep_going: bool = False,
    progress: AskingProgress | None = None,
) -> Asked:
    """Ask for the rating of each item and keep the ratings in the folder `out` (`ratings.jsonl`).

    With several `samples`, sample i uses seed + i, which needs a temperature above 0. Invalid ratings are
    stored with their reason, and count as missing. Nothing is asked twice. Raises `SettingsError`, and what
    `ask` raises.
    """
    if samples > 1 and judge.temperature == 0:
        raise SettingsError("several samples need a temperature above 0: all would be the same")
    requests = list(grading_requests(graded, prompt, samples))
    folder = Path(out)
    config = grading_config(judge, prompt)
    if "rubric" in prompt.placeholders and graded:
        config["rubric"] = graded[0].values["rubric"]
    write_folder_config(folder, config)
    with open_ratings(folder) as journal:
        return ask(
            journal,
            requests,
            engine,
            judge,
            lambda _, answered: read_grading(answered, prompt),
            budget=budget,
            keep_going=keep_going,
            progress=progress,
        )


def open_ratings(folder: Path) -> Journal:
    """Returns the journal of ratings, which is not open yet."""
    return Journal(folder / _RATINGS, _KEY)


def grading_config(judge: Judge, prompt: Prompt) -> dict[str, Any]:
    """Returns what the `config.json` of a folder of ratings says."""
    return {
        "kind": "grade",
        "judge": {"engine": judge.engine, **judge.identity()},
        "prompt": {
            "name": prompt.name,
            "scale": list(prompt.scale),
            "brackets": prompt.brackets,
            "result": prompt.result,
            "system": prompt.system,
            "text": prompt.text,
        },
    }


def read_grading(answered: Answered, prompt: Prompt) -> Mapping[str, Any]:
    """Returns the fields of a rating's record that the judge's answer determines."""
    details = answered.details or Details()
    low, high = prompt.scale
    if prompt.result:
        rating = read_result(answered.text, low, high)
    else:
        rating = read_rating(answered.text, low, high, prompt.brackets)
    problem = _rating_problem(answered.text, rating, details.finish_reason)
    expected = None
    if problem is None and not prompt.result:
        expected = expected_rating(answered.text, details.tokens, low, high, prompt.brackets)
    return {
        "output": answered.text,
        "finish_reason": details.finish_reason,
        "rating": None if problem is not None else rating,
        "expected": expected,
        "problem": problem,
    }


def _rating_problem(text: str, rating: float | None, finish_reason: str | None) -> str | None:
    content = without_thoughts(text).strip()
    if finish_reason == "length" and (rating is None or content.startswith(THOUGHT_BEGIN)):
        return CUT
    if rating is None:
        return "no rating on the scale" if content else "empty"
    return None


def read_ratings(folder: str | os.PathLike[str]) -> pl.DataFrame:
    """Returns all ratings of a folder, as they are recorded; `ratings_of_runs` has those of given runs.

    Columns: `item`, `question_id`, `model` (the run's name when it was rated), `trial`, `sample`, `digest`,
    `rating`, `expected` and `problem`. Of several ratings of the same request, the last counts. Raises
    `InputError`.
    """
    path = Path(folder) / _RATINGS
    if not path.is_file():
        raise InputError("is not a folder of ratings: it has no ratings.jsonl", path=path.parent)
    rows = [
        {name: record.get(name) for name in _RATING_COLUMNS} for record in journal_records(path)
    ]
    found = pl.DataFrame(rows, schema=_RATING_COLUMNS, orient="row")
    return found.unique(list(_KEY), keep="last", maintain_order=True)


def ratings_of_runs(
    folder: str | os.PathLike[str],
    frames: Mapping[str, pl.DataFrame],
    references: Mapping[str, str],
    trials: int | None = None,
) -> RunRatings:
    """Returns the ratings that a folder has of the answers of runs, whatever the runs were called.

    `frames`, `references`: as for `answers_of_run`, by the names that the runs get here. `trials`: how many
    answers to each question were rated (default: as many as the folder has ratings of). Raises `InputError`.
    """
    path = Path(folder)
    raw = read_ratings(path)
    config = folder_config(path)
    prompt = _prompt_of_ratings(path, config)
    try:
        judge = judge_of_config(config)
    except InputError as error:
        raise InputError(error.problem, path=path / CONFIG) from None
    most = max(raw["trial"].drop_nulls(), default=0) if trials is None else trials
    samples = 1 + max(raw["sample"].drop_nulls(), default=0)
    known = {row[:3]: row[3:] for row in raw.select(*_KEY, "rating", "expected", "problem").rows()}
    rows: list[tuple[Any, ...]] = []
    missing: dict[str, int] = {}
    used = set()
    for name, frame in frames.items():
        items = answers_of_run(frame, name, references, most, config.get("rubric"))
        missing[name] = 0
        for request in grading_requests(items, prompt, samples):
            about, digest = request.about, request.digest(judge)
            key = (about["trial"], request.sample, digest)
            if key in known:
                used.add(key)
                rows.append(
                    (
                        *(about[n] for n in ("item", "question_id", "model", "trial")),
                        *key[1:],
                        *known[key],
                    )
                )
            elif request.sample == 0:
                missing[name] += 1
    found = pl.DataFrame(rows, schema=_RATING_COLUMNS, orient="row")
    return RunRatings(found, missing, len(known) - len(used))


def _prompt_of_ratings(folder: Path, config: Mapping[str, Any]) -> Prompt:
    prompt = config.get("prompt")
    if not isinstance(prompt, Mapping) or not isinstance(prompt.get("text"), str):
        raise InputError("has no prompt: expected one of a folder of ratings", path=folder / CONFIG)
    found = Prompt(str(prompt.get("name")), "grade", prompt["text"], system=prompt.get("system"))
    if "rubric" in found.placeholders and not isinstance(config.get("rubric"), str):
        raise InputError(
            "does not say by which rubric the answers were rated, as earlier versions did not: rate them "
            "again into another folder",
            path=folder / CONFIG,
        )
    return found


def mean_ratings(ratings: pl.DataFrame) -> pl.DataFrame:
    """Returns one row a model: `model`, `ratings` (valid), `invalid`, `mean`, `se`, `expected`.

    Samples of an item are averaged first. `se`: standard error of the mean over questions, whose answers are
    kept together. `expected`: mean of the expected ratings, null if any item lacks one.
    """
    items = ratings.group_by("model", "question_id", "item", maintain_order=True).agg(
        pl.col("rating").mean(),
        pl.col("expected").mean(),
        invalid=pl.col("rating").is_null().sum(),
    )
    questions = items.group_by("model", "question_id", maintain_order=True).agg(
        pl.col("rating").mean()
    )
    errors = questions.group_by("model", maintain_order=True).agg(
        se=pl.col("rating").std() / pl.col("rating").count().sqrt()
    )
    means = items.group_by("model", maintain_order=True).agg(
        ratings=pl.col("rating").count(),
        invalid=pl.col("invalid").sum(),
        mean=pl.col("rating").mean(),
        expected=pl.when(pl.col("expected").is_null().any())
        .then(None)
        .otherwise(pl.col("expected").mean()),
    )
    return means.join(errors, on="model", maintain_order="left").select(
        "model", "ratings", "invalid", "mean", "se", "expected"
    )


def read_rubric(path: str | os.PathLike[str]) -> str:
    """Returns the text that `{rubric}` stands for, from a file. Raises `InputError`."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(unreadable(error), path=Path(path)) from error
