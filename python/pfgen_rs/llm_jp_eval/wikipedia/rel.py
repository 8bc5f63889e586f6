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
_SHOWN = 60  # characters of a tag


class Rel(NamedTuple):
    """A tag: `sid` and `id` (digits) are both `None` where it leads to nothing in the document."""

    type: str
    mode: str
    target: str
    sid: str | None
    id: str | None


def rels(features: str) -> Sequence[Rel]:
    """Returns the tags in order. Raises `InputError` for one that cannot be read."""
    if "<rel" not in features:
        return ()
    found = []
    start = features.find("<rel ")
    while start >= 0:
        tag = _TAG.match(features, start)
        if tag is None:
            shown = features[start : start + _SHOWN]
            raise InputError(
                'a damaged tag: expected <rel type="…" target="…"/>, with mode="…" after type'
                f' and sid="…" id="…" after target where it has them, found {shown!r}'
            )
        found.append(Rel(tag[1], tag[2] or "", tag[3], tag[4], tag[5]))
        start = features.find("<rel ", tag.end())
    return found
