"""How the answers of a run were generated: what its journal says, as `generation.json` has it, and told."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.json_lines import journal_records
from pfgen_rs.io.remote.urls import is_url
from pfgen_rs.io.run_files import ANSWERS, CONFIG, GENERATION
from pfgen_rs.io.text import counted, shortened, visible

_LARGEST = 1 << 24  # bytes of a `generation.json` that is read
_NAMED = 3  # models that are named
_MOST = 1 << 53  # no journal counts more
_PERCENT = (5, 25, 50, 75, 95, 100)
_SAID = ("served", "system_fingerprint", "finish_reason", "engine", "sampling", "left_out")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")
_COUNTED = (*_TOKENS, "attempts", "empty", "seconds")
_OF_CALLS = ("calls", "journal_bytes", "prices")


def summarised(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what records of answers say together, whoever appended them, and in how many calls.

    `answers`: their number. `cut`: those that the token limit ended; `asked_again`: those that were empty
    before; each with the number of answers of which that is known, and its share. `said`: the values of each
    field that says who answered and how, with their numbers of answers and the times of the first and the
    last (empty: not known). `counted`: tokens, requests (`attempts`), empty answers before and seconds: of
    how many answers they are known, their sum, and nearest ranks in percent. `cost`: that of no answers,
    since records have no prices.
    """
    numbers: list[list[float]] = [[] for _ in _COUNTED]
    alike: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in records:
        time, usage = str(record.get("timestamp") or ""), record.get("usage")
        _count(alike, tuple(map(repr, map(record.get, _SAID))), record, 1, time, time)
        used = usage if isinstance(usage, Mapping) else {}
        counts = (*map(used.get, _TOKENS), *map(record.get, _COUNTED[len(_TOKENS) :]))
        for values, value in zip(numbers, counts, strict=True):
            if isinstance(value, int | float) and 0 <= value < _MOST:
                values.append(value)
    said: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in _SAID}
    for span in alike.values():
        for name, found in said.items():
            value = span["value"].get(name)
            text = json.dumps(value, sort_keys=True)
            _count(found, text, value, span["answers"], span["first"], span["last"])
    counted = dict(zip(_COUNTED, numbers, strict=True))
    spans = {name: list(found.values()) for name, found in said.items()}
    ends = {each["value"]: each["answers"] for each in spans["finish_reason"] if _is_text(each)}
    return {
        "answers": sum(span["answers"] for span in alike.values()),
        "cut": _share(ends.get("length", 0), sum(ends.values())),
        "asked_again": _share(sum(map(bool, counted["empty"])), len(counted["empty"])),
        "said": spans,
        "counted": {name: _spread(sorted(values)) for name, values in counted.items()},
        "cost": {"amount": None, "shown": "", "answers": 0},
    }


def _count(
    found: dict[Any, dict[str, Any]], key: Any, value: Any, answers: int, first: str, last: str
) -> None:
    """Count answers of a kind. Times of journals have one form and are in UTC, in any order."""
    span = found.get(key)
    if span is None:
        found[key] = {"value": value, "answers": answers, "first": first, "last": last}
        return
    span["answers"] += answers
    span["first"], span["last"] = min(span["first"], first), max(span["last"], last)


def _is_text(span: Mapping[str, Any]) -> bool:
    return isinstance(span["value"], str)


