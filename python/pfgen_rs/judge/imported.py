"""What formats of other tools share: records with their places, texts, and the pairs and judgments in them.

Also verdict folders that are written from such judgments, and read for other tools.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, Item, OutputError
from pfgen_rs.io import atomic, json_lines
from pfgen_rs.io.lines import optional_text_field, text_field
from pfgen_rs.io.records import file_records
from pfgen_rs.judge import Pair, pairs, requests, verdict_folder, verdicts

Judgment = dict[str, Any]
HUMANS = "humans.jsonl"
"""Verdicts of people, in a verdict folder that was imported."""
_REFERENCES = "reference_answer"
_SUFFIXES = (".json", ".jsonl", ".tsv", ".parquet")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record is: `with place:` gives `InputError`s raised within it file and line or element."""

    path: Path
    number: int
    item: Item = "line"

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.path is None:
            raise InputError(
                error.problem, path=self.path, line=self.number, item=self.item
            ) from None


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Returns the files at these paths.

    A folder stands for the files of JSON, TSV and Parquet right in it, by name, or if there are none, for
    those in its folders. They may be compressed.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            levels = (sorted(p for p in path.glob(g) if _is_read(p)) for g in ("*", "**/*"))
            inside = next(filter(None, levels), None)
            if inside is None:
                known = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
                raise InputError(f"contains no {known} files", path=path)
            found += inside
        else:
            found.append(path)
    return found


def _is_read(path: Path) -> bool:
    return bool({*_SUFFIXES} & {*path.suffixes}) and path.is_file()


