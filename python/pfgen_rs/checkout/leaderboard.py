"""A leaderboard: the order of its runs with ties, ranks, short names, and its rows from results or a file."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from pfgen_rs import _native, errors
from pfgen_rs.checkout.published import Published
from pfgen_rs.metrics.settings import PARTS
from pfgen_rs.questions.question import file_digest


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


# Rows of a leaderboard, from the results of a checkout or a `leaderboard.json`.


JSON = "leaderboard.json"
_LAYOUT = 4  # changes with the columns and what they mean, so that older files are written again
_NUMBER, _ANY_TEXT = (int, float), (str, type(None))
_NEEDED = {  # own rank ranges are not: files of earlier versions have none
    **dict.fromkeys(("run", "model", "icon"), (str,)),
    **dict.fromkeys(("organisation", "mode", "engine"), _ANY_TEXT),
    **dict.fromkeys(("rank", "rank_low", "rank_high"), (int, type(None))),
    **dict.fromkeys(("score_low", "score_high"), (*_NUMBER, type(None))),
    **dict.fromkeys(("score", "score_std", "num_trials", "length", "length_std"), _NUMBER),
    **dict.fromkeys(PARTS, _NUMBER),
}

Row = dict[str, Any]


def results_digest(results: Iterable[tuple[str, str]]) -> str:
    """Returns what a `leaderboard.json` says about the results that it was made from.

    `results`: the SHA-1 of each `result.json` and the run's folder, by folder.
    """
    about = "".join(f"{digest}  {run}\n" for digest, run in results)
    return file_digest(f"{about}{_native.__version__} {_LAYOUT}".encode())


def read_rows_file(path: Path) -> list[Row]:
    """Read the rows of a `leaderboard.json`. Raises `InputError` for missing or wrong columns."""
    rows = load_leaderboard(path).get("runs")
    if not isinstance(rows, list):
        raise errors.InputError("not a leaderboard: no list of 'runs'", path=path)
    for number, row in enumerate(rows, 1):
        wrong = [name for name, kinds in _NEEDED.items() if not _has_column(row, name, kinds)]
        if wrong:
            raise errors.InputError(
                f"run {number}: {wrong[0]!r} is missing or has the wrong type: pfgen-rs report "
                "writes the file again",
                path=path,
            )
    return rows


def _has_column(row: object, name: str, kinds: tuple[type, ...]) -> bool:
    return isinstance(row, dict) and name in row and type(row[name]) in kinds


def load_leaderboard(path: Path) -> dict[str, Any]:
    """Read the object of a `leaderboard.json`. Raises `InputError` if it is not one."""
    try:
        found = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise errors.InputError(errors.unreadable(error), path=path) from error
    except (ValueError, RecursionError) as error:
        raise errors.InputError(f"invalid JSON: {error}", path=path) from None
    if not isinstance(found, dict):
        raise errors.InputError("not a leaderboard: expected a JSON object", path=path)
    return found
