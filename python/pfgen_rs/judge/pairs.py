"""Pairs of answers to a question: from files or runs, and what people say about them."""

import os
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest
from pathlib import Path
from typing import Any

from pfgen_rs.errors import BenchmarkError, InputError, SettingsError, unreadable
from pfgen_rs.io import json_lines, lines
from pfgen_rs.judge.verdicts import LETTERS, Letter
from pfgen_rs.lazy import pl
from pfgen_rs.questions.examples import read_examples

_HUMANS = {"pair": pl.String, "rater": pl.String, "verdict": pl.String}
_OPTIONAL = ("task", "reference", "criteria")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with the answers of two models, a and b.

    `question_id` (default: the pair's `id`) is shared by pairs about the same question, which statistics
    keep together. `criteria`: what answers to the question are judged by. `gold`: the letters that are right,
    which no judge is shown; empty if nobody knows.
    """

    id: str
    question: str
    models: tuple[str, str]
    answers: tuple[str, str]
    question_id: str = ""
    task: str | None = None
    reference: str | None = None
    criteria: str | None = None
    gold: tuple[Letter, ...] = ()

    def __post_init__(self) -> None:
        if not self.question_id:
            object.__setattr__(self, "question_id", self.id)


def pair_of(record: dict[str, Any]) -> Pair:
    """Returns the pair in a JSON object. Raises `InputError` without a place."""
    pair_id = json_lines.id_field(record, "id")
    given = record.get("question_id")
    a, b = json_lines.texts_field(record, "models", 2)
    first, second = json_lines.texts_field(record, "answers", 2)
    return Pair(
        id=pair_id,
        question=lines.text_field(record, "question"),
        models=(a, b),
        answers=(first, second),
        question_id=pair_id if given is None else json_lines.id_field(record, "question_id"),
        gold=_gold_of(record.get("gold")),
        **{key: lines.optional_text_field(record, key) for key in _OPTIONAL},
    )


def _gold_of(value: object) -> tuple[Letter, ...]:
    """Returns the right letters, which are written as one or as a list."""
    given = [] if value is None else value if isinstance(value, list) else [value]
    if any(each not in LETTERS for each in given) or len({*given}) < len(given):
        raise InputError(f"invalid 'gold' {value!r:.40}: expected A, B or C, or a list of them")
    return tuple(given)


def pair_record(pair: Pair) -> dict[str, Any]:
    """Returns a pair as a JSON object, without what it lacks."""
    record: dict[str, Any] = {"id": pair.id, "question_id": pair.question_id}
    if pair.task is not None:
        record["task"] = pair.task
    record["question"] = pair.question
    record |= {key: text for key in _OPTIONAL[1:] if (text := getattr(pair, key)) is not None}
    record |= {"models": list(pair.models), "answers": list(pair.answers)}
    return record | {"gold": list(pair.gold)} if pair.gold else record


def read_pairs(path: str | os.PathLike[str]) -> list[Pair]:
    """Read pairs from JSON lines.

    Keys: `id`, `question`, `models` [a, b], `answers` [a, b], and optionally `question_id`, `task`,
    `reference`, `criteria`, `gold` (a letter or a list). `path`: a file, or `traps` (`pairs_file`). Raises
    `InputError` with file and line, also for duplicate ids and empty files.
    """
    path = pairs_file(path)
    pairs: dict[str, Pair] = {}
    for number, pair in json_lines.parsed(path, pair_of):
        if pair.id in pairs:
            raise InputError(f"duplicate pair id {pair.id!r:.80}", path=path, line=number)
        pairs[pair.id] = pair
    if not pairs:
        raise InputError("contains no pairs", path=path)
    return list(pairs.values())


def leading_letters(letters: Iterable[Letter]) -> tuple[Letter, ...]:
    """Returns the letters that most raters chose: several if they share the lead, none of no letters.

    >>> leading_letters("ABBA")
    ('A', 'B')
    """
    votes = Counter(letters)
    return tuple(each for each in LETTERS if votes and votes[each] == max(votes.values()))


def write_pairs(path: str | os.PathLike[str], pairs: Iterable[Pair]) -> None:
    """Write pairs as JSON lines, atomically. Raises `OutputError`."""
    json_lines.write_objects(Path(path), map(pair_record, pairs))


def read_humans(path: str | os.PathLike[str], known: Collection[str]) -> pl.DataFrame:
    """Read verdicts of people from JSON lines: `id` of the pair, `rater`, `verdict` (A, B or C).

    Returns columns `pair`, `rater`, `verdict`. CSV files need these columns. `known`: the ids of the pairs.
    Raises `InputError` with file and line for unknown ids and letters, and for a second verdict of a rater.
    """
    path, known = Path(path), set(known)
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else json_lines.parsed(path, _human_row)
    found: dict[tuple[str, str], str] = {}
    for number, (pair, rater, verdict) in rows:
        if pair not in known:
            raise InputError(f"unknown pair id {pair!r:.80}", path=path, line=number)
        if (pair, rater) in found:
            problem = f"second verdict of rater {rater!r:.80} on pair {pair!r:.80}"
            raise InputError(problem, path=path, line=number)
        found[pair, rater] = verdict
    if not found:
        raise InputError("contains no verdicts", path=path)
    return pl.DataFrame([(*key, found[key]) for key in found], schema=_HUMANS, orient="row")


def _human_row(record: dict[str, Any]) -> tuple[str, str, str]:
    verdict = lines.text_field(record, "verdict")
    if verdict not in LETTERS:
        raise InputError(f"invalid verdict {verdict!r:.40}: expected A, B or C")
    return json_lines.id_field(record, "id"), json_lines.id_field(record, "rater"), verdict


def _csv_rows(path: Path) -> Iterator[tuple[int, tuple[str, str, str]]]:
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(unreadable(error), path=path) from error
    for number, row in enumerate(table.iter_rows(named=True), 2):
        try:
            yield number, _human_row(row)
        except InputError as error:
            raise InputError(error.problem, path=path, line=number) from None


# Pairs of runs


def pairs_of_runs(
    runs: Mapping[str, pl.DataFrame],
    *,
    references: Mapping[str, str] | None = None,
    trials: int | None = 1,
    sample: int | None = None,
    seed: int = 0,
) -> list[Pair]:
    """Returns pairs of answers to the same question, for every two of the runs.

    `runs`: by name, the frames of results (`Result.frame`), in which a question's n-th answer is that of
    trial n. `references`: reference answers by question. `trials`: how many trials of each question to pair
    (`None`: as many as both runs have); the n-th answer of one run meets the n-th of the other. `sample`:
    number of pairs for every two runs, spread as evenly as possible over the questions, drawn with `seed`
    (default: all). Which of two models comes first alternates from pair to pair, so that each is a and b
    equally often.

    Raises `InputError` for fewer than two runs and for runs that share no question, and `SettingsError` for a
    sample that is larger than what there is.
    """
    if len(runs) < 2:
        raise InputError("expected at least two runs to pair")
    texts = {name: _answers_by_question(frame) for name, frame in runs.items()}
    found: list[Pair] = []
    for one, other in combinations(texts, 2):
        places = []
        for question_id, own in texts[one].items():
            shared = min(len(own), len(texts[other].get(question_id, ())))
            count = shared if trials is None else min(trials, shared)
            places += [(question_id, trial) for trial in range(count)]
        if not places:
            raise InputError(f"runs {one!r} and {other!r} have no question in common")
        if sample is not None:
            places = _balanced_sample(places, sample, f"{seed} {one} {other}")
        for index, (question_id, trial) in enumerate(places):
            a, b = (one, other) if index % 2 == 0 else (other, one)
            (question, first), (_, second) = (texts[name][question_id][trial] for name in (a, b))
            found.append(
                Pair(
                    id=f"{question_id}/{trial + 1}/{a}/{b}",
                    question_id=question_id,
                    question=question,
                    reference=(references or {}).get(question),
                    models=(a, b),
                    answers=(first, second),
                )
            )
    return found


def _answers_by_question(frame: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    rows = frame.select("question_id", "question", "answer").rows_by_key("question_id")
    return dict(sorted(rows.items()))


def _balanced_sample(
    places: Sequence[tuple[str, int]], count: int, seed: str
) -> list[tuple[str, int]]:
    """Draw places so that the numbers of two questions differ by one at most, where there are enough."""
    if not 0 < count <= len(places):
        raise SettingsError(
            f"invalid sample {count}: expected 1 to {len(places)} pairs of two runs; more trials "
            "(--trials) give more"
        )
    source = random.Random(seed)  # noqa: S311
    by_question: dict[str, list[int]] = {}
    for question_id, trial in places:
        by_question.setdefault(question_id, []).append(trial)
    for trials in by_question.values():
        source.shuffle(trials)
    order = list(by_question)
    source.shuffle(order)
    rounds = zip_longest(*(reversed(by_question[question_id]) for question_id in order))
    drawn = ((q, trial) for each in rounds for q, trial in zip(order, each, strict=True))
    return sorted(islice((place for place in drawn if place[1] is not None), count))


def references_of(benchmark: str | None) -> dict[str, str]:
    """Returns the benchmark's example answers by question, which serve as references; empty without any."""
    try:
        return dict(read_examples(benchmark))
    except BenchmarkError:
        return {}


TRAPS = "traps"
"""The name of the bundled pairs with traps."""


def pairs_file(path: str | os.PathLike[str]) -> Path:
    """Returns a file of pairs: for the name `traps` the bundled one, unless there is a file of that name.

    That one has 60 made-up pairs in Japanese, with gold letters. In each, something makes the worse answer
    look better, which is its `task`: length, confidence, facts, politeness or formatting.
    """
    found = Path(path)
    bundled = Path(__file__).parents[1] / "data" / "judge-traps" / "pairs.jsonl"
    return bundled if str(path) == TRAPS and not found.exists() else found


def sample_path() -> Path:
    """Returns the folder of the bundled, made-up sample for judges.

    It has `pairs.jsonl`, `humans.jsonl`, `dialogues.jsonl`, the verdict folders `careful` and `hasty` in
    `verdicts/`, verdicts on runs of the benchmark `mini` in `verdicts/runs`, ratings of them in `ratings`,
    and a README. Everything in it is made up: statistics on it are no findings.
    """
    return Path(__file__).parents[1] / "data" / "judge-sample"
