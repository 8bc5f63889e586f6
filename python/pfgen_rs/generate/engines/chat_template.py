"""Chat templates that a person gives instead of the model's own."""

from __future__ import annotations

from pathlib import Path

from pfgen_rs.errors import SettingsError

__all__ = ["read_chat_template"]


def read_chat_template(given: str | None) -> str | None:
    """The template: `given` itself, or the contents of the file that it names.

    Every template has a brace, and no sensible path has. Raises `SettingsError` where the file cannot be
    read.
    """
    if given is None or "{" in given:
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingsError(f"the chat template {given!r} cannot be read: {error}") from None