def _share(count: int, known: int) -> dict[str, Any]:
    return {"answers": count, "known": known, "share": count / known if known else None}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    ranks = {str(percent): -(-percent * len(values) // 100) for percent in _PERCENT}
    percentiles = {percent: values[rank - 1] for percent, rank in ranks.items() if values}
    return {"known": len(values), "sum": sum(values), "percentiles": percentiles}


_SPAN = {"value": object, "answers": int, "first": str, "last": str}
_SHAPE: Any = {
    "answers": int,
    "cut": {"answers": int, "known": int},
    "asked_again": {"answers": int},
    "said": {name: [_SPAN] for name in _SAID},
    "counted": {"completion_tokens": {"known": int, "sum": int | float}},
    "cost": {"shown": str, "answers": int},
    "journal_bytes": int,
    "calls": [dict],
}


def _is_like(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            key in value and _is_like(value[key], part) for key, part in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(_is_like(part, shape[0]) for part in value)
    return isinstance(value, shape)


def _finite(text: str) -> float:
    """Returns a number of JSON; raises `ValueError` for those that are not JSON, or too large."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return int(text) if text.removeprefix("-").isdigit() else number


def read_file(folder: Path) -> dict[str, Any] | None:
    """Returns what a folder's `generation.json` has; `None` where there is none that can be used."""
    path = folder / GENERATION
    try:
        content = path.read_bytes() if path.stat().st_size <= _LARGEST else b"null"
        found = json.loads(content, parse_int=_finite, parse_float=_finite, parse_constant=_finite)
    except (OSError, ValueError, RecursionError):
        return None
    return found if _is_like(found, _SHAPE) else None


def folder_of(path: str) -> Path:
    """Returns the folder of a run, which is that of its file if the path is one."""
    return Path(path) if Path(path).is_dir() else Path(path).parent


def generation_of(path: str | None) -> dict[str, Any] | None:
    """Returns how the run in a folder, or in a file of it, was generated; `None` if nothing says so.

    That is its `generation.json` without the calls. If the journal has been written since, that is read, and
    the cost remains that of the answers before. A journal that cannot be read is a warning, and says nothing.
    """
    if path is None or is_url(path):
        return None
    folder = folder_of(path)
    journal, found = folder / ANSWERS, read_file(folder)
    size = journal.stat().st_size if journal.exists() else None
    if not (folder / CONFIG).exists():
        return None
    if size is not None and (found is None or found["journal_bytes"] != size):
        cost = {"cost": found["cost"]} if found else {}
        try:
            found = summarised(journal_records(journal)) | cost
        except InputError as error:
            logging.getLogger(__name__).warning("how it was generated is not known: %s", error)
            return None
    return found and {key: value for key, value in found.items() if key not in _OF_CALLS}


def output_tokens(folder: Path) -> float | None:
    """Returns how many tokens the answers of a run have; `None` if that is not known of each."""
    found = generation_of(str(folder))
    counted = found["counted"]["completion_tokens"] if found else {"known": 0}
    return counted["sum"] if found and 0 < found["answers"] == counted["known"] else None


def models(found: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Returns the names of the models that answered, and of how many answers, most first."""
    named = [(each["value"], each["answers"]) for each in found["said"]["served"] if _is_text(each)]
    return sorted(named, key=lambda each: -each[1])


def _ways(found: Mapping[str, Any]) -> int:
    """Returns in how many ways answers were sampled, as far as that is known."""
    said = (found["said"][name] for name in ("sampling", "left_out"))
    return max(sum(each["value"] is not None for each in spans) for spans in said)


def is_odd(found: Mapping[str, Any]) -> bool:
    """Whether answers were cut, several models answered, or answers were sampled in several ways."""
    return bool(found["cut"]["answers"] or len(models(found)) > 1 or _ways(found) > 1)


def told(found: Mapping[str, Any]) -> str:
    """Returns what there is to tell: answers cut and empty, several models or settings, the cost."""
    cut, again, names = found["cut"], found["asked_again"]["answers"], models(found)
    shown = [f"{shortened(name)!r} ({count:,})" for name, count in names[:_NAMED]]
    more = ", …" if len(names) > _NAMED else ""
    known, total = (counted(of, "answer") for of in (cut["known"], found["answers"]))
    shown_cost, priced = visible(shortened(found["cost"]["shown"])), found["cost"]["answers"]
    parts = {
        f"{cut['answers']:,} of {known} ended by the token limit (--max-tokens)": cut["answers"],
        f"{counted(again, 'answer')} asked for again because empty": again,
        f"{len(names)} models answered: {', '.join(shown)}{more}": len(names) > 1,
        f"answers were sampled in {_ways(found)} ways": _ways(found) > 1,
        f"cost {shown_cost} for {priced:,} of {total}": shown_cost,
    }
    return "; ".join(part for part, is_told in parts.items() if is_told)
