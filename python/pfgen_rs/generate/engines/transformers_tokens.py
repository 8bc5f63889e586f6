"""Tokens of a tokenizer of transformers as OpenAI's API names them, and their log probabilities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

__all__ = ["LikeliestTokens", "TokenTexts"]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""A byte in a vocabulary of characters."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SHOWN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that byte-level vocabularies write as the character with this code; the others follow from 256 on."""
_HIDDEN = [byte for byte in range(256) if byte not in _SHOWN]
_BYTES = {chr(b): b for b in _SHOWN} | {chr(256 + i): b for i, b in enumerate(_HIDDEN)}


class TokenTexts:
    """The text of each token by itself, with the space before a word, which decoders remove at the start."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[int, dict[str, Any]] = {}
        self._special = frozenset(tokenizer.all_special_ids)
        self._before: list[int] = tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
        self._start = self._decoded([])

    def is_special(self, token: int) -> bool:
        """Whether a token, such as the end of the text, has no text of its own."""
        return token in self._special

    def entry(self, token: int, logprob: float) -> dict[str, Any]:
        """Returns `token`, `logprob` and, if it is not whole characters, `bytes`."""
        if token not in self._known:
            self._known[token] = self._named(token)
        return {**self._known[token], "logprob": logprob}

    def _named(self, token: int) -> dict[str, Any]:
        piece = str(self._tokenizer.convert_ids_to_tokens(token))
        if self.is_special(token):
            return {"token": piece}
        text = self._decoded([token]).removeprefix(self._start)
        raw = _token_bytes(piece) if _REPLACEMENT in text else None
        return {"token": text} if raw is None else {"token": text, "bytes": raw}

    def _decoded(self, tokens: list[int]) -> str:
        """Returns the text of tokens after the letter a."""
        ids = [*self._before, *tokens]
        return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False)) if ids else ""


def _token_bytes(piece: str) -> list[int] | None:
    named = _BYTE.fullmatch(piece)
    if named is not None:
        return [int(named[1], 16)]
    return [_BYTES[c] for c in piece] if all(c in _BYTES for c in piece) else None


class LikeliestTokens:
    """Records each step's `count` most likely tokens with their log probabilities, before `sampling` draws.

    Recording these as they come takes far less memory than the logits of all steps.
    """

    def __init__(self, sampling: Any, count: int) -> None:
        self._sampling = sampling
        self._count = count
        self._steps: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Returns the scores after sampling; shape (rows, tokens)."""
        logprobs = scores.float().log_softmax(-1)
        best = logprobs.topk(min(self._count, logprobs.shape[-1]))
        drawn: torch.FloatTensor = self._sampling(input_ids, scores)
        chosen = logprobs.gather(-1, drawn.argmax(-1, keepdim=True))
        self._steps.append((best.indices.cpu(), best.values.cpu(), chosen.cpu()))
        return drawn

    def tokens(self, row: int, ids: Sequence[int], texts: TokenTexts) -> Iterator[dict[str, Any]]:
        """Yield the tokens generated for a row in the form of `Details.tokens`, without special ones."""
        for token, (indices, values, chosen) in zip(ids, self._steps, strict=False):
            if texts.is_special(token):
                continue
            best = zip(indices[row].tolist(), values[row].tolist(), strict=True)
            entry = texts.entry(token, float(chosen[row, 0]))
            yield {**entry, "top_logprobs": [texts.entry(*pair) for pair in best]}
