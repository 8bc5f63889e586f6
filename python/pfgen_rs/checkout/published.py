"""Reads published results: a `result.json`, checked for everything that reports need."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pfgen_rs import _native, errors
from pfgen_rs.io import known_files, run_files
from pfgen_rs.questions.question import file_digest
from pfgen_rs.runs.published import check_config, checked_result

_WIDEST = 40


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

    def condensed(self) -> "Published":
        """Returns it without samples, and its questions as text: a tenth of the memory."""
        questions = {key: {**each, "samples": []} for key, each in self.result["questions"].items()}
        text = RememberedQuestions(json.dumps(questions, ensure_ascii=False))
        return Published(self.run, {**self.result, "questions": text}, self.digest)

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
    result = checked_result(content, path)
    check_config(result, path)
    return Published(run, result, file_digest(content))


def published_now(content: bytes, result: dict[str, Any], path: Path, run: str) -> Published:
    """Returns the result that was just computed, with the content of its file.

    Raises `InputError` if its `config.json`, the part that was not computed, lacks what reports need.
    """
    check_config(result, path)
    return Published(run, result, file_digest(content))


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
