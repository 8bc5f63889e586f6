"""The order of the runs on a leaderboard, their ranks, and their names as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from pfgen_rs.checkout.published import Published


def ranked(runs: Iterable[Published]) -> list[Published]:
    """Returns the runs by descending score; ties by folder."""
    return sorted(runs, key=lambda run: (-run.result["score"], run.run))


def ranks(runs: Iterable[Published]) -> list[int | None]:
    """Returns the ranks (from 1) of runs in the order of `ranked`; `None` for system runs."""
    numbers = count(1)
    return [None if run.is_system else next(numbers) for run in runs]


# Short names for runs, as people read them: of models, with as much more as tells them apart.


_PREFIX = "result/"
_DATED = re.compile(r"-(?:20\d{2})-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])$")


@dataclass(frozen=True)
class RunName:
    """What a label is made of; values as in an `Entry`, which is one."""

    run: str
    model: str
    organisation: str | None
    mode: str | None


def model_key(run: RunName) -> str:
    """Returns what all runs of a model share: organisation and name, ignoring case."""
    return f"{run.organisation or ''}/{_name_without_path(run)}".casefold()


def run_labels(runs: Sequence[RunName]) -> dict[str, str]:
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


def _forms_of_label(run: RunName, is_repeated: bool) -> list[str]:
    """Returns names of a run, from the shortest to one that is unique."""
    name = _name_without_path(run)
    short = _DATED.sub("", name) or name
    own = run.run.removeprefix(_PREFIX)
    folder = own.rpartition("/")[2] if is_repeated else ""
    more = "".join(f" · {part}" for part in (run.mode, folder) if part)
    full = f"{run.organisation}/{name}" if run.organisation else run.model
    return [short, short + more, name + more, full + more, own]


def _name_without_path(run: RunName) -> str:
    return run.model.rpartition("/")[2] or run.model
