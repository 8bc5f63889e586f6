"""Published results: a `result.json`, checked, with the figures that it has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import errors
from pfgen_rs.io.run_files import RESULT, stated_model
from pfgen_rs.metrics.settings import BY_SOURCE, Settings
from pfgen_rs.metrics.signature import part_of, signature
from pfgen_rs.runs.scored_run import ScoredRun
from pfgen_rs.runs.summary import Summaries, Summary
from pfgen_rs.stats.checks import LARGEST
from pfgen_rs.stats.estimates import Sample

ADVICE = "the file may be of another version: score the run again"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Check = Callable[[Any], bool]


def load_results(folder: str | os.PathLike[str]) -> list[PublishedResult]:
    """Read the published results below a folder, sorted by path: every `result.json`.

    `folder`: that of a checkout, what `pfgen-rs score --out` or `Result.to_json` wrote, or one file. Hidden
    folders are left out. What the results have and have not: see `PublishedResult`. Raises `InputError` for a
    file that is damaged or incomplete, naming it, and for a folder without any.

    >>> import tempfile, pfgen_rs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pfgen_rs.score_file(pfgen_rs.sample_runs()["faithful"], "mini").to_json(f"{folder}/result.json")
    ...     [result] = pfgen_rs.load_results(folder)
    >>> result.name, result.score
    ('mini/faithful', 0.8256)
    """
    place = Path(folder)
    below = (path.relative_to(place) for path in sorted(place.rglob(RESULT)))
    shown = (path for path in below if not any(part[0] == "." for part in path.parts))
    paths = [place] if place.is_file() else [place / path for path in shown]
    if not paths:
        missing = "is no folder" if not place.exists() else f"has no {RESULT}, nor have those below"
        raise errors.InputError(f"{missing}: expected what pfgen-rs score --out writes", path=place)
    return [_loaded(path) for path in paths]


def _loaded(path: Path) -> PublishedResult:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=path) from error
    result = checked_result(content, path, samples=False)
    for entry in result["questions"].values():
        entry["samples"] = []  # most of a file, and no figures
    return PublishedResult(str(path), result.get("config"), result.get("input_hash"), result)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedResult(ScoredRun):
    """A run as its `result.json` has it: figures, by question and as a whole, without responses.

    Like a `Result`, it has `score` and its parts, `interval`, `questions`, `compare` (by the means of
    questions), and stands in a `leaderboard`. There are no responses, samples or categories, and no
    bootstrap. The number of answers is that of the trials, times questions.

    >>> import tempfile, pfgen_rs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pfgen_rs.score_file(pfgen_rs.sample_runs()["careless"], "mini").to_json(f"{folder}/result.json")
    ...     [published] = pfgen_rs.load_results(folder)
    >>> published.questions.sort("average").row(0, named=True)["question_id"]
    'Q12'
    """

    path: str
    config: dict[str, Any] | None
    input_hash: str | None
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The model named in the configuration, or the name of the folder."""
        return stated_model(self.config) or Path(self.path).absolute().parent.name

    @property
    def clean(self) -> str | None:
        """The mode for which answers were cleaned, if they were."""
        return part_of(self.signature, "clean")

    @property
    def signature(self) -> str:
        """One line that makes the scores reproducible; for published settings, with this version."""
        usual = signature(self.content["metadata_hash"], Settings())
        return str(self.content.get("signature", usual))

    @cached_property
    def _summaries(self) -> Summaries:
        found, trials = self.content, self.content["num_trials"]
        questions = {
            key: Summary(trials, _spread(entry), entry["scores"], [])
            for key, entry in sorted(found["questions"].items())
        }
        return Summaries(questions, trials, _spread(found), found["scores"])

    def _about(self, question_id: str) -> tuple[str, None]:
        return self.content["questions"][question_id]["question"], None

    def sample(self, name: str | None = None) -> Sample:
        """Returns the means of questions, one value for each, for `pfgen_rs.stats`."""
        return self._sample_of_means(name)


def _spread(entry: Mapping[str, Any]) -> dict[str, float]:
    return {name: entry[name] for name in ("score", "score_std", "length", "length_std")}


def checked_result(content: bytes, path: Path, *, samples: bool = True) -> dict[str, Any]:
    """Parse the content of a `result.json`, and check it, if wanted with its `samples`.

    Raises `InputError` if it is invalid or incomplete.
    """
    try:
        result: dict[str, Any] = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise errors.InputError(f"invalid JSON: {error}", path=path) from None
    try:
        _check_result(result, samples)
        if _SURROGATE.search(content):  # not so in UTF-8 without escapes, nor in most files
            json.dumps(result, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise errors.InputError(
            "contains a lone surrogate, which is not valid Unicode", path=path
        ) from None
    except errors.InputError as error:
        raise errors.InputError(f"{error.problem}: {ADVICE}", path=path) from None
    return result


def check_config(result: Mapping[str, Any], path: Path) -> None:
    """Raise `InputError` if the `config.json` in a result lacks what reports need."""
    try:
        _check(result, {"config": _is(dict)}, "the file")
        _check(result["config"], {"model": _is(str)}, "'config'")
    except errors.InputError as error:
        raise errors.InputError(f"{error.problem}: {ADVICE}", path=path) from None


# What reports need of a result, by key: a check of the value.


def _is(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and -LARGEST <= value <= LARGEST  # not NaN, nor too large for statistics


def _are_shares(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(_is_number, value.values()))


def _are_rules(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_rule, value))


def _is_rule(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and isinstance(value[0], str) and _is_number(value[1])


_FIGURES = {
    **dict.fromkeys(("score", "length"), _is_number),
    **dict.fromkeys(("score_std", "length_std"), lambda value: _is_number(value) and value >= 0),
    "scores": _is(dict),
}
_SCORES = {
    **dict.fromkeys(BY_SOURCE, _are_shares),
    **dict.fromkeys(("helpfulness", "average"), _is_number),
}
_RESULT = {
    **_FIGURES,
    "num_trials": lambda value: type(value) is int and value > 0,
    "metadata_hash": _is(str),
    "questions": lambda value: isinstance(value, dict) and bool(value),
}
_OPTIONAL = {"config": _is(dict), "input_hash": _is(str), "signature": _is(str)}
_QUESTION = {**_FIGURES, "question": _is(str), "samples": _is(list)}
_SAMPLE = {"answer": _is(str), "scores": _is(dict)}
_SAMPLE_SCORES = {**_SCORES, "helpfulness_results": _are_rules}


def _check_result(result: Any, samples: bool) -> None:
    _check(result, _RESULT, "the file")
    _check(result, {key: _OPTIONAL[key] for key in _OPTIONAL if key in result}, "the file")
    _check(result["scores"], _SCORES, "the file")
    for key, entry in result["questions"].items():
        where = f"question {key!r}"
        _check(entry, _QUESTION, where)
        _check(entry["scores"], _SCORES, where)
        for sample in entry["samples"] if samples else ():
            _check(sample, _SAMPLE, f"a sample of {where}")
            _check(sample["scores"], _SAMPLE_SCORES, f"a sample of {where}")


def _check(entry: Any, checks: Mapping[str, Check], where: str) -> None:
    """Raise `InputError` unless an entry is an object that has these keys with values of their kinds."""
    if not isinstance(entry, dict):
        raise errors.InputError(f"{where}: expected an object")
    for key, is_right in checks.items():
        if key not in entry:
            raise errors.InputError(f"{where}: missing {key!r}")
        if not is_right(entry[key]):
            raise errors.InputError(f"{where}: {key!r} has the wrong type or is out of range")
