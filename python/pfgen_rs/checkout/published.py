"""Reads published results: a `result.json`, checked for everything that reports need."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import _native, errors
from pfgen_rs.io import known_files, run_files
from pfgen_rs.metrics.settings import BY_SOURCE
from pfgen_rs.questions.question import file_digest
from pfgen_rs.stats.checks import LARGEST

ADVICE = "the file may be of another version: score the run again"
_WIDEST = 40
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Published:
    """A run's result: its folder within the checkout, the object, and the SHA-1 of the file."""

    run: str
    result: dict[str, Any]
    digest: str

    def drop_samples(self) -> None:
        """Drop the samples, which are most of a result, if only its numbers are needed."""
        for entry in self.result["questions"].values():
            entry["samples"] = []

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration."""
        found: dict[str, Any] = self.result["config"]
        return found

    @property
    def model(self) -> str:
        """The model's name."""
        name: str = self.config["model"]
        return name

    @property
    def is_system(self) -> bool:
        """Whether this is a system run, for reference, without a rank."""
        return run_files.is_system(self.config)

    @property
    def icon(self) -> str:
        """The icon in front of the model's name."""
        special = {"system/ground-truth": "👑", "system/criteria": "🎯"}
        modes = {"qa": "💬", "chat": "💬", "completion": "🟢"}
        mode = self.config.get("mode")
        return special.get(self.model) or (modes.get(mode, "❔") if isinstance(mode, str) else "❔")

    @property
    def label(self) -> str:
        """Icon and name as shown on the leaderboard; long names are cut."""
        name = self.model
        return f"{self.icon} {name if len(name) <= _WIDEST else name[: _WIDEST - 3] + '...'}"


def read_published(folder: Path, run: str) -> Published:
    """Read the result in a run's folder. Raises `InputError` if it is unreadable or incomplete."""
    path = folder / run_files.RESULT
    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=path) from error
    return published(content, path, run)


def published(content: bytes, path: Path, run: str) -> Published:
    """Parse the content of a `result.json`. Raises `InputError` if it is invalid or incomplete."""
    try:
        result = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise errors.InputError(f"invalid JSON: {error}", path=path) from None
    try:
        _check_result(result)
        if _SURROGATE.search(content):  # not so in UTF-8 without escapes, nor in most files
            json.dumps(result, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise errors.InputError(
            "contains a lone surrogate, which is not valid Unicode", path=path
        ) from None
    except errors.InputError as error:
        raise errors.InputError(f"{error.problem}: {ADVICE}", path=path) from None
    return Published(run, result, file_digest(content))


def published_now(content: bytes, result: dict[str, Any], path: Path, run: str) -> Published:
    """Returns the result that was just computed, with the content of its file.

    Raises `InputError` if its `config.json`, the part that was not computed, lacks what reports need.
    """
    try:
        _check(result, {"config": _is(dict)}, "the file")
        _check(result["config"], {"model": _is(str)}, "'config'")
    except errors.InputError as error:
        raise errors.InputError(f"{error.problem}: {ADVICE}", path=path) from None
    return Published(run, result, file_digest(content))


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
    "config": _is(dict),
    "questions": lambda value: isinstance(value, dict) and bool(value),
}
_QUESTION = {**_FIGURES, "question": _is(str), "samples": _is(list)}
_SAMPLE = {"answer": _is(str), "scores": _is(dict)}
_SAMPLE_SCORES = {**_SCORES, "helpfulness_results": _are_rules}


def _check_result(result: Any) -> None:
    _check(result, _RESULT, "the file")
    _check(result["scores"], _SCORES, "the file")
    _check(result["config"], {"model": _is(str)}, "'config'")
    for key, entry in result["questions"].items():
        where = f"question {key!r}"
        _check(entry, _QUESTION, where)
        _check(entry["scores"], _SCORES, where)
        for sample in entry["samples"]:
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


def digest_line(digest: str) -> str:
    """Returns the line of a `README.md` that names the `result.json` it was made from, by SHA-1."""
    return f"<!-- result.json: {digest} -->"


# Remembers which runs of a checkout are up to date, so that only files that have changed are read again.
#
#     CACHE/checkouts/KEY.json                    one file per checkout
#     CACHE/checkouts-as-published/KEY.json       the same where hashes alone decide what is stale
#
# Files are recognised as `pfgen_rs.io.known_files` says.


_VERSION = [2, _native.__version__]  # of the format, and of what decides what is stale


class KnownRuns:
    """What is known about a checkout: the digest of its questions, and its runs that are up to date."""

    def __init__(self, checkout: Path, *, as_published: bool = False) -> None:
        kind = "checkouts-as-published" if as_published else "checkouts"
        self._path = known_files.path_of_known(kind, checkout)
        self._old = known_files.read_known(self._path, _VERSION) or {"questions": None, "runs": {}}
        self._new: dict[str, Any] = {"version": _VERSION, "questions": None, "runs": {}}

    def metadata_hash(self, questions: known_files.Files) -> str | None:
        """Returns the metadata hash of these question files, if they are unchanged."""
        entry = self._old["questions"]
        if entry is None or entry["files"] != questions:
            return None
        self._new["questions"] = entry
        return entry["metadata_hash"]  # type: ignore[no-any-return]

    def keep_questions(self, questions: known_files.Files, metadata_hash: str) -> None:
        """Remember the hash of settled question files, in the states before they were read."""
        self._new["questions"] = {"files": questions, "metadata_hash": metadata_hash}

    def published(
        self, run: str, files: known_files.Files | None, metadata_hash: str
    ) -> Published | None:
        """Returns a run's result without samples, if nothing about the run is stale.

        `files`: all that its state depends on.
        """
        entry = self._old["runs"].get(run)
        if entry is None or entry["files"] != files:
            return None
        if entry["result"]["metadata_hash"] != metadata_hash:
            return None
        self._new["runs"][run] = entry
        questions = RememberedQuestions(entry["questions"])
        return Published(run, {**entry["result"], "questions": questions}, entry["digest"])

    def keep(self, published: Published, files: known_files.Files) -> None:
        """Remember a run that is up to date, with settled files in the states before they were read."""
        result = dict(published.result)
        questions = result.pop("questions")
        without = {key: {**entry, "samples": []} for key, entry in questions.items()}
        self._new["runs"][published.run] = {
            "files": files,
            "digest": published.digest,
            "result": result,
            "questions": json.dumps(without, ensure_ascii=False),
        }

    def save(self) -> None:
        """Write what is known, if it has changed. A file that cannot be written costs only time."""
        if self._new != self._old:
            known_files.write_known(self._path, self._new)


class RememberedQuestions(Mapping[str, Any]):
    """The questions of a result, parsed when they are needed, which is rarely."""

    def __init__(self, text: str) -> None:
        self._text = text

    def forget(self) -> None:
        """Free what was parsed, which takes 0.1 MB; it is parsed again when it is needed."""
        vars(self).pop("_parsed", None)

    @cached_property
    def _parsed(self) -> dict[str, Any]:
        return json.loads(self._text)  # type: ignore[no-any-return]

    def __getitem__(self, key: str) -> Any:
        return self._parsed[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed)

    def __len__(self) -> int:
        return len(self._parsed)
