"""Judgments in formats of other tools: AlpacaEval, FastChat, and plain JSON lines for all others."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError, Item, OutputError, SettingsError
from pfgen_rs.io import json_lines, lines
from pfgen_rs.io.atomic import write_atomic, writing_failed
from pfgen_rs.io.lines import optional_text_field, text_field
from pfgen_rs.judge import requests
from pfgen_rs.judge.decisions import decide
from pfgen_rs.judge.dialogues.fastchat_files import Question, read_answers, read_questions
from pfgen_rs.judge.pairs import Pair, pair_of, pair_record
from pfgen_rs.judge.verdict_folder import VerdictFolder, open_verdict_folder
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED, Letter, Verdict

__all__ = ["detect_format", "read_format", "write_format"]

Judgment = dict[str, Any]


def detect_format(files: Sequence[Path]) -> str:
    """Returns the name of the format that the first records of files have.

    Files of questions and answers alone say nothing. Raises `InputError` if no format or several fit.
    """
    first = [record for path in files for _, record in islice(records([path]), 1)]
    fitting = [name for name, keys in _KEYS.items() if any(keys <= each.keys() for each in first)]
    if len(fitting) == 1:
        return fitting[0]
    problem = "files of several formats" if fitting else "unknown format"
    raise InputError(f"{problem}: expected one of {', '.join(fitting or _KEYS)}", path=files[0])


def read_format(paths: Sequence[str | os.PathLike[str]], name: str | None = None) -> Imported:
    """Read files of one format. A folder stands for the `.json` and `.jsonl` files in it.

    `name`: `alpaca-eval`, `fastchat` or `json-lines` (default: as `detect_format` says). Raises
    `InputError` with file and line or element, and `SettingsError` for an unknown name.
    """
    if name is not None and name not in _READERS:
        raise SettingsError(f"unknown format {name!r}: expected one of {', '.join(_READERS)}")
    files = files_of(paths)
    chosen = name or detect_format(files)
    found = _READERS[chosen](files)
    if not found.judgments:
        raise InputError(f"contains no judgments in the format {chosen}")
    return found


def write_format(path: str | os.PathLike[str], imported: Imported, name: str) -> int:
    """Write a file in the format `alpaca-eval` or `json-lines`; returns the number of pairs in it.

    Raises `SettingsError` for another name, and `OutputError`.
    """
    if name == "alpaca-eval":
        written = list(_alpaca_eval(imported))
        text = json.dumps(written, ensure_ascii=False, indent=4) + "\n"
        write_atomic(path, text.encode("utf-8", "surrogatepass"))
    elif name == "json-lines":
        written = list(_json_lines(imported))
        json_lines.write_objects(Path(path), written)
    else:
        raise SettingsError(f"cannot write {name!r}: expected alpaca-eval or json-lines")
    return len(written)


# Pairs and judgments


@dataclass
class Imported:
    """Pairs by id, and judgments, which are records as in the journal of a verdict folder.

    `source`: the name of the format, the `engine` of its judgments. `notes`: what is missing or was left out,
    for the user.
    """

    source: str
    pairs: dict[str, Pair] = field(default_factory=dict)
    judgments: list[Judgment] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _digests: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def judges(self) -> list[str]:
        """The judges, in the order in which they occur."""
        return list(dict.fromkeys(each["judge"]["model"] for each in self.judgments))

    def of_judge(self, judge: str | None) -> Imported:
        """Returns the same with the judgments of one judge.

        `judge`: may be `None` if there is one. Raises `InputError` for an unknown or unclear choice.
        """
        known = self.judges
        if judge is None and len(known) == 1:
            return self
        if judge not in known:
            problem = "several judges" if judge is None else f"unknown judge {judge!r}"
            raise InputError(f"{problem}: choose one of {', '.join(known)}")
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
        shown: Letter | None,
        *,
        prompt: str = "",
        output: Any = "",
        problem: str = "no verdict",
        **more: Any,
    ) -> None:
        """Add a judgment. `output`: empty if it is no text. `problem`: why there is no verdict.

        `more`: other fields of its record. Raises `InputError` for a second one.
        """
        digest = requests.imported_digest(self.source, judge, pair, order)
        if digest in self._digests:
            raise InputError(
                f"second judgment of pair {pair.id!r:.80} in order {order} by {judge!r:.80}"
            )
        self._digests.add(digest)
        unknown = dict.fromkeys(("temperature", "seed", "base_url"))
        self.judgments.append(
            {
                **requests.about_pair(pair, order),
                "sample": 0,
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


def write_folder(out: str | os.PathLike[str], imported: Imported) -> None:
    """Write a new verdict folder with the judgments of one judge.

    Raises `InputError` if there are several judges, and `OutputError` if the folder has anything in it.
    """
    chosen, folder = imported.of_judge(None), Path(out)
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if not taken:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise writing_failed(folder, error) from error
    if taken:
        raise OutputError(f"{folder}: already exists: choose another folder")
    judge, prompt = (chosen.judgments[0][key] for key in ("judge", "prompt"))
    config = {"kind": "pairwise", "judge": judge, "prompt": {"name": prompt}}
    open_verdict_folder(folder, config, chosen.pairs.values())
    json_lines.write_objects(folder / requests.JUDGMENTS, chosen.judgments)


def read_folder(path: str | os.PathLike[str]) -> Imported:
    """Read a verdict folder: pairs, and the last judgment of each pair's present texts in each order.

    Raises `InputError`.
    """
    folder = VerdictFolder(path)
    pairs = {pair.id: pair for pair in folder.pairs()}
    last = {(each["pair"], each["order"]): each for each in folder.present_judgments()}
    return Imported(folder.judge_name, pairs, [*last.values()], folder.read()[1].notes())


# Records with their places


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
    """Returns the files at these paths; a folder stands for the JSON files right in it, by name.

    They may be compressed.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if {".json", ".jsonl"} & {*p.suffixes})
            if not inside:
                raise InputError("contains no .json or .jsonl files", path=path)
            found += inside
        else:
            found.append(path)
    return found


