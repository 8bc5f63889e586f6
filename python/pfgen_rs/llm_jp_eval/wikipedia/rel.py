"""Tags of relations (`<rel …/>`) in the features of a base phrase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pfgen_rs.errors import InputError

__all__ = ["Rel", "rels"]

_TAG = re.compile(
    r'<rel type="([^"]*)"(?: mode="([^"]*)")? target="([^"]*)"(?: sid="([^"]*)" id="(\d+)")?/>'
)
_START = "<rel "
_SHOWN = 60  # characters of a tag


class Rel(NamedTuple):
    """A tag: `id` (digits) is empty where it leads to nothing in the document."""

    type: str
    mode: str
    target: str
    sid: str
    id: str


def rels(features: str) -> Sequence[Rel]:
    """Returns the tags in order. Raises `InputError` for one that cannot be read."""
    if _START not in features:
        return ()
    found = [Rel._make(fields) for fields in _TAG.findall(features)]
    if len(found) != features.count(_START):
        raise InputError(
            'a damaged tag: expected <rel type="…" target="…"/>, with mode="…" after type'
            f' and sid="…" id="…" after target where it has them, found {_damaged_tag(features)!r}'
        )
    return found


def _damaged_tag(features: str) -> str:
    start = -1
    while _TAG.match(features, start := features.index(_START, start + 1)):
        pass
    return features[start : start + _SHOWN]
