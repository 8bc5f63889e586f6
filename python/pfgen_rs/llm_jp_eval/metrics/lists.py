"""Checks of lists of texts."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.errors import InputError

__all__ = ["check_texts"]


def check_texts(predictions: Sequence[str], golds: Sequence[str]) -> None:
    """Raises `InputError` unless both are lists of texts of the same length."""
    for name, texts in (("predictions", predictions), ("golds", golds)):
        if isinstance(texts, str):
            raise InputError(f"invalid {name}: expected a list of texts, found a single text")
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                kind = type(text).__name__
                raise InputError(f"invalid {name}: expected text in row {row}, found {kind}")
    if len(predictions) != len(golds):
        raise InputError(f"{len(predictions)} predictions but {len(golds)} golds")
