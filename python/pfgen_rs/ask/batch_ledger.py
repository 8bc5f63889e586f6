"""The ledger of a folder: which requests are in which batches, and which have been dealt with.

It lies beside the journal, one JSON object a line. What is about to be created is noted first, so that
nothing is submitted twice, whenever a process ends.
"""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from pfgen_rs.ask.batch_forms import Submission, name_of
from pfgen_rs.ask.journal import Journal, Key
from pfgen_rs.errors import InputError


def ledger_path(journal: Path) -> Path:
    """Returns where the ledger of a journal lies."""
    return journal.with_name(f".{journal.name}.batches")


class Ledger(Journal):
    """The batches of a folder.

        {"event": "submitting", "tag": …, "base_url": …, "ids": […], "file": …, "time": …}
        {"event": "created", "tag": …, "batch": …}          or "dropped": the server has no such batch
        {"event": "settled", "tag": …, "ids": […]}          answered or failed, and handed on

    Several processes may append. Raises as `Journal` does.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, (), self._noted_event)
        self._submissions: dict[str, Submission] = {}
        self._open: dict[str, str] = {}  # tags by request

    def key(self, record: Mapping[str, Any]) -> Key:
        """Returns a key of its own for each record."""
        return (id(record), len(self))

    def _shared_claims(self) -> IO[bytes] | None:
        return None

    @property
    def batches(self) -> set[str]:
        """The batches that are known."""
        return {each.batch for each in self._submissions.values() if each.batch is not None}

    @property
    def open(self) -> set[str]:
        """The requests that are in batches and not settled."""
        return set(self._open)

    def holding(self, ids: Iterable[str]) -> dict[str, tuple[Submission, list[str]]]:
        """Returns the batches that hold requests, and which ones, by tag."""
        self.refresh()
        found: dict[str, tuple[Submission, list[str]]] = {}
        for each in ids:
            tag = self._open.get(each)
            if tag is not None:
                found.setdefault(tag, (self._submissions[tag], []))[1].append(each)
        return found

    def submitting(self, base_url: str, ids: Sequence[str], file: str | None) -> Submission:
        """Note that a batch is about to be created."""
        tag = uuid.uuid4().hex
        self.add(
            {
                "event": "submitting",
                "tag": tag,
                "base_url": base_url,
                "file": file,
                "time": round(time.time(), 3),
                "ids": list(ids),
            }
        )
        return self._submissions[tag]

    def created(self, submission: Submission, batch: str) -> None:
        """Note that the server has created a batch."""
        self.add({"event": "created", "tag": submission.tag, "batch": batch})

    def dropped(self, submission: Submission) -> None:
        """Note that there is no such batch."""
        self.add({"event": "dropped", "tag": submission.tag})

    def settled(self, submission: Submission, ids: Sequence[str]) -> None:
        """Note that requests of a batch have been dealt with."""
        if ids:
            self.add({"event": "settled", "tag": submission.tag, "ids": list(ids)})

    def _noted_event(self, record: Mapping[str, Any]) -> None:
        try:
            self._note_event(record["event"], record["tag"], record)
        except (KeyError, TypeError, ValueError):
            problem = "is not the record of a batch: remove the line"
            raise InputError(problem, path=self.path, line=self._lines + 1) from None

    def _note_event(self, event: str, tag: str, record: Mapping[str, Any]) -> None:
        if event == "submitting":
            self._submissions[tag] = Submission(
                tag, record["base_url"], record["ids"], float(record["time"]), record["file"]
            )
            self._open.update(dict.fromkeys(map(name_of, record["ids"]), tag))
        elif event == "created":
            self._submissions[tag].batch = str(record["batch"])
        else:
            ids = self._submissions[tag].ids if event == "dropped" else record["ids"]
            for each in map(name_of, ids):
                if self._open.get(each) == tag:
                    del self._open[each]
