"""One line of JSON: what is taken, and the words for what is not."""

from __future__ import annotations

import json
from typing import Any

from pfgen_rs._native import LARGEST_TOKEN
from pfgen_rs.errors import InputError
from pfgen_rs.io.source import SURROGATE, has_lone_surrogate

__all__ = ["TOKENS", "optional_text_field", "parse_line", "text_field", "token_field"]

TOKENS = f"token ids are whole numbers from 0 to {LARGEST_TOKEN}"
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
    value = _field(record, key)
    if not isinstance(value, str):
        raise InputError(f"{key!r} must be text, not {_json(value)}")
    return value


def token_field(record: dict[str, Any], key: str) -> list[int]:
    """The token ids at a key; `InputError` where there are none."""
    value = _field(record, key)
    if not isinstance(value, list):
        raise InputError(f"{key!r} must be a list of token ids, not {_json(value)}")
    for token in value:
        if type(token) is not int or not 0 <= token <= LARGEST_TOKEN:
            raise InputError(f"{key!r} holds {_json(token)}: {TOKENS}")
    return value


def _field(record: dict[str, Any], key: str) -> Any:
    if key not in record:
        keys = ", ".join(map(repr, record)) or "none"
        raise InputError(f"the key {key!r} is missing; there are: {keys}")
    return record[key]


def _json(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def optional_text_field(record: dict[str, Any], key: str) -> str | None:
    """The text at a key, `None` where there is none; `InputError` where it is something else."""
    return None if record.get(key) is None else text_field(record, key)


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