def records(paths: Sequence[Path]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of files of JSON lines or of JSON arrays, with their places.

    Raises `InputError` with file and line or element.
    """
    for path in paths:
        for line in json_lines.lines(path):
            yield Place(path, line.number, line.item), line.record


# AlpacaEval: annotations with a preference from 1 (first output) to 2 (second output)


_HARD: Mapping[float | None, Letter | None] = {1.0: "A", 2.0: "B", 1.5: "C", None: None}


def _alpaca_eval(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield one annotation a pair.

    With probabilities the preference is 1 + p(B) + p(C)/2 of the normalised mean; without, 1, 2, 1.5 (tie) or
    null (invalid).
    """
    for pair, judgments in imported.by_pair():
        if judgments:
            yield {
                "instruction": pair.question,
                "output_1": pair.answers[0],
                "output_2": pair.answers[1],
                "generator_1": pair.models[0],
                "generator_2": pair.models[1],
                "dataset": pair.task,
                "annotator": judgments[min(judgments)]["judge"]["model"],
                "preference": _written_preference(judgments),
                "raw_completion": judgments[min(judgments)]["output"],
            }


def _written_preference(judgments: Mapping[int, Judgment]) -> float | None:
    """Returns the preference of a pair: of both orders, their verdict if they agree, else a tie."""
    verdicts = {
        order: Verdict(each["shown"], each["probabilities"]) for order, each in judgments.items()
    }
    decision = decide(verdicts.get(1), verdicts.get(2))
    total = sum(decision.mean.values()) if decision.mean else 0
    if decision.mean and total > 0:
        return 1 + (decision.mean["B"] + decision.mean["C"] / 2) / total
    first, second = decision.verdicts
    letter = first or second if len(verdicts) == 1 else decision.tie
    return next(preference for preference, each in _HARD.items() if each == letter)


def _read_alpaca_eval(paths: Sequence[Path]) -> Imported:
    """Read annotations. Each is one judgment in order 1; the order that was shown is not recorded.

    The id of a pair is `N:GENERATOR_1:GENERATOR_2` with the number of the instruction in order of occurrence.
    An annotator with other preferences than 1, 1.5 and 2 gives soft ones: 2 − preference and preference − 1
    are the probabilities of A and B, and that of C is 0. Null is an invalid judgment. Raises `InputError`.
    """
    annotations = list(records(paths))
    soft = set()
    for place, record in annotations:
        with place:
            if _preference(record) not in _HARD:
                soft.add(_annotator(record))
    found, numbers = Imported("alpaca-eval"), dict[str, int]()
    for place, record in annotations:
        with place:
            question = text_field(record, "instruction")
            number = str(numbers.setdefault(question, len(numbers) + 1))
            models = (text_field(record, "generator_1"), text_field(record, "generator_2"))
            pair = Pair(
                id=":".join((number, *models)),
                question=question,
                models=models,
                answers=(text_field(record, "output_1"), text_field(record, "output_2")),
                question_id=number,
                task=optional_text_field(record, "dataset"),
            )
            found.add_pair(pair)
            judge, preference = _annotator(record), _preference(record)
            found.add_judgment(
                pair,
                1,
                judge,
                _letter(preference),
                output=record.get("raw_completion"),
                probabilities=_probabilities(preference) if judge in soft else None,
                problem="the preference is null",
            )
    found.notes.append("the order in which outputs were shown is unknown: position bias is, too")
    return found


def _annotator(record: Mapping[str, Any]) -> str:
    return text_field(record, "annotator") if "annotator" in record else "annotator"


def _preference(record: Mapping[str, Any]) -> float | None:
    if "preference" not in record:
        raise lines.missing("key", "preference", record, None)
    value = record["preference"]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 2:
        raise InputError(f"invalid 'preference' {value!r:.40}: expected null or 1 to 2")
    return float(value)


def _letter(preference: float | None) -> Letter | None:
    if preference in _HARD:
        return _HARD[preference]
    return "A" if preference is not None and preference < 1.5 else "B"


def _probabilities(preference: float | None) -> dict[str, float] | None:
    if preference is None:
        return None
    return {"A": 2 - preference, "B": preference - 1, "C": 0.0}


# FastChat: winners of two games; texts are in other files


_SHOWN: Mapping[int, Mapping[str, Letter]] = {
    1: {"model_1": "A", "model_2": "B", "tie": "C"},
    2: {"model_1": "B", "model_2": "A", "tie": "C"},
}
"""Winners are models; letters speak of what was shown first, which is model_2 in the second game."""
_FAILED = "error"
_REFERENCES = "reference_answer"


def _read_fastchat(paths: Sequence[Path]) -> Imported:
    """Read pairwise judgments, with `question.jsonl` and `model_answer/*.jsonl` for the texts.

    The id of a pair is `QUESTION:MODEL_1:MODEL_2`, with `:turn-2` for second turns, whose texts are those of
    both turns. Without files of questions and answers the texts are empty, and a note says so. Answers in a
    folder `reference_answer` are references. Raises `InputError`.
    """
    found, judged = Imported("fastchat"), list[tuple[Place, dict[str, Any]]]()
    questions: dict[str, Question] = {}
    answers: dict[str | None, dict[str, tuple[str, ...]]] = {}  # by model, references by None
    for path in paths:
        _, first = next(records([path]), (None, {}))
        if "choices" in first:
            for each in read_answers(path):
                model = None if path.parent.name == _REFERENCES else each.model
                answers.setdefault(model, {}).update(each.answers)
        elif "turns" in first:
            questions |= {each.id: each for each in read_questions(path)}
        else:
            judged += records([path])
    for place, record in judged:
        with place:
            pair = _fastchat_pair(record, questions, answers)
            found.add_pair(pair)
            _add_games(found, pair, record)
    known = {"questions": questions, "answers": answers.keys() - {None}}
    if lacking := " and ".join(name for name, texts in known.items() if not texts):
        found.notes.append(
            f"the files have no {lacking}: these texts are empty; add question.jsonl and model_answer/"
        )
    return found


def _fastchat_pair(
    record: Mapping[str, Any],
    questions: Mapping[str, Question],
    answers: Mapping[str | None, Mapping[str, Sequence[str]]],
) -> Pair:
    """Returns the pair of a judgment, with the texts up to its turn."""
    if "score" in record and "model" in record and "g1_winner" not in record:
        raise InputError("is a rating of one answer, not of a pair: use 'pfgen-rs judge dialogues'")
    name = json_lines.id_field(record, "question_id")
    models = (text_field(record, "model_1"), text_field(record, "model_2"))
    turn, question = record.get("turn", 1), questions.get(name)
    if type(turn) is not int or turn not in (1, 2):
        raise InputError(f"invalid 'turn' {turn!r:.40}: expected 1 or 2")
    one, other, reference = (
        "\n\n".join(answers.get(model, {}).get(name, ())[:turn]) for model in (*models, None)
    )
    return Pair(
        id=":".join((name, *models)) + (":turn-2" if turn == 2 else ""),
        question="\n\n".join(question.turns[:turn]) if question else "",
        models=models,
        answers=(one, other),
        question_id=name,
        task=question.category if question else None,
        reference=reference or None,
    )


def _add_games(found: Imported, pair: Pair, record: Mapping[str, Any]) -> None:
    """Add the judgments of both games; a game without winner and text was not played."""
    named = isinstance(record.get("judge"), str)
    judge, prompt = (record["judge"], "") if named else json_lines.texts_field(record, "judge", 2)
    for order in (1, 2):
        winner, text = record.get(f"g{order}_winner"), record.get(f"g{order}_judgment")
        if winner == _FAILED and text is None:
            continue
        shown = _SHOWN[order].get(winner) if isinstance(winner, str) else None
        if shown is None and winner != _FAILED:
            raise InputError(
                f"invalid 'g{order}_winner' {winner!r:.40}: expected model_1, model_2, tie or error"
            )
        found.add_judgment(
            pair,
            order,
            judge,
            shown,
            prompt=prompt,
            output=text,
            timestamp=_iso_time(record.get("tstamp")),
            problem="the winner is 'error'",
        )


def _iso_time(seconds: Any) -> str | None:
    """Returns a time in seconds since 1970 as ISO 8601, `None` for anything else."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (TypeError, OverflowError, OSError, ValueError):
        return None


# Plain JSON lines: a pair with the verdicts of a judge


def _json_lines(imported: Imported) -> Iterator[dict[str, Any]]:
    """Yield a line a pair that was judged; probabilities are left out."""
    for pair, judgments in imported.by_pair():
        if judgments:
            last = max(judgments)
            shown = [judgments[n]["shown"] if n in judgments else None for n in range(1, last + 1)]
            judge = judgments[last]["judge"]["model"]
            yield {**pair_record(pair), "judge": judge, "verdicts": _turned(shown)}


def _turned(letters: Sequence[Letter | None]) -> list[Letter | None]:
    """Returns letters of the pair as they were shown, and the other way round."""
    return [
        SWAPPED[letter] if letter and order == 2 else letter
        for order, letter in enumerate(letters, 1)
    ]


def _read_json_lines(paths: Sequence[Path]) -> Imported:
    """Read pairs with verdicts. A pair may occur again with another judge. Raises `InputError`."""
    found = Imported("json-lines")
    for place, record in records(paths):
        with place:
            pair, verdicts = pair_of(record), record.get("verdicts")
            if (
                not isinstance(verdicts, list)
                or not 1 <= len(verdicts) <= 2
                or any(each not in (None, *LETTERS) for each in verdicts)
            ):
                raise InputError("'verdicts' must be a list of one or two of A, B, C and null")
            found.add_pair(pair)
            judge = text_field(record, "judge")
            for order, shown in enumerate(_turned(verdicts), 1):
                found.add_judgment(pair, order, judge, shown)
    return found


_KEYS: Mapping[str, set[str]] = {
    "alpaca-eval": {"instruction", "output_1", "output_2", "preference"},
    "fastchat": {"g1_winner", "model_1"},
    "json-lines": {"models", "answers", "verdicts"},
}
"""Keys by which the records of each format are recognised."""
_READERS: Mapping[str, Callable[[Sequence[Path]], Imported]] = {
    "alpaca-eval": _read_alpaca_eval,
    "fastchat": _read_fastchat,
    "json-lines": _read_json_lines,
}
