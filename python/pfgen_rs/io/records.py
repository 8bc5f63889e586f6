"""One line of JSON: what is taken, and the words for what is not."""

from __future__ import annotations

import json
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.source import SURROGATE, has_lone_surrogate

__all__ = ["parse_line", "text_field"]

_SHOWN = 60


def parse_line(line: bytes) -> dict[str, Any]:
    """The line's object; `InputError` for anything else."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        record = json.loads(text)
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}: {_shown(text)}") from None
    if not isinstance(record, dict):
        raise InputError(f"must hold an object, not {_shown(text)}")
    if "\\ud" in text.lower() and has_lone_surrogate(record):
        raise InputError(SURROGATE)
    return record


def text_field(record: dict[str, Any], key: str) -> str:
    """The text at a key; `InputError` where there is none."""
    if key not in record:
        keys = ", ".join(map(repr, record)) or "none"
        raise InputError(f"the key {key!r} is missing; there are: {keys}")
    value = record[key]
    if not isinstance(value, str):
        raise InputError(f"{key!r} must be text, not {_cut(json.dumps(value, ensure_ascii=False))}")
    return value


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
