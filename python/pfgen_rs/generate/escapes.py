"""Escapes in a run's `prefix`, as the published generator reads them."""

from __future__ import annotations

import re

from pfgen_rs.errors import SettingsError

__all__ = ["unescaped"]

# Python's escapes; any other backslash is an ordinary character.
_ESCAPE = re.compile(r"""(\\(?:[\\'"abfnrtv\n]|[0-7]|[xuUN]))|\\""")


def unescaped(text: str) -> str:
    r"""Returns a text with its escapes replaced: those of Python strings, such as `\n` and `\t`.

    Everything else stays as it is, newlines and other backslashes included. As published, `\xNN` is one byte
    of UTF-8, so that the result must be valid UTF-8. Raises `SettingsError` otherwise.
    """
    known = _ESCAPE.sub(lambda match: match[1] or r"\\", text)
    try:
        return known.encode().decode("unicode_escape").encode("latin-1").decode()
    except UnicodeError:
        raise SettingsError(
            f"invalid escape in {text!r}: expected escapes such as \\n, and \\\\ for a backslash"
        ) from None
