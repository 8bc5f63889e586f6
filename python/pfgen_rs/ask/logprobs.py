"""Log probabilities as servers send them: in the form of the chat API, or in that of completions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Token = dict[str, Any]

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ESCAPED = re.compile(r"bytes:((?:\\x[0-9a-f]{2})+)")
"""How OpenAI's completions name tokens that are no whole characters."""


def read_tokens(logprobs: object) -> list[Token] | None:
    """Returns the tokens of the field `logprobs` of a choice, in the form of the chat API.

    Some servers send the form of chats for completions, and the other way round. Log probabilities are kept
    as they are, even if they are null, text or not finite; alternatives without a text are dropped. Returns
    `None` if there are no tokens, or if the text of any of them is missing.
    """
    if not isinstance(logprobs, dict):
        return None
    content = logprobs.get("content")
    if isinstance(content, list) and content:
        return _all_logprob_entries(map(_chat_logprob_entry, content))
    texts = logprobs.get("tokens")
    if not isinstance(texts, list) or not texts:
        return None
    values = _logprobs_by_position(logprobs.get("token_logprobs"), len(texts))
    tops = _logprobs_by_position(logprobs.get("top_logprobs"), len(texts))
    return _all_logprob_entries(map(_completion_logprob_entry, texts, values, tops))


def completed(tokens: Sequence[Token], text: str) -> list[Token]:
    """Returns tokens that spell a text, if they do so but for parts of characters.

    Some servers (llama-cpp-python) drop the bytes of tokens that are no whole characters, or send U+FFFD for
    them. Such tokens get the `bytes` of the characters that are missing there, which cannot be ASCII, and
    others those of their texts. Tokens that do not fit the text otherwise are returned as they are.
    """
    gaps = _gaps_in_text(tokens, text)
    if not gaps:
        return list(tokens)
    found = [{**token, "bytes": _bytes_of_token(token)} for token in tokens]
    for first, last, gap in gaps:
        raw = list(gap.encode("utf-8", "surrogatepass"))
        # Only their sum is known: none of several may look like a whole character.
        shares = [raw] if last - first == 1 else [raw[:1], raw[1:]]
        for number in range(first, last):
            found[number]["bytes"] = shares.pop(0) if shares else []
    return found


def _bytes_of_token(token: Token) -> list[int]:
    raw = token.get("bytes")
    return list(token["token"].encode("utf-8", "surrogatepass")) if raw is None else raw


def _gaps_in_text(tokens: Sequence[Token], text: str) -> list[tuple[int, int, str]]:
    """Returns which tokens (from, to) are parts of which characters; empty if the others do not fit."""
    gaps: list[tuple[int, int, str]] = []
    first = position = 0
    for number, token in enumerate(tokens):
        spelled = token["token"]
        if "bytes" not in token and not spelled.strip(_REPLACEMENT):
            continue
        if first < number or position < len(text):
            start = _start_in_text(spelled, text, position, is_gap_possible=first < number)
            if start is None:
                return []
            if start > position:
                gaps.append((first, number, text[position:start]))
            position = start + len(spelled)
        # What comes after the text, such as a token for its end, is kept.
        first = number + 1
    rest = text[position:]
    if not rest:
        return gaps
    if first == len(tokens) or not _is_without_ascii(rest):
        return []
    return [*gaps, (first, len(tokens), rest)]


def _start_in_text(spelled: str, text: str, position: int, *, is_gap_possible: bool) -> int | None:
    """Returns where a token begins: at a position, or behind characters that are missing there."""
    if is_gap_possible:
        start = text.find(spelled, position + 1)
        if start >= 0 and _is_without_ascii(text[position:start]):
            return start
    return position if text.startswith(spelled, position) else None


def _is_without_ascii(text: str) -> bool:
    return not any(character.isascii() for character in text)


def texts_in_tokens(tokens: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield all texts in tokens: their own joined, as text and from bytes, and each alternative."""
    yield "".join(token["token"] for token in tokens)
    raw = (bytes(token.get("bytes") or token["token"].encode(errors="replace")) for token in tokens)
    yield b"".join(raw).decode(errors="replace")
    for token in tokens:
        for entry in (token, *token["top_logprobs"]):
            yield entry["token"]
            yield bytes(entry.get("bytes") or b"").decode(errors="replace")
            if isinstance(entry["logprob"], str):
                yield entry["logprob"]


def _all_logprob_entries(entries: Iterator[Token | None]) -> list[Token] | None:
    tokens: list[Token] = []
    for entry in entries:
        if entry is None:
            return None
        tokens.append(entry)
    return tokens


def _logprobs_by_position(values: object, count: int) -> list[object]:
    listed = values if isinstance(values, list) else []
    return [*listed[:count], *[None] * (count - len(listed))]


def _chat_logprob_entry(entry: object) -> Token | None:
    token = _logprob_entry(entry)
    if token is None or not isinstance(entry, dict):
        return None
    tops = entry.get("top_logprobs")
    read = map(_logprob_entry, tops if isinstance(tops, list) else [])
    return {**token, "top_logprobs": [top for top in read if top is not None]}


def _logprob_entry(entry: object) -> Token | None:
    """Returns a token with its log probability and, if they are valid, its bytes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        return None
    token = {"token": entry["token"], "logprob": _logprob_scalar(entry.get("logprob"))}
    raw = entry.get("bytes")
    if isinstance(raw, list) and all(type(byte) is int and 0 <= byte < 256 for byte in raw):
        token["bytes"] = raw
    return token


def _logprob_scalar(value: object) -> object:
    return value if isinstance(value, str | int | float) else None


def _completion_logprob_entry(text: object, value: object, tops: object) -> Token | None:
    if not isinstance(text, str):
        return None
    listed = tops.items() if isinstance(tops, dict) else ()
    alternatives = [_named_logprob_entry(name, number) for name, number in listed]
    return {**_named_logprob_entry(text, value), "top_logprobs": alternatives}


def _named_logprob_entry(name: str, value: object) -> Token:
    token: Token = {"token": name, "logprob": _logprob_scalar(value)}
    escaped = _ESCAPED.fullmatch(name)
    if escaped is not None:
        token["bytes"] = list(bytes.fromhex(escaped[1].replace("\\x", "")))
    return token