def records(paths: Sequence[Path]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of JSON lines or JSON arrays, or the rows of TSV or Parquet, with their places.

    Raises `InputError` with file and line, element or row.
    """
    for path in paths:
        for number, item, record in file_records(path):
            yield Place(path, number, item), record


def question_id(record: Mapping[str, Any]) -> str:
    """Returns `question_id`, or `uid` as newer files of Arena-Hard call it. Raises `InputError`."""
    return json_lines.id_field(record, "uid" if "question_id" not in record else "question_id")


class Texts:
    """Questions, answers and reference answers by question id, as FastChat and Arena-Hard write them.

    `others`: the records that are none of these, with their places. Answers in a folder `reference_answer`
    are references.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._questions: dict[str, list[str]] = {}
        self._categories: dict[str, str | None] = {}
        self._answers: dict[tuple[str, str], list[str]] = {}
        self._references: dict[str, list[str]] = {}
        self.others: list[tuple[Place, dict[str, Any]]] = []
        for place, record in records(paths):
            with place:
                if "choices" in record or "messages" in record:
                    if place.path.parent.name == _REFERENCES:
                        self._references[question_id(record)] = _answers_of(record)
                        continue
                    model = text_field(record, "model_id" if "model_id" in record else "model")
                    self._answers[question_id(record), model] = _answers_of(record)
                elif "games" not in record and ("turns" in record or "prompt" in record):
                    name = question_id(record)
                    turns = record["turns"] if "turns" in record else [text_field(record, "prompt")]
                    self._questions[name] = _texts_of(turns, "'turns' must be a list of texts")
                    self._categories[name] = optional_text_field(record, "category")
                else:
                    self.others.append((place, record))

    def pair(
        self, question: str, models: tuple[str, str], turn: int = 1, task: str | None = None
    ) -> Pair:
        """Returns a pair with the texts up to a turn (from 1), separated by empty lines; empty if unknown.

        Its id is `QUESTION:MODEL_1:MODEL_2`, with `:turn-N` for later turns. `task`: default, the category.
        """

        def up_to(turns: Sequence[str]) -> str:
            return "\n\n".join(turns[:turn])

        one, other = (up_to(self._answers.get((question, model), ())) for model in models)
        return Pair(
            id=":".join((question, *models)) + (f":turn-{turn}" if turn > 1 else ""),
            question=up_to(self._questions.get(question, ())),
            models=models,
            answers=(one, other),
            question_id=question,
            task=task or self._categories.get(question),
            reference=up_to(self._references.get(question, ())) or None,
        )

    def notes(self) -> list[str]:
        """Returns what to tell a user if no texts were found."""
        if self._questions and self._answers:
            return []
        known = {"questions": self._questions, "answers": self._answers}
        lacking = " and ".join(name for name, texts in known.items() if not texts)
        return [
            f"the files have no {lacking}: these texts are empty; add question.jsonl and model_answer/"
        ]


def _answers_of(record: Mapping[str, Any]) -> list[str]:
    """Returns the texts of the assistant's turns."""
    if "messages" in record:
        return said_by("assistant", record, "messages")
    choices = record["choices"]
    first = choices[0] if isinstance(choices, list) and choices else None
    turns = first.get("turns") if isinstance(first, dict) else None
    return _texts_of(turns, "'choices' must be a list of an object with 'turns'")


def said_by(role: str, record: Mapping[str, Any], key: str) -> list[str]:
    """Returns the texts of a role in a list of messages. Raises `InputError`."""
    messages = record.get(key)
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise InputError(f"{key!r} must be a list of objects")
    said = [m.get("content") for m in messages if m.get("role") == role]
    return _texts_of(said, "'content' must contain texts only")


def _texts_of(values: Any, problem: str) -> list[str]:
    """Returns texts; an object stands for its `content` or `answer`."""
    if not isinstance(values, list):
        raise InputError(problem)
    texts = []
    for value in values:
        while isinstance(value, dict):
            value = value.get("content", value.get("answer"))
        if not isinstance(value, str):
            raise InputError(problem)
        texts.append(value)
    return texts


# Pairs and judgments


@dataclass
class Imported:
    """Pairs by id, and judgments, which are records as in the journal of a verdict folder.

    `source`: the name of the format, the `engine` of its judgments. `humans`: verdicts of people, letters by
    id of the pair and rater. `notes`: what is missing or was left out, for the user.
    """

    source: str
    pairs: dict[str, Pair] = field(default_factory=dict)
    judgments: list[Judgment] = field(default_factory=list)
    humans: dict[tuple[str, str], verdicts.Letter] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _digests: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def judges(self) -> list[str]:
        """The judges, in the order in which they occur."""
        return list(dict.fromkeys(each["judge"]["model"] for each in self.judgments))

    def of_judge(self, judge: str | None) -> "Imported":
        """Returns the same with the judgments of one judge.

        `judge`: may be `None` if there is one, or none. Raises `InputError` for an unknown or unclear choice.
        """
        known = self.judges
        if judge is None and len(known) < 2:
            return self
        if judge not in known:
            problem = "several judges" if judge is None else f"unknown judge {judge!r}"
            raise InputError(f"{problem}: choose one of {', '.join(known) or 'none'}")
        kept = [each for each in self.judgments if each["judge"]["model"] == judge]
        return replace(self, judgments=kept)

    def by_pair(self) -> list[tuple[Pair, dict[int, Judgment]]]:
        """Returns the pairs with the judgments of each, which may be none, by order."""
        found: dict[str, dict[int, Judgment]] = {name: {} for name in self.pairs}
        for each in self.judgments:
            found[each["pair"]][each["order"]] = each
        return [(self.pairs[name], judgments) for name, judgments in found.items()]

    def add_pair(self, pair: Pair) -> None:
        """Add a pair, which may occur again unchanged. Raises `InputError` if other texts have its id."""
        if self.pairs.setdefault(pair.id, pair) != pair:
            raise InputError(f"pair {pair.id!r:.80} occurs twice with different texts")

    def add_judgment(
        self,
        pair: Pair,
        order: int,
        judge: str,
        shown: verdicts.Letter | None,
        *,
        sample: int = 0,
        prompt: str = "",
        output: Any = "",
        problem: str = "no verdict",
        **more: Any,
    ) -> None:
        """Add a judgment. `output`: empty if it is no text. `problem`: why there is no verdict.

        `more`: other fields of its record. Raises `InputError` for a second one.
        """
        digest = requests.imported_digest(self.source, judge, pair, order, sample)
        if digest in self._digests:
            raise InputError(
                f"second judgment of pair {pair.id!r:.80} in order {order} by {judge!r:.80}"
            )
        self._digests.add(digest)
        unknown = dict.fromkeys(("temperature", "seed", "base_url"))
        self.judgments.append(
            {
                **requests.about_pair(pair, order),
                "sample": sample,
                "prompt": prompt,
                "judge": {"engine": self.source, "model": judge, **unknown},
                "digest": digest,
                "output": output if isinstance(output, str) else "",
                "finish_reason": None,
                "shown": shown,
                "probabilities": None,
                "problem": problem if shown is None else None,
                "usage": None,
                "left_out": [],
                "timestamp": None,
                **more,
            }
        )


def import_to(out: str | os.PathLike[str], imported: Imported) -> list[Path]:
    """Write pairs, judgments and verdicts of people; returns what was written.

    Judgments of one judge make a verdict folder, with `humans.jsonl` in it. Without judgments `out` is a new
    file of pairs, `pairs.jsonl`, and verdicts of people are `pairs.humans.jsonl`. Raises as `write_folder`.
    """
    path = Path(out)
    people = path.with_suffix(".humans.jsonl")
    if imported.judgments:
        write_folder(path, imported)
        people = path / HUMANS
    else:
        if taken := next((each for each in (path, people) if each.exists()), None):
            raise OutputError(f"{taken}: already exists: choose another file")
        pairs.write_pairs(path, imported.pairs.values())
    if not imported.humans:
        return [path]
    rows = ({"id": p, "rater": r, "verdict": v} for (p, r), v in imported.humans.items())
    json_lines.write_objects(people, rows)
    return [path, people]


def write_folder(out: str | os.PathLike[str], imported: Imported, **about: Any) -> None:
    """Write a new verdict folder with the judgments of one judge; `about`: more for its configuration.

    Raises `InputError` if there are several judges, and `OutputError` if the folder has anything in it.
    """
    chosen, folder = imported.of_judge(None), Path(out)
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if not taken:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise atomic.writing_failed(folder, error) from error
    if taken:
        raise OutputError(f"{folder}: already exists: choose another folder")
    judge, prompt = (chosen.judgments[0][key] for key in ("judge", "prompt"))
    config = {"kind": "pairwise", "judge": judge, "prompt": {"name": prompt}, **about}
    verdict_folder.open_verdict_folder(folder, config, chosen.pairs.values())
    json_lines.write_objects(folder / requests.JUDGMENTS, chosen.judgments)


def read_folder(path: str | os.PathLike[str]) -> Imported:
    """Read a verdict folder: pairs, and the last judgment of each pair's present texts in each order.

    If there are several samples, it has the letter and the probabilities by which they are decided. Raises
    `InputError`.
    """
    folder = verdict_folder.VerdictFolder(path)
    known = {pair.id: pair for pair in folder.pairs()}
    said: dict[tuple[str, int], list[Judgment]] = {}
    for each in folder.present_judgments():
        said.setdefault((each["pair"], each["order"]), []).append(each)
    decisions, coverage = folder.read()
    judgments = [samples[-1] for samples in said.values()]
    if coverage.samples > 1:
        rows = {row["pair"]: row for row in decisions.iter_rows(named=True)}
        judgments = [
            _counted(rows[pair], order, samples) for (pair, order), samples in said.items()
        ]
    return Imported(folder.judge_name, known, judgments, notes=coverage.notes())


def _counted(row: Mapping[str, Any], order: int, samples: Sequence[Judgment]) -> Judgment:
    """Returns letter and probabilities of an order, as they would have been shown, with a sample's output.

    The sample is the last one that says the letter, if one does.
    """
    letter: verdicts.Letter | None = row[f"v{order}"]
    if letter is None:
        return samples[-1]
    turned = verdicts.SWAPPED if order == 2 else {each: each for each in verdicts.LETTERS}
    p = {turned[each]: row[f"p{order}_{each.lower()}"] for each in verdicts.LETTERS}
    shown = turned[letter]
    like = next((each for each in reversed(samples) if each["shown"] == shown), samples[-1])
    return {**like, "shown": shown, "probabilities": p, "problem": None}
