"""Outputs of batch APIs: OpenAI's, which vLLM's `run-batch` writes as well, and Anthropic's.

`{"custom_id": …, "response": {"status_code": 200, "body": {"choices": [{"message": {"content": …}}]}}}` and
`{"custom_id": …, "result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": …}]}}}`
"""

from collections.abc import Mapping

from pfgen_rs.errors import InputError
from pfgen_rs.io.layouts import LAYOUTS, Layout, ReadAs, Record, exchanges, has
from pfgen_rs.io.text import shortened

_OPENAI, _ANTHROPIC = "openai-batch", "anthropic-batch"
_BODY = "response.body"
_TEXTS = ("choices.0.message", "choices.0.text", "output", "choices.0")


def _openai(record: Record) -> tuple[str, str] | None:
    is_named = isinstance(record.get("custom_id"), str) and "question" not in record
    if not is_named or {"response", "error"}.isdisjoint(record):
        return None
    return "custom_id", _openai_path(record)


def _openai_path(record: Record) -> str:
    paths = (f"{_BODY}.{path}" for path in _TEXTS)
    return next((path for path in paths if has(record, path)), f"{_BODY}.{_TEXTS[0]}")


def batch_output(record: Record) -> tuple[str, str | None] | None:
    """Returns the id of an output of a batch with its text, `None` for other records.

    The text is `None` if the request failed.
    """
    for name in (_OPENAI, _ANTHROPIC):
        layout = LAYOUTS.get(name)
        if (paths := layout.find(record)) is not None:
            if layout.refused(record) is not None:
                return record["custom_id"], None
            [found] = exchanges(record, ReadAs(name, *paths), None)
            return record["custom_id"], found.answer
    return None


def _openai_refused(record: Record) -> str | None:
    response = record.get("response")
    if (
        record.get("error")
        or not isinstance(response, Mapping)
        or response.get("status_code", 200) != 200
    ):
        return _failed(record)
    body = response.get("body")
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not (choices or "output" in body):
        raise InputError("'response' has no body with choices, as OpenAI's batch API writes it")
    if isinstance(choices, list) and len(choices) > 1:
        raise InputError(f"'response' has {len(choices)} choices: expected a single one")
    return None


def _anthropic(record: Record) -> tuple[str, str] | None:
    result = record.get("result")
    is_output = isinstance(result, Mapping) and "type" in result
    is_named = isinstance(record.get("custom_id"), str)
    return ("custom_id", "result.message") if is_named and is_output else None


def _anthropic_refused(record: Record) -> str | None:
    result = record.get("result")
    is_done = isinstance(result, Mapping) and result.get("type") == "succeeded"
    return None if is_done else _failed(record)


def _failed(record: Record) -> str:
    name = shortened(str(record.get("custom_id")))
    return f"the request {name!r} failed: --skip-bad-lines leaves it out"


LAYOUTS.add(_OPENAI, Layout("outputs of a batch", _openai, _openai_refused, is_joined=True))
LAYOUTS.add(
    _ANTHROPIC,
    Layout("outputs of a message batch", _anthropic, _anthropic_refused, is_joined=True),
)
