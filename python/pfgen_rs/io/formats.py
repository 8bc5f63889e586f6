"""Recognises files that cannot be read as text by their first bytes, and says how to convert them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.text import shortened

HEAD = 64
"""Number of leading bytes by which a format is recognised."""

_CSV = "save it as CSV (UTF-8) and score that file"
_BINARY = (
    (b"\xd0\xcf\x11\xe0", f"is an Excel workbook (.xls) or another Office document: {_CSV}"),
    (b"PAR1", "is a Parquet file: its name must end in .parquet"),
    (b"ARROW1", "is an Arrow IPC file: its name must end in .arrow"),
)
_ZIP = b"PK\x03\x04"
_EXCEL = (b"[Content_Types].xml", b"xl/", b"_rels/", b"docProps/")
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(\x00[\t-\x7f]){4}|([\t-\x7f]\x00){4}")
# The characters of Japanese text: kana, ideographs, their punctuation and full-width forms.
_JAPANESE = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff60]")
_ENCODINGS = {"euc_jp": "EUC-JP", "cp932": "SHIFT_JIS"}
_ENOUGH = 0.8  # share of the non-ASCII characters


def refuse_other_format(head: bytes) -> None:
    """Raise `InputError` if `head` is the beginning of a workbook, an archive, a table or UTF-16 text."""
    if head.startswith(_ZIP):
        is_excel = any(name in head for name in _EXCEL)
        raise InputError(
            f"is an Excel workbook (.xlsx): {_CSV}" if is_excel else "is a ZIP archive: unpack it"
        )
    for magic, problem in _BINARY:
        if head.startswith(magic):
            raise InputError(problem)
    if _UTF_16.match(head):
        raise InputError(f"is UTF-16 text: {_format_conversion('UTF-16')}")


def other_encoding(text: bytes) -> str:
    """Returns the likely encoding of text that is not UTF-8 and how to convert it; empty if unknown."""
    for name, common in _ENCODINGS.items():
        try:
            decoded = text.decode(name)
        except UnicodeDecodeError:
            continue
        beyond = [character for character in decoded if not character.isascii()]
        if len(_JAPANESE.findall(decoded)) > _ENOUGH * len(beyond):
            shown = "Shift-JIS" if common == "SHIFT_JIS" else common
            return f"; it looks like {shown}: {_format_conversion(common)}"
    return ""


def _format_conversion(encoding: str) -> str:
    return f"convert it with: iconv -f {encoding} -t UTF-8"


# Outputs of OpenAI's batch API, which vLLM's run-batch writes as well: one response a line.
#
# `{"custom_id": …, "response": {"status_code": 200, "body": {"choices": [{"message": {"content": …}}]}}}`


_ID = re.compile(r"(0|[1-9][0-9]{0,8})/(.+)", re.DOTALL)


def custom_id(trial: int, question: str) -> str:
    """Returns the id of a request by which its response is found again."""
    return f"{trial}/{question}"


def is_failed(record: Mapping[str, Any]) -> bool:
    """Whether an object is the response to a request that failed. Raises `InputError`."""
    return _is_response(record) and _text_of_response(record) is None


def answer_record(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a response as `question`, `answer` and, if its id names one, `trial`; anything else as it is.

    The id is that of `custom_id`, or the question's text or id alone. Raises `InputError` for a request that
    failed.
    """
    if not _is_response(record):
        return record
    name, text = record["custom_id"], _text_of_response(record)
    if text is None:
        raise InputError(f"the request {shortened(name)!r} failed: --skip-bad-lines leaves it out")
    match = _ID.fullmatch(name)
    if match is None:
        return {"question": name, "answer": text}
    return {"trial": int(match[1]), "question": match[2], "answer": text}


def _is_response(record: Mapping[str, Any]) -> bool:
    is_named = isinstance(record.get("custom_id"), str) and "question" not in record
    return is_named and not {"response", "error"}.isdisjoint(record)


def _text_of_response(record: Mapping[str, Any]) -> str | None:
    return None if record.get("error") else response_text(record.get("response"))


def response_text(response: object) -> str | None:
    """Returns the text in a response, `None` if the request failed. Raises `InputError` for anything else."""
    if not isinstance(response, Mapping):
        return None
    status, body = response.get("status_code", 200), response.get("body")
    if status != 200:
        return None
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise InputError("'response' has no body with choices, as OpenAI's batch API writes it")
    if len(choices) > 1:
        raise InputError(f"'response' has {len(choices)} choices: expected a single one")
    message = choices[0].get("message")
    if isinstance(message, Mapping):
        text = message.get("content")
        return "" if text is None else _choice_text(text)
    return _choice_text(choices[0].get("text"))


def _choice_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError("the choice in 'response' must have a text or a message with text")
    return value
