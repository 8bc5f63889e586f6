"""Outputs of OpenAI's batch API, which vLLM's run-batch writes as well: one response a line.

`{"custom_id": …, "response": {"status_code": 200, "body": {"choices": [{"message": {"content": …}}]}}}`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.io.safe_text import shortened

__all__ = ["answer_record", "custom_id", "is_failed", "response_text"]

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
