"""Lists of texts that come in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from pfgen_rs.errors import InputError

__all__ = ["check_column_of_texts", "check_texts", "without_surrogates"]


def check_texts(predictions: Sequence[str], golds: Sequence[str]) -> None:
    """Raises `InputError` unless both are lists of texts of the same length."""
    for name, texts in (("predictions", predictions), ("golds", golds)):
        if isinstance(texts, str):
            raise InputError(f"invalid {name}: expected a list of texts, found a single text")
        _check_types_of_texts(texts, f"invalid {name}: ")
    if len(predictions) != len(golds):
        raise InputError(f"{len(predictions)} predictions but {len(golds)} golds")


def check_column_of_texts(texts: Sequence[str]) -> None:
    """Raises `InputError` unless every element is a text and valid Unicode."""
    _check_types_of_texts(texts, "")
    for row, text in enumerate(texts):
        if not text.isascii() and not _is_valid_unicode(text):
            raise InputError(
                f"row {row} contains a lone surrogate, which is not valid Unicode text"
            )


def without_surrogates(
    predictions: Sequence[str], golds: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], list[int]]:
    """Returns both lists with pairs emptied that are not valid Unicode, and the rows of these."""
    wild = [
        row
        for row, pair in enumerate(zip(predictions, golds, strict=True))
        if not all(text.isascii() or _is_valid_unicode(text) for text in pair)
    ]
    if not wild:
        return predictions, golds, wild
    emptied = list(predictions), list(golds)
    for row in wild:
        for texts in emptied:
            texts[row] = ""
    return *emptied, wild


def _is_valid_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_types_of_texts(texts: Sequence[str], place: str) -> None:
    if not set(map(type, texts)) - {str}:
        return
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"{place}expected text in row {row}, found {kind}")
