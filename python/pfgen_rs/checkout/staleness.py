"""Why a published result is stale: what it was made from has changed, or it cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pfgen_rs.io.counted import counted
from pfgen_rs.io.safe_text import shortened

__all__ = ["Reason", "Reasons", "StaleKind", "reason_lines", "stale_reasons"]

_LISTED = 10  # runs with the same reasons that have a line each
_NAMED = 3  # runs that are named where more than that have the same reasons
_KEYS = 4  # keys of a configuration that are named


class StaleKind(StrEnum):
    """What is the matter with a result; in the order in which reasons are listed."""

    FORCED = "forced"
    MISSING = "missing"
    UNUSABLE = "unusable"
    RESPONSES = "responses"
    QUESTIONS = "questions"
    CONFIG = "config"
    SETTINGS = "settings"


_SAID = {
    StaleKind.FORCED: "everything is scored again",
    StaleKind.MISSING: "no result.json",
    StaleKind.UNUSABLE: "result.json cannot be used",
    StaleKind.RESPONSES: "its answers have changed since it was scored",
    StaleKind.QUESTIONS: "was scored with other questions",
    StaleKind.CONFIG: "its config.json has been edited since it was scored",
    StaleKind.SETTINGS: "was scored with other settings",
}


@dataclass(frozen=True)
class Reason:
    """Why a run is scored: its kind, and what exactly, such as an error or the keys that differ."""

    kind: StaleKind
    detail: str = ""

    def __str__(self) -> str:
        said = _SAID[self.kind]
        return f"{said} ({self.detail})" if self.detail else said


Reasons = tuple[Reason, ...]


def stale_reasons(
    result: Mapping[str, Any],
    *,
    metadata_hash: str,
    input_hash: str | None,
    config: Mapping[str, Any],
    signature: str | None = None,
    as_published: bool = False,
) -> Reasons:
    """Returns why a result is stale, given what it would be made from now; nothing if it is not.

    `signature`: that of results, if the questions have other settings than the published ones.
    `as_published`: compare the two hashes alone, as pfgen-bench's own tool does. Otherwise a result with
    another configuration or of other settings is stale, too.
    """
    found = []
    if result.get("input_hash") != input_hash:
        found.append(Reason(StaleKind.RESPONSES))
    if result["metadata_hash"] != metadata_hash:
        found.append(Reason(StaleKind.QUESTIONS))
    if as_published:
        return tuple(found)
    if result["config"] != config:
        found.append(Reason(StaleKind.CONFIG, _keys_of_stale_config(result["config"], config)))
    if _defining_parts(result.get("signature")) != _defining_parts(signature):
        found.append(Reason(StaleKind.SETTINGS))
    return tuple(found)


def _defining_parts(signature: str | None) -> list[str]:
    """Returns what defines the scores: neither the version nor how sums are added, which is kept."""
    parts = (signature or "").split("|")
    return [part for part in parts if not part.startswith(("v:", "sum:"))]


def _keys_of_stale_config(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    missing = object()
    keys = sorted(key for key in {*old, *new} if old.get(key, missing) != new.get(key, missing))
    return ", ".join(map(shortened, keys[:_KEYS])) + ", …" * (len(keys) > _KEYS)


def reason_lines(stale: Mapping[str, Reasons]) -> Iterator[str]:
    """Yields lines that say which runs are scored and why; those with the same reasons together.

    `stale`: reasons by run. Of more than 10 runs with the same kinds of reasons, the first three are named.
    """
    groups: dict[tuple[StaleKind, ...], list[str]] = {}
    for run, reasons in stale.items():
        groups.setdefault(tuple(reason.kind for reason in reasons), []).append(run)
    for kinds, runs in groups.items():
        if len(runs) <= _LISTED:
            yield from (f"{run}: {_joined_reasons(stale[run])}" for run in runs)
        else:
            why = _joined_reasons([Reason(kind) for kind in kinds])
            yield f"{counted(len(runs), 'run')}: {why}: {', '.join(runs[:_NAMED])}, …"


def _joined_reasons(reasons: Sequence[Reason]) -> str:
    return ", and ".join(map(str, reasons))
