"""Prompts and responses under common names: prompt/response, instruction/output, input/generated_text."""

from pfgen_rs.io.layouts import ANSWERS, LAYOUTS, QUESTIONS, Layout, Record, only
from pfgen_rs.io.messages import is_chat


def _find(record: Record) -> tuple[str, str] | None:
    asked = [key for key in QUESTIONS if (value := record.get(key)) and _is_text(value)]
    answered = [key for key in ANSWERS if _is_text(record.get(key))]
    if not answered or not (asked or _is_text(record.get("messages"))):
        return None
    answer = only("answer", answered)
    if asked[:1] == ["question"]:  # a prompt beside it is made of it
        return "question", str(answer)
    return only("question", asked) or "messages", str(answer)


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (is_chat(value) and bool(value))


LAYOUTS.add("prompt-response", Layout("prompts and responses", _find, is_general=True))
