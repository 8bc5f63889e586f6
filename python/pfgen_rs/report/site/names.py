"""Names of runs in a site: of their folders, and as people read them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfgen_rs.checkout.entries import Entry

__all__ = ["labels", "model_key", "slug"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60
_PREFIX = "result/"
_DATED = re.compile(r"-(?:20\d{2})-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])$")
_BETWEEN = " · "


def slug(name: str) -> str:
    """Returns a folder name for any text: its readable part, and eight digits of its SHA-256.

    Because of the digits, no two runs share a folder, even on file systems that ignore case, and links stay
    valid when other runs are added or removed.

    >>> slug("result/ACME/写本-7b/0a1b2c3")
    'ACME-7b-0a1b2c3-cb0d98e0'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    safe = _UNSAFE.sub("-", name.removeprefix(_PREFIX))
    readable = re.sub(r"-{2,}", "-", safe)[-_LONGEST:].strip("-.")
    return f"{readable}-{digest}" if readable else digest


def model_key(run: Entry) -> str:
    """Returns what all runs of a model share: organisation and name, ignoring case."""
    return f"{run.organisation or ''}/{_name_without_path(run)}".casefold()


def labels(runs: Sequence[Entry]) -> dict[str, str]:
    """Returns a short name for each run, by run, no two alike (case aside).

    A name is the model's without organisation and without a date at its end ("claude-opus-4"). What others
    share gets more, for all that share it: the mode ("claude-opus-4 · chat"), and the run's folder if the
    model has several runs in this mode; then the date, then the organisation.
    """
    modes = Counter((model_key(run), run.mode) for run in runs)
    forms = {run.run: _forms_of_label(run, modes[model_key(run), run.mode] > 1) for run in runs}
    details = dict.fromkeys(forms, 0)
    while True:
        found = {run: forms[run][detail] for run, detail in details.items()}
        counts = Counter(name.casefold() for name in found.values())
        alike = [run for run, name in found.items() if counts[name.casefold()] > 1]
        growing = [run for run in alike if details[run] < len(forms[run]) - 1]
        if not growing:
            return found
        for run in growing:
            details[run] += 1


def _forms_of_label(run: Entry, is_repeated: bool) -> list[str]:
    """Returns names of a run, from the shortest to one that is unique."""
    name = _name_without_path(run)
    short = _DATED.sub("", name) or name
    own = run.run.removeprefix(_PREFIX)
    more = "".join(
        f"{_BETWEEN}{part}"
        for part in (run.mode, own.rpartition("/")[2] if is_repeated else "")
        if part
    )
    full = f"{run.organisation}/{name}" if run.organisation else run.model
    return [short, short + more, name + more, full + more, own]


def _name_without_path(run: Entry) -> str:
    return run.model.rpartition("/")[2] or run.model
