"""Predictions from raw outputs, and gold answers as they are compared with them."""

from __future__ import annotations

from unicodedata import normalize

from pfgen_rs.errors import SettingsError
from pfgen_rs.llm_jp_eval.catalog import VARIANTS

__all__ = ["check_variant", "normalized_gold", "prediction"]

_CUT = "\n\n"


def prediction(output: str, variant: str = "upstream") -> str:
    """Returns the prediction in a raw output: what precedes the first empty line, in NFKC.

    `variant`: `swallow` strips it before normalising, `upstream` does not. An output that begins with an
    empty line gives the empty prediction. Lone surrogates stay. Raises `SettingsError` for unknown variants.
    """
    check_variant(variant)
    first = output.partition(_CUT)[0]
    return normalize("NFKC", first.strip() if variant == "swallow" else first)


def normalized_gold(text: str) -> str:
    """Returns a gold answer in the form that is compared with predictions: NFKC, not stripped."""
    return normalize("NFKC", text)


def check_variant(variant: str) -> None:
    """Raises `SettingsError` unless this is the name of a variant."""
    if variant not in VARIANTS:
        raise SettingsError(f"unknown variant {variant!r}: expected one of {', '.join(VARIANTS)}")
