"""Rating single answers by a judge (judging 6), and the ratings beside the scores of runs."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pfgen_rs.ask import Answered, Details, Engine, loop
from pfgen_rs.ask.journal import Journal
from pfgen_rs.ask.request import Group, Request
from pfgen_rs.errors import InputError, SettingsError, unreadable
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.io.run_files import CONFIG
from pfgen_rs.io.text import counted
from pfgen_rs.judge import pairs, requests as asking, verdicts
from pfgen_rs.judge.requests import Judge, Prompt
from pfgen_rs.lazy import np, pl
from pfgen_rs.stats.correlation import fisher_interval, pearson, spearman

if TYPE_CHECKING:
    from pfgen_rs.runs.result import Result

_RATINGS = "ratings.jsonl"
_KEY = ("trial", "sample", "digest")
"""A rating is found by the digest of its request, in which the answer stands, never by the name of a run."""
_ABOUT = ("item", "question_id", "model", "trial")
_READ = ("rating", "expected", "problem")
_RATING_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("item", "question_id", "model"), pl.String),
    **dict.fromkeys(("trial", "sample"), pl.Int64),
    "digest": pl.String,
    **dict.fromkeys(("rating", "expected"), pl.Float64),
    "problem": pl.String,
}


@dataclass(frozen=True, slots=True)
class Graded:
    """Something to grade: `values` fill the prompt's placeholders; `about` is recorded with the rating.

    `id` is unique in a folder.
    """

    id: str
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
    number = pl.int_range(1, pl.len() + 1).over("question_id")
    numbered = frame.select("question_id", "question", "answer", trial=number)
    found = []
    for question_id, question, answer, trial in numbered.iter_rows():
        if trials is None or trial <= trials:
            texts = {"reference": references.get(question), "rubric": rubric}
            known = {name: text for name, text in texts.items() if text is not None}
            values = {"question": question, "answer": answer, **known}
            about = {"question_id": question_id, "model": model, "trial": trial}
            found.append(Graded(f"{question_id}/{trial}/{model}", values, about))
    return found


def grading_requests(
    graded: Iterable[Graded], prompt: Prompt, samples: int = 1
) -> Iterator[Request]:
    """Yield the requests for ratings. Raises `SettingsError` if a placeholder has no value."""
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
    **limits: Unpack[loop.Limits],
) -> loop.Asked:
    """Ask for the rating of each item and keep the ratings in the folder `out` (`ratings.jsonl`).

    With several `samples`, sample i uses seed + i, which needs a temperature above 0. Invalid ratings are
    stored with their reason, and count as missing. Nothing is asked twice. `limits`: `budget`, `keep_going`
    and `progress`, as for `compare`. Raises `SettingsError`, and what `ask` raises.
    """
    asking.check_samples(judge, samples)
    requests = list(grading_requests(graded, prompt, samples))
    folder = Path(out)
    config = grading_config(judge, prompt)
    if "rubric" in prompt.placeholders and graded:
        config["rubric"] = graded[0].values["rubric"]
    asking.write_folder_config(folder, config)

    def read(_: Request, answered: Answered) -> Mapping[str, Any]:
        return read_grading(answered, prompt)

    with open_ratings(folder) as journal:
        return loop.ask(journal, [Group(judge, requests)], engine, read, **limits)


def open_ratings(folder: Path) -> Journal:
    """Returns the journal of ratings, which is not open yet."""
    return Journal(folder / _RATINGS, _KEY)


def grading_config(judge: Judge, prompt: Prompt) -> dict[str, Any]:
    """Returns what the `config.json` of a folder of ratings says."""
    names = ("name", "scale", "brackets", "result", "system", "text")
    asked = {name: getattr(prompt, name) for name in names} | {"scale": list(prompt.scale)}
    return asking.asking_config("grade", judge, prompt=asked)


def read_grading(answered: Answered, prompt: Prompt) -> Mapping[str, Any]:
    """Returns the fields of a rating's record that the judge's answer determines."""
    text, details = answered.text, answered.details or Details()
    low, high = prompt.scale
    expected = None
    if prompt.result:
        rating = verdicts.read_result(text, low, high)
    else:
        rating = verdicts.read_rating(text, low, high, prompt.brackets)
        expected = verdicts.expected_rating(text, details.tokens, low, high, prompt.brackets)
    problem = verdicts.problem_of(text, rating, details.finish_reason, "no rating on the scale")
    return {
        "output": text,
        "finish_reason": details.finish_reason,
        "rating": rating if problem is None else None,
        "expected": expected if problem is None else None,
        "problem": problem,
    }


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
    config = asking.folder_config(path)
    prompt = asking.prompt_of_config(config, "grade")
    if prompt is None:
        raise InputError("has no prompt: expected one of a folder of ratings", path=path / CONFIG)
    try:
        judge = asking.judge_of_config(config)
    except InputError as error:
        raise InputError(error.problem, path=path / CONFIG) from None
    most = max(raw["trial"].drop_nulls(), default=0) if trials is None else trials
    samples = 1 + max(raw["sample"].drop_nulls(), default=0)
    known = {row[:3]: row[3:] for row in raw.select(*_KEY, *_READ).rows()}
    rows: list[tuple[Any, ...]] = []
    missing = dict.fromkeys(frames, 0)
    used = set()
    for name, frame in frames.items():
        items = answers_of_run(frame, name, references, most, config.get("rubric"))
        for request in grading_requests(items, prompt, samples):
            key = (request.about["trial"], request.sample, request.digest(judge))
            if key in known:
                used.add(key)
                rows.append((*(request.about[each] for each in _ABOUT), *key[1:], *known[key]))
            elif request.sample == 0:
                missing[name] += 1
    found = pl.DataFrame(rows, schema=_RATING_COLUMNS, orient="row")
    return RunRatings(found, missing, len(known) - len(used))


def mean_ratings(ratings: pl.DataFrame) -> pl.DataFrame:
    """Returns one row a model: `model`, `ratings` (valid), `invalid`, `mean`, `se`, `expected`.

    Samples of an item are averaged first. `se`: standard error of the mean over questions, whose answers are
    kept together. `expected`: mean of the expected ratings, null if any item lacks one.
    """
    rating, expected = pl.col("rating"), pl.col("expected")
    items = ratings.group_by("model", "question_id", "item", maintain_order=True).agg(
        rating.mean(), expected.mean(), invalid=rating.is_null().sum()
    )
    questions = items.group_by("model", "question_id", maintain_order=True).agg(rating.mean())
    errors = questions.group_by("model", maintain_order=True).agg(
        se=rating.std() / rating.count().sqrt()
    )
    means = items.group_by("model", maintain_order=True).agg(
        ratings=rating.count(),
        invalid=pl.col("invalid").sum(),
        mean=rating.mean(),
        expected=pl.when(~expected.is_null().any()).then(expected.mean()),
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


# Ratings beside the scores of runs


@dataclass(frozen=True, eq=False)
class RunCorrelation:
    """Correlation of the judge's mean ratings with the scores of runs (judging 6.5).

    `pearson`, `spearman` with 95 % intervals by Fisher's transformation; `None` where runs are too few.
    `runs`: one row a run: `model`, `score`, `rating`.
    """

    runs: pl.DataFrame
    pearson: float | None
    pearson_interval: tuple[float | None, float | None]
    spearman: float | None
    spearman_interval: tuple[float | None, float | None]


def run_correlation(means: pl.DataFrame, scores: Mapping[str, float]) -> RunCorrelation:
    """Correlate mean ratings (as `grading.mean_ratings` returns them) with the scores of runs by name.

    Models without a rating or a score are left out. Raises `InputError` if none is left.
    """
    found = means.filter(pl.col("mean").is_not_null() & pl.col("model").is_in(list(scores))).select(
        "model",
        score=pl.col("model").replace_strict(dict(scores), return_dtype=pl.Float64),
        rating="mean",
    )
    if found.is_empty():
        raise InputError("no run has both ratings and a score")
    x, y, n = found["score"].to_numpy(), found["rating"].to_numpy(), len(found)
    values: list[Any] = []
    for correlate, ranks in ((pearson, False), (spearman, True)):
        value = correlate(x, y)
        if value is None or np.isnan(value):
            values += [None, (None, None)]
        else:
            values += [float(value), fisher_interval(float(value), n, 0.95, ranks=ranks)]
    return RunCorrelation(found, *values)


@dataclass(frozen=True)
class RatedRuns:
    """The ratings of runs, their means (see `mean_ratings`), and their correlation with the scores."""

    ratings: RunRatings
    means: pl.DataFrame
    correlation: RunCorrelation


def rated_runs(
    folder: str | os.PathLike[str],
    results: "Mapping[str, Result]",
    benchmark: str | None,
    trials: int | None = None,
) -> RatedRuns:
    """Hold the ratings in a folder against the scores of runs by name; `trials`: see `ratings_of_runs`.

    Raises `InputError`.
    """
    frames = {name: result.frame for name, result in results.items()}
    ratings = ratings_of_runs(folder, frames, pairs.references_of(benchmark), trials)
    means = mean_ratings(ratings.frame)
    scores = {name: result.score for name, result in results.items()}
    return RatedRuns(ratings, means, run_correlation(means, scores))
