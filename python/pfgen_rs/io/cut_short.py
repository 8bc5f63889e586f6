"""Notices files whose end may be missing: only their last record has no newline."""

from __future__ import annotations

from pfgen_rs.errors import InputError, Item
from pfgen_rs.io.chunk import Options

__all__ = ["cut_short"]


def cut_short(path: str, last: int, item: Item, options: Options) -> InputError:
    """Returns what to say of a file whose last record, unlike the others, does not end with a newline.

    `last`: its number. Raises it instead if `options` are strict.
    """
    found = InputError(
        f"the last {item} has no newline at its end, unlike the others: check whether the file was cut "
        "short, or add a newline if it is complete",
        path=path,
        line=last,
        item=item,
    )
    if options.strict:
        raise found
    return found
