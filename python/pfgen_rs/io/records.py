"""Parses a line of JSON and checks its fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pfgen_rs._native import LARGEST_TOKEN
from pfgen_rs.errors import InputError
from pfgen_rs.io.cleaning import unicode_text
from pfgen_rs.io.formats import other_encoding
from pfgen_rs.io.source import SURROGATE, has_lone_surrogate

__all__ = [
    "REPLACE",
    "TOKENS",
    "as_text",
    "missing",
    "optional_text_field",
    "parse_line",
    "text_field",
    "token_field",
    "valid_text",
]

TOKENS = f"token ids must be whole numbers from 0 to {LARGEST_TOKEN}"
REPLACE = "; --replace-invalid (in Python: replace_invalid=True) reads it as U+FFFD"
_SHOWN = 60


def parse_line(line: bytes, *, replace_invalid: bool | None = None) -> dict[str, Any]:
    """Returns the line's object. Raises `InputError` for anything else.

    `replace_invalid`: whether to read what is not valid Unicode as U+FFFD; `None` where users have no choice.
    """
    text = _decoded_line(line, replace_invalid)
    try:
        record = json.loads(text)
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        whole = "; each object must be on a single line" if text.strip() == "{" else ""
        raise InputError(f"is not JSON: {error}: {_shown_record_value(text)}{whole}") from None
    if not isinstance(record, dict):
        raise InputError(f"expected an object, found {_shown_record_value(text.strip())}")
    if ("\\ud" in text or "\\uD" in text) and has_lone_surrogate(record):
        if not replace_invalid:
            raise InputError(SURROGATE + ("" if replace_invalid is None else REPLACE))
        record = json.loads(unicode_text(json.dumps(record, ensure_ascii=False)))
    return cast("dict[str, Any]", record)


def _decoded_line(line: bytes, replace_invalid: bool | None) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        hint = other_encoding(line)
        if replace_invalid and not hint:
            return valid_text(line)
        hint = hint or ("" if replace_invalid is None else REPLACE)
        raise InputError(f"is not UTF-8: {error.reason} at byte {error.start}{hint}") from None


def valid_text(text: bytes) -> str:
    """Returns UTF-8 text in which U+FFFD stands for what is not valid, such as half a surrogate pair."""
    try:
        return unicode_text(text.decode(errors="surrogatepass"))
    except UnicodeDecodeError:
        return text.decode(errors="replace")


def text_field(record: Mapping[str, Any], key: str, advice: str | None = None) -> str:
    """Returns the text at a key. Raises `InputError` for anything else.

    `advice`: what to do if the key is missing.
    """
    value = _record_field(record, key, advice)
    if not isinstance(value, str):
        raise InputError(f"{key!r} must be text, not {_record_as_json(value)}")
    return value


def token_field(record: Mapping[str, Any], key: str, advice: str | None = None) -> list[int]:
    """Returns the token ids at a key. Raises `InputError` for anything else."""
    value = _record_field(record, key, advice)
    if not isinstance(value, list):
        raise InputError(f"{key!r} must be a list of token ids, not {_record_as_json(value)}")
    for token in value:
        if type(token) is not int or not 0 <= token <= LARGEST_TOKEN:
            raise InputError(f"{key!r} contains {_record_as_json(token)}: {TOKENS}")
    return value


def missing(kind: str, name: str, found: Iterable[str], advice: str | None) -> InputError:
    """Returns the error for a record without the key, or a table without the column `name`."""
    names = ", ".join(map(repr, found)) or "nothing"
    return InputError(f"missing {kind} {name!r}: found {names}{(advice and '; ' + advice) or ''}")


def _record_field(record: Mapping[str, Any], key: str, advice: str | None) -> Any:
    if key not in record:
        raise missing("key", key, record, advice)
    return record[key]


def _record_as_json(value: object) -> str:
    return _shortened_record_value(json.dumps(value, ensure_ascii=False))


def optional_text_field(record: dict[str, Any], key: str) -> str | None:
    """Returns the text at a key, or `None` if it is missing. Raises `InputError` for anything else."""
    return None if record.get(key) is None else text_field(record, key)


def _shown_record_value(text: str) -> str:
    return repr(_shortened_record_value(text))


def _shortened_record_value(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def as_text(value: Any) -> str | None:
    """Returns a JSON value as text: strings unchanged, null as `None`, others as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
